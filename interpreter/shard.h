// Shard, embedded: the one header that a C++ program includes. It needs the standard library only.
//
//     shard::Engine engine({.devices = 8});
//     engine.run(R"(jit fn step(w, x) = w - 0.1 * x.sum())");
//     shard::Value w = shard::Value::array(shard::Type::f32, {2}, data);
//     w = engine.call("step", {w, shard::Value::number(1.0)});
//
// An engine is an island: two in one process do not meet. It is not thread safe; use one engine a thread, or lock.
// Errors of scripts are thrown as shard::Error, which carries diagnostics as values; wrong uses of this interface as
// std::invalid_argument. See interpreter/embed/README.md; for other languages there is shard_c.h.
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
#include <type_traits>
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
enum class Type : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  key,
  c64,
  c128,
  f8_e4m3fn,
  f8_e5m2,
  i4
};
SHARD_API std::size_t size_of(Type t);
SHARD_API std::string_view name(Type t);  // "f32"

struct Location {
  std::string file;
  int line = 0, column = 0, end_line = 0, end_column = 0;
};                     // from 1; end is exclusive
struct Fix {           // text that mends the program where it replaces what stands at `where`
  std::string advice;  // "shard one operand first"
  Location where;
  std::string replacement;
};
struct Frame {
  std::string function;
  Location call;
};  // one call on the way to the error
struct Diagnostic {
  std::string code;  // stable: "syntax", "name", "shape", ...; of limits "memory", "steps", "seconds", "recursion"
  std::string message;
  Location where;
  std::vector<std::string> notes;  // facts and advice
  std::vector<Fix> fixes;
  std::vector<Frame> calls;  // innermost first
  std::string rendered;      // as the command line shows it, without colours
  std::string json;          // the object that `shard check --json` prints of it
  bool warning = false;      // no error: of Options::warnings
};
class SHARD_API Error : public std::exception {
 public:
  explicit Error(std::vector<Diagnostic> d) : diagnostics(std::move(d)) {}
  const char* what() const noexcept override { return diagnostics.empty() ? "error" : diagnostics[0].message.c_str(); }
  std::vector<Diagnostic> diagnostics;  // at least one
};

// What a value is; other: ranges, axes, specs, meshes, types, arrays that are being traced (Engine::define), ...
enum class Kind : std::uint8_t { none, boolean, integer, number, text, list, tuple, record, array, function, other };

template <class T>
class Elements;

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
    check_element(type, numbers_of<T>(), sizeof(T));
    return array(type, std::move(shape), std::as_bytes(elements));
  }
  // Row-major elements that stay where they are: nothing is copied, and `give_back(elements)` is called once, on any
  // thread, when no value and no engine uses them any more. Until then the host may read them; scripts never write
  // there. Aligned to the size of an element. Where this throws, the elements are still the host's.
  static Value adopt(Type type, std::vector<std::int64_t> shape, void* elements, std::function<void(void*)> give_back);

  Kind kind() const;
  bool is_none() const { return kind() == Kind::none; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_function() const { return kind() == Kind::function; }
  std::optional<double> as_number() const;         // numbers, truth values and arrays of one element
  std::optional<std::int64_t> as_integer() const;  // integers alone (also in an array of one element): exact
  std::optional<std::string> as_text() const;
  std::vector<Value> items() const;                           // of a list or tuple
  std::optional<Value> field(std::string_view name) const;    // of a record
  std::vector<std::pair<std::string, Value>> fields() const;  // of a record, in order of writing
  // Arrays: type, global shape, layout ("P(@X)"), and the elements in row-major order: in the array's own memory where
  // that is possible.
  Type type() const;
  std::vector<std::int64_t> shape() const;
  std::string layout() const;
  Elements<std::byte> bytes() const;
  // T is the C++ type of the elements (f16, bf16: std::uint16_t, their bits); throws std::invalid_argument for another.
  template <class T>
  Elements<T> elements() const;
  std::string show() const;  // as print shows it

  struct Impl;
  explicit Value(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  enum class Numbers : std::uint8_t { truth, integer, natural, real };
  template <class T>
  static constexpr Numbers numbers_of() {
    static_assert(std::is_arithmetic_v<T>, "elements are bool, integers, float or double; bytes() gives all others");
    return std::is_same_v<T, bool>       ? Numbers::truth
           : std::is_floating_point_v<T> ? Numbers::real
           : std::is_signed_v<T>         ? Numbers::integer
                                         : Numbers::natural;
  }
  static void check_element(Type type, Numbers numbers, std::size_t size);
  std::span<const std::byte> raw() const;
  std::shared_ptr<Impl> impl_;
};

// Elements of an array, to read: a span that keeps them, also where the value that they are of was a passing one. A
// std::span made of it does not.
template <class T>
class Elements : public std::span<const T> {
 public:
  Elements(std::span<const T> elements, Value of) : std::span<const T>(elements), of_(std::move(of)) {}

 private:
  Value of_;
};

inline Elements<std::byte> Value::bytes() const { return {raw(), *this}; }
template <class T>
Elements<T> Value::elements() const {
  check_element(type(), numbers_of<T>(), sizeof(T));
  const auto all = raw();
  return {{reinterpret_cast<const T*>(all.data()), all.size() / sizeof(T)}, *this};
}

// This process is one of several that run the same scripts, each with an engine; together they have the devices of
// `Options`, as many each. What one engine does, those of all processes do, in the same order; who falls out of step or
// goes is an Error of the code "process" in all of them. See runtime/channel/README.md.
struct Processes {
  int index = 0, count = 0;  // count 0: as the launcher says that started this process (`shard launch -n 4 ./program`,
                             // mpirun, srun); where none did, it is alone
  std::vector<int> links;    // otherwise connected stream sockets, the one to process i at i; the engine takes them
  double timeout = 10;       // seconds: how long one that does not come is waited for
};

// A limit that a script reaches is an Error of the code that the limit has here; the engine is usable afterwards. 0:
// none.
struct Options {
  int devices = 8;  // simulated devices
  // Every sum over devices is the balanced tree by device index: the same mesh gives the same bits in any number of
  // processes. Otherwise a product and the sum of its terms may be one step, faster, in an order of their own.
  bool exact = false;
  // The first operation that makes a nan or an infinity, of operands that hold none, is an Error of the code "nan" on
  // its line, in compiled code and gradients too. Slow: operations run one by one.
  bool debug_nans = false;
  // What runs compiled functions: "lockstep", "exact", "watch", or "xla" for a plug-in of PJRT that is found,
  // "xla:PATH" for one; its devices are then at least `devices`.
  std::string engine;
  std::optional<Processes> processes;            // default: this process is alone, whoever started it
  std::int64_t memory = 0;                       // bytes of arrays that may live at once; besides, what the machine has
  std::int64_t steps = 0;                        // statements, calls and turns of loops in one run or call
  double seconds = 0;                            // of one run or call
  int recursion = 1000;                          // calls of functions of the script that may be open
  std::function<void(std::string_view)> output;  // what print writes; default: standard output
  std::function<void(const Diagnostic&)> errors;  // also told of every error that is thrown; default: nobody
  // Told of what is no error and hardly what was meant (`shard help warnings`), but for these codes; or each is an
  // error.
  std::function<void(const Diagnostic&)> warnings;  // default: nobody
  std::vector<std::string> allow;
  bool deny_warnings = false;
  std::function<bool(const std::string& path)> may_read;   // files that scripts may read; default: none
  std::function<bool(const std::string& path)> may_write;  // files that scripts may make or change; default: none
};

enum class Replace : bool { no, yes };  // whether something that scripts may know already is replaced

class SHARD_API Engine {
 public:
  explicit Engine(Options options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // The value of its last expression. Scripts run in one scope that stays: a later one sees the globals of an earlier
  // one, may assign them and may declare them anew. What shall be apart is a module.
  Value run(std::string_view text, std::string_view name = "script");
  Value run_file(const std::string& path);
  // What `import NAME` gives scripts from now on: the globals of `text`, which runs once, at the first import.
  void module(std::string name, std::string text, Replace replace = Replace::no);
  Value call(std::string_view function, std::vector<Value> arguments);  // a global or a builtin
  Value call(const Value& function, std::vector<Value> arguments);
  Value get(std::string_view name) const;        // a global; throws Error where there is none
  void set(std::string_view name, Value value);  // a global
  // A C++ function that scripts call by `name`. Signature: "(x, times = 1, rest...)", defaults are literals. Whatever
  // it throws becomes an error at the call.
  //
  // Inside of jit, grad and vmap it is called when the script's function is traced, once for each set of types and not
  // in every call, and what it returns is a part of the compiled function. An array that is traced has the kind
  // `other`, type(), shape() and show() ("f32[4]"), may be returned and given to call(), which records what that does;
  // bytes(), elements(), as_number() and as_integer() throw std::invalid_argument, since no values are there. It must
  // not be kept. What needs values, or shall happen each time, is called with what the compiled function returns.
  void define(std::string name, std::string signature, std::function<Value(std::vector<Value>)> function,
              Replace replace = Replace::no);
  // From any thread, or a signal handler: the running script stops with the Error "interrupt"; where none runs, the
  // next one does. interrupt(false) takes back what no script has heard yet.
  void interrupt(bool stop = true) noexcept;
  void set_output(std::function<void(std::string_view)> output);  // as Options::output, from now on

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shard
