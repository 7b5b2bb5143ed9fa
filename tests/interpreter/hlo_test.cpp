// The text of small programs as StableHLO, what is refused, and that rows must say what they are there. Expectations
// are read off the specification of StableHLO; that an engine gives our numbers is tests/golden/xla_export.py's.
#include <catch2/catch.hpp>

#include "grammar/diagnostic.h"
#include "interpreter/hlo/module.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/pipeline.h"
#include "tests/stdlib/op_check.h"

using namespace shard;
using namespace shard::testing;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

exec::ArrayInfo info_of(const Type& t, const MeshRef& m, std::vector<std::vector<runtime::AxisId>> dims) {
  exec::ArrayInfo info{t, runtime::Sharding::replicated(t.shape.size()), {}, m};
  info.type.mesh = m;
  for (std::size_t d = 0; d < dims.size(); ++d) info.layout.dims[d].axes = dims[d];
  info.distinct = info.layout.split_axes();
  return info;
}

// The sum of a vector that lies on both axes of 2 x 2 devices, twice.
hlo::Module summed(hlo::Form form) {
  const MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  const Type x = Type::of(DType::F32, {8});
  Builder b(rows());
  const Var in = b.param(x);
  const Graph g = b.finish({ir::reduce_sum(b, ir::add(b, in, in), {-1})});
  const std::vector<exec::ArrayInfo> infos{info_of(x, m, {{0, 1}})};
  const hlo::Whole whole{g, transform::propagate(g, m, std::vector{infos[0].layout})};
  return hlo::module_of(transform::lower(rows(), g, m, infos), {form, "total", infos, {}, nullptr, &whole});
}

std::string refusal(std::string_view row, std::vector<Type> types, ir::Attrs attrs) {
  Builder b(rows());
  Vars in;
  for (const Type& t : types) in.push_back(b.param(t));
  const Graph g = b.finish(b.emit(rows().at(row), in, std::move(attrs)));
  std::vector<exec::ArrayInfo> infos;
  for (const Type& t : types) infos.push_back(info_of(t, nullptr, {}));
  try {
    hlo::module_of(transform::lower(rows(), g, nullptr, infos), {.arguments = infos});
  } catch (const grammar::Error& e) { return e.diagnostic.code + ": " + e.diagnostic.message; }
  return "";
}

}  // namespace

TEST_CASE("hlo: replicas have the shapes of one device and groups of positions") {
  const hlo::Module made = summed(hlo::Form::Replica);
  CHECK(holds(made.text, "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32"));
  CHECK(holds(made.text, "func.func public @main(%0: tensor<2xf32>) -> (tensor<f32>)"));
  CHECK(holds(made.text, "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}>"));
  CHECK(!holds(made.text, "sdy."));
  CHECK(made.collectives == 1);
}

TEST_CASE("hlo: the manual form has whole arrays at the border, laid out, and one channel") {
  const hlo::Module made = summed(hlo::Form::Manual);
  CHECK(holds(made.text, "sdy.mesh @mesh = <[\"X\"=2, \"Y\"=2]>"));
  CHECK(holds(made.text, "%0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"X\", \"Y\"}]>}"));
  CHECK(holds(made.text, "manual_axes = #sdy<manual_axes{\"X\", \"Y\"}>}> ({"));
  CHECK(holds(made.text, "^bb0(%1: tensor<2xf32>)"));
  CHECK(holds(made.text, "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}>"));
}

TEST_CASE("hlo: the form auto leaves collectives to the engine and says the layout of each value that is cut") {
  const hlo::Module made = summed(hlo::Form::Auto);
  CHECK(holds(made.text, "mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32"));
  CHECK(holds(made.text,
              "func.func public @main(%0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"X\", \"Y\"}]>}) -> "
              "(tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>})"));
  CHECK(holds(made.text, "%2 = \"sdy.sharding_constraint\"(%1) <{sharding = #sdy.sharding<@mesh, [{\"X\", \"Y\"}]>}>"));
  CHECK(made.collectives == 0);
}

TEST_CASE("hlo: what no engine has is refused with the reason") {
  const Type matrix = Type::of(DType::F32, {3, 3});
  CHECK(refusal("effect", {}, {{"what", std::string("print")}}).starts_with("engine: engine xla has no `print`: "));
  CHECK(refusal("svd_factors", {matrix}, {}) == "");
}

TEST_CASE("hlo: what is shown leaves the program, for who can show it") {
  Builder b(rows());
  const Var x = b.param(Type::of(DType::F32, {3}));
  b.emit(rows().at("effect"), {x}, {{"what", std::string("print")}, {"shows", true}});
  const Graph g = b.finish({x});
  const std::vector<exec::ArrayInfo> infos{info_of(Type::of(DType::F32, {3}), nullptr, {})};
  const transform::Program program = transform::lower(rows(), g, nullptr, infos);
  const hlo::Module made = hlo::module_of(program, {.arguments = infos, .shows = true});
  REQUIRE(made.shown.size() == 1);
  CHECK(made.shown[0].types.at(0).shape == runtime::Shape{3});
  CHECK(made.claims.empty());
  CHECK(holds(made.text, "return %0, %0 : tensor<3xf32>, tensor<3xf32>"));
  CHECK_THROWS_AS(hlo::module_of(program, {.arguments = infos}), grammar::Error);
}

TEST_CASE("hlo: what a loop shows leaves the program with a row a turn, behind what it claims") {
  Builder body(rows());
  const Var c = body.param(Type::of(DType::Bool, {})), r = body.param(Type::of(DType::F32, {2}));
  body.emit(rows().at("effect"), {r}, {{"what", std::string("print")}, {"shows", true}});
  body.emit(rows().at("effect"), {c}, {{"what", std::string("assert")}});
  Builder b(rows());
  const Var start = b.param(Type::of(DType::Bool, {})), x = b.param(Type::of(DType::F32, {3, 2}));
  b.emit(rows().at("scan"), {start, x}, ir::with_wiring({}, ir::ScanWiring{.carry = 1, .length = 3}),
         {std::make_shared<const Graph>(body.finish({c}))});
  const Graph g = b.finish({});
  const std::vector<exec::ArrayInfo> infos{info_of(Type::of(DType::Bool, {}), nullptr, {}),
                                           info_of(Type::of(DType::F32, {3, 2}), nullptr, {})};
  const transform::Program program = transform::lower(rows(), g, nullptr, infos);
  const hlo::Module made = hlo::module_of(program, {.arguments = infos, .shows = true});
  CHECK(made.claims.size() == 1);
  REQUIRE(made.shown.size() == 1);
  CHECK(made.shown[0].turns == 3);
  CHECK(made.shown[0].inside.at(0).at(0).types.at(0).shape == runtime::Shape{2});
  CHECK(holds(made.text, "-> (tensor<i1>, tensor<3x2xf32>)"));
}

TEST_CASE("hlo: a condition that is asserted is one more truth value") {
  Builder b(rows());
  const Var x = b.param(Type::of(DType::Bool, {}));
  b.emit(rows().at("effect"), {x}, {{"what", std::string("assert")}});
  const Graph g = b.finish({});
  const std::vector<exec::ArrayInfo> infos{info_of(Type::of(DType::Bool, {}), nullptr, {})};
  const hlo::Module made = hlo::module_of(transform::lower(rows(), g, nullptr, infos), {.arguments = infos});
  CHECK(made.claims.size() == 1);
  CHECK(holds(made.text, "return %0 : tensor<i1>"));
}

TEST_CASE("hlo: a core row without a word on StableHLO is not taken") {
  ir::OpTable table;
  ir::OpDef row = rows().at("contract");
  row.hlo = {};
  CHECK_THROWS_WITH(table.add(row), Catch::Contains("`hlo` is empty"));
}
