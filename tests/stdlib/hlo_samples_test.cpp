// Every sample of every core row as a StableHLO module, with what our kernels give, written to the folder that
// SHARD_HLO_SAMPLES names; tests/golden/xla_export.py has an engine run them and compares. Hidden: it tests nothing.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>

#include "interpreter/hlo/module.h"
#include "tests/stdlib/op_check.h"

using namespace shard;
using namespace shard::testing;

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) (c == '"' || c == '\\' ? out += '\\' : out) += c;
  return out + "\"";
}

std::string described(const Arrays& arrays) {
  std::string out;
  for (const Array& a : arrays) {
    out += (out.empty() ? "[" : ", [") + quoted(runtime::name(a.dtype)) + ", [";
    for (std::size_t d = 0; d < a.shape.size(); ++d) out += (d ? ", " : "") + std::to_string(a.shape[d]);
    out += "]]";
  }
  return "[" + out + "]";
}

void write_bytes(const std::string& path, const Arrays& arrays) {
  std::ofstream file(path, std::ios::binary);
  for (const Array& a : arrays) file.write(a.bytes.data(), static_cast<std::streamsize>(a.bytes.size()));
}

// The sample with its f32 operands of another type; numbers that this type has.
ir::Sample with_type(ir::Sample s, DType type) {
  for (ir::SampleOperand& o : s.operands) {
    if (o.dtype != DType::F32) continue;
    o.dtype = type;
    if (runtime::is_inexact(type)) continue;
    o.low = type == DType::Bool || !runtime::is_signed(type) ? 0 : -4;
    o.high = type == DType::Bool ? 2 : 5;
  }
  return s;
}

// Operands of types that Array does not number come from f64.
Use numbered(const ir::OpDef& op, const ir::Sample& sample) {
  ir::Sample wide = sample;
  for (ir::SampleOperand& o : wide.operands)
    if (o.dtype != DType::Key && o.dtype != DType::I32 && o.dtype != DType::F32 && !runtime::is_complex(o.dtype))
      o.dtype = DType::F64;
  Use u = use_of(rows(), op, wide);
  for (std::size_t i = 0; i < u.args.size(); ++i) {
    const DType type = sample.operands[i].dtype;
    if (u.args[i].dtype == type) continue;
    if (!runtime::is_float(type))
      for (std::size_t k = 0; k < u.args[i].size(); ++k) u.args[i].set(k, std::floor(u.args[i].get(k)));
    const Use cast{u.table, &rows().at("convert"), {u.types[i]}, {u.args[i]}, {{"dtype", type}}};
    u.args[i] = run_alone(rows(), graph_of(cast), cast.args)[0];
    u.types[i] = Type::of(type, u.types[i].shape);
  }
  return u;
}

class Book {
 public:
  explicit Book(std::string folder) : folder_(std::move(folder)), list_(folder_ + "/cases.json") { list_ << "["; }
  ~Book() { list_ << "\n]\n"; }

  // False where the row does not take such operands.
  bool add(const std::string& name, const ir::OpDef& op, const ir::Sample& sample) {
    Arrays out;
    Use u;
    Graph g;
    try {
      u = numbered(op, sample);
      g = graph_of(u);
      out = run_alone(rows(), g, u.args);
    } catch (const std::exception&) { return false; }
    std::vector<exec::ArrayInfo> infos;
    for (const Type& t : u.types) infos.push_back({t, runtime::Sharding::replicated(t.shape.size()), {}, nullptr});
    const std::string path = folder_ + "/" + std::to_string(count_);
    list_ << (count_++ ? ",\n" : "\n") << "{\"name\": " << quoted(name) << ", \"row\": " << quoted(op.name)
          << ", \"in\": " << described(u.args) << ", \"out\": " << described(out);
    try {
      const auto made = hlo::module_of(transform::lower(rows(), g, nullptr, infos), {.arguments = infos});
      std::ofstream(path + ".mlir") << made.text;
      write_bytes(path + ".in", u.args);
      write_bytes(path + ".out", out);
    } catch (const grammar::Error& e) { list_ << ", \"refused\": " << quoted(e.diagnostic.message); }
    list_ << "}";
    return true;
  }

 private:
  std::string folder_;
  std::ofstream list_;
  int count_ = 0;
};

}  // namespace

TEST_CASE("rows: samples for another engine", "[.hlo]") {
  const char* folder = std::getenv("SHARD_HLO_SAMPLES");
  REQUIRE(folder);
  Book book(folder);
  for (const ir::OpDef& op : rows().rows()) {
    if (ir::is_composite(op)) continue;
    int which = 0;
    for (const ir::Sample& sample : ir::samples_of(op)) {
      const std::string name = std::string(op.name) + " " + std::to_string(++which);
      CHECK(book.add(name, op, sample));
      if (which > 1 && !(op.name == "take" || op.name == "scatter_rows")) continue;
      for (DType type : {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32,
                         DType::U64, DType::F16, DType::BF16, DType::F64})
        if (with_type(sample, type).operands.size() > 0)
          book.add(name + " " + std::string(runtime::name(type)), op, with_type(sample, type));
    }
  }
}
