// Shard, embedded: the one header that a C++ program includes. It needs the standard library only.
//
//     shard::Engine engine({.devices = 8});
//     engine.run(R"(jit fn step(w, x) = w - 0.1 * x.sum())");
//     shard::Value w = shard::Value::array(shard::Type::f32, {2}, data);
//     w = engine.call("step", {w, shard::Value::number(1.0)});
//
// An engine is an island: two in one process do not meet. It is not thread safe; use one engine a thread, or lock.
// Errors of scripts are thrown as shard::Error, which carries diagnostics as values.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the shared library exports; everything else in it is hidden.
#ifndef SHARD_API
#if defined(__GNUC__)
#define SHARD_API __attribute__((visibility("default")))
#else
#define SHARD_API
#endif
#endif

namespace shard {

// Element types of arrays, with the number of bytes of one element.
enum class Type : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, key };
SHARD_API std::size_t size_of(Type t);
SHARD_API std::string_view name(Type t);  // "f32"

struct Location {
  std::string file;
  int line = 0, column = 0, end_line = 0, end_column = 0;
};  // from 1; end is exclusive
struct Diagnostic {
  std::string code;  // stable: "syntax", "name", "shape", "spec", ...
  std::string message;
  Location where;
  std::vector<std::string> notes;  // facts and advice
  std::string rendered;            // as the command line shows it, without colours
};
class SHARD_API Error : public std::exception {
 public:
  explicit Error(std::vector<Diagnostic> d) : diagnostics(std::move(d)) {}
  const char* what() const noexcept override { return diagnostics.empty() ? "error" : diagnostics[0].message.c_str(); }
  std::vector<Diagnostic> diagnostics;  // at least one
};

// A value of the language. Copies share; arrays are shared with the engine, never copied behind your back.
class SHARD_API Value {
 public:
  Value();  // none
  static Value number(double x);
  static Value integer(std::int64_t x);
  static Value boolean(bool x);
  static Value text(std::string s);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value record(std::vector<std::pair<std::string, Value>> fields);
  // Row-major elements, copied once. Throws std::invalid_argument where bytes.size() does not fit the shape.
  static Value array(Type type, std::vector<std::int64_t> shape, std::span<const std::byte> bytes);
  template <class T>
  static Value array(Type type, std::vector<std::int64_t> shape, std::span<const T> elements) {
    return array(type, std::move(shape), std::as_bytes(elements));
  }

  bool is_none() const;
  bool is_array() const;
  std::optional<double> as_number() const;  // numbers, truth values and arrays of one element
  std::optional<std::string> as_text() const;
  std::vector<Value> items() const;                         // of a list or tuple
  std::optional<Value> field(std::string_view name) const;  // of a record
  // Arrays: type, global shape, layout ("P(@X)"), and the elements in row-major order. `bytes` looks into the array's
  // own memory where that is possible, and stays valid as long as this Value (or a copy) lives.
  Type type() const;
  std::vector<std::int64_t> shape() const;
  std::string layout() const;
  std::span<const std::byte> bytes() const;
  template <class T>
  std::span<const T> elements() const {
    auto b = bytes();
    return {reinterpret_cast<const T*>(b.data()), b.size() / sizeof(T)};
  }
  std::string show() const;  // as print shows it

  struct Impl;
  explicit Value(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

struct Options {
  int devices = 8;  // simulated devices
  // Every sum over devices is the balanced tree by device index: the same mesh gives the same bits in any number of
  // processes. Otherwise a product and the sum of its terms may be one step, faster, in an order of their own.
  bool exact = false;
  std::function<void(std::string_view)> output;            // what print writes; default: standard output
  std::function<void(const Diagnostic&)> errors;           // also told of every error that is thrown; default: nobody
  std::function<bool(const std::string& path)> may_read;   // files that scripts may read; default: none
  std::function<bool(const std::string& path)> may_write;  // files that scripts may make or change; default: none
};

class SHARD_API Engine {
 public:
  explicit Engine(Options options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  Value run(std::string_view text, std::string_view name = "script");  // the value of its last expression
  Value run_file(const std::string& path);
  Value call(std::string_view function, std::vector<Value> arguments);  // a global of the last script, or a builtin
  Value get(std::string_view name) const;                               // a global; throws Error where there is none
  void set(std::string_view name, Value value);                         // a global that scripts run later see
  // A C++ function that scripts call by `name`. An exception it throws becomes an error at the call.
  void define(std::string name, std::string signature, std::function<Value(std::vector<Value>)> function);
  void interrupt();  // from another thread or a signal handler: stops the running script

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shard
