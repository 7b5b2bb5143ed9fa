// Data that stays on the disk: arrays left in files, loaders over them, over several files, functions and windows of
// tokens; the order that is computed and not kept.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "stdlib/host/data/loader_rows.h"
#include "stdlib/host/storage/convert.h"
#include "tests/stdlib/folder.h"
#include "tests/stdlib/script.h"

using Catch::Contains;
using namespace shard;
using test::error;
using test::run;
namespace fs = std::filesystem;

namespace {

class DataFolder : public test::Folder {  // "DIR" in a script stands for it
 public:
  DataFolder() : Folder("data") {}
  std::string in(std::string script) const {
    for (std::size_t i = script.find("DIR"); i != std::string::npos; i = script.find("DIR"))
      script.replace(i, 3, path_.string());
    return script;
  }
  std::string runs(const std::string& script) const { return run(in(script)); }
  std::string fails(const std::string& script) const { return error(in(script)); }
};

}  // namespace

TEST_CASE("a keyed order is a permutation of any length, another one for another key") {
  for (std::uint64_t n = 1; n < 300; ++n) {
    const stdlib::KeyedOrder order(n, 3, 7);
    std::vector<char> seen(n, 0);
    for (std::uint64_t i = 0; i < n; ++i) {
      REQUIRE(order[i] < n);
      seen[order[i]] = 1;
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(n));
  }
  // Over many keys each place gets each value about equally often: chi square of 24 * 24 cells, 23 * 23 degrees of
  // freedom, mean 529, deviation 32.5.
  constexpr std::uint64_t kLength = 24, kKeys = 24'000;
  std::vector<double> cells(kLength * kLength, 0);
  for (std::uint32_t k = 0; k < kKeys; ++k) {
    const stdlib::KeyedOrder order(kLength, 0, k);
    for (std::uint64_t i = 0; i < kLength; ++i) ++cells[i * kLength + order[i]];
  }
  double chi = 0;
  for (const double c : cells) chi += (c - 1000) * (c - 1000) / 1000;
  CHECK(chi < 529 + 4 * 32.5);
  CHECK(chi > 529 - 4 * 32.5);
  const stdlib::KeyedOrder large(1'000'000'007, 1, 2);
  CHECK(large[999'999'999] < 1'000'000'007);
}

TEST_CASE("an array that stays in its file reads as one in memory does") {
  DataFolder d;
  d.runs(
      "save(\"DIR/a.npy\", arange(120).reshape([10, 4, 3]))\nsave(\"DIR/a.safetensors\", {x: [arange(120).reshape([10, "
      "4, 3])]})\nsave(\"DIR/a.idx\", arange(120).reshape([10, 4, 3]))\nsave(\"DIR/run/\", {x: "
      "[arange(120).reshape([10, "
      "4, 3])]})");
  const char* items[] = {"0",
                         "-1",
                         "3..7",
                         "2:9:3",
                         "::-1",
                         "8:2:-2",
                         "4, 1",
                         "4, :, 2",
                         "1:3, 2, ::2",
                         "array([3, 0, -1])",
                         "array([[1, 2], [9, 9]])",
                         ":, array([1, 3])",
                         "array([1, 2]), array([0, 3])",
                         "..., 1",
                         "5:5",
                         "array([11, 2])",
                         "none, 3",
                         "array([1, 2]), 1:3",
                         "array(2)"};
  for (const char* load : {"load(\"DIR/a.npy\", map: true)", "load(\"DIR/a.safetensors\", map: true).x[0]",
                           "load(\"DIR/a.idx\", map: true)", "load(\"DIR/run/\", map: true).x[0]"})
    for (const char* item : items) {
      INFO(load << " " << item);
      const std::string show = "print(x[" + std::string(item) + "])\n";
      CHECK(d.runs("let x = " + std::string(load) + "\n" + show) ==
            run("let x = arange(120).reshape([10, 4, 3])\n" + show));
    }
  CHECK(d.runs(
            "let x = load(\"DIR/a.npy\", map: true)\nprint(typeof(x), sum(x), len(x))\nfor r in x[8:] { print(r[0]) }\n"
            "jit fn f(x) = x.sum(axis: 0)[0]\nprint(f(x))\nx[0] = 0\nprint(x[0, 0], load(\"DIR/a.npy\")[0, 0])") ==
        "i32[10,4,3] 7140 10\n[96 97 98]\n[108 109 110]\n[540 550 560]\n[0 0 0] [0 1 2]\n");
  CHECK_THAT(d.fails("load(\"DIR/a.npy\", map: true)[10]"), Contains("out of range"));
  d.runs("save(\"DIR/a.npy.gz\", arange(3))\nsave(\"DIR/a.csv\", ones([2, 2]))");
  CHECK_THAT(d.fails("load(\"DIR/a.npy.gz\", map: true)"), Contains("this is none"));
  CHECK_THAT(d.fails("load(\"DIR/a.csv\", map: true)"), Contains("this is none"));
  // A file that shrinks is an error, not a signal.
  test::Script s;
  s.in().continue_with("a", d.in("save(\"DIR/a.npy\", ones([10, 40000]))\nlet x = load(\"DIR/a.npy\", map: true)"));
  fs::resize_file(d.at("a.npy"), 200'000);
  try {
    s.in().continue_with("b", "x[9]");
    FAIL("it read what is not there");
  } catch (const grammar::Error& e) {
    CHECK_THAT(e.diagnostic.message, Contains("a.npy") && Contains("ends"));
  } catch (const runtime::RuntimeError& e) { CHECK_THAT(std::string(e.what()), Contains("a.npy")); }
}

TEST_CASE("raw numbers, and layouts straight from a file") {
  DataFolder d;
  d.put("t.bin", std::string("\1\0\2\0\xff\xff", 6));
  CHECK(d.runs("let t = load(\"DIR/t.bin\", dtype: u16)\nprint(typeof(t), t)") == "u16[3] [    1     2 65535]\n");
  CHECK(d.runs("print(load(\"DIR/t.bin\", dtype: u16, map: true)[1:])") == "[    2 65535]\n");
  CHECK_THAT(d.fails("load(\"DIR/t.bin\", dtype: u32)"), Contains("6 bytes are no whole number of u32"));
  CHECK_THAT(d.fails("load(\"DIR/t.bin\", dtype: 3)"), Contains("dtype takes a type"));
  CHECK(d.runs("save(\"DIR/h.npy\", arange(32).reshape([8, 4]))\nmesh m = (@data: 4)\nlet h = load(\"DIR/h.npy\", as: "
               "P(@data))\nprint(sharding(h), shards(h)[2].data)") == "P(@data) [[16 17 18 19]\n [20 21 22 23]]\n");
  CHECK_THAT(d.fails("load(\"DIR/h.npy\", dtype: i32)"), Contains("it is npy, which says its own type"));
}

TEST_CASE("loaders over files: mapped arrays, several files, windows of tokens, functions") {
  DataFolder d;
  d.runs(
      "save(\"DIR/a.npy\", arange(40).reshape([10, 4]))\nsave(\"DIR/b.npy\", arange(40, 64).reshape([6, 4]))\n"
      "save(\"DIR/t.npy\", cast(arange(30), u16))");
  CHECK(d.runs(
            "let x = load(\"DIR/a.npy\", map: true)\nlet seen = []\nfor (a, b, c) in loader((x, arange(10)), batch: 4, "
            "shuffle: key(3), epochs: 2, rest: \"pad\") { }\nfor (a, b, real) in loader((x, arange(10)), batch: 4, "
            "shuffle: key(3), rest: \"pad\") {\n  assert(all(where(real, a[:, 0] == 4 * b, true)))\n  seen = "
            "append(seen, b[:int(sum(real))])\n}\nprint(sort(concat(seen)))") == "[0 1 2 3 4 5 6 7 8 9]\n");
  CHECK(
      d.runs(
          "let seen = []\nfor b in loader([\"DIR/a.npy\", \"DIR/b.npy\"], batch: 4, shuffle: key(1)) { seen = "
          "append(seen, b[:, 0]) }\nprint(all(sort(concat(seen)) == arange(16) * 4), any(concat(seen) != arange(16) * "
          "4))") == "true true\n");
  // In memory, mapped and gathered ahead: one keyed order.
  const std::string with = ", batch: 3, shuffle: key(5), epochs: 3, order: \"keyed\"";
  const std::string shown = "for x in l { print(x, position(l)) }\n";
  const std::string want = d.runs("let l = loader(load(\"DIR/a.npy\")" + with + ")\n" + shown);
  CHECK(want == d.runs("let l = loader(load(\"DIR/a.npy\", map: true)" + with + ")\n" + shown));
  CHECK(want == d.runs("let l = loader(\"DIR/a.npy\"" + with + ", prefetch: 7)\n" + shown));
  CHECK(want.ends_with(d.runs("let l = resumed(loader(\"DIR/a.npy\"" + with + "), 5)\n" + shown)));
  CHECK(d.runs("for b in loader(\"DIR/t.npy\", batch: 2, windows: 8) { print(b) }") ==
        "[[ 0  1  2  3  4  5  6  7]\n [ 7  8  9 10 11 12 13 14]]\n[[14 15 16 17 18 19 20 21]\n [21 22 23 24 25 26 27 "
        "28]]\n");
  CHECK(d.runs("for b in loader(arange(10), batch: 3, windows: 4, stride: 3) { print(b[:, 0]) }") == "[0 3 6]\n");
  CHECK(d.runs("for b in loader(fn(i) = {i: i, x: ones([2]) * i}, batch: 2, length: 5, rest: \"pad\") { print(b[0].i, "
               "b[0].x[0, 0], b[1]) }") ==
        "[0 1] 0.0 [ true  true]\n[2 3] 2.0 [ true  true]\n[4 0] 4.0 [ true false]\n");
  CHECK(d.runs("let n = 0\nfor b in loader(fn(i) = i % 7, batch: 1000, length: 1000000000000, shuffle: key(2), skip: "
               "999999990) { n += 1 }\nprint(n)") == "10\n");
  CHECK_THAT(d.fails("loader(fn(i) = i, batch: 2)"), Contains("length: n"));
  CHECK_THAT(d.fails("loader(arange(4), batch: 2, length: 4)"), Contains("goes with a function"));
  CHECK_THAT(d.fails("for b in loader(fn(i) = if i == 0 { 1 } else { 2.5 }, batch: 2, length: 4) { }"),
             Contains("example 1 is f32[], the first one i32[]"));
  CHECK_THAT(d.fails("loader([\"DIR/a.npy\", \"DIR/t.npy\"], batch: 2)"), Contains("its rows are u16[]"));
  CHECK_THAT(d.fails("loader([\"DIR/a.npy\", \"DIR/none.npy\"], batch: 2)"), Contains("No such file"));
  CHECK_THAT(d.fails("loader(arange(4), batch: 2, order: \"random\")"), Contains("order is \"keyed\""));
  // A file that shrinks while a loader reads it.
  test::Script s;
  s.in().continue_with("a", d.in("save(\"DIR/a.npy\", ones([10, 40000]))\nlet l = loader(\"DIR/a.npy\", batch: 2)"));
  fs::resize_file(d.at("a.npy"), 200'000);
  CHECK_THROWS_AS(s.in().continue_with("b", "for b in l { }"), grammar::Error);
}

TEST_CASE("the sharded files of a model hub, straight to blocks") {
  DataFolder d;
  d.runs(
      "save(\"DIR/m-1.safetensors\", {\"layers.0.w\": arange(8)})\nsave(\"DIR/m-2.safetensors\", {\"layers.1.w\": "
      "arange(8) * 2, b: ones([2], bf16)})");
  const std::string map = R"({"metadata":{"total_size":68},"weight_map":{"layers.0.w":"m-1.safetensors",)";
  d.put("m.safetensors.index.json", map + R"("layers.1.w":"m-2.safetensors","b":"m-2.safetensors"}})");
  // Names with dots leave as they came, beside trees whose paths are the same.
  CHECK(d.runs("print(load(\"DIR/m.safetensors.index.json\"))") ==
        "{\"layers.0.w\": [0 1 2 3 4 5 6 7], \"layers.1.w\": [ 0  2  4  6  8 10 12 14], b: [1. 1.]}\n");
  const auto plain = [](const std::string& header, const std::string& data) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return length + header + data;
  };
  d.put("m-1.safetensors", plain(R"({"layers.0.w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "\1\2\3\4"));
  d.put(
      "m-2.safetensors",
      plain(
          R"({"layers.1.w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]}})",
          "\5\6\7\10\11"));
  CHECK(d.runs("mesh m = (@X: 2)\nlet t = load(\"DIR/m.safetensors.index.json\", like: {layers: [{w: shard u8[4] as "
               "P(@X)}, {w: u8[4]}], b: "
               "u8})\nprint(t, sharding(t.layers[0].w))") ==
        "{layers: [{w: [1 2 3 4]}, {w: [5 6 7 8]}], b: 9} P(@X)\n");
  d.put("bad.safetensors.index.json", R"({"weight_map":{"w":"../m-1.safetensors"}})");
  CHECK_THAT(d.fails("load(\"DIR/bad.safetensors.index.json\")"), Contains("no file of the folder"));
  fs::create_directories(d.at("inner"));
  fs::create_symlink(d.at("m-1.safetensors"), d.at("inner/l.safetensors"));
  d.put("inner/l.safetensors.index.json", R"({"weight_map":{"layers.0.w":"l.safetensors"}})");
  CHECK_THAT(d.fails("load(\"DIR/inner/l.safetensors.index.json\")"), Contains("leads out of the folder"));
  // A hub's cache: snapshots of links into a folder of blobs.
  fs::create_directories(d.at("cache/blobs"));
  fs::create_directories(d.at("cache/snapshots/one"));
  fs::copy_file(d.at("m-1.safetensors"), d.at("cache/blobs/aa"));
  fs::create_symlink("../../blobs/aa", d.at("cache/snapshots/one/l.safetensors"));
  d.put("cache/snapshots/one/l.safetensors.index.json", R"({"weight_map":{"layers.0.w":"l.safetensors"}})");
  CHECK(d.runs("print(load(\"DIR/cache/snapshots/one/l.safetensors.index.json\"))") == "{\"layers.0.w\": [1 2 3 4]}\n");
}

TEST_CASE("trees are converted between folders and files, and back, to the byte") {
  DataFolder d;
  d.runs(
      "mesh m = (@X: 4)\nsave(\"DIR/run/\", {w: shard normal(key(1), [8, 64]) as P(_, @X), l: [arange(3), 2.5, \"x\"], "
      "k: "
      "key(3)})");
  test::Script s;
  stdlib::convert(s.in(), d.at("run/"), d.at("m.safetensors"));
  stdlib::convert(s.in(), d.at("m.safetensors"), d.at("back/"));
  stdlib::convert(s.in(), d.at("back"), d.at("n.safetensors"));
  CHECK(d.bytes("m.safetensors") == d.bytes("n.safetensors"));
  CHECK(d.bytes("m.safetensors").find("\"w\":{\"dtype\":\"F32\",\"shape\":[8,64]") != std::string::npos);
  CHECK(d.runs("let (a, b) = (load(\"DIR/run/\"), load(\"DIR/back/\"))\nprint(\"{a}\" == \"{b}\", all(a.w == b.w))") ==
        "true true\n");
  // Names of a foreign file become the tree that they stand for.
  d.runs("save(\"DIR/f.npz\", {\"layers.0.w\": arange(2), \"layers.1.w\": arange(3), head: ones([1])})");
  stdlib::convert(s.in(), d.at("f.npz"), d.at("f/"));
  CHECK(d.runs("print(load(\"DIR/f/\"))") == "{layers: [{w: [0 1]}, {w: [0 1 2]}], head: [1.]}\n");
  // Numbers are arrays of rank 0 where a format has no others; `like` makes them numbers again.
  d.runs("save(\"DIR/t/\", {p: [{w: ones([2])}], step: 4, rate: 1e-3, on: true, k: key(7), none: none})");
  stdlib::convert(s.in(), d.at("t/"), d.at("t.npz"));
  stdlib::convert(s.in(), d.at("t.npz"), d.at("u/"));
  const std::string like = "{p: [{w: [1. 1.]}], step: 4, rate: 0.001, on: true, k: [0 7], none: none} true\n";
  CHECK(d.runs(
            "let t = load(\"DIR/t/\")\nlet n = load(\"DIR/t.npz\")\nprint(n, typeof(n.step), typeof(n.rate), "
            "typeof(n.on))\nfor f in [\"DIR/t.npz\", \"DIR/u/\"] { print(load(f, like: t), load(f, like: t) == t) }") ==
        "{\"p.0.w\": [1. 1.], step: 4, rate: 0.001, on: true, k: [0 7]} i64[] f64[] bool[]\n" + like + like);
}

TEST_CASE("a log goes on at the step of a run that was resumed") {
  DataFolder d;
  const auto logged = [&](int from, int to) {
    return "for i in " + std::to_string(from) + ".." + std::to_string(to) +
           " { log_scalars(\"DIR/t.csv\", i, {x: i * " + std::to_string(from + 1) + "}) }\n";
  };
  d.runs(logged(0, 5));
  d.runs(logged(3, 6));
  CHECK(d.bytes("t.csv") == "step,x\n0,0\n1,1\n2,2\n3,12\n4,16\n5,20\n");
  d.put("t.csv", d.bytes("t.csv") + "6,2");  // a process died in the middle of a line
  d.runs(logged(6, 8));
  CHECK(d.bytes("t.csv") == "step,x\n0,0\n1,1\n2,2\n3,12\n4,16\n5,20\n6,42\n7,49\n");
  d.runs("log_scalars(\"DIR/u.csv\", 1, {loss: 2.0, n: 20000000, a: array(1.0), i: array(3), x: 0.1})");
  CHECK(d.bytes("u.csv") == "step,loss,n,a,i,x\n1,2.0,20000000,1.0,3,0.1\n");  // floats stay floats
  CHECK_THAT(d.fails("log_scalars(\"DIR/t.csv\", 1, {y: 1})"), Contains("has the columns step,x"));
  CHECK(d.bytes("t.csv").ends_with("7,49\n"));
}
