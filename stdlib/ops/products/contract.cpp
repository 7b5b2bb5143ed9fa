// `contract`, the one bilinear operation with a sum: every product of matrices, einsum and their derivatives come down
// to it. Its rule is its attribute: the letters of `spec` are the factors.
#include <algorithm>

#include "interpreter/ir/contract_spec.h"
#include "stdlib/ops/complex.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/contract_kernel.h"

namespace shard::stdlib {

using ir::ContractSpec;
using ir::read_spec;

// ---- StableHLO

// Precision is said: where it is not, TPUs compute products of f32 in bf16 and GPUs in TF32.
hlo::Value dot_general(const hlo::Value& x, const hlo::Value& y, const Products& dims, DType dtype, Shape shape) {
  const auto list = [](const char* name, const Ints& numbers) {
    std::string out;
    for (auto n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return std::string(name) + " = [" + out + "]";
  };
  return x.to->op("stablehlo.dot_general", {x, y}, dtype, std::move(shape),
                  "dot_dimension_numbers = #stablehlo.dot<" + list("lhs_batching_dimensions", dims.x_batch) + ", " +
                      list("rhs_batching_dimensions", dims.y_batch) + ", " +
                      list("lhs_contracting_dimensions", dims.x_summed) + ", " +
                      list("rhs_contracting_dimensions", dims.y_summed) + ">, " + hlo::precise());
}

namespace {

// `contract` as StableHLO: a convolution where it sums over windows or their places, else a dot_general, whose result
// has the dimensions of both batches, of x, of y, and a transpose to the order of `spec`.

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
  const auto places = [](const Side& side, const std::string& letters) {
    Ints dims;
    for (char letter : letters) dims.push_back(side.place(letter));
    return dims;
  };
  const DType dtype = u.out[0].dtype;
  const Products dims{places(x, batch), places(y, batch), places(x, summed), places(y, summed)};
  const hlo::Value product =
      dot_general(x.value, y.value, dims, runtime::is_narrow(dtype) ? DType::F32 : dtype, std::move(shape));
  Ints perm;
  for (char letter : out) perm.push_back(static_cast<std::int64_t>(made.find(letter)));
  const hlo::Value placed = made == out ? product : hlo::transpose(product, perm);
  hlo::Value result = hlo::convert(placed, dtype);
  result.product = std::make_shared<const hlo::Product>(hlo::Product{x, y, out});
  return {result};
}

// ---- the row

FactorRule contract_factors(const OpCall& call) {
  auto spec = read_spec(call.attrs.text("spec"));
  const Shape &x = call.in[0].shape, &y = call.in[1].shape;
  if (x.size() < spec.x.size() || y.size() < spec.y.size())
    fail("shape", "the product `" + call.attrs.text("spec") + "` needs arrays of rank " +
                      std::to_string(spec.x.size()) + " and " + std::to_string(spec.y.size()) + ", got " +
                      runtime::to_string(call.in[0]) + " and " + runtime::to_string(call.in[1]));
  FactorRule rule;
  rule.operands.resize(2);
  rule.results.resize(1);
  std::size_t lead = x.size() - spec.x.size();
  if (y.size() - spec.y.size() != lead ||
      !std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(lead), y.begin()))
    fail("shape", "the leading dimensions of a product differ: " + runtime::to_string(call.in[0]) + " and " +
                      runtime::to_string(call.in[1]));
  auto add = [&](std::string name, std::int64_t size, FactorKind kind) {
    rule.factors.push_back({std::move(name), size, kind, FactorReduce::Sum});
    return static_cast<int>(rule.factors.size()) - 1;
  };
  for (std::size_t d = 0; d < lead; ++d) {
    int f = add("lead" + std::to_string(d), x[d], FactorKind::Pass);
    rule.operands[0].push_back({f}), rule.operands[1].push_back({f}), rule.results[0].push_back({f});
  }
  std::vector<std::pair<char, int>> known;
  auto factor = [&](char label, std::int64_t size) {
    for (auto& [l, f] : known)
      if (l == label) {
        if (rule.factors[static_cast<std::size_t>(f)].size != size)
          fail("shape", "a dimension that both arrays share has sizes " +
                            std::to_string(rule.factors[static_cast<std::size_t>(f)].size) + " and " +
                            std::to_string(size) + ": " + runtime::to_string(call.in[0]) + " and " +
                            runtime::to_string(call.in[1]));
        return f;
      }
    bool kept = spec.out.find(label) != std::string_view::npos;
    known.emplace_back(label, add(std::string(1, label), size, kept ? FactorKind::Pass : FactorKind::Reduced));
    return known.back().second;
  };
  for (std::size_t i = 0; i < spec.x.size(); ++i) rule.operands[0].push_back({factor(spec.x[i], x[lead + i])});
  for (std::size_t i = 0; i < spec.y.size(); ++i) rule.operands[1].push_back({factor(spec.y[i], y[lead + i])});
  for (char label : spec.out)
    for (auto& [l, f] : known)
      if (l == label) rule.results[0].push_back({f});
  return rule;
}

// Both sides of the sum split: the result could be whole, split or unreduced, so it has to be said. Batch dimensions
// must agree.
std::optional<std::string> contract_refuses(const OpCall& call, const FactorRule& rule) {
  if (call.attrs.has("out")) return std::nullopt;
  const Type &x = call.in[0], &y = call.in[1];
  std::string both = runtime::to_string(x) + " and " + runtime::to_string(y);
  for (std::size_t i = 0; i < rule.operands[0].size(); ++i)
    for (std::size_t j = 0; j < rule.operands[1].size(); ++j) {
      if (rule.operands[0][i] != rule.operands[1][j]) continue;
      int dx = static_cast<int>(i), dy = static_cast<int>(j);
      bool summed = rule.factors[static_cast<std::size_t>(rule.operands[0][i][0])].kind == FactorKind::Reduced;
      if (summed && is_split(x, dx) && is_split(y, dy))
        return "the product of " + both + " sums over a dimension that is split on both sides (" + axes_text(x, dx) +
               " and " + axes_text(y, dy) +
               "), so its layout is ambiguous: say it with `out: P(...)`, or `shard` an operand first";
      const bool one_whole = call.attrs.has("lenient") && (!is_split(x, dx) || !is_split(y, dy));
      if (!summed && !one_whole && laid_out(x) && laid_out(y) && axes_text(x, dx) != axes_text(y, dy))
        return "the product of " + both +
               " has a batch dimension that is laid out in two ways: `shard` one operand first, or say the result's "
               "layout with `out: P(...)`";
    }
  return std::nullopt;
}

std::string spec_text(std::string_view x, std::string_view y, std::string_view out) {
  return std::string(x) + "," + std::string(y) + "->" + std::string(out);
}

Var contract_transpose(Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
  auto spec = read_spec(n.call.attrs.text("spec"));
  Attrs attrs;
  Vars in;
  if (operand == 0) {
    attrs.set("spec", spec_text(spec.out, spec.y, spec.x));
    in = {ct[0], n.in[1]};
  } else {
    attrs.set("spec", spec_text(spec.x, spec.out, spec.y));
    in = {n.in[0], ct[0]};
  }
  return emit_wanted(b, n.call.op, in, std::move(attrs), want, in);
}

std::vector<Mapped> contract_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t) {
  auto spec = read_spec(call.attrs.text("spec"));
  const char fresh = ir::fresh_letter(std::string(spec.x) + std::string(spec.y));
  std::string x(spec.x), y(spec.y), out = fresh + std::string(spec.out);
  if (in[0].mapped) x = fresh + x;
  if (in[1].mapped) y = fresh + y;
  Attrs attrs = with_mapped_out(b, call.attrs, in);
  attrs.set("spec", spec_text(x, y, out));
  return {{b.emit(call.op, {in[0].var, in[1].var}, attrs).at(0), true}};
}

}  // namespace

void register_contract(OpTable& t) {
  OpDef row = internal_row("contract(x, y, spec: str, out: spec? = none)",
                           "The sum of products that `spec` writes with one letter a dimension: \"bmk,bkn->bmn\".",
                           contract_factors);
  row.dtype.operands = Operands::Promote;
  row.derivative = Transposes{{}, false, contract_transpose};
  row.hlo = contract_hlo;
  row.kernel = [](const KernelCall& call) { return bind_contract_sum(call, 0); };
  row.of_complex = complex::bilinear("contract");
  row.kernel_sum = bind_contract_sum;
  row.copies = contract_copies;
  row.any_order = true;
  row.flops = 2;
  row.explicit_refuses = contract_refuses;
  row.batch = contract_batch;
  row.samples =
      "[4, 6] [6, 8] spec='mk,kn->mn'; [2, 4, 6] [2, 6, 4] spec='bmk,bkn->bmn'; "
      "[2, 4, 6] [6, 8] spec='bmk,kn->bmn'; [4, 2, 6] [8, 2, 6] spec='mbk,nbk->mbn'; "
      "[4, 6] [6, 8] spec='mk,kn->nm'; [2, 4, 2, 6] [2, 8, 2, 6] spec='bqhd,bkhd->bhqk'; "
      "[2, 3, 4] [4, 2, 6] spec='ija,ain->jn'; [6] [6] spec='k,k->'; [4] [6] spec='m,n->mn'; "
      "i32[4, 6] i32[6, 2] spec='mk,kn->mn'; bf16[4, 6] -1..1 bf16[6, 4] -1..1 spec='mk,kn->mn'";
  t.add(std::move(row));
}

}  // namespace shard::stdlib
