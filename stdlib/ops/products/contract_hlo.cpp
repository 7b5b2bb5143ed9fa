// `contract` as StableHLO: a convolution where it sums over windows or their places, else a dot_general, whose result
// has the dimensions of both batches, of x, of y, and a transpose to the order of `spec`.
#include <algorithm>
#include <numeric>

#include "stdlib/ops/hlo.h"
#include "stdlib/ops/products/contract_kernel.h"

namespace shard::stdlib {
namespace {

using Side = Lettered;

Side side_of(const hlo::Value& x, std::string_view named) {
  std::string letters;
  for (std::size_t d = 0; d + named.size() < x.shape.size(); ++d) letters += static_cast<char>('0' + d);
  return {x, letters.append(named)};
}

// Without what only this side has and the result has not.
void sum_own(Side& side, const Side& other, std::string_view out) {
  Ints dims;
  std::string kept;
  for (std::size_t d = 0; d < side.letters.size(); ++d) {
    const char letter = side.letters[d];
    if (other.has(letter) || out.find(letter) != std::string_view::npos)
      kept += letter;
    else
      dims.push_back(static_cast<std::int64_t>(d));
  }
  side.value = hlo::reduced(side.value, runtime::Reduce::Sum, dims);
  side.letters = kept;
}

}  // namespace

// Precision is said: where it is not, TPUs compute products of f32 in bf16 and GPUs in TF32.
hlo::Values contract_hlo(const hlo::Use& u) {
  const ContractSpec spec = read_spec(u.attrs.text("spec"));
  Side x = side_of(u.in[0], spec.x), y = side_of(u.in[1], spec.y);
  std::string out;
  for (std::size_t d = 0; d + spec.x.size() < u.in[0].shape.size(); ++d) out += static_cast<char>('0' + d);
  out.append(spec.out);
  for (const bool swap : {false, true}) {
    const Side &windows = swap ? y : x, &other = swap ? x : y;
    if (windows.value.cut)
      if (const auto made = as_convolution(windows, other, out, u.out[0].dtype)) return {*made};
  }
  sum_own(x, y, out);
  sum_own(y, x, out);
  std::string batch, summed, made;
  for (char letter : x.letters)
    if (y.has(letter)) (out.find(letter) == std::string::npos ? summed : batch) += letter;
  made = batch;
  for (const Side* side : {&x, &y})
    for (char letter : side->letters)
      if (batch.find(letter) == std::string::npos && summed.find(letter) == std::string::npos) made += letter;
  Shape shape;
  for (char letter : made) {
    const Side& from = x.has(letter) ? x : y;
    shape.push_back(from.size(letter));
  }
  const auto dims = [](const char* name, const Side& side, const std::string& letters) {
    std::string list;
    for (char letter : letters) list += (list.empty() ? "" : ", ") + std::to_string(side.place(letter));
    return std::string(name) + " = [" + list + "]";
  };
  const DType dtype = u.out[0].dtype;
  const bool narrow = runtime::is_narrow(dtype);
  const std::string attributes = "dot_dimension_numbers = #stablehlo.dot<" + dims("lhs_batching_dimensions", x, batch) +
                                 ", " + dims("rhs_batching_dimensions", y, batch) + ", " +
                                 dims("lhs_contracting_dimensions", x, summed) + ", " +
                                 dims("rhs_contracting_dimensions", y, summed) + ">, " + hlo::precise();
  const hlo::Value product =
      u.to.op("stablehlo.dot_general", {x.value, y.value}, narrow ? DType::F32 : dtype, std::move(shape), attributes);
  Ints perm;
  for (char letter : out) perm.push_back(static_cast<std::int64_t>(made.find(letter)));
  const hlo::Value placed = made == out ? product : hlo::transpose(product, perm);
  return {hlo::convert(placed, dtype)};
}

}  // namespace shard::stdlib
