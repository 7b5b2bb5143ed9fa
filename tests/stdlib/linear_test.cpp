// What an unreduced sum passes through (interpreter/ir/linear.h), by the rows themselves: for every row and sample,
// each operand, and all of them, is the sum of two devices' terms. Explicit mode, automatic mode and one device give
// the same numbers; where explicit mode refuses, it takes the finished sum. In f16 and bf16 too, to the last place: the
// terms are large beside their sums, and on a grid that additions stay on, so an operation that rounds them shows.
#include <catch2/catch.hpp>

#include <set>

#include "interpreter/ir/linear.h"
#include "interpreter/ir/samples.h"
#include "stdlib/ops/ops.h"
#include "tests/runtime/arrays.h"
#include "tests/share.h"
#include "tests/stdlib/op_modes.h"

using namespace shard;
using namespace shard::testing;

namespace {

constexpr std::int64_t kTerms = 2;

runtime::View view_of(Array& a) { return runtime::contiguous(a.dtype, a.shape, a.bytes.data()); }

// The terms of an array like `like`: [kTerms, shape...].
Array terms_of(Array like, unsigned seed) {
  runtime::Shape shape = like.shape;
  shape.insert(shape.begin(), kTerms);
  Array out(like.dtype, shape);
  const runtime::View from = view_of(like), to = view_of(out);
  const bool narrow = like.dtype == DType::F16 || like.dtype == DType::BF16;
  const auto n = static_cast<std::int64_t>(like.size());
  std::uint64_t s = seed * 0x9E3779B97F4A7C15ull + 7;
  for (std::int64_t i = 0; i < n; ++i) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    double whole = runtime::test::get(from, i), part = 4 + static_cast<double>(s >> 62);
    if (s >> 40 & 1) part = -part;
    if (narrow) whole = std::round(whole * 4) / 4;
    if (!runtime::is_float(like.dtype)) part = std::floor(whole / 2);
    runtime::test::set(to, i, part);
    runtime::test::set(to, n + i, whole - part);
  }
  return out;
}

std::string apart(const Arrays& got, const Arrays& want) {
  if (got.size() != want.size()) return "another number of results";
  for (std::size_t r = 0; r < want.size(); ++r) {
    if (got[r].shape != want[r].shape || got[r].dtype != want[r].dtype) return "a result of another type";
    Array a = got[r], b = want[r];
    const DType t = a.dtype;
    const double ulp = t == DType::BF16 ? 1.0 / 128 : t == DType::F16 ? 1.0 / 1024 : t == DType::F64 ? 1e-9 : 2e-4;
    const double floor = t == DType::BF16 || t == DType::F16 ? 1.0 / 64 : 1;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.size()); ++i) {
      const double x = runtime::test::get(view_of(a), i), y = runtime::test::get(view_of(b), i);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (runtime::is_float(t) && std::fabs(x - y) <= ulp * (floor + std::fabs(y))) continue;
      return "result " + std::to_string(r) + ", element " + std::to_string(i) + ": " + std::to_string(x) + " and not " +
             std::to_string(y);
    }
  }
  return "";
}

struct Way {
  std::set<std::size_t> unreduced;
  bool reduced = false;   // the other operands are typed {R:X}
  bool finished = false;  // the sum is finished before the operation
};

// The operation on sums over a first dimension, which on explicit axes are left unreduced.
Graph graph_of(const Use& u, const Way& way, const MeshRef& explicit_mesh) {
  Builder b(*u.table);
  Vars in;
  const auto typed = [&](Type t, Sharding s) {
    if (explicit_mesh) t.mesh = explicit_mesh, t.sharding = std::move(s);
    return t;
  };
  for (std::size_t i = 0; i < u.types.size(); ++i) {
    const Type& t = u.types[i];
    Sharding whole = Sharding::replicated(t.shape.size());
    if (!way.unreduced.count(i)) {
      if (way.reduced && runtime::is_float(t.dtype)) whole.reduced.add(0);
      in.push_back(b.param(typed(t, whole)));
      continue;
    }
    Type terms = t;
    terms.shape.insert(terms.shape.begin(), kTerms);
    terms.sharding = Sharding::replicated(terms.shape.size());
    Sharding split = Sharding::replicated(terms.shape.size()), left = whole;
    split.dims[0].axes = {0};
    left.unreduced.add(0);
    ir::Attrs attrs{{"axes", ir::Ints{-terms.rank()}}};
    if (explicit_mesh) attrs.set("out", ir::Layout{explicit_mesh, left});
    Var sum = b.emit1(*b.core().reduce_sum, {b.param(typed(terms, split))}, attrs);
    if (way.finished) sum = b.emit1(*b.core().shard, {sum}, {{"layout", ir::Layout{explicit_mesh, whole}}});
    in.push_back(sum);
  }
  Vars out = b.emit(*u.op, std::span<const Var>(in), u.attrs);
  for (Var& v : out)
    if (const Type& t = b.type(v); !t.sharding.unreduced.empty()) {
      ir::Layout done{t.mesh, t.sharding};
      done.sharding.unreduced = {};
      v = b.emit1(*b.core().shard, {v}, {{"layout", done}});
    }
  return b.finish(out);
}

struct Count {
  int passed = 0, refused = 0;
};

std::string wrong(const Use& u, const Way& way, Count& count) {
  const MeshRef typed = mesh({{"X", kTerms}}, runtime::AxisKind::Explicit), free = mesh({{"X", kTerms}});
  Arrays args;
  std::vector<Sharding> layouts;
  for (std::size_t i = 0; i < u.args.size(); ++i) {
    const bool sum = way.unreduced.count(i) > 0;
    args.push_back(sum ? terms_of(u.args[i], static_cast<unsigned>(i) + 3) : u.args[i]);
    layouts.push_back(Sharding::replicated(args.back().shape.size()));
    if (sum) layouts.back().dims[0].axes = {0};
  }
  const Graph plain = graph_of(u, way, nullptr);
  const Arrays want = run_alone(*u.table, plain, args);
  if (auto why = apart(run_on(*u.table, plain, args, free, layouts), want); !why.empty()) return "automatic: " + why;
  Graph g;
  std::string refusal;
  try {
    g = graph_of(u, way, typed);
    ++count.passed;
  } catch (const grammar::Error& e) {
    refusal = e.what();
    ++count.refused;
    Way finished = way;
    finished.finished = true;
    finished.reduced = false;
    g = graph_of(u, finished, typed);
  }
  std::string why;
  const Arrays got = run_typed(*u.table, g, args, typed, layouts, why);
  if (why.empty()) why = apart(got, want);
  return why.empty() ? "" : "explicit" + (refusal.empty() ? "" : ", finished (" + refusal + ")") + ": " + why;
}

// Every operand of a use, and all together, as sums.
std::string wrong(const ir::OpTable& table, const ir::OpDef& op, const ir::Sample& sample, Count& count) {
  std::vector<ir::Sample> samples{sample};
  for (const DType narrow : {DType::F16, DType::BF16}) {
    ir::Sample s = sample;
    bool any = false;
    for (auto& o : s.operands)
      if (runtime::is_float(o.dtype) && o.dtype != narrow) o.dtype = narrow, any = true;
    if (any) samples.push_back(std::move(s));
  }
  for (const ir::Sample& s : samples) {
    Use u;
    try {
      u = use_of(table, op, s);
      run_alone(table, shard::testing::graph_of(u), u.args);
    } catch (const std::exception&) { continue; }  // not for halves
    std::vector<std::set<std::size_t>> holders{{}};
    for (std::size_t i = 0; i < u.types.size(); ++i) {
      if (!runtime::is_float(u.types[i].dtype) && !runtime::is_integer(u.types[i].dtype)) continue;
      if (runtime::is_float(u.types[i].dtype)) holders[0].insert(i);
      holders.push_back({i});
    }
    for (std::size_t h = 0; h < holders.size(); ++h) {
      if (holders[h].empty() || (h == 0 && holders[0].size() < 2)) continue;
      for (const bool reduced : {false, true}) {
        if (reduced && holders[h].size() == u.types.size()) continue;
        const std::string why = wrong(u, {holders[h], reduced, false}, count);
        if (why.empty()) continue;
        std::string at = runtime::to_string(u.types[0]) + ", unreduced:";
        for (std::size_t i : holders[h]) at += " " + std::to_string(i);
        return at + (reduced ? ", the others reduced: " : ": ") + why;
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("rows of unreduced sums: explicit, automatic and one device agree") {
  Count count;
  int which = 0;
  for (const ir::OpDef& op : rows().rows())
    for (const ir::Sample& sample : ir::samples_of(op)) {
      if (++which % kShare || sample.operands.empty()) continue;
      INFO(op.name);
      try {
        CHECK(wrong(rows(), op, sample, count) == "");
      } catch (const std::exception& e) { FAIL_CHECK(e.what()); }
    }
  WARN(count.passed << " passed, " << count.refused << " refused");
  CHECK(count.passed * kShare > 400);
  CHECK(count.refused * kShare > 1000);
}

TEST_CASE("rows that claim to be linear are caught") {
  const auto caught = [](std::string_view name, const std::function<void(ir::OpDef&)>& spoil) {
    ir::OpTable table;
    stdlib::register_all(table);
    ir::OpDef row = table.at(name);
    const std::string signature = "planted" + std::string(row.signature.substr(row.signature.find('(')));
    row.name = "planted";
    row.signature = signature;
    spoil(row);
    table.add(std::move(row));
    table.freeze();
    Count count;
    const ir::OpDef& op = table.at("planted");
    for (const ir::Sample& sample : ir::samples_of(op))
      if (!wrong(table, op, sample, count).empty()) return true;
    return false;
  };
  CHECK(!caught("div", [](ir::OpDef&) {}));
  CHECK(caught("div", [](ir::OpDef& row) { std::get<ir::Partials>(row.derivative).linear = {0, 1}; }));
  CHECK(caught("atan2", [](ir::OpDef& row) { std::get<ir::Partials>(row.derivative).linear = {0}; }));
  CHECK(caught("tanh", [](ir::OpDef& row) { std::get<ir::Partials>(row.derivative).linear = {0}; }));
}

TEST_CASE("linear: what a column says of a use") {
  Builder b(rows());
  const auto of = [&](std::string_view name, Vars in, ir::Attrs attrs = {}) {
    std::vector<Type> types;
    for (Var v : in) types.push_back(b.type(v));
    return ir::linear({rows().at(name), types, attrs, {}, &b.graph(), in});
  };
  const auto value = [&](DType t) { return b.param(Type::of(t, {4})); };
  for (const DType t : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32}) {
    const Var x = value(t), y = value(t);
    const bool narrow = t == DType::F16 || t == DType::BF16;
    CHECK(of("add", {x, y})->jointly);
    CHECK(of("add", {x, y})->exact);
    CHECK(of("neg", {x})->exact);
    CHECK(of("permute", {x}, {{"perm", ir::Ints{-1}}})->exact);
    CHECK(of("mul", {x, y})->in == std::vector<bool>{true, true});
    CHECK(of("mul", {x, y})->scales);
    CHECK(of("mul", {x, y})->exact == !narrow);
    CHECK(of("mul", {x, ir::constant(b, 3, t)})->exact == !narrow);
    CHECK(of("mul", {ir::constant(b, 8, t), x})->exact);
    CHECK(of("mul", {x, ir::convert(b, ir::constant(b, 4, DType::I32, true), t)})->exact);
    CHECK(of("contract", {x, y}, {{"spec", std::string("k,k->")}})->exact == !narrow);
    if (t == DType::I32) continue;
    CHECK(of("div", {x, y})->in == std::vector<bool>{true, false});
    CHECK(of("div", {x, y})->exact == !narrow);
    CHECK(of("div", {x, ir::broadcast_to(b, ir::constant(b, 0.25, t), {4})})->exact);
    CHECK(!of("exp", {x}));
  }
  const auto cast = [&](DType from, DType to) { return of("convert", {value(from)}, {{"dtype", to}})->exact; };
  CHECK(cast(DType::F16, DType::F32));
  CHECK(cast(DType::BF16, DType::F32));
  CHECK(cast(DType::F32, DType::F64));
  CHECK(cast(DType::F32, DType::F32));
  CHECK(!cast(DType::F32, DType::BF16));
  CHECK(!cast(DType::BF16, DType::F16));
  CHECK(!cast(DType::F16, DType::BF16));
  CHECK(!cast(DType::F64, DType::F32));
  CHECK(!cast(DType::F32, DType::I32));
  CHECK(!cast(DType::I32, DType::F64));  // it wraps, the other does not
  const Var f16 = value(DType::F16);
  CHECK(!of("mul", {f16, ir::convert(b, ir::constant(b, 0x1p-20, DType::F32), DType::F16)})->exact);  // loses bits
  const ir::Attrs nan{{"axis", std::int64_t{-1}}, {"batch", std::int64_t{0}}, {"bounds", std::string("nan")}};
  const Var at = b.param(Type::of(DType::I32, {2}));
  CHECK(of("take", {f16, at}, nan)->in == std::vector<bool>{true, false});
  CHECK(!of("take", {value(DType::I32), at}, nan));  // beyond the end it gives the smallest number
}
