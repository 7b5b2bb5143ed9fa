#include "interpreter/hlo/writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace shard::hlo {
namespace {

using Numbers = std::span<const std::int64_t>;

std::string_view element(DType t) {
  constexpr std::string_view names[runtime::kDTypes] = {
      "i1",   "i8",  "i16", "i32",  "i64",          "ui8",          "ui16",     "ui32",   "ui64", "f16",
      "bf16", "f32", "f64", "ui64", "complex<f32>", "complex<f64>", "f8E4M3FN", "f8E5M2", "i4"};
  return names[static_cast<std::size_t>(t)];
}

std::string joined(Numbers numbers) {
  std::string out;
  for (auto n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

std::string property(std::string_view name, Numbers numbers) { return std::string(name) + " = " + list_text(numbers); }

std::string types(std::span<const Value> values) {
  std::string out;
  for (const Value& v : values) out += (out.empty() ? "" : ", ") + type_text(v.dtype, v.shape);
  return out;
}

std::string_view not_finite(DType t, bool nan, bool negative) {
  switch (t) {
    case DType::F8E4M3: return nan ? "0x7F" : negative ? "0xFE" : "0x7E";
    case DType::F8E5M2: return nan ? "0x7E" : negative ? "0xFC" : "0x7C";
    case DType::F16: return nan ? "0x7E00" : negative ? "0xFC00" : "0x7C00";
    case DType::BF16: return nan ? "0x7FC0" : negative ? "0xFF80" : "0x7F80";
    case DType::F64: return nan ? "0x7FF8000000000000" : negative ? "0xFFF0000000000000" : "0x7FF0000000000000";
    default: return nan ? "0x7FC00000" : negative ? "0xFF800000" : "0x7F800000";
  }
}

}  // namespace

std::string type_text(DType dtype, const Shape& shape) {
  std::string out = "tensor<";
  for (auto n : shape) out += std::to_string(n) + "x";
  return out.append(element(dtype)) + ">";
}

std::string list_text(Numbers numbers) {
  return numbers.empty() ? "array<i64>" : "array<i64: " + joined(numbers) + ">";
}

std::string precise() { return "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"; }

std::string number_text(DType dtype, double x) {
  if (dtype == DType::Bool) return x != 0 ? "true" : "false";
  if (runtime::is_complex(dtype))
    return "(" + number_text(runtime::part_of(dtype), x) + ", " + number_text(runtime::part_of(dtype), 0) + ")";
  if (!runtime::is_float(dtype)) return std::to_string(static_cast<std::int64_t>(x));
  if (!std::isfinite(x)) return std::string(not_finite(dtype, std::isnan(x), x < 0));
  char text[40];
  std::string out(text, std::to_chars(text, text + sizeof text, x, std::chars_format::scientific).ptr);
  if (out.find('.') == std::string::npos) out.insert(out.find('e'), ".0");
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32) {
      char code[4];
      std::snprintf(code, sizeof code, "\\%02X", static_cast<unsigned char>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Value Value::number(double x) const { return to->constant(dtype, shape, x); }

void Writer::write(std::string_view results, std::string_view name, std::span<const Value> in,
                   std::string_view attributes, std::string_view regions, const std::string& result_types) {
  std::string text(results);
  if (!text.empty()) text += " = ";
  text.append("\"").append(name).append("\"(");
  for (const Value& v : in) text.append(&v == in.data() ? "" : ", ").append(name_of(v));
  text += ")";
  if (!attributes.empty()) text.append(" <{").append(attributes).append("}>");
  if (!regions.empty()) text.append(" (").append(regions).append(")");
  line(text + " : (" + types(in) + ") -> " + result_types + location_);
}

Value Writer::op(std::string_view name, std::span<const Value> in, DType dtype, Shape shape,
                 std::string_view attributes, std::string_view regions) {
  Value made{this, fresh(), dtype, std::move(shape)};
  write(made.name, name, in, attributes, regions, type_text(made.dtype, made.shape));
  return made;
}

Values Writer::ops(std::string_view name, std::span<const Value> in, std::span<const Value> like,
                   std::string_view attributes, std::string_view regions) {
  const std::string first = like.empty() ? "" : fresh();
  Values made;
  for (const Value& v : like)
    made.push_back({this, like.size() == 1 ? first : first + "#" + std::to_string(made.size()), v.dtype, v.shape});
  write(like.size() > 1 ? first + ":" + std::to_string(like.size()) : first, name, in, attributes, regions,
        like.size() == 1 ? types(like) : "(" + types(like) + ")");
  return made;
}

Value Writer::dense(DType dtype, Shape shape, std::string_view elements) {
  const std::string value =
      "value = dense<" + std::string(runtime::numel(shape) == 0 ? "" : elements) + "> : " + type_text(dtype, shape);
  return op("stablehlo.constant", {}, dtype, std::move(shape), value);
}

Value Writer::constant(DType dtype, Shape shape, double x) {
  return dense(dtype, std::move(shape), number_text(dtype, x));
}

Value Writer::integer(DType dtype, Shape shape, std::int64_t x) {
  if (runtime::is_inexact(dtype) || dtype == DType::Bool)
    return constant(dtype, std::move(shape), static_cast<double>(x));
  if (runtime::is_signed(dtype)) return dense(dtype, std::move(shape), std::to_string(x));
  const int bits = runtime::bits_of(dtype);  // -1 is all of them
  return dense(dtype, std::move(shape),
               std::to_string(static_cast<std::uint64_t>(x) & ~std::uint64_t{0} >> (64 - bits)));
}

std::string Writer::name_of(const Value& v) {
  if (!v.cut) return v.name;
  const Cut& cut = *v.cut;  // what was written in a region that is closed is not seen here
  if (cut.name.empty() || std::find(regions_.begin(), regions_.end(), cut.region) == regions_.end()) {
    cut.name = cut.write(v).name;
    cut.region = regions_.back();
  }
  return cut.name;
}

Values Writer::begin(std::span<const Value> like) {
  regions_.push_back(++region_);
  open_.push_back(std::move(out_));
  out_.clear();
  indent_ += 2;
  Values made;
  std::string text;
  for (const Value& v : like) {
    made.push_back({this, fresh(), v.dtype, v.shape});
    text += (text.empty() ? "" : ", ") + made.back().name + ": " + type_text(v.dtype, v.shape);
  }
  if (!like.empty()) out_ = std::string(indent_ - 2, ' ') + "^bb0(" + text + "):\n";
  return made;
}

std::string Writer::end(std::span<const Value> results, std::string_view terminator) {
  write({}, terminator, results, {}, {}, "()");
  indent_ -= 2;
  std::string text = "{\n" + std::move(out_) + std::string(indent_, ' ') + "}";
  out_ = std::move(open_.back());
  open_.pop_back();
  regions_.pop_back();
  return text;
}

std::string Writer::combining(std::string_view op, DType dtype) {
  const Values scalars(2, Value{this, {}, dtype, {}});
  const Values in = begin(scalars);
  const Value made = binary(op, in[0], in[1]);
  return end({&made, 1});
}

Value unary(std::string_view op, const Value& x) {
  return x.to->op("stablehlo." + std::string(op), {x}, op == "is_finite" ? DType::Bool : x.dtype, x.shape);
}

Value binary(std::string_view op, const Value& x, const Value& y) {
  return x.to->op("stablehlo." + std::string(op), {x, y}, x.dtype, x.shape);
}

Value compare(const Value& x, const Value& y, std::string_view direction) {
  return x.to->op("stablehlo.compare", {x, y}, DType::Bool, x.shape,
                  "comparison_direction = #stablehlo<comparison_direction " + std::string(direction) + ">");
}

Value select(const Value& c, const Value& x, const Value& y) {
  return x.to->op("stablehlo.select", {c, x, y}, x.dtype, x.shape);
}

Value convert(const Value& x, DType dtype) {
  return x.dtype == dtype ? x : x.to->op("stablehlo.convert", {x}, dtype, x.shape);
}

Value bitcast(const Value& x, DType dtype, Shape shape) {
  return x.to->op("stablehlo.bitcast_convert", {x}, dtype, std::move(shape));
}

Value reshape(const Value& x, Shape shape) {
  return x.shape == shape ? x : x.to->op("stablehlo.reshape", {x}, x.dtype, std::move(shape));
}

Value spread(const Value& x, Shape shape, Numbers dims) {
  return x.to->op("stablehlo.broadcast_in_dim", {x}, x.dtype, std::move(shape), property("broadcast_dimensions", dims));
}

Value broadcast(const Value& x, const Shape& shape) {
  if (x.shape == shape) return x;
  ir::Ints dims(x.shape.size());
  std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(shape.size() - x.shape.size()));
  return spread(x, shape, dims);
}

Value transpose(const Value& x, Numbers perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  Shape shape;
  for (auto d : perm) shape.push_back(x.shape[static_cast<std::size_t>(d)]);
  return x.to->op("stablehlo.transpose", {x}, x.dtype, std::move(shape), property("permutation", perm));
}

Value slice(const Value& x, Numbers start, Numbers limit, Numbers step) {
  Shape shape;
  for (std::size_t d = 0; d < start.size(); ++d)
    shape.push_back(limit[d] <= start[d] ? 0 : (limit[d] - start[d] + step[d] - 1) / step[d]);
  return x.to->op(
      "stablehlo.slice", {x}, x.dtype, std::move(shape),
      property("start_indices", start) + ", " + property("limit_indices", limit) + ", " + property("strides", step));
}

Value part(const Value& x, int dim, std::int64_t from, std::int64_t to) {
  ir::Ints start(x.shape.size(), 0), limit = x.shape;
  const ir::Ints step(x.shape.size(), 1);
  start[static_cast<std::size_t>(dim)] = from;
  limit[static_cast<std::size_t>(dim)] = to;
  return limit == x.shape && from == 0 ? x : slice(x, start, limit, step);
}

Value pad(const Value& x, const Value& with, Numbers low, Numbers high, Numbers interior) {
  Shape shape = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    shape[d] += low[d] + high[d] + (shape[d] > 0 ? (shape[d] - 1) * interior[d] : 0);
  return x.to->op("stablehlo.pad", {x, with}, x.dtype, std::move(shape),
                  property("edge_padding_low", low) + ", " + property("edge_padding_high", high) + ", " +
                      property("interior_padding", interior));
}

Value concatenate(std::span<const Value> xs, int dim) {
  if (xs.size() == 1) return xs[0];
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = xs[0].shape;
  shape[d] = 0;
  for (const Value& x : xs) shape[d] += x.shape[d];
  return xs[0].to->op("stablehlo.concatenate", xs, xs[0].dtype, std::move(shape),
                      "dimension = " + std::to_string(dim) + " : i64");
}

Value iota(Writer& to, DType dtype, Shape shape, int dim) {
  return to.op("stablehlo.iota", {}, dtype, std::move(shape), "iota_dimension = " + std::to_string(dim) + " : i64");
}

Value reverse(const Value& x, Numbers dims) {
  return x.to->op("stablehlo.reverse", {x}, x.dtype, x.shape, property("dimensions", dims));
}

Value limit_of(Writer& to, DType dtype, bool largest) {
  if (runtime::is_float(dtype)) return to.constant(dtype, {}, largest ? HUGE_VAL : -HUGE_VAL);
  if (dtype == DType::Bool) return to.constant(dtype, {}, largest);
  const int bits = runtime::bits_of(dtype);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  if (!runtime::is_signed(dtype)) return to.integer(dtype, {}, largest ? static_cast<std::int64_t>(all) : 0);
  const auto top = static_cast<std::int64_t>(all >> 1);
  return to.integer(dtype, {}, largest ? top : -top - 1);
}

Value reduced(const Value& x, runtime::Reduce how, Numbers dims) {
  using runtime::Reduce;
  if (dims.empty()) return x;
  Shape shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) == dims.end()) shape.push_back(x.shape[d]);
  constexpr std::string_view names[] = {"add", "multiply", "maximum", "minimum", "and", "or"};
  const std::string_view op = names[static_cast<std::size_t>(how)];
  const bool extreme = how == Reduce::Max || how == Reduce::Min;
  const Value first = extreme ? limit_of(*x.to, x.dtype, how == Reduce::Min)
                              : x.to->constant(x.dtype, {}, how == Reduce::Prod || how == Reduce::And);
  const std::string region = x.to->combining(op, x.dtype);
  return x.to->op("stablehlo.reduce", {x, first}, x.dtype, std::move(shape), property("dimensions", dims), region);
}

Value dynamic_slice(const Value& x, std::span<const Value> starts, Shape sizes) {
  Values in{x};
  in.insert(in.end(), starts.begin(), starts.end());
  const std::string attributes = property("slice_sizes", sizes);
  return x.to->op("stablehlo.dynamic_slice", in, x.dtype, std::move(sizes), attributes);
}

Value dynamic_update(const Value& x, const Value& part, std::span<const Value> starts) {
  Values in{x, part};
  in.insert(in.end(), starts.begin(), starts.end());
  return x.to->op("stablehlo.dynamic_update_slice", in, x.dtype, x.shape);
}

Value operator+(const Value& x, const Value& y) { return binary("add", x, y); }
Value operator-(const Value& x, const Value& y) { return binary("subtract", x, y); }
Value operator*(const Value& x, const Value& y) { return binary("multiply", x, y); }
Value operator/(const Value& x, const Value& y) { return binary("divide", x, y); }

}  // namespace shard::hlo
