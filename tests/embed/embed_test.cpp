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

TEST_CASE("scripts run later see what the host has set", "[embed]") {
  Engine engine;
  engine.set("rate", Value::number(0.5));
  CHECK(engine.get("rate").as_number() == 0.5);
  CHECK(engine.run("rate * 2").as_number() == 1);
  engine.set("rate", Value::number(0.25));
  engine.run("let own = 1\nfn f() = rate + own");
  CHECK(engine.call("f", {}).as_number() == 1.25);
  engine.set("rate", Value::number(4.0));  // seen by the functions of the last script too
  engine.set("own", Value::number(2.0));
  CHECK(engine.call("f", {}).as_number() == 6);
  CHECK(engine.run("rate").as_number() == 4);
  CHECK(engine.run("let rate = 7\nrate").as_number() == 7);  // a script may have its own
  CHECK(engine.run("rate").as_number() == 4);
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
