// shard.h as a host sees it: values in and out, functions of the host, errors as values, engines that do not meet.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "interpreter/shard.h"

using shard::Engine;
using shard::Value;

namespace {
std::vector<float> numbers(std::size_t n) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}
}  // namespace

TEST_CASE("arrays go in and come out", "[embed]") {
  Engine engine({.devices = 4});
  engine.run("mesh m = (@X: 4)\njit fn twice(x: P(@X)) = x * 2");
  auto data = numbers(8);
  Value y = engine.call("twice", {Value::array<float>(shard::Type::f32, {4, 2}, data)});
  REQUIRE(y.is_array());
  CHECK(y.type() == shard::Type::f32);
  CHECK(y.shape() == std::vector<std::int64_t>{4, 2});
  CHECK(y.layout() == "P(@X)");
  auto out = y.elements<float>();
  REQUIRE(out.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == 2.0f * static_cast<float>(i));
  CHECK(y.elements<float>().data() == out.data());  // the same memory when asked again
}

TEST_CASE("an exact engine adds the terms of all devices in one order", "[embed]") {
  // 1 and seven times h, half a unit in its last place: (1 + 2h) + 4h.
  Engine engine({.devices = 8, .exact = true});
  engine.run("mesh m = (@X: 8)\njit fn f(x) = (shard x as P(_, @X)) @ (shard ones([8, 1]) as P(@X))");
  std::vector<float> x(8, 0x1p-24f);
  x[0] = 1;
  CHECK(engine.call("f", {Value::array<float>(shard::Type::f32, {1, 8}, x)}).elements<float>()[0] == 1 + 6 * 0x1p-24f);
}

TEST_CASE("a whole array is read without a copy", "[embed]") {
  Engine engine;
  Value x = engine.run("arange(6.0)");
  CHECK(x.elements<float>().data() == Value(x).elements<float>().data());
  CHECK(x.show() == "[0. 1. 2. 3. 4. 5.]");
}

TEST_CASE("host values", "[embed]") {
  Engine engine;
  Value r = engine.run("{n: 3, name: \"a\", parts: [1.5, none]}");
  CHECK(r.field("n")->as_number() == 3);
  CHECK(r.field("name")->as_text() == "a");
  CHECK(r.field("parts")->items().size() == 2);
  CHECK(r.field("parts")->items()[1].is_none());
  CHECK_FALSE(r.field("missing").has_value());
  Value sum = engine.call("sum", {Value::list({Value::integer(2), Value::integer(5)})});
  CHECK(sum.as_number() == 7);
}

TEST_CASE("sizes that do not fit are refused", "[embed]") {
  auto data = numbers(3);
  CHECK_THROWS_AS(Value::array<float>(shard::Type::f32, {2, 2}, data), std::invalid_argument);
  CHECK_THROWS_AS(Value::array<float>(shard::Type::f32, {-1}, data), std::invalid_argument);
  CHECK_THROWS_AS(Value::array<float>(shard::Type::f32, {INT64_MAX, 8}, data), std::invalid_argument);
}

TEST_CASE("scripts call functions of the host", "[embed]") {
  Engine engine;
  double seen = 0;
  engine.define("record", "record(x)", [&](std::vector<Value> args) {
    seen = *args.at(0).as_number();
    return Value::number(seen + 1);
  });
  engine.define("broken", "broken()", [](std::vector<Value>) -> Value { throw std::runtime_error("out of paper"); });
  CHECK(engine.run("record(41)").as_number() == 42);
  CHECK(seen == 41);
  try {
    engine.run("broken()");
    FAIL("no error");
  } catch (const shard::Error& e) { CHECK(std::string(e.what()).find("out of paper") != std::string::npos); }
}

TEST_CASE("an engine that looks for nans names the line that made one", "[embed]") {
  Engine engine({.devices = 2, .debug_nans = true});
  try {
    engine.run("jit fn f(x) {\n  let y = log(x)\n  sum(y)\n}\nf(array([1.0, -2.0]))", "model.shard");
    FAIL("no error");
  } catch (const shard::Error& e) {
    CHECK(e.diagnostics[0].code == "nan");
    CHECK(e.diagnostics[0].where.line == 2);
    CHECK(e.diagnostics[0].message == "`log` made a nan");
  }
  CHECK(engine.run("breakpoint()\nsum(ones([3]))").as_number() == 3);  // nobody is asked: it goes on
}

TEST_CASE("errors are values with places", "[embed]") {
  std::vector<shard::Diagnostic> told;
  shard::Options options;
  options.errors = [&](const shard::Diagnostic& d) { told.push_back(d); };
  Engine engine(options);
  try {
    engine.run("let a = 1\nlet b = ones([2, 3]) + ones([4, 5])\n", "model.shard");
    FAIL("no error");
  } catch (const shard::Error& e) {
    REQUIRE(e.diagnostics.size() == 1);
    const auto& d = e.diagnostics[0];
    CHECK(d.where.file == "model.shard");
    CHECK(d.where.line == 2);
    CHECK(d.rendered.find("f32[2,3]") != std::string::npos);
    CHECK(d.code == "shape");
  }
  CHECK(told.size() == 1);
  CHECK(engine.run("1 + 1").as_number() == 2);  // the engine goes on
}

TEST_CASE("output goes where the host wants it", "[embed]") {
  std::string text;
  shard::Options options;
  options.output = [&](std::string_view s) { text += s; };
  Engine engine(options);
  engine.run("print(\"step\", 3)");
  CHECK(text == "step 3\n");
}

TEST_CASE("files are closed unless the host opens them", "[embed]") {
  Engine closed;
  CHECK_THROWS_AS(closed.run("read_text(\"README.md\")"), shard::Error);
  shard::Options options;
  options.may_read = [](const std::string& path) { return path.find("README.md") != std::string::npos; };
  Engine open(options);
  CHECK(open.run("len(read_text(\"README.md\")) > 0").as_number() == 1);
  CHECK_THROWS_AS(open.run("read_text(\"CMakeLists.txt\")"), shard::Error);
}

TEST_CASE("nothing is written unless the host allows it", "[embed]") {
  const std::string path = (std::filesystem::temp_directory_path() / "shard_embed_test.npz").string();
  const std::string script = "save(\"" + path + "\", {w: ones([3])})";
  shard::Options options;
  options.may_read = [](const std::string&) { return true; };
  Engine closed(options);
  try {
    closed.run(script);
    FAIL("no error");
  } catch (const shard::Error& e) {
    CHECK(e.diagnostics[0].code == "io");
    CHECK(e.diagnostics[0].message == "writing '" + path + "' is not allowed here");
  }
  CHECK(!std::filesystem::exists(path));
  CHECK_THROWS_AS(closed.run("log_scalars(\"" + path + ".csv\", 1, {loss: 1.0})"), shard::Error);
  CHECK_THROWS_AS(closed.run("log_scalars(\"" + path + ".logs\", 1, {loss: 1.0})"), shard::Error);
  CHECK(!std::filesystem::exists(path + ".csv"));
  CHECK(!std::filesystem::exists(path + ".logs"));
  options.may_write = [&](const std::string& wanted) { return wanted == path; };
  Engine open(options);
  CHECK(open.run(script + "\nload(\"" + path + "\").w.sum()").as_number() == 3);
  CHECK_THROWS_AS(open.run("save(\"" + path + ".csv\", ones([3]))"), shard::Error);
  std::filesystem::remove(path);
}

TEST_CASE("every element type goes in and out as bytes", "[embed]") {
  Engine engine;
  using shard::Type;
  for (Type type : {Type::boolean, Type::i8, Type::i16, Type::i32, Type::i64, Type::u8, Type::u16, Type::u32, Type::u64,
                    Type::f16, Type::bf16, Type::f32, Type::f64}) {
    INFO(shard::name(type));
    std::vector<std::byte> bytes(6 * shard::size_of(type), std::byte{1});
    engine.set("x", Value::array(type, {2, 3}, bytes));
    CHECK(engine.run("x.dtype").show() == shard::name(type));
    Value back = engine.run("stack([x[0], x[1]])");
    CHECK(back.type() == type);
    CHECK(back.shape() == std::vector<std::int64_t>{2, 3});
    CHECK(std::equal(bytes.begin(), bytes.end(), back.bytes().begin(), back.bytes().end()));
    CHECK(engine.run("x").bytes().size() == bytes.size());
  }
}

TEST_CASE("whatever a function of the host throws is an error at the call", "[embed]") {
  Engine engine;
  engine.define("ends", "ends()", [](std::vector<Value>) -> Value { throw std::runtime_error("no more rows"); });
  engine.define("odd", "odd()", [](std::vector<Value>) -> Value { throw 3; });
  engine.define("again", "again(n)", [&](std::vector<Value> a) { return engine.call("twice", std::move(a)); });
  const std::string twice = "fn twice(n) = if n > 9 { error(\"too large\") } else { 2 * n }; ";
  const auto said = [&](const char* script) -> std::string {
    try {
      engine.run(twice + script);
    } catch (const shard::Error& e) {
      CHECK(e.diagnostics[0].code == "host");
      CHECK(e.diagnostics[0].where.line == 1);
      return e.diagnostics[0].message;
    }
    return "";
  };
  CHECK(said("ends()") == "ends: no more rows");
  CHECK(said("odd()") == "odd: an exception that says nothing");
  CHECK(engine.run(twice + "again(4)").as_number() == 8);
  CHECK(said("again(10)") == "again: too large");
  CHECK(engine.run(twice + "again(5)").as_number() == 10);
}

TEST_CASE("all errors of names come at once", "[embed]") {
  std::vector<std::string> told;
  shard::Options options;
  options.errors = [&](const shard::Diagnostic& d) { told.push_back(d.message); };
  Engine engine(options);
  try {
    engine.run("print(first)\nprint(second)");
    FAIL("no error");
  } catch (const shard::Error& e) {
    REQUIRE(e.diagnostics.size() == 2);
    CHECK(e.diagnostics[1].where.line == 2);
  }
  CHECK(told == std::vector<std::string>{"unknown name `first`", "unknown name `second`"});
}

TEST_CASE("scripts run one after the other in one scope, which the host shares", "[embed]") {
  Engine engine;
  engine.set("rate", Value::number(0.5));
  CHECK(engine.get("rate").as_number() == 0.5);
  CHECK(engine.run("rate * 2").as_number() == 1);
  engine.set("rate", Value::number(0.25));
  engine.run("let own = 1\nfn f() = rate + own");
  CHECK(engine.call("f", {}).as_number() == 1.25);
  engine.set("rate", Value::number(4.0));  // seen by functions too
  engine.set("own", Value::number(2.0));
  CHECK(engine.call("f", {}).as_number() == 6);
  engine.run("own = own + 1");
  CHECK(engine.get("own").as_number() == 3);
  CHECK(engine.run("let rate = 7\nrate").as_number() == 7);  // declared anew: the same variable
  CHECK(engine.call("f", {}).as_number() == 10);
  engine.run("jit fn g(x) = x + own\ng(1.0)");
  engine.run("own = 5");
  CHECK(engine.run("g(1.0)").as_number() == 6);  // compiled functions see it
  engine.run("mesh m = (@d: 4)");
  CHECK(engine.run("(shard ones([8]) as P(@d)).sum()").as_number() == 8);  // and so does the current mesh
  // What fails declares nothing, and leaves what was there.
  CHECK_THROWS_AS(engine.run("let own = missing"), shard::Error);
  CHECK_THROWS_AS(engine.run("let own = error(\"no\")"), shard::Error);
  CHECK(engine.get("own").as_number() == 5);
  CHECK_THROWS_AS(engine.get("missing"), shard::Error);
}

TEST_CASE("what a script throws away is told, also in the scope that stays", "[embed]") {
  Engine engine;
  CHECK_THROWS_AS(engine.run("let xs = [1]\nxs.append(2)\nxs"), shard::Error);
}

TEST_CASE("modules from memory are islands", "[embed]") {
  Engine engine;
  engine.module("mine", "let size = 7\nfn twice(x) = x * 2\nfn bad(x) = x + missing_here");
  try {
    engine.run("import mine");
    FAIL("no error");
  } catch (const shard::Error& e) {
    CHECK(e.diagnostics[0].where.file == "mine");  // the host's text, not the library's
    CHECK(e.diagnostics[0].where.line == 3);
  }
  engine.module("mine", "let size = 7\nfn twice(x) = x * 2\nlet hidden = 1");
  CHECK(engine.run("import mine\nmine.twice(mine.size)").as_number() == 14);
  CHECK_THROWS_AS(engine.get("hidden"), shard::Error);
  engine.run("let size = 1");
  CHECK(engine.run("mine.size").as_number() == 7);
  engine.module("mine", "let size = 8");  // read again at the next import
  CHECK(engine.run("mine.size").as_number() == 7);
  CHECK(engine.run("import mine\nmine.size").as_number() == 8);
  CHECK_THROWS_AS(engine.module("nn", "let a = 1"), shard::Error);
  engine.module("nn", "let a = 1", shard::Replace::yes);
  CHECK(engine.run("import nn\nnn.a").as_number() == 1);
  engine.module("outer", "import mine\nlet through = mine.size");
  CHECK(engine.run("import outer\nouter.through").as_number() == 8);
}

TEST_CASE("function values are called, and know their engine", "[embed]") {
  Engine engine, other;
  Value f = engine.run("let k = 3\nfn(x) = x * k");
  CHECK(f.kind() == shard::Kind::function);
  CHECK(engine.call(f, {Value::number(5)}).as_number() == 15);
  CHECK(engine.call(engine.run("sum"), {Value::list({Value::integer(2), Value::integer(5)})}).as_number() == 7);
  CHECK(engine.call("map", {f, Value::list({Value::integer(2)})}).items()[0].as_number() == 6);
  const auto code = [](auto g) -> std::string {
    try {
      g();
    } catch (const shard::Error& e) { return e.diagnostics[0].code; }
    return "";
  };
  CHECK(code([&] { other.call(f, {Value::number(5)}); }) == "type");
  CHECK(code([&] { other.set("f", f); }) == "type");
  CHECK(code([&] { other.set("f", Value::list({Value::record({{"f", f}})})); }) == "type");
  CHECK(code([&] { engine.call(Value::number(3), {}); }) == "type");
  CHECK(code([&] { engine.call("missing", {}); }) == "name");
  Value kept;
  {
    Engine short_lived;
    kept = short_lived.run("{f: fn(x) = x, sum: sum}");
  }
  CHECK(kept.fields().size() == 2);  // a value may outlive its engine
  CHECK(kept.show().find("f") != std::string::npos);
}

TEST_CASE("what a host declares wrongly is an error there", "[embed]") {
  Engine engine;
  const auto said = [&](const std::string& name, const std::string& signature) -> std::string {
    try {
      engine.define(name, signature, [](std::vector<Value>) { return Value::number(1); });
    } catch (const shard::Error& e) { return e.diagnostics[0].code + ": " + e.diagnostics[0].message; }
    return "";
  };
  CHECK(said("bad", "(x,,") == "signature: the signature `(x,,` does not end with its `)`");
  CHECK(said("bad", "(x,,y)") == "signature: the signature `(x,,y)` has `` where a parameter's name stands");
  CHECK(said("bad", "other(x)") == "signature: the signature `other(x)` is of another function than `bad`");
  CHECK(said("bad", "(x, x)") == "signature: the signature `(x, x)` has two parameters `x`");
  CHECK(said("bad", "(x = [1, y)").starts_with("signature: "));
  CHECK(said("bad", "(x = 1, y)").find("without a default") != std::string::npos);
  CHECK(said("let", "(x)").starts_with("signature: "));
  CHECK(said("1x", "(x)").starts_with("signature: "));
  CHECK(said("sum", "(x)") == "name: `sum` is a builtin: shard::Replace::yes puts another function in its place");
  CHECK(said("mine", "(x, times = 2, rest...)") == "");
  CHECK(said("mine", "(x)") == "");  // its own again
  engine.define(
      "sum", "(x)", [](std::vector<Value>) { return Value::number(-1); }, shard::Replace::yes);
  CHECK(engine.run("sum([1, 2])").as_number() == -1);
}

TEST_CASE("fixes and calls are values as well", "[embed]") {
  Engine engine;
  try {
    engine.run("fn f(x) = rehsape(x, [2])\nf(ones([2]))", "mine");
    FAIL("no error");
  } catch (const shard::Error& e) {
    const auto& d = e.diagnostics.at(0);
    REQUIRE(d.fixes.size() == 1);
    CHECK(d.fixes[0].replacement == "reshape");
    CHECK(d.fixes[0].where.column == 11);
    CHECK(d.fixes[0].where.end_column == 18);
    REQUIRE(d.calls.size() == 1);
    CHECK(d.calls[0].function == "f");
    CHECK(d.calls[0].call.line == 2);
    CHECK(d.json.find("\"replacement\": \"reshape\"") != std::string::npos);
    CHECK(d.json.front() == '{');
  }
  try {
    engine.run("fn g(x) = x @ x\nfn h(x) = g(x)\nh(ones([2, 3]))", "mine");
    FAIL("no error");
  } catch (const shard::Error& e) {
    const auto& d = e.diagnostics.at(0);
    REQUIRE(d.calls.size() == 2);
    CHECK(d.calls[0].function == "g");
    CHECK(d.calls[1].function == "h");
    CHECK(d.calls[1].call.file == "mine");
  }
}

TEST_CASE("warnings are told, left out, or errors", "[embed]") {
  const std::string text = "fn f(x) {\n  let y = x\n  x\n}\nlet x = ones([2])\nx.reshape([2, 1])\nf(x)";
  std::vector<shard::Diagnostic> told;
  const auto tell = [&](const shard::Diagnostic& d) { told.push_back(d); };
  Engine engine({.warnings = tell});
  engine.run(text, "model.shard");
  REQUIRE(told.size() == 2);
  CHECK(told[0].code == "unused-variable");
  CHECK(told[0].warning);
  CHECK(told[0].where.line == 2);
  CHECK(told[0].json.find("\"severity\": \"warning\"") != std::string::npos);
  CHECK(told[1].code == "unused-result");
  told.clear();
  Engine silent({.warnings = tell, .allow = {"unused-variable", "unused-result"}});
  silent.run(text);
  CHECK(told.empty());
  Engine strict({.deny_warnings = true});
  try {
    strict.run(text);
    FAIL("a warning is an error");
  } catch (const shard::Error& e) {
    CHECK(e.diagnostics[0].code == "unused-variable");
    CHECK_FALSE(e.diagnostics[0].warning);
  }
  CHECK_THROWS_AS(Engine({.allow = {"no-such"}}), shard::Error);
}

TEST_CASE("callbacks of the options may throw", "[embed]") {
  shard::Options options;
  options.output = [](std::string_view) { throw std::runtime_error("no paper"); };
  options.may_read = [](const std::string&) -> bool { throw 3; };
  Engine engine(options);
  try {
    engine.run("let a = 1\nprint(a)");
    FAIL("no error");
  } catch (const shard::Error& e) {
    CHECK(e.diagnostics[0].code == "host");
    CHECK(e.diagnostics[0].message == "output: no paper");
    CHECK(e.diagnostics[0].where.line == 2);
  }
  CHECK_THROWS_AS(engine.run("read_text(\"x\")"), shard::Error);
  CHECK(engine.run("1 + 1").as_number() == 2);
  CHECK_THROWS_AS(Engine({.devices = 0}), shard::Error);
  CHECK_THROWS_AS(Engine({.memory = -1}), shard::Error);
}

TEST_CASE("two engines do not meet", "[embed]") {
  Engine a({.devices = 2}), b({.devices = 8});
  a.run("let x = 1\nmesh m = (@X: 2)");
  b.run("let y = 2");
  CHECK(a.get("x").as_number() == 1);
  CHECK_THROWS_AS(b.get("x"), shard::Error);
  CHECK(a.run("device_count()").as_number() == 2);
  CHECK(b.run("device_count()").as_number() == 8);
  // An array of one engine is a value in the other, and outlives its engine.
  Value v;
  {
    Engine c;
    v = c.run("arange(3)");
  }
  b.set("z", v);
  CHECK(v.show() == "[0 1 2]");
}

TEST_CASE("a running script can be stopped", "[embed]") {
  Engine engine;
  engine.define("stop", "stop()", [&](std::vector<Value>) {
    engine.interrupt();
    return Value();
  });
  try {
    engine.run("let n = 0\nwhile true { n += 1; if n == 100 { stop() } }");
    FAIL("no error");
  } catch (const shard::Error& e) { CHECK(e.diagnostics[0].code == "interrupt"); }
  CHECK(engine.run("1").as_number() == 1);
}
