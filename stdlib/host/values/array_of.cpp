// Nested lists of numbers to one array: finds the shape (or the place where the lists are ragged), the element type by
// JAX's defaults, and fills the memory in one pass. Lists that hold arrays, concrete or traced, are stacked by
// operations.
#include <cmath>
#include <limits>

#include "interpreter/lang/values/value_text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::Range;

// What the leaves are: the shape of the lists, which kinds of numbers occur, whether arrays do.
struct Survey {
  Shape shape;
  bool floats = false, integers = false, truths = false, tensors = false;
};

class Surveyor {
 public:
  Surveyor(Interpreter& in, grammar::Span span) : in_(in), span_(span) {}

  Survey survey(const Value& v) {
    walk(v, 0);
    return out_;
  }

 private:
  std::string place() const {
    std::string s;
    for (std::size_t i : path_) s += "[" + std::to_string(i) + "]";
    return s.empty() ? "here" : "at " + s;
  }

  void walk(const Value& v, std::size_t depth) {
    if (v.items()) {
      if (depth >= static_cast<std::size_t>(runtime::kMaxRank))
        in_.fail("shape", span_, "lists nested deeper than 16 make no array");
      enter(static_cast<std::int64_t>(v.items()->size()), depth);
      for (std::size_t i = 0; i < v.items()->size(); ++i) {
        path_.push_back(i);
        walk((*v.items())[i], depth + 1);
        path_.pop_back();
      }
      return;
    }
    if (const Range* r = v.get<Range>()) {
      enter(std::max<std::int64_t>(0, r->end - r->begin), depth);
      leaf(depth + 1);
      out_.integers = true;
      return;
    }
    if (v.is<double>())
      out_.floats = true;
    else if (v.is<std::int64_t>())
      out_.integers = true;
    else if (v.is<bool>())
      out_.truths = true;
    else if (v.is_tensor())
      out_.tensors = true;
    else
      in_.fail("type", span_, "an array is made of numbers, and " + place() + " is " + lang::kind_name(v));
    if (!v.is_tensor()) leaf(depth);
  }

  void enter(std::int64_t size, std::size_t depth) {  // a list at this depth
    if (leaf_depth_ && depth >= *leaf_depth_) ragged("a list " + place() + " where others have a number");
    if (out_.shape.size() <= depth)
      out_.shape.push_back(size);
    else if (out_.shape[depth] != size)
      ragged("the list " + place() + " has " + std::to_string(size) + " items, the one before has " +
             std::to_string(out_.shape[depth]));
  }

  void leaf(std::size_t depth) {
    if (leaf_depth_ ? *leaf_depth_ != depth : depth < out_.shape.size())
      ragged("there is a number " + place() + " where others have a list");
    leaf_depth_ = depth;
  }

  [[noreturn]] void ragged(const std::string& why) {
    in_.fail("shape", span_, "these lists do not make an array: " + why, {"all rows need the same length"});
  }

  Interpreter& in_;
  grammar::Span span_;
  Survey out_;
  std::vector<std::size_t> path_;
  std::optional<std::size_t> leaf_depth_;
};

std::pair<std::int64_t, std::uint64_t> limits(DType t) {
  const int bits = runtime::bits_of(t);
  if (runtime::is_signed(t)) return {-(std::int64_t{1} << (bits - 2)) * 2, (std::uint64_t{1} << (bits - 1)) - 1};
  return {0, bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1};
}

class Filler {
 public:
  Filler(Interpreter& in, DType dtype, bool asked, grammar::Span span, char* data)
      : in_(in), dtype_(dtype), asked_(asked), span_(span), data_(data) {}

  void fill(const Value& v) {
    if (v.items()) {
      for (const Value& x : *v.items()) fill(x);
    } else if (const Range* r = v.get<Range>()) {
      for (std::int64_t i = r->begin; i < r->end; ++i) put(i);
    } else if (auto* d = v.get<double>()) {
      put(*d);
    } else if (auto* i = v.get<std::int64_t>()) {
      put(*i);
    } else {
      put(std::int64_t{*v.get<bool>()});
    }
  }

 private:
  void put(std::int64_t i) {
    if (runtime::is_integer(dtype_)) {
      const auto [low, high] = limits(dtype_);
      if (i < low || (i > 0 && static_cast<std::uint64_t>(i) > high)) {
        const std::string name(runtime::name(dtype_));
        in_.fail("value", span_, std::to_string(i) + " does not fit in " + name,
                 note_if(!asked_, "integers are i32 unless said otherwise: array(..., i64)"));
      }
    }
    write(static_cast<double>(i), i);
  }

  void put(double d) {
    std::int64_t i = d != 0;            // of a truth value
    if (runtime::is_integer(dtype_)) {  // asked for: cut off and clamped, as a cast does
      const auto [low, high] = limits(dtype_);
      i = std::isnan(d)                    ? 0
          : d <= static_cast<double>(low)  ? low
          : d >= static_cast<double>(high) ? static_cast<std::int64_t>(high)
                                           : static_cast<std::int64_t>(d);
    }
    write(d, i);
  }

  void write(double d, std::int64_t i) {
    runtime::store_element(dtype_, d, i, data_);
    data_ += runtime::size_of(dtype_);
  }

  Interpreter& in_;
  DType dtype_;
  bool asked_;
  grammar::Span span_;
  char* data_;
};

Tensor stacked(Interpreter& in, const Value& v, grammar::Span span) {
  if (!v.items()) return v.is<Range>() ? array_of(in, v, std::nullopt, span) : in.tensor(v, span);
  if (v.items()->empty()) in.fail("shape", span, "an empty list among arrays makes no array");
  std::vector<Value> parts;
  for (const Value& x : *v.items()) parts.emplace_back(stacked(in, x, span));
  return call_row(in, "stack", {Value::list(std::move(parts))}, span).tensor();
}

}  // namespace

Tensor as_array(Interpreter& in, const Value& v, grammar::Span span) {
  return v.is_tensor() ? v.tensor() : array_of(in, v, std::nullopt, span);
}

ArrayRef on_host(Interpreter& in, const Tensor& x, std::string_view what) {
  return runtime::to_host(in.context().pool(), in.context().concrete(x, what));
}

Tensor converted(Interpreter& in, const Tensor& x, DType dtype, bool weak) {
  if (x.type().dtype == dtype && x.type().weak == weak) return x;
  return in.context().apply1(*in.context().table().core().convert, {x}, {{"dtype", dtype}, {"weak", weak}});
}

Tensor new_array(Interpreter& in, DType dtype, Shape shape, const void* data) {
  return Tensor(runtime::from_host(in.context().pool(), dtype, std::move(shape), data));
}

Tensor array_of(Interpreter& in, const Value& v, std::optional<DType> asked, grammar::Span span) {
  const Survey s = Surveyor(in, span).survey(v);
  if (asked == DType::Key) in.fail("type", span, "keys are made by key(seed)");
  if (s.tensors) {
    const Tensor t = stacked(in, v, span);
    return converted(in, t, asked.value_or(t.type().dtype));
  }
  const bool empty = !s.floats && !s.integers && !s.truths;
  const DType dtype = asked.value_or(s.floats || empty ? DType::F32 : s.integers ? DType::I32 : DType::Bool);
  const auto size = static_cast<std::size_t>(runtime::checked_bytes(s.shape, runtime::size_of(dtype)));
  std::string data(size, '\0');
  Filler(in, dtype, asked.has_value(), span, data.data()).fill(v);
  return new_array(in, dtype, s.shape, data.data());
}

}  // namespace shard::stdlib
