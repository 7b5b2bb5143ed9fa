// Every row, every sample, layouts of its operands on 2 x 2 devices: the partitioned operation computes what the whole one does.
// Element codes and element types that the oracle does not hold are left to the table test, which runs the executor; they have the same
// rule as those that are here. All layouts of each operand while the others are whole or laid out alike, and pairs drawn without a pattern.
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;

namespace {

std::vector<Sharding> layouts(const Mesh& m, const runtime::Shape& shape) {
  std::vector<Sharding> out{Sharding::replicated(shape.size())};
  for (AxisId a = 0; a < 2; ++a) {
    std::vector<Sharding> more = out;
    for (const Sharding& s : out)
      for (std::size_t d = 0; d < shape.size(); ++d) {
        Sharding t = s;
        t.dims[d].axes.push_back(a);
        if (shape[d] % runtime::parts(m, t.dims[d]) == 0) more.push_back(t);
      }
    out = std::move(more);
  }
  return out;
}

Array operand(const ir::SampleOperand& o, unsigned seed) {
  Array a(o.dtype, o.shape);
  std::uint64_t s = seed * 0x9E3779B97F4A7C15ull + 99;
  for (std::size_t i = 0; i < a.size(); ++i) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    double u = static_cast<double>(s >> 11) / 9007199254740992.0, v = o.low + u * (o.high - o.low);
    a.set(i, runtime::is_float(o.dtype) ? v : std::floor(v));
  }
  return a;
}

bool plain(const ir::Sample& s) {   // element types that the oracle can hold
  for (const auto& o : s.operands)
    switch (o.dtype) {
      case DType::F32: case DType::F64: case DType::I32: case DType::I64: case DType::U32: case DType::Bool: break;
      default: return false;
    }
  return true;
}

}  // namespace

TEST_CASE("every row in every layout") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  int checked = 0;
  for (const ir::OpDef& op : rows().rows()) {
    std::size_t which = 0;
    for (const ir::Sample& sample : op.samples) {
      ++which;
      if (!plain(sample)) continue;
      std::vector<Type> types;
      Arrays args;
      for (const auto& o : sample.operands) {
        types.push_back(Type::of(o.dtype, o.shape));
        args.push_back(operand(o, static_cast<unsigned>(types.size())));
      }
      Graph f;
      Arrays want;
      try {
        f = graph(types, [&](Builder& b, const Vars& p) { return b.emit(op, p, sample.attrs); });
        want = Reference().run(f, args);
      } catch (const std::logic_error& e) {
        if (std::string(e.what()).rfind("reference:", 0) != 0) throw;
        continue;
      }
      bool keys = false;
      for (const Array& a : want) keys |= a.dtype == DType::Key;
      if (keys) continue;
      std::vector<std::vector<Sharding>> each;
      for (const Type& t : types) each.push_back(layouts(*m, t.shape));
      std::vector<std::vector<Sharding>> tried;
      for (std::size_t i = 0; i < types.size(); ++i)
        for (const Sharding& s : each[i]) {
          std::vector<Sharding> one;
          for (const Type& t : types) one.push_back(Sharding::replicated(t.shape.size()));
          one[i] = s;
          tried.push_back(one);
          for (std::size_t j = 0; j < types.size(); ++j)
            if (types[j].shape == types[i].shape) one[j] = s;
          if (types.size() > 1) tried.push_back(one);
        }
      std::uint64_t s = which * 77777u;
      for (int extra = 0; types.size() > 1 && extra < 12; ++extra) {
        std::vector<Sharding> any;
        for (const auto& list : each) {
          s = s * 6364136223846793005ull + 1442695040888963407ull;
          any.push_back(list[(s >> 33) % list.size()]);
        }
        tried.push_back(any);
      }
      if (types.empty()) tried.push_back({});
      for (const auto& layout : tried) {
        std::string told;
        std::vector<Blocks> blocks;
        for (std::size_t i = 0; i < types.size(); ++i) {
          told += runtime::to_string(*m, layout[i]) + " ";
          blocks.push_back(split(args[i], *m, layout[i]));
        }
        INFO(op.name << ", sample " << which << ", " << told << " (" << ir::to_string(sample.attrs) << ")");
        try {
          transform::Partitioned p = transform::lower(rows(), f, m, layout, {[](std::string_view, const Graph& g) { ir::verify(g); }});
          auto got = Lockstep(m).run(p.local, blocks);
          for (std::size_t r = 0; r < want.size(); ++r) {
            Array mine = join(got[r], want[r].shape, *m, p.results[r]);
            bool close = true;
            for (std::size_t i = 0; i < mine.size(); ++i) {
              double a = mine.get(i), b = want[r].get(i);
              close &= a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-4 * (1 + std::fabs(b));
            }
            INFO(ir::to_string(p.local));
            CHECK(close);
          }
          ++checked;
        } catch (const std::exception& e) {
          FAIL_CHECK(e.what());
        }
      }
    }
  }
  CHECK(checked > 2000);
}
