// StableHLO as text: values by name, one operation a line in the generic form (which changes least between versions),
// and helpers for the operations that emitters are made of. A row's emitter (the column `hlo`, ir/op.h) gets a `Use`
// and writes what the row is; nothing here knows a row.
#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/ir/attrs.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/kernels.h"
#include "runtime/mesh/type.h"

namespace shard::hlo {

using runtime::DType;
using runtime::Shape;

class Writer;
struct Cut;
struct Product;

struct Value {  // a tensor in the text; a key is one ui64 (its first word the low half)
  Writer* to = nullptr;
  std::string name = {};
  DType dtype = DType::F32;
  Shape shape = {};
  std::shared_ptr<const Cut> cut = {};          // windows: no name before they are needed
  std::shared_ptr<const Product> product = {};  // what it was made of
  int rank() const { return static_cast<int>(shape.size()); }
  Value number(double x) const;  // of its type and shape
};
using Values = std::vector<Value>;

// Windows [lead..., places..., window..., behind...] of an array [lead..., n..., behind...], written where somebody
// first takes them as they are; a product takes the array, and is a convolution.
struct Cut {
  Value from;
  std::size_t lead = 0, count = 0;  // dimensions
  ir::Ints stride, dilation;
  ir::Pairs padding;  // zeros, fewer than none take elements away
  Value (*write)(const Value& windows) = nullptr;
  mutable std::string name = {};  // once they are written, in this region
  mutable int region = 0;
};

struct Lettered {  // an operand of a product: a letter a dimension
  Value value;
  std::string letters;
  std::int64_t place(char letter) const { return static_cast<std::int64_t>(letters.find(letter)); }
  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  std::int64_t size(char letter) const { return value.shape[letters.find(letter)]; }
};

// Whoever adds up the windows that a product gives takes its operands, and is a convolution; readers then drop the
// product, as nobody takes it.
struct Product {
  Lettered x, y;
  std::string letters;  // of the result
};

// One use of an operation: what a row's emitter sees.
struct Use {
  Writer& to;
  const ir::Attrs& attrs;
  std::span<const Value> in;
  std::span<const runtime::Type> out;  // of the results
};

std::string type_text(DType dtype, const Shape& shape);        // "tensor<4x2xf32>"
std::string list_text(std::span<const std::int64_t> numbers);  // "array<i64: 1, 2>"
std::string precise();                           // of a product: what engines would else compute in fewer bits
std::string number_text(DType dtype, double x);  // as it stands in `dense<...>`
std::string quoted(std::string_view text);       // with MLIR's escapes

class Writer {
 public:
  // `"name"(in) <{attributes}> (regions) : types loc(...)`
  Value op(std::string_view name, std::span<const Value> in, DType dtype, Shape shape, std::string_view attributes = {},
           std::string_view regions = {});
  Value op(std::string_view name, std::initializer_list<Value> in, DType dtype, Shape shape,
           std::string_view attributes = {}, std::string_view regions = {}) {
    return op(name, std::span(in.begin(), in.size()), dtype, std::move(shape), attributes, regions);
  }
  // With any number of results, of the types of `like`.
  Values ops(std::string_view name, std::span<const Value> in, std::span<const Value> like,
             std::string_view attributes = {}, std::string_view regions = {});
  Value constant(DType dtype, Shape shape, double x);
  Value integer(DType dtype, Shape shape, std::int64_t x);
  Value dense(DType dtype, Shape shape, std::string_view elements);

  // A region: what is written between begin and end goes into it. `like`: the types of its parameters.
  Values begin(std::span<const Value> like);
  std::string end(std::span<const Value> results, std::string_view terminator = "stablehlo.return");
  // A region that combines two elements by one operation.
  std::string combining(std::string_view op, DType dtype);

  void set_location(std::string text) { location_ = std::move(text); }  // of the lines that follow
  void line(const std::string& text) { out_ += std::string(indent_, ' ') + text + "\n"; }
  void indent(int by) { indent_ += static_cast<std::size_t>(by); }
  std::string name_of(const Value& v);  // in the text; writes windows that were not
  std::string fresh() { return "%" + std::to_string(next_++); }
  std::string take() { return std::move(out_); }
  const std::string& location() const { return location_; }

  bool partitions = false;  // devices are partitions of one module, not replicas of it
  int collectives = 0;      // written so far

 private:
  void write(std::string_view results, std::string_view name, std::span<const Value> in, std::string_view attributes,
             std::string_view regions, const std::string& result_types);
  std::string out_, location_ = " loc(unknown)";
  std::vector<std::string> open_;  // what was written before each open region
  std::vector<int> regions_{0};    // that are open, by number
  int region_ = 0;
  std::size_t indent_ = 0;
  int next_ = 0;
};

// ---- operations; shapes must agree where nothing else is said
Value unary(std::string_view op, const Value& x);  // "tanh"
Value binary(std::string_view op, const Value& x, const Value& y);
Value compare(const Value& x, const Value& y, std::string_view direction);  // "LT": a truth value
Value select(const Value& c, const Value& x, const Value& y);
Value convert(const Value& x, DType dtype);  // x itself where nothing changes
Value bitcast(const Value& x, DType dtype, Shape shape);
Value reshape(const Value& x, Shape shape);
Value spread(const Value& x, Shape shape, std::span<const std::int64_t> dims);  // dimension i of x becomes dims[i]
Value broadcast(const Value& x, const Shape& shape);                            // as NumPy does
Value transpose(const Value& x,
                std::span<const std::int64_t> perm);  // positions from the front; x itself where none changes
Value slice(const Value& x, std::span<const std::int64_t> start, std::span<const std::int64_t> limit,
            std::span<const std::int64_t> step);
Value part(const Value& x, int dim, std::int64_t from, std::int64_t to);  // along one dimension
Value pad(const Value& x, const Value& with, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
          std::span<const std::int64_t> interior);
Value concatenate(std::span<const Value> xs, int dim);
Value iota(Writer& to, DType dtype, Shape shape, int dim);
Value reverse(const Value& x, std::span<const std::int64_t> dims);
Value reduced(const Value& x, runtime::Reduce how, std::span<const std::int64_t> dims);
Value limit_of(Writer& to, DType dtype, bool largest);  // a scalar: the largest or smallest value of the type
Value dynamic_slice(const Value& x, std::span<const Value> starts, Shape sizes);
Value dynamic_update(const Value& x, const Value& part, std::span<const Value> starts);

// A loop over what is carried: `more` of it says whether there is one more turn, `turn` of it gives the next.
template <class More, class Turn>
Values repeated(Writer& to, const Values& start, More more, Turn turn) {
  const Value verdict = more(to.begin(start));
  const std::string condition = to.end({&verdict, 1});
  const Values next = turn(to.begin(start));
  return to.ops("stablehlo.while", start, start, {}, condition + ", " + to.end(next));
}

Value operator+(const Value& x, const Value& y);
Value operator-(const Value& x, const Value& y);
Value operator*(const Value& x, const Value& y);
Value operator/(const Value& x, const Value& y);
inline Value operator+(const Value& x, double y) { return x + x.number(y); }
inline Value operator-(const Value& x, double y) { return x - x.number(y); }
inline Value operator*(const Value& x, double y) { return x * x.number(y); }
inline Value operator/(const Value& x, double y) { return x / x.number(y); }
inline Value less(const Value& x, double y) { return compare(x, x.number(y), "LT"); }
inline Value both(const Value& x, const Value& y) { return binary("and", x, y); }
inline Value either(const Value& x, const Value& y) { return binary("or", x, y); }

// "engine xla has no `what`: why", as RuntimeError("engine"); the walk adds the span.
[[noreturn]] void refuse(const std::string& what, std::string_view why);

// An elementwise code, its operands of one shape: code_text.cpp.
Value of_code(runtime::Code code, std::span<const Value> in, DType out);

}  // namespace shard::hlo
