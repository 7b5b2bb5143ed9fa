// Files: what is read, what is refused. Array files are written out byte by byte from the formats' descriptions;
// damaged ones must end in an error that says what is wrong.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/stdlib/folder.h"
#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::Folder;
using shard::test::load;
using shard::test::run;
namespace fs = std::filesystem;

namespace {

class Files : public Folder {
 public:
  Files() : Folder("files") {}
};

std::string bytes(std::initializer_list<int> list) {
  std::string s;
  for (int b : list) s += static_cast<char>(b);
  return s;
}

std::string npy(const std::string& header, const std::string& data) {
  std::string h = header;
  while ((10 + h.size() + 1) % 64) h += ' ';
  h += '\n';
  return bytes({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}) + static_cast<char>(h.size() & 255) +
         static_cast<char>(h.size() >> 8) + h + data;
}

}  // namespace

TEST_CASE("idx files, big-endian, checked against their size") {
  Files f;
  const std::string good = f.put("a", bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255}));
  CHECK(run("let x = " + load(good) + "\nprint(typeof(x), x)") == "u8[2,3] [[  1   2   3]\n [  4   5 255]]\n");
  const std::string wide = f.put("b", bytes({0, 0, 0x0c, 1, 0, 0, 0, 1, 0, 0, 1, 2}));
  CHECK(run("print(" + load(wide) + ")") == "[258]\n");
  CHECK_THAT(error(load(f.put("c", bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1})))),
             Contains("(2, 3)") && Contains("6 bytes"));
  CHECK_THAT(error(load(f.put("d", bytes({0,   0,   8,   4,   255, 255, 255, 255, 255, 255,
                                          255, 255, 255, 255, 255, 255, 255, 255, 255, 255})))),
             Contains("cannot read"));
  CHECK_THAT(error(load(f.put("e", bytes({0, 0, 8, 3, 0, 0})))), Contains("ends within its sizes"));
}

TEST_CASE("csv: numbers, headers, quotes, and lines that do not fit") {
  Files f;
  CHECK(run("let x = " + load(f.put("a.csv", "1,2\r\n\n3,4\n")) + "\nprint(typeof(x), x)") ==
        "i32[2,2] [[1 2]\n [3 4]]\n");
  CHECK(run("print(typeof(" + load(f.put("b.csv", "x,y\n1,2.5\n3,4\n")) + "))") == "f32[2,2]\n");
  CHECK(run("print(read_csv(\"" + f.put("c.csv", "n,name\n1,\"a,\"\"b\"\"\"\n2,c\n") + "\"))") ==
        "{n: [1 2], name: [a,\"b\", c]}\n");
  CHECK_THAT(error(load(f.put("d.csv", "1,2\n3\n"))), Contains("line 2 has 1 fields"));
  CHECK_THAT(error(load(f.put("e.csv", "1,2\n3,x\n"))), Contains("line 2, field 2") && Contains("\"x\""));
  CHECK_THAT(error(load(f.put("f.csv", "1,\"2\n"))), Contains("never closed"));
  CHECK_THAT(error(load(f.put("g.csv", ""))), Contains("no line"));
}

TEST_CASE("npy: types, orders, sizes, and what is refused") {
  Files f;
  CHECK(run("print(" +
            load(f.put("a", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
                                bytes({1, 0, 0, 0, 2, 0, 0, 0})))) +
            ")") == "[1 2]\n");
  CHECK(run("print(" +
            load(f.put("b", npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }",
                                bytes({0, 1, 0, 2, 0, 3, 0, 4})))) +
            ")") == "[[1 3]\n [2 4]]\n");
  CHECK(run("print(" +
            load(f.put("s", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                                bytes({0, 0, 0, 0, 0, 0, 0xf8, 0x3f})))) +
            ")") == "1.5\n");
  CHECK_THAT(error(load(f.put("c", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "x")))),
             Contains("Python objects"));
  CHECK_THAT(error(load(f.put("d", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", "xxxx")))),
             Contains("36 bytes"));
  CHECK_THAT(error(load(f.put(
                 "e", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "")))),
             Contains("cannot read"));
  CHECK_THAT(error(load(f.put("g", npy("{'descr': '<f4'", "")))), Contains("cannot read"));
}

TEST_CASE("what is saved is loaded again") {
  Files f;
  const std::string path = f.at("run.ckpt");
  CHECK(run("mesh m = (@X: 2)\nlet t = {w: shard arange(4) as P(@X), s: [1, 2.5, \"a\\\"b\", none, true], k: key(3), "
            "h: (zeros([2], bf16),)}\nsave(\"" +
            path + "\", t)\nlet b = load(\"" + path +
            "\")\nprint(b.w, b.s, typeof(b.h[0]), all(key_data(b.k) == key_data(key(3))))") ==
        "[0 1 2 3] [1, 2.5, a\"b, none, true] bf16[2] true\n");
  const std::string one = f.at("x.npy");
  CHECK(run("save(\"" + one + "\", eye(2))\nprint(load(\"" + one + "\"))") == "[[1. 0.]\n [0. 1.]]\n");
  CHECK_THAT(error("save(\"" + f.at("no/such/folder") + "\", 1)"), Contains("cannot write"));
  CHECK_THAT(error("save(\"" + f.at("y") + "\", {a: fn(x) = x})"), Contains("cannot be saved (at `a`)"));
}

TEST_CASE("the ending of a path decides what save writes") {
  Files f;
  const auto there_and_back = [&](const std::string& name, const std::string& value) {
    const std::string path = "\"" + f.at(name) + "\"";
    return run("save(" + path + ", " + value + ")\nprint(load(" + path + "))");
  };
  CHECK(there_and_back("a.npz", "{x: arange(3), s: array(2.5), h: ones([1], f16)}") ==
        "{x: [0 1 2], s: 2.5, h: [1.]}\n");
  CHECK(there_and_back("a.idx", "cast(array([[1, 255]]), u8)") == "[[  1 255]]\n");
  CHECK(there_and_back("b.idx", "array([258, -2], i16)") == "[258  -2]\n");
  CHECK(there_and_back("a.csv", "array([[0.1, 2], [3, 4]])") == "[[0.1 2. ]\n [3.  4. ]]\n");
  CHECK(there_and_back("a.txt", "\"h\\u00e4llo\"") == "h\xc3\xa4llo\n");
  CHECK(there_and_back("a.ckpt.gz", "[1, arange(2)]") == "[1, [0 1]]\n");
  CHECK(there_and_back("a.npy.gz", "arange(2)") == "[0 1]\n");
  const std::string table = "\"" + f.at("t.csv") + "\"";
  CHECK(run("save(" + table + ", {x: array([0.1, 2]), n: [\"a,b\", \"c\"]})\nprint(read_text(" + table +
            "), read_csv(" + table + "))") == "x,n\n0.1,\"a,b\"\n2.0,c\n {x: [0.1 2. ], n: [a,b, c]}\n");
  const auto refused = [&](const std::string& name, const std::string& value) {
    return error("save(\"" + f.at(name) + "\", " + value + ")");
  };
  CHECK_THAT(refused("b.npy", "[1]"), Contains("holds one array"));
  CHECK_THAT(refused("b.npz", "{a: [\"x\"]}"), Contains("holds arrays and numbers, `a.0` is string"));
  CHECK_THAT(refused("b.npz", "{a: [ones([1], bf16)]}"), Contains("`a.0`: npy has no type for bf16"));
  CHECK_THAT(refused("b.npz", "array(1)"), Contains("a record or list of arrays"));
  CHECK_THAT(refused("b.ckpt", "{\"__metadata__\": array(1)}"), Contains("keeps the name"));
  for (const char* name : {"z.parquet", "z.JSON", "z.pt.gz", "a.npy.zip"})
    CHECK_THAT(refused(name, "array(1)"), Contains("no format has the ending"));
  CHECK_THAT(refused("z.npx", "array(1)"), Contains("did you mean .npz?"));
  CHECK_THAT(refused("z.safetensor", "array(1)"), Contains("did you mean .safetensors?"));
  for (const char* name : {"plain", "v0.5", ".hidden", "b.gz", "b.CKPT"}) CHECK(there_and_back(name, "[1]") == "[1]\n");
  CHECK_THAT(refused("c.idx", "array(1)"), Contains("rank 1 to 8"));
  CHECK_THAT(refused("c.idx", "zeros([1], f16)"), Contains("no type for f16"));
  CHECK_THAT(refused("b.csv", "zeros([1, 1, 1])"), Contains("rank 1 or 2"));
  CHECK_THAT(refused("b.csv", "{a: [1], b: [1, 2]}"), Contains("a and b differ in length"));
  CHECK_THAT(refused("b.csv", "ones([2], c64)"), Contains("holds real numbers, this is c64[2]"));
  CHECK_THAT(refused("b.csv", "{k: split(key(0), 2)}"), Contains("save key_data(x)"));
  CHECK_THAT(refused("b.txt", "1"), Contains("holds a string"));
  for (const auto& e : fs::directory_iterator(f.at("."))) CHECK(e.path().string().find(".part") == std::string::npos);
  CHECK_FALSE(fs::exists(f.at("b.csv")));  // nothing is left of what could not be written
}

TEST_CASE("a damaged member of an npz file, text that is none") {
  Files f;
  const std::string path = f.at("a.npz");
  run("save(\"" + path + "\", {x: arange(8)})");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(180);
  file.put('\7');
  file.close();
  CHECK_THAT(error(load(path)), Contains("member x.npy is damaged"));
  CHECK_THAT(error(load(f.put("t", bytes({'a', 0xe9, 'b'})))), Contains("no text in UTF-8"));
}

TEST_CASE("damaged safetensors are refused") {
  Files f;
  const auto file = [&](const std::string& name, const std::string& header, const std::string& data) {
    std::string s;
    for (std::size_t n = header.size(), i = 0; i < 8; ++i, n >>= 8) s += static_cast<char>(n & 255);
    return f.put(name, s + header + data);
  };
  CHECK(run("print(" + load(file("a", R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "\1\2")) + ")") ==
        "{x: [1 2]}\n");
  CHECK_THAT(error(load(file("b", R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "123"))),
             Contains("hole"));
  CHECK_THAT(error(load(file("c", R"({"x":{"dtype":"U8","shape":[9],"data_offsets":[0,2]}})", "12"))),
             Contains("damaged"));
  CHECK_THAT(error(load(file("d", R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "123"))),
             Contains("2 bytes"));
  CHECK_THAT(error(load(file("e", R"({"x":{"dtype":"Q7","shape":[2],"data_offsets":[0,2]}})", "12"))), Contains("Q7"));
  CHECK_THAT(error(load(file("g", "{\"x\":" + std::string(5000, '['), ""))), Contains("nested"));
}

TEST_CASE("text, existence, characters") {
  Files f;
  const std::string path = f.put("t.txt", "abca\n");
  CHECK(run("print(exists(\"" + path + "\"), exists(\"" + f.at("none") +
            "\"))\nlet (codes, letters) = chars(read_text(\"" + path +
            "\"))\nprint(codes, len(letters), letters[1:])") == "true false\n[1 2 3 1 0] 4 [a, b, c]\n");
  CHECK_THAT(error("read_text(\"" + f.put("u", bytes({0x61, 0xff})) + "\")"), Contains("UTF-8"));
  CHECK_THAT(error("load(\"" + f.at("none") + "\")"), Contains("No such file"));
  CHECK_THAT(error("load(\"" + f.put("z", bytes({0x1f, 0x8b, 8, 0, 1, 2, 3})) + "\")"), Contains("gzip"));
  shard::lang::Options closed;
  closed.may_read = [](const std::string&) { return false; };
  CHECK_THAT(error("load(\"" + path + "\")", closed), Contains("not allowed"));
}

TEST_CASE("loaders give batches in an order that a key decides") {
  CHECK(run("for (x, y) in loader((arange(6), arange(6) * 10), batch: 2) { print(x, y) }") ==
        "[0 1] [ 0 10]\n[2 3] [20 30]\n[4 5] [40 50]\n");
  CHECK(run("let n = 0\nlet total = 0\nfor x in progress(loader(arange(6), batch: 3, shuffle: key(1), epochs: 2)) { n "
            "+= 1\n total += int(sum(x)) }\nprint(n, total)") == "4 30\n");
  CHECK(run("mesh m = (@X: 2)\nfor x in loader(arange(4), batch: 2, spec: P(@X), skip: 1) { print(x, sharding(x)) }") ==
        "[2 3] P(@X)\n");
  CHECK(run("for (x, real) in loader(arange(5), batch: 3, rest: \"pad\") { print(x, real) }") ==
        "[0 1 2] [ true  true  true]\n[3 4 0] [ true  true false]\n");
  CHECK(run("for x in loader(arange(5), batch: 3) { print(x) }") == "[0 1 2]\n");
  CHECK(run("mesh m = (@X: 2)\nfor b in loader({x: eye(4), y: arange(4)}, batch: 2, skip: 1, spec: {x: P(_, @X), y: "
            "P(@X)}) { print(b.x[0], sharding(b.x), sharding(b.y)) }") == "[0. 0. 1. 0.] P(_, @X) P(@X)\n");
  // Gathered ahead, the batches are the same, over the ends of epochs too; the position counts what was given.
  const std::string shown = "for x in l { print(x, position(l)) }";
  const std::string plain = run("let l = loader(arange(7), batch: 2, shuffle: key(5), epochs: 3)\n" + shown);
  CHECK(run("let l = loader(arange(7), batch: 2, shuffle: key(5), epochs: 3, prefetch: 5)\n" + shown) == plain);
  CHECK(run("let l = loader(arange(7), batch: 2, shuffle: key(5), epochs: 3, prefetch: 2)\nfor x in l { if position(l) "
            "== 4 { break } }\n"
            "print(position(l))\n" +
            shown) == "4\n" + plain);
  CHECK(plain.ends_with(run("let l = loader(arange(7), batch: 2, shuffle: key(5), epochs: 3, skip: 5)\n" + shown)));
  CHECK_THAT(error("loader(arange(4), batch: 2, rest: \"keep\")"), Contains("\"drop\" or \"pad\""));
  CHECK_THAT(error("loader(arange(4), batch: 2, spec: 3)"), Contains("spec takes a layout"));
  CHECK_THAT(error("position(3)"), Contains("position takes a loader"));
  CHECK_THAT(error("loader(arange(4), batch: 5)"), Contains("between 1 and 4"));
  CHECK_THAT(error("loader((arange(4), arange(3)), batch: 1)"), Contains("i32[4]") && Contains("i32[3]"));
}
