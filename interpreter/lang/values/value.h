// What a variable of a script holds. Cheap to copy: containers are shared and copied on write (unique holder: in
// place), so values have value semantics without copies. Arrays, concrete or traced, are trace::Tensor. See native.h
// for functions of the host.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/ir/op.h"
#include "interpreter/trace/tensor.h"

namespace shard::lang {

class Value;
struct Native;   // native.h
struct Wrapped;  // wrapped.h: a function made of a function
struct Closure;  // closure.h: a function of the script and the scope it was written in
struct Loader;   // an iterable of the host, e.g. batches (native.h)

struct None {
  bool operator==(const None&) const = default;
};
struct Range {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};
struct Axis {
  std::vector<std::string> names;
  bool operator==(const Axis&) const = default;
};  // @X, @(a, b)
// P(...) with its names: it meets a mesh when it is used. An entry: axes by name (major first), or open.
struct SpecEntry {
  std::vector<std::string> axes;
  bool open = false;
  bool operator==(const SpecEntry&) const = default;
};
struct Spec {
  std::vector<SpecEntry> dims;
  std::vector<std::string> unreduced, reduced;
  std::string kind;  // "", "max", "min": of unreduced
  bool operator==(const Spec&) const = default;
};
struct MeshValue {
  runtime::MeshRef mesh;
};
struct Device {
  int id = 0;
  bool operator==(const Device&) const = default;
};
// A string with parts that only a run of the traced program has: text, value, text, ... (texts.size() == values.size()
// + 1).
struct DeferredString {
  std::vector<std::string> texts;
  std::vector<trace::Tensor> values;
  std::vector<std::string> formats;
};

// Containers let go of what they hold without recursion: a script may nest them as deep as memory goes.
inline constexpr int kMaxNesting =
    5000;  // deeper trees can be held but not walked (printed, compared, mapped over): an error
struct List {
  std::vector<Value> items;
  ~List();
};
struct Tuple {
  std::vector<Value> items;
  ~Tuple();
};
struct Record {  // fields in order of writing; few, so looked up one by one
  std::vector<std::pair<std::string, Value>> fields;
  ~Record();
  std::shared_ptr<const Record>
      unshown;  // further fields that can be read but are not printed or counted (comm's zeros); may be null
  const Value* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

class Value {
 public:
  using Variant =
      std::variant<None, bool, std::int64_t, double, std::shared_ptr<const std::string>, trace::Tensor,
                   std::shared_ptr<List>, std::shared_ptr<Tuple>, std::shared_ptr<Record>,
                   std::shared_ptr<const Closure>, std::shared_ptr<const Native>, std::shared_ptr<const Wrapped>,
                   const ir::OpDef*, std::shared_ptr<const Axis>, std::shared_ptr<const Spec>,
                   std::shared_ptr<const MeshValue>, runtime::DType, std::shared_ptr<const runtime::Type>, Range,
                   Device, std::shared_ptr<const DeferredString>, std::shared_ptr<Loader>>;
  Value() noexcept : v_(std::in_place_index<0>) {}  // an index is written, and nothing else
  // None, bools and numbers are copied and dropped here, all else in value.cpp: that keeps loops over numbers short,
  // and what a file that includes this costs to compile.
  Value(const Value& o) { o.is_plain() ? make_plain(o) : make(o); }
  Value(Value&& o) noexcept { o.is_plain() ? make_plain(o) : make(std::move(o)); }
  Value& operator=(const Value& o) {
    is_plain() && o.is_plain() ? make_plain(o) : assign(o);
    return *this;
  }
  Value& operator=(Value&& o) noexcept {
    is_plain() && o.is_plain() ? make_plain(o) : assign(std::move(o));
    return *this;
  }
  ~Value() {
    if (!is_plain()) drop();
  }
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Value> && std::is_constructible_v<Variant, T>) Value(T&& v)
      : v_(std::forward<T>(v)) {}
  template <class T>
  requires(std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
           std::is_same_v<T, double>) void put(T x) noexcept {
    if (!is_plain()) drop();
    std::construct_at(&v_, std::in_place_type<T>, x);
  }
  void let_go() noexcept {  // of what it shares with others: none then, or the number that it was
    if (is_plain()) return;
    drop();
    std::construct_at(&v_, std::in_place_index<0>);
  }
  static Value string(std::string s) { return Value(std::make_shared<const std::string>(std::move(s))); }
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value record(std::vector<std::pair<std::string, Value>> fields);

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v_);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&v_);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&v_);
  }
  bool is_none() const { return is<None>(); }
  bool is_host_number() const { return is<std::int64_t>() || is<double>(); }  // bool is no number
  bool is_string() const { return is<std::shared_ptr<const std::string>>(); }
  const std::string& str() const { return **get<std::shared_ptr<const std::string>>(); }
  bool is_tensor() const { return is<trace::Tensor>(); }
  const trace::Tensor& tensor() const { return *get<trace::Tensor>(); }
  // Children of a list, tuple or record; null for leaves.
  const std::vector<Value>* items() const;  // list or tuple
  const Record* fields() const;
  Value with_items(std::vector<Value> items) const;  // a list or tuple, as this one is, of others
  bool callable() const;
  const Variant& variant() const { return v_; }

 private:
  bool is_plain() const noexcept { return v_.index() < 4; }  // alternatives without a destructor
  template <std::size_t I>
  void make_plain(const Value& o) noexcept {
    std::construct_at(&v_, std::in_place_index<I>, *std::get_if<I>(&o.v_));
  }
  void make_plain(const Value& o) noexcept {  // over nothing, or over a plain one
    switch (o.v_.index()) {
      case 0: return make_plain<0>(o);
      case 1: return make_plain<1>(o);
      case 2: return make_plain<2>(o);
      default: return make_plain<3>(o);
    }
  }
  void make(const Value& o);
  void make(Value&& o) noexcept;
  void assign(const Value& o);
  void assign(Value&& o) noexcept;
  [[gnu::noinline]] void drop() noexcept;

  union {
    Variant v_;
  };
};

// Containers in place where nobody else holds them, else copied first.
std::vector<Value>& own_items(Value& v);
Record& own_fields(Value& v);

[[noreturn]] void too_deep();                // RuntimeError("value"): the tree nests deeper than kMaxNesting
std::string kind_name(const Value& v);       // "list", "f32[2,3]", "function": for messages
bool equal(const Value& a, const Value& b);  // structural `==` (not for arrays)

}  // namespace shard::lang
