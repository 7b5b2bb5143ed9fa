// Checkpoint folders: trees there and back on any layout, what does not fit, damage and malice, writes that fail.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/array/crc32c.h"
#include "stdlib/host/storage/folder.h"
#include "stdlib/host/storage/loading.h"
#include "tests/stdlib/folder.h"
#include "tests/stdlib/script.h"

using Catch::Contains;
using namespace shard;
using namespace shard::stdlib;
using runtime::crc32c;
using runtime::PartialSum;
using test::error;
using test::run;
namespace fs = std::filesystem;

namespace {

class Place : public test::Folder {
 public:
  Place() : Folder("storage") {}
  std::string save(const std::string& tree) const { return "save(\"" + at("run/") + "\", " + tree + ")\n"; }
  std::string load(const std::string& more = "") const { return "load(\"" + at("run/") + "\"" + more + ")"; }
};

std::string replaced(std::string s, const std::string& from, const std::string& to) {
  const std::size_t at = s.find(from);
  REQUIRE(at != std::string::npos);
  return s.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("CRC-32C: the vectors of RFC 3720, and parts summed up apart in any order") {
  CHECK(crc32c(0, "123456789") == 0xe3069283);
  CHECK(crc32c(0, std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(0, std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c(crc32c(0, "1234"), "56789") == 0xe3069283);
  std::string much;  // in several streams, or a little at a time: the same
  for (std::uint32_t i = 0; i < 100'003; ++i) much += static_cast<char>(i * i >> 5);
  std::uint32_t little = 0;
  for (std::size_t at = 0; at < much.size(); at += 1001) little = crc32c(little, much.substr(at, 1001));
  CHECK(crc32c(0, much) == little);
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * i + i / 7);
  std::uint32_t sum = 0;
  for (const std::size_t k : {2, 0, 1}) {  // every third run of 100
    PartialSum part;
    for (std::size_t at = k * 100; at < bytes.size(); at += 300) part.run(at, std::string_view(bytes).substr(at, 100));
    sum ^= part.finish(bytes.size());
  }
  CHECK(sum == PartialSum::whole(crc32c(0, bytes), bytes.size()));
}

TEST_CASE("a tree is saved to a folder and loaded again, every type and value") {
  Place p;
  const std::string tree =
      "let t = {w: shard arange(16).reshape([4, 4]) as P(@X), l: [1, -2.5, (\"\\u00e4\", none, true), []], k: "
      "split(key(3), 2), e: zeros([0, 3], bf16), s: array(1.5, f64), b: array([true, false]), h: ones([2], f16), "
      "u: cast(array(250), u8), \"a.b/c%\": {}, z: -0.0, n: nan}\n";
  CHECK(run("mesh m = (@X: 2)\n" + tree + p.save("t") + "let b = " + p.load() +
            "\nassert(\"{b}\" == \"{t}\")\nprint(typeof(b.e), typeof(b.u), typeof(b.k), typeof(b.h), b.z)") ==
        "bf16[0,3] u8[] key[2] f16[2] -0.0\n");
  CHECK(p.names() == std::vector<std::string>{"run"});
  CHECK(run(p.save("arange(3)") + "print(" + p.load() + ")") == "[0 1 2]\n");  // in place of the other one
}

TEST_CASE("shard.json is what the page says") {
  Place p;
  run("mesh m = (@X: 2)\n" + p.save("{w: shard cast(arange(4), f32) as P(@X), n: [3, 2.0], k: key(1)}"));
  const auto crc = [](std::vector<float> x) {
    return std::to_string(crc32c(0, {reinterpret_cast<const char*>(x.data()), 4 * x.size()}));
  };
  std::string index = p.bytes("run/shard.json");
  std::erase(index, '\n');
  CHECK(index ==
        R"({"format":"shard checkpoint","version":1,"tree":{"record":[["w",{"array":"w"}],["n",{"list":[{"int":3},)"
        R"({"float":2.0}]}],["k",{"array":"k"}]]},"arrays":{"w":{"dtype":"F32","shape":[4],"blocks":[{"origin":[0],)"
        R"("shape":[2],"file":"data_0.safetensors","tensor":"w/0","crc32c":)" +
            crc({0, 1}) + R"(},{"origin":[2],"shape":[2],"file":"data_0.safetensors","tensor":"w/1","crc32c":)" +
            crc({2, 3}) +
            R"(}]},"k":{"dtype":"U32","shape":[2],"blocks":[{"origin":[0],"shape":[2],)"
            R"("file":"data_0.safetensors","tensor":"k","crc32c":)" +
            std::to_string(crc32c(0, std::string("\0\0\0\0\1\0\0\0", 8))) + "}]}}}");
}

TEST_CASE("saved on one mesh, loaded on another, equal to the bit; every device reads its blocks and no more") {
  Place p;
  REQUIRE(error("mesh m = (@A: 4, @B: 2)\nlet w = normal(key(1), [8, 16, 4])\n" +
                p.save("{a: shard w as P(@A, @B), b: shard w as P(_, (@B, @A)), c: w, k: shard split(key(2), 8) as "
                       "P(@A)}")) == "");
  const std::pair<const char*, const char*> meshes[] = {{"(@X: 8)", "P(@X)"},
                                                        {"(@X: 2, @Y: 2)", "P(@Y, @X)"},
                                                        {"(@X: 1)", "P(@X)"},
                                                        {"(@X: 2, @Y: 4)", "P(_, (@X, @Y))"},
                                                        {"(@X: 8)", "P()"},
                                                        {"(@X: 4, @Y: 2)", "P(_, _, @X)"},
                                                        {"(@X: 2, @Y: 4 explicit)", "P(@Y, @X)"}};
  for (const auto& [mesh, spec] : meshes) {
    INFO(mesh << " " << spec);
    test::Script s;
    s.in().continue_with("a", "mesh m = " + std::string(mesh) +
                                  "\nlet w = normal(key(1), [8, 16, 4])\nlet like = shard {a: w, b: "
                                  "w, c: w} as " +
                                  spec);
    const auto folder = open_folder(p.at("run"), [](const std::string&) {});
    class Counted : public Contents {
     public:
      explicit Counted(Contents& c) : inner(c) { arrays = c.arrays; }
      void read(std::size_t i, const ArrayPart& b) override {
        bytes += static_cast<std::uint64_t>(runtime::numel(b.to.shape)) * runtime::size_of(b.to.dtype);
        inner.read(i, b);
      }
      void check_end() override { inner.check_end(); }
      lang::Value tree(std::vector<lang::Value> v) override { return inner.tree(std::move(v)); }
      bool flat() const override { return inner.flat(); }
      Contents& inner;
      std::uint64_t bytes = 0;
    } counted(*folder);
    const lang::Value like = *s.in().global("like");
    const lang::Value back = filled(s.in(), counted, fitted(s.in(), counted, like, {"run", false, {}}, {}));
    CHECK(counted.bytes == 3 * 8 * 16 * 4 * 4);  // each element once, whoever holds copies of it
    s.in().set_global("back", back);
    const lang::Value same = s.in().continue_with(
        "b", "all(back.a == w) and all(back.b == w) and all(back.c == w) and sharding(back.a) == sharding(like.a)");
    CHECK(s.in().truth(same, {}));
  }
  CHECK(run("mesh m = (@X: 8)\nlet t = " + p.load(", strict: false, like: {k: shard key[8] as P(@X)}") +
            "\nprint(sharding(t.k), all(key_data(t.k) == key_data(split(key(2), 8))))") == "P(@X) true\n");
}

TEST_CASE("unreduced sums are saved as their value and loaded as terms that sum up to it") {
  Place p;
  CHECK(run("mesh m = (@X: 4 explicit)\nlet w = shard ones([2, 8]) as P(_, @X)\nlet g = dot(w, shard ones([8]) as "
            "P(@X), out: P(unreduced: @X))\n" +
            p.save("g") + "print(" + p.load() + ")\nlet b = " + p.load(", like: g") +
            "\nprint(typeof(b), shard b as P())") == "[8. 8.]\nf32[2]{U:X} [8. 8.]\n");
}

TEST_CASE("what does not fit is told at once") {
  Place p;
  run(p.save("{layers: [{w: ones([2, 3]), b: ones([3])}], step: 4, name: \"x\"}"));
  const std::string said =
      error(p.load(", like: {layers: [{weight: f32[2, 3], b: f32[4]}], step: \"s\", names: \"y\"}"));
  CHECK_THAT(said, Contains("does not fit `like`: 2 are missing, 2 are left over, 2 are of another type"));
  CHECK_THAT(said, Contains("missing in the file: `layers.0.weight`, `names`"));
  CHECK_THAT(said, Contains("left over in the file: `layers.0.w`, `name`"));
  CHECK_THAT(said, Contains("`layers.0.b` is f32[3] in the file, and `like` has f32[4]"));
  CHECK_THAT(said, Contains("`step` is int in the file, and `like` has string"));
  CHECK_THAT(said, Contains("`names` may be what the file calls `name`"));
  CHECK(run("print(" +
            p.load(", strict: false, rename: fn(name) = if name == \"layers.0.b\" { \"bias\" } else { name }, like: "
                   "{bias: f32[3], step: 0, more: 7}") +
            ")") == "{bias: [1. 1. 1.], step: 4, more: 7}\n");
  CHECK_THAT(error(p.load(", like: {w: bf16[2, 3]}, rename: fn(name) = \"w\"")), Contains("gives two arrays the name"));
  CHECK_THAT(error(p.load(", strict: false")), Contains("go with `like:`"));
  // Names of a foreign file are paths.
  CHECK(run("save(\"" + p.at("f.npz") + "\", {\"layers.0.w\": arange(2)})\nprint(load(\"" + p.at("f.npz") +
            "\", like: {layers: [{w: i32[2]}]}))") == "{layers: [{w: [0 1]}]}\n");
}

TEST_CASE("damage is found by the check sums, whatever the layout that is read") {
  Place p;
  const std::string mesh = "mesh m = (@X: 4, @Y: 2)\n";
  run(mesh + p.save("{w: shard normal(key(1), [64, 64]) as P(@X, @Y)}"));
  std::string data = p.bytes("run/data_0.safetensors");
  data[data.size() - 1000] = static_cast<char>(data[data.size() - 1000] ^ 4);
  p.put("run/data_0.safetensors", data);
  for (const char* like : {"", ", like: {w: f32[64, 64]}", ", like: {w: shard f32[64, 64] as P(@Y, @X)}",
                           ", as: P((@Y, @X))", ", like: {w: shard f32[64, 64] as P(_, (@X, @Y))}"})
    CHECK_THAT(error(mesh + p.load(like)), Contains("the check sum of \"w/7\" does not fit"));
}

TEST_CASE("hostile folders are refused with the file's name") {
  Place p;
  run("mesh m = (@X: 2)\n" + p.save("{w: shard cast(arange(4), f32) as P(@X), v: ones([2])}"));
  const std::string good = p.bytes("run/shard.json"), data = p.bytes("run/data_0.safetensors");
  const auto with = [&](const std::string& from, const std::string& to) {
    p.put("run/shard.json", replaced(good, from, to));
    return error(p.load());
  };
  CHECK_THAT(with("data_0.safetensors", "../data_0.safetensors"), Contains("no file of the folder"));
  CHECK_THAT(with("data_0.safetensors", "/etc/passwd"), Contains("no file of the folder"));
  CHECK_THAT(with("data_0.safetensors", "data_1.safetensors"), Contains("'data_1.safetensors': No such file"));
  CHECK_THAT(with("\"shape\":[4]", "\"shape\":[1000000000000000]"), Contains("'shard.json'"));
  CHECK_THAT(with("\"shape\":[4]", "\"shape\":[9223372036854775807]"), Contains("'shard.json'"));
  CHECK_THAT(with("\"shape\":[4]", "\"shape\":[5]"), Contains("takes 20 bytes, its blocks have 16"));
  CHECK_THAT(with("\"shape\":[4]", "\"shape\":[3]"), Contains("reaches out of it"));
  CHECK_THAT(with("\"origin\":[2]", "\"origin\":[1]"), Contains("overlap"));
  CHECK_THAT(with("\"origin\":[2]", "\"origin\":[-1]"), Contains("damaged"));
  CHECK_THAT(with("\"w/1\"", "\"w/0\""), Contains("two blocks lie in the tensor \"w/0\""));
  CHECK_THAT(with("\"w/1\"", "\"w/2\""), Contains("it has no tensor \"w/2\""));
  CHECK_THAT(with("\"F32\",\"shape\":[4]", "\"I32\",\"shape\":[4]"), Contains("'shard.json' says i32(2)"));
  CHECK_THAT(with("[\"v\",{\"array\":\"v\"}]", "[\"v\",{\"array\":\"w\"}]"), Contains("\"w\" twice"));
  CHECK_THAT(with("[\"v\",{\"array\":\"v\"}]", "[\"w\",{\"array\":\"v\"}]"), Contains("field \"w\" twice"));
  CHECK_THAT(with("[\"v\",{\"array\":\"v\"}]", "[\"v\",{\"array\":\"u\"}]"), Contains("which is not listed"));
  CHECK_THAT(with("\"v\":{", "\"w\":{"), Contains("stands twice"));
  CHECK_THAT(with("\"version\":1", "\"version\":2"), Contains("version 2"));
  p.put("run/shard.json", "{\"format\":\"shard checkpoint\",\"version\":1,\"tree\":" + std::string(1'000'000, '['));
  CHECK_THAT(error(p.load()), Contains("nested too deeply"));
  p.put("run/shard.json", good);
  for (std::size_t n = 0; n < data.size(); n += 7) {  // every prefix
    p.put("run/data_0.safetensors", data.substr(0, n));
    CHECK_THAT(error(p.load()), Contains("'data_0.safetensors': "));
  }
  p.put("run/data_0.safetensors", data + "x");
  CHECK_THAT(error(p.load()), Contains("but it has 25"));
  fs::rename(p.at("run/data_0.safetensors"), p.at("elsewhere"));
  p.put("elsewhere", data);
  fs::create_symlink(p.at("elsewhere"), p.at("run/data_0.safetensors"));
  CHECK_THAT(error(p.load()), Contains("it is a symbolic link"));
}

TEST_CASE("hosts are asked for every file of a folder") {
  Place p;
  run(p.save("{w: ones([2])}"));
  lang::Options some;
  some.may_read = [](const std::string& path) { return path.find("data_0") == std::string::npos; };
  CHECK_THAT(error(p.load(), some), Contains("data_0.safetensors' is not allowed"));
  some.may_write = [](const std::string& path) { return path.find("data_0") == std::string::npos; };
  CHECK_THAT(error(p.save("1.5"), some), Contains("data_0.safetensors' is not allowed"));
}

TEST_CASE("a folder that cannot be written is an error at its line; the older one stays, and nothing else") {
  Place p;
  run(p.save("{w: arange(3)}"));
  const std::string before = p.bytes("run/shard.json");
  const std::string said = [&] {
    const test::SmallFiles full(100'000);
    return error("\n" + p.save("{w: ones([100000])}"));
  }();
  CHECK_THAT(said, Contains("test.shard:2:1") && Contains("cannot write") && Contains("File too large"));
  CHECK(p.bytes("run/shard.json") == before);
  CHECK(p.names() == std::vector<std::string>{"run"});
  CHECK_THAT(error("save(\"" + p.at("no/run/") + "\", 1)"), Contains("there is no folder"));
  p.put("mine/notes.txt", "x");
  CHECK_THAT(error("save(\"" + p.at("mine/") + "\", 1)"), Contains("holds 'notes.txt'"));
  CHECK(p.bytes("mine/notes.txt") == "x");
}

TEST_CASE("checkpoints of a run: which are kept, which is found, what is bad is passed over") {
  Place p;
  const std::string begin =
      "import train\nlet ck = train.checkpoints(\"" + p.at("run") + "\", keep: 2, every: 2, keep_every: 8)\n";
  const auto there = [&] {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(p.at("run"))) out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  };
  CHECK(run(begin + "print(ck.latest(), ck.restore(like: {w: f32[2]}))") == "none none\n");
  CHECK(run(begin +
            "let saved = []\nfor i in 1..15 { if ck.save(i, {w: ones([2]) * i, n: i}) { saved = append(saved, i) } }\n"
            "print(saved)\nck.wait()\nprint(ck.latest(), ck.restore(like: {w: f32[2], n: 0}))") ==
        "[2, 4, 6, 8, 10, 12, 14]\n14 {w: [14. 14.], n: 14}\n");
  CHECK(there() == std::vector<std::string>{"step_12", "step_14", "step_8"});
  const std::string data = p.bytes("run/step_14/data_0.safetensors");
  p.put("run/step_14/data_0.safetensors", data.substr(0, data.size() - 1) + "x");
  CHECK(run(begin + "print(ck.latest(), ck.restore(like: {w: f32[2], n: 0}))") == "12 {w: [12. 12.], n: 12}\n");
  fs::remove(p.at("run/step_12/shard.json"));
  CHECK(run(begin + "print(ck.latest())") == "8\n");
  // A run that goes on from there leaves what lies before it and removes nothing that it needs.
  CHECK(run(begin + "ck.save(10, {w: ones([2]), n: 10})\nck.wait()\nprint(ck.latest())") == "10\n");
  CHECK(there() == std::vector<std::string>{"step_10", "step_12", "step_14", "step_8"});
  p.put("run/step_8/shard.json", "{}");
  p.put("run/step_10/shard.json", "");
  const std::string all = error(begin + "ck.restore(like: {w: f32[2], n: 0})");
  CHECK_THAT(all, Contains("none of the checkpoints") && Contains("step_8'") && Contains("step_10'") &&
                      Contains("step_12'") && Contains("step_14'"));
  CHECK(run(begin + "print(ck.latest())") == "none\n");
  CHECK_THAT(error(begin + "ck.save(16, {f: fn(x) = x})"), Contains("cannot be saved (at `f`)"));
  CHECK_THAT(error("import train\ntrain.checkpoints(\"" + p.at("no/such") + "\").save(1, 1)"),
             Contains("there is no folder"));
}

TEST_CASE("errors of the writer come at the next call, or at the end of the script") {
  Place p;
  const std::string begin =
      "import train\nlet ck = train.checkpoints(\"" + p.at("run") + "\")\nck.save(1, {w: ones([4])})\nck.wait()\n";
  std::string next, last;
  {
    const test::SmallFiles full(100'000);
    next = error(begin + "ck.save(2, {w: ones([100000])})\nck.save(3, {w: ones([4])})");
    last = error(begin + "ck.save(2, {w: ones([100000])})");
  }
  CHECK_THAT(next, Contains("test.shard:6:1") && Contains("step_2") && Contains("File too large"));
  CHECK_THAT(last, Contains("test.shard:5:1") && Contains("step_2") && Contains("File too large"));
  CHECK(run("import train\nprint(train.checkpoints(\"" + p.at("run") + "\").latest())") == "1\n");
}

TEST_CASE("arrays in a checkpoint that is being written are not donated") {
  Place p;
  CHECK(run("import train\nlet ck = train.checkpoints(\"" + p.at("run") +
            "\", keep: 100)\njit fn step(w) = w * 2 + 1\nlet w = "
            "zeros([1000, 300])\nfor i in 1..20 {\n  w = step(w)\n  ck.save(i, w)\n}\nck.wait()\nfor i in 1..20 { "
            "assert(all(load(\"" +
            p.at("run") + "/step_{i}/\") == 2 ** i - 1)) }\nprint(ck.latest())") == "19\n");
}
