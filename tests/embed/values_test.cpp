// Values between host and script: nothing is copied that need not be, nothing is rounded, nothing is taken for another
// type.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "interpreter/shard.h"

using shard::Engine;
using shard::Kind;
using shard::Type;
using shard::Value;

TEST_CASE("an adopted buffer is read where it lies, never written, and given back once", "[values]") {
  std::vector<float> data(1 << 20, 1.5f);
  std::atomic<int> given_back{0};
  {
    Engine engine({.devices = 4});
    engine.run("fn same(x) = x\nfn first(x) { x[0] = 9.0; x }\njit fn twice(x) = x * 2\njit fn again(x) = x + 1");
    Value v = Value::adopt(Type::f32, {1 << 20}, data.data(), [&](void* p) {
      CHECK(p == data.data());
      ++given_back;
    });
    CHECK(v.elements<float>().data() == data.data());
    CHECK(engine.call("same", {v}).elements<float>().data() == data.data());
    CHECK(engine.call("first", {v}).elements<float>()[0] == 9.0f);
    CHECK(engine.call("sum", {v}).as_number() == 1.5 * (1 << 20));
    CHECK(engine.call("twice", {v}).elements<float>()[7] == 3.0f);
    engine.set("x", v);
    engine.run("mesh m = (@d: 4)\nlet s = shard x as P(@d)\nx[1] = 7.0\nx = again(x)\nx[2] = 3.0");
    CHECK(engine.get("s").elements<float>()[1] == 1.5f);
    CHECK(engine.get("x").elements<float>()[1] == 8.0f);
    // Handed over: the only one who holds it may still not write there.
    engine.call("first", {std::move(v)});
    v = Value();
    engine.run("x = none\ns = none");
    CHECK(data == std::vector<float>(1 << 20, 1.5f));
  }
  CHECK(given_back == 1);
}

TEST_CASE("what cannot be adopted stays the host's", "[values]") {
  std::vector<float> data(9);
  int given_back = 0;
  const auto give_back = [&](void*) { ++given_back; };
  CHECK_THROWS_AS(Value::adopt(Type::f32, {2, -1}, data.data(), give_back), std::invalid_argument);
  CHECK_THROWS_AS(Value::adopt(Type::f32, {8}, nullptr, give_back), std::invalid_argument);
  CHECK_THROWS_AS(Value::adopt(Type::f32, {8}, data.data(), nullptr), std::invalid_argument);
  CHECK_THROWS_AS(Value::adopt(Type::f32, {8}, reinterpret_cast<char*>(data.data()) + 1, give_back),
                  std::invalid_argument);
  CHECK(given_back == 0);
  {
    Engine engine;
    for (int i = 0; i < 8; ++i) data[static_cast<std::size_t>(i) + 1] = static_cast<float>(i);
    Value v = Value::adopt(Type::f32, {8}, data.data() + 1, give_back);  // aligned to its elements alone
    CHECK(engine.call("sum", {v}).as_number() == 28);
    CHECK(engine.call("sort", {v}).elements<float>()[7] == 7);
    Value nothing = Value::adopt(Type::f32, {0, 3}, nullptr, give_back);
    CHECK(engine.call("sum", {nothing}).as_number() == 0);
  }
  CHECK(given_back == 2);
}

TEST_CASE("an adopted buffer outlives the engine that uses it", "[values]") {
  std::vector<double> data(4, 2.0);
  int given_back = 0;
  Value kept;
  {
    Engine engine;
    engine.set("x", Value::adopt(Type::f64, {4}, data.data(), [&](void*) { ++given_back; }));
    kept = engine.run("[x, x]").items()[1];
  }
  CHECK(given_back == 0);
  CHECK(kept.elements<double>().data() == data.data());
  kept = Value();
  CHECK(given_back == 1);
}

TEST_CASE("elements are of the type that is asked for, or refused", "[values]") {
  Engine engine;
  const auto refused = [](auto f) -> std::string {
    try {
      f();
    } catch (const std::invalid_argument& e) { return e.what(); }
    return "";
  };
  Value v = engine.run("arange(4)");
  CHECK(v.elements<std::int32_t>()[3] == 3);
  CHECK(refused([&] { (void)v.elements<double>(); }) == "elements of type i32 are std::int32_t in C++, not double");
  CHECK(refused([&] { (void)v.elements<float>(); }) != "");
  CHECK(refused([&] { (void)v.elements<std::uint32_t>(); }) != "");
  CHECK(refused([&] { (void)v.elements<std::int64_t>(); }) != "");
  CHECK(refused([&] { (void)engine.run("1.5").elements<double>(); }) == "this value is no array: it is float");
  CHECK(engine.run("ones([2]) > 0").elements<bool>()[1]);
  CHECK(engine.run("bf16(ones([2]))").elements<std::uint16_t>()[0] == 0x3f80);
  const float some[] = {1, 2};
  CHECK(refused([&] { Value::array<float>(Type::i32, {2}, some); }) != "");
  const long long wide[] = {1, 2};
  CHECK(Value::array<long long>(Type::i64, {2}, wide).elements<long>()[1] == 2);
}

TEST_CASE("64-bit integers are exact", "[values]") {
  Engine engine;
  const std::int64_t big = 9007199254740993, huge = INT64_MAX;
  engine.run("fn same(x) = x");
  CHECK(engine.call("same", {Value::integer(big)}).as_integer() == big);
  CHECK(engine.run("9223372036854775807").as_integer() == huge);
  CHECK(engine.run("-9223372036854775807 - 1").as_integer() == INT64_MIN);
  const std::int64_t raw[] = {big, -huge};
  Value pair = Value::array<std::int64_t>(Type::i64, {2}, raw);
  CHECK(engine.call("same", {pair}).elements<std::int64_t>()[0] == big);
  const auto kept = engine.call("same", {Value::array<std::int64_t>(Type::i64, {2}, raw)}).elements<std::int64_t>();
  for (int i = 0; i < 100; ++i) engine.run("ones([2], i64) * 3");
  CHECK((kept[0] == big && kept[1] == -huge));  // the value is gone, its elements are held
  engine.set("pair", pair);
  CHECK(engine.run("pair[1]").as_integer() == -huge);
  CHECK(engine.run("pair[0] + 1").as_integer() == big + 1);
  const std::uint64_t most[] = {UINT64_MAX};
  CHECK_FALSE(Value::array<std::uint64_t>(Type::u64, {1}, most).as_integer());
  CHECK_FALSE(Value::number(2).as_integer());
  CHECK_FALSE(Value::boolean(true).as_integer());
  CHECK_FALSE(engine.run("ones([1])").as_integer());
}

TEST_CASE("kinds and fields of values", "[values]") {
  Engine engine;
  const auto kind = [&](const char* script) { return engine.run(script).kind(); };
  CHECK(kind("none") == Kind::none);
  CHECK(kind("true") == Kind::boolean);
  CHECK(kind("3") == Kind::integer);
  CHECK(kind("3.0") == Kind::number);
  CHECK(kind("\"a\"") == Kind::text);
  CHECK(kind("[1]") == Kind::list);
  CHECK(kind("(1, 2)") == Kind::tuple);
  CHECK(kind("{a: 1}") == Kind::record);
  CHECK(kind("ones([2])") == Kind::array);
  CHECK(kind("fn(x) = x") == Kind::function);
  CHECK(kind("sum") == Kind::function);
  CHECK(kind("0..3") == Kind::other);
  const auto fields = engine.run("{w: 1, b: {c: 2}, a: none}").fields();
  REQUIRE(fields.size() == 3);
  CHECK(fields[0].first == "w");
  CHECK(fields[1].second.field("c")->as_integer() == 2);
  CHECK(fields[2].second.is_none());
  CHECK(engine.run("[1]").fields().empty());
}

TEST_CASE("a function of the host inside of jit is called once, with a type", "[values]") {
  Engine engine;
  std::vector<std::string> shown;
  engine.define("seen", "(x)", [&](std::vector<Value> a) {
    shown.push_back(a[0].show());
    CHECK(a[0].kind() == Kind::other);
    CHECK(a[0].type() == Type::f32);
    CHECK(a[0].shape() == std::vector<std::int64_t>{4});
    return engine.call("sum", {a[0]});
  });
  engine.define("asks", "(x)", [](std::vector<Value> a) { return Value::number(*a[0].as_number()); });
  engine.define("reads", "(x)", [](std::vector<Value> a) { return Value::number(a[0].elements<float>()[0]); });
  CHECK(engine.run("jit fn f(x) = seen(x) * 2\nf(ones([4]))\nf(ones([4]) * 2)").as_number() == 16);  // 2 * (4 * 2)
  CHECK(shown == std::vector<std::string>{"f32[4]"});
  for (const char* text : {"jit(fn(x) = asks(sum(x)))(ones([4]))", "grad(fn(x) = reads(x))(ones([4]))"}) {
    try {
      engine.run(text);
      FAIL("no error");
    } catch (const shard::Error& e) {
      CHECK(e.diagnostics[0].code == "host");
      CHECK(e.diagnostics[0].message.find("Call the host outside of it, with what it returns") != std::string::npos);
    }
  }
}
