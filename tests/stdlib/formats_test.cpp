// The table of file formats: what a row writes it recognises and reads back, whole and in blocks, packed or not; what
// stands behind a declared end, promises more than is there, or cannot be written.
#include <sys/resource.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/mesh/array_reader.h"
#include "stdlib/host/files/format.h"
#include "tests/stdlib/folder.h"
#include "tests/stdlib/script.h"

using Catch::Contains;
using namespace shard;
using namespace shard::stdlib;
using test::load;
namespace fs = std::filesystem;

namespace {

class Formats : public test::Folder {
 public:
  Formats() : Folder("formats") {}
};

std::string save(const std::string& path, const std::string& value) {
  return "save(\"" + path + "\", " + value + ")\n";
}

std::string packed(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// Every block of a [3, 4, 5] array: the numbers 0, 1, 2, ... in row-major order, of this type.
template <class T>
void check_blocks(Contents& file, std::size_t which) {
  const runtime::Shape shape = file.arrays.at(which).shape;
  REQUIRE(runtime::numel(shape) == 60);
  const auto size = [&](std::size_t d) { return d < shape.size() ? shape[d] : 1; };
  for (std::int64_t i = 0; i < 12; ++i) {  // origins and sizes that begin, end and lie within
    runtime::Shape origin, count;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      origin.push_back((i * (static_cast<std::int64_t>(d) + 3) + i / 4) % shape[d]);
      count.push_back(1 + (i * 7 + static_cast<std::int64_t>(d)) % (shape[d] - origin[d]));
    }
    for (const bool transposed : {false, true}) {  // where the elements go may have any strides
      std::vector<T> got(static_cast<std::size_t>(runtime::numel(count)), T(99));
      runtime::View to = runtime::contiguous(file.arrays[which].dtype, count, got.data());
      if (transposed) {
        std::int64_t step = 1;
        for (std::size_t d = 0; d < count.size(); ++d) to.strides[d] = step, step *= count[d];
      }
      file.read(which, {origin, to});
      bool equal = true;
      for (std::int64_t n = 0; n < runtime::numel(count); ++n) {
        std::int64_t rest = n, at = 0, value = 0, scale = 1;
        for (std::size_t d = count.size(); d-- > 0;) {
          const std::int64_t index = rest % count[d];
          rest /= count[d];
          at += index * to.strides[d];
          value += (origin[d] + index) * scale;
          scale *= size(d);
        }
        equal = equal && got[static_cast<std::size_t>(at)] == static_cast<T>(value);
      }
      CHECK(equal);
    }
  }
}

}  // namespace

TEST_CASE("what a format's row writes, the row recognises and reads, gzipped too") {
  Formats f;
  const auto value = [](std::string_view holds) -> std::string {
    if (holds == "a string") return "\"text\"";
    if (holds == "a tree of arrays and numbers") return "{x: arange(6), y: ones([2, 3], f16)}";
    if (holds == "one array" || holds == "an array or a record of columns")
      return "cast(arange(6).reshape([2, 3]), i16)";
    return "{x: [arange(6), 1.5, \"a\"], k: (none, true)}";
  };
  for (const Format& format : formats())
    for (const std::string_view ending : format.endings)
      for (const char* gz : {"", ".gz"}) {
        const std::string name = "file" + std::string(ending) + gz, path = f.at(name);
        INFO(name);
        CHECK(format_to_write(path) == &format);
        CHECK(test::error(save(path, value(format.holds))) == "");
        CHECK((f.bytes(name).substr(0, 2) == "\x1f\x8b") == (*gz != 0));
        const auto file = open_source(path);
        REQUIRE(format_of(*file, path) == &format);
        CHECK(test::run("print(" + load(path) + ")") == test::run("print(" + value(format.holds) + ")"));
      }
  CHECK(format_names("or") == "npz, npy, safetensors, csv, idx or text");
  const std::string help = test::run("help(load)\nhelp(save)");
  for (const Format& format : formats()) CHECK_THAT(help, Contains(std::string(format.name)));
}

TEST_CASE("blocks of arrays in files, by offset, from any format") {
  Formats f;
  test::run("let x = arange(60).reshape([3, 4, 5])\n" + save(f.at("a.npy"), "x") + save(f.at("a.idx"), "cast(x, i16)") +
            save(f.at("a.npz"), "{other: ones([3]), x: cast(x, f32)}") +
            save(f.at("a.ckpt"), "{a: ones([7], i8), x: x}") + save(f.at("a.csv"), "x.reshape([12, 5])"));
  const auto each = [&](const std::string& name, auto check) {
    const std::string whole = f.bytes(name);
    f.put("packed_" + name + ".gz", packed(whole));
    for (const std::string& path : {f.at(name), f.at("packed_" + name + ".gz")}) {
      INFO(path);
      const auto file = open_source(path);
      const auto contents = format_of(*file, path)->reads(*file);
      check(*contents);
    }
  };
  each("a.npy", [](Contents& c) { check_blocks<std::int32_t>(c, 0); });
  each("a.idx", [](Contents& c) { check_blocks<std::int16_t>(c, 0); });
  each("a.npz", [](Contents& c) { check_blocks<float>(c, 1); });
  each("a.ckpt", [](Contents& c) { check_blocks<std::int32_t>(c, 1); });
  each("a.csv", [](Contents& c) { check_blocks<std::int32_t>(c, 0); });
  // Column-major and big-endian, written out here: element (i, j, k) stands at i + 3 j + 12 k.
  std::string header = "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 4, 5), }", data;
  while ((10 + header.size() + 1) % 64) header += ' ';
  for (int k = 0; k < 5; ++k)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 3; ++i) data += std::string{'\0', static_cast<char>(20 * i + 5 * j + k)};
  const std::string head =
      std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() + 1) + '\0' + header + "\n";
  f.put("f.npy", head + data);
  each("f.npy", [](Contents& c) { check_blocks<std::int16_t>(c, 0); });
}

TEST_CASE("pieces of an array on devices are its elements in row-major order") {
  test::Script s;
  runtime::Pool& pool = s.in().context().pool();
  for (const char* layout : {"P()", "P(@A)", "P(@B)", "P(_, @A)", "P(@B, @C)", "P((@C, @A), _, @B)", "P(_, (@A, @B))",
                             "P(@A, @B, @C)", "P(_, _, (@C, @B, @A))"}) {
    const lang::Value v = s.in().run(
        "a", "mesh m = (@A: 2, @B: 2, @C: 2)\nshard arange(4 * 8 * 16).reshape([4, 8, 16]) as " + std::string(layout));
    const runtime::ArrayRef a = v.tensor().array();
    for (const std::size_t bytes : {1, 4, 12, 40, 64, 1000, 100000}) {
      INFO(layout << " in pieces of " << bytes);
      runtime::Pieces pieces(pool, a, bytes);
      std::string all;
      std::size_t most = 0;
      for (std::string_view p = pieces.next(); !p.empty(); p = pieces.next()) all += p, most = std::max(most, p.size());
      CHECK(most <= std::max<std::size_t>(4, bytes));
      REQUIRE(all.size() == 4 * 8 * 16 * 4);
      bool equal = true;
      for (std::int32_t i = 0; i < 4 * 8 * 16; ++i) {
        std::int32_t x = 0;
        std::memcpy(&x, all.data() + i * 4, 4);
        equal = equal && x == i;
      }
      CHECK(equal);
    }
  }
  const lang::Value none = s.in().run("b", "zeros([0, 3])");
  CHECK(runtime::Pieces(pool, none.tensor().array()).next().empty());
  const lang::Value one = s.in().run("c", "array(2.5)");
  CHECK(runtime::Pieces(pool, one.tensor().array()).next().size() == 4);
}

TEST_CASE("saving and loading a laid-out array take no second copy of it") {
  Formats f;
  for (const char* name : {"a.npy", "a.npz", "a.ckpt", "a.idx"}) {
    INFO(name);
    test::Script s;
    runtime::Pool& pool = s.in().context().pool();
    const std::string value = std::string(name) == "a.npz" ? "{x: x}" : "x";
    s.in().continue_with("a", "mesh m = (@A: 2, @B: 4)\nlet x = shard ones([2048, 4096]) as P(@B, @A)");
    pool.trim();
    pool.reset_peak();
    const std::int64_t before = pool.stats().peak;
    s.in().continue_with("b", save(f.at(name), value));
    CHECK(pool.stats().peak - before <= 8 << 20);
    pool.reset_peak();
    const std::int64_t loading = pool.stats().peak;
    s.in().continue_with("c", "let y = " + load(f.at(name)));
    CHECK(pool.stats().peak - loading <= (32 << 20) + (1 << 20));
  }
}

TEST_CASE("bytes behind the declared end of a file are an error") {
  Formats f;
  const std::pair<const char*, const char*> files[] = {
      {"a.npy", "arange(3)"}, {"a.npz", "{x: arange(3)}"}, {"a.ckpt", "{x: arange(3)}"}, {"a.idx", "arange(3)"}};
  for (const auto& [name, value] : files) {
    INFO(name);
    REQUIRE(test::error(save(f.at(name), value)) == "");
    const std::string good = f.bytes(name);
    CHECK(test::error(load(f.put("good.gz", packed(good)))) == "");
    CHECK_THAT(test::error(load(f.put("bad", good + "x"))), Contains("cannot read"));
    CHECK_THAT(test::error(load(f.put("bad", good + std::string(70000, '\0')))), Contains("cannot read"));
    CHECK_THAT(test::error(load(f.put("bad.gz", packed(good + "x")))), Contains("cannot read"));
    CHECK_THAT(test::error(load(f.put("bad.gz", packed(good) + "x"))), Contains("gzip data ends before the file does"));
    CHECK_THAT(test::error(load(f.put("short.gz", packed(good.substr(0, good.size() - 1))))), Contains("cannot read"));
    const std::string cut = packed(good);
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, std::size_t{8}, cut.size() / 2})
      CHECK_THAT(test::error(load(f.put("cut.gz", cut.substr(0, cut.size() - n)))), Contains("gzip data"));
    for (std::size_t n = 0; n < good.size(); n += 1 + good.size() / 40)  // every prefix: text at best
      CHECK_THAT(test::error(load(f.put("cut", good.substr(0, n))) + ".shape"), Contains("error"));
  }
  // Several members of a gzip file are one file; the first one's end is not the end.
  test::run(save(f.at("two.npy"), "arange(100)"));
  const std::string two = f.bytes("two.npy");
  CHECK(test::run("print(sum(" + load(f.put("two.gz", packed(two.substr(0, 150)) + packed(two.substr(150)))) + "))") ==
        "4950\n");
}

TEST_CASE("a header that promises more than the file can hold takes no memory") {
  Formats f;
  const auto npy = [](const std::string& shape) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    while ((10 + header.size() + 1) % 64) header += ' ';
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() + 1) + '\0' + header + "\n";
  };
  CHECK_THAT(test::error(load(f.put("a", npy("(60000000000,)")))), Contains("240000000000 bytes, but it has 0"));
  CHECK_THAT(test::error(load(f.put("a.gz", packed(npy("(60000000000,)"))))),
             Contains("240000000000 bytes, but it has"));
  // A zip whose member says that few packed bytes are many.
  test::run(save(f.at("b.npz"), "{x: arange(8)}"));
  std::string zip = f.bytes("b.npz");
  const std::size_t entry = zip.find("PK\1\2");
  const std::uint32_t huge = 0xf0000000;
  std::memcpy(zip.data() + entry + 24, &huge, 4);
  CHECK_THAT(test::error(load(f.put("c.npz", zip))), Contains("damaged"));
  zip[entry + 10] = 8;
  CHECK_THAT(test::error(load(f.put("d.npz", zip))), Contains("cannot read"));
  // Two members over the same bytes.
  test::run(save(f.at("e.npz"), "{x: arange(8), y: arange(8)}"));
  zip = f.bytes("e.npz");
  const std::size_t second = zip.find("PK\1\2", zip.find("PK\1\2") + 4);
  const std::uint32_t zero = 0;
  std::memcpy(zip.data() + second + 42, &zero, 4);
  CHECK_THAT(test::error(load(f.put("g.npz", zip))), Contains("overlaps"));
}

TEST_CASE("an npz file is loaded without its text") {
  Formats f;
  test::run(save(f.at("a.npz"), "{names: arange(3), x: arange(2.0)}"));
  std::string zip = f.bytes("a.npz");
  zip.replace(zip.find("<i4"), 3, "<U1");  // as large as an i32
  CHECK(test::run("print(" + load(f.put("b.npz", zip)) + ")") == "{x: [0. 1.]}\n");
}

// The file is what the Python package safetensors 0.8 writes of numpy.array([[1+2j, -0.5j], [3, 0.25-4j]], complex64).
TEST_CASE("complex numbers in files") {
  Formats f;
  const std::string header = R"({"z":{"dtype":"C64","shape":[2,2],"data_offsets":[0,32]}}       )";
  const float numbers[] = {1, 2, -0.0f, -0.5f, 3, 0, 0.25f, -4};
  std::string file("@\0\0\0\0\0\0\0", 8);
  file += header + std::string(reinterpret_cast<const char*>(numbers), sizeof numbers);
  std::ofstream(f.at("python.safetensors"), std::ios::binary) << file;
  const std::string z = "[[ 1.  +2.j  -0.  -0.5j]\n     [ 3.  +0.j   0.25-4.j ]]";
  CHECK(test::run("print(" + load(f.at("python.safetensors")) + ")") == "{z: " + z + "}\n");
  const std::string read = "let z = " + load(f.at("python.safetensors")) + ".z\n";
  CHECK(test::error(read + save(f.at("again.safetensors"), "{z: z}")) == "");
  const std::string again = f.bytes("again.safetensors");
  CHECK(again.find(R"("z":{"dtype":"C64","shape":[2,2],"data_offsets":[0,32]})") != std::string::npos);
  CHECK(again.substr(again.size() - sizeof numbers) == file.substr(file.size() - sizeof numbers));
  for (const char* name : {"both.npz", "both.npz.gz"}) {
    CHECK(test::error(read + save(f.at(name), "{z: z, w: cast(z, c128)}")) == "");
    CHECK(test::run("let r = " + load(f.at(name)) + "\nprint(r.z, typeof(r.z), typeof(r.w))\n" + read +
                    "assert(all(r.z == z))\nassert(all(r.w == cast(z, c128)))") ==
          "[[ 1.  +2.j  -0.  -0.5j]\n [ 3.  +0.j   0.25-4.j ]] c64[2,2] c128[2,2]\n");
  }
  CHECK_THAT(test::error(read + save(f.at("wide.safetensors"), "{w: cast(z, c128)}")),
             Contains("safetensors has no type for c128: cast it, save its parts, or write a .npz file"));
}

TEST_CASE("a write that fails is an error at its line, and leaves the old file and nothing else") {
  Formats f;
  const std::string path = f.at("a.npy");
  test::run(save(path, "arange(4)"));
  const std::string before = f.bytes("a.npy");
  std::vector<std::string> said;
  {
    const test::SmallFiles full(100'000);
    for (const char* name : {"a.npy", "a.npy.gz", "a.ckpt", "a.idx", "a.csv"}) {
      const std::string value = "normal(key(1), [100000])";
      said.push_back(test::error("\n" + save(f.at(name), value)));
    }
    said.push_back(test::error(save(f.at("a.npz"), "{x: normal(key(1), [100000])}")));
  }
  for (const std::string& e : said) {
    CHECK_THAT(e, Contains("cannot write") && Contains("File too large"));
    CHECK_THAT(e, Contains("test.shard:"));
  }
  CHECK_THAT(said[0], Contains("test.shard:2:1"));
  CHECK(f.bytes("a.npy") == before);
  CHECK(f.names().size() == 1);
}

TEST_CASE("a pipe is read as a file is") {
  Formats f;
  test::run(save(f.at("a.npy"), "arange(4)"));
  const std::string pipe = f.at("pipe");
  REQUIRE(std::system(("mkfifo " + pipe + " && (cat " + f.at("a.npy") + " > " + pipe + " &)").c_str()) == 0);
  CHECK(test::run("print(" + load(pipe) + ")") == "[0 1 2 3]\n");
}
