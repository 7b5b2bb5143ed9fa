// The table test: what a row says, held against itself, for every row and every sample. Derivatives against differences
// and against each other, leading dimensions against single rows, and every layout of the operands on 2 x 2 devices
// against the whole operation, forward and backward. Expectations are the operation itself on one device; that its
// values are right is ops_values_test.cpp's.
#include <catch2/catch.hpp>

#include "interpreter/ir/samples.h"
#include "stdlib/ops/elementwise.h"
#include "tests/share.h"
#include "tests/stdlib/op_modes.h"

using namespace shard;
using namespace shard::testing;

namespace {

template <class Check>
void for_samples(Check check) {
  for (const ir::OpDef& op : rows().rows()) {
    int which = 0;
    for (const ir::Sample& sample : ir::samples_of(op)) {
      INFO(op.name << ", sample " << ++which);
      try {
        std::string why = check(op, sample);
        CHECK(why == "");
      } catch (const std::exception& e) { FAIL_CHECK(e.what()); }
    }
  }
}

}  // namespace

TEST_CASE("rows: derivatives agree with differences, forward with reverse") {
  for_samples([](const ir::OpDef& op, const ir::Sample& sample) -> std::string {
    // By their meaning others than those of the values: none, and that of a random number's quantile.
    for (std::string_view name : {"stop_gradient", "gamma_numbers", "gamma", "loggamma", "beta", "dirichlet"})
      if (op.name == name) return "";
    return wrong_derivative(use_of(rows(), op, sample, true));
  });
}

TEST_CASE("rows: leading dimensions pass through") {
  for_samples([](const ir::OpDef& op, const ir::Sample& sample) -> std::string {
    std::size_t n = sample.operands.size();
    if (n == 0) return "";
    if (auto why = wrong_batch(rows(), op, sample, std::vector<bool>(n, true)); !why.empty()) return "all: " + why;
    for (std::size_t i = 0; n > 1 && i < n; ++i) {
      std::vector<bool> mapped(n, false);
      mapped[i] = true;
      if (auto why = wrong_batch(rows(), op, sample, mapped); !why.empty())
        return "operand " + std::to_string(i) + ": " + why;
    }
    return "";
  });
}

TEST_CASE("rows: every layout of the operands gives the whole result") {
  int tried = 0;
  for_samples([&](const ir::OpDef& op, const ir::Sample& sample) {
    return wrong_forward(use_of(rows(), op, sample), 60 / kShare, tried);
  });
  CHECK(tried * kShare > 4000);
}

TEST_CASE("rows: every layout of the operands gives the whole gradient") {
  int tried = 0;
  for_samples([&](const ir::OpDef& op, const ir::Sample& sample) {
    return wrong_backward(use_of(rows(), op, sample, true), 24 / kShare, tried);
  });
  CHECK(tried * kShare > 2000);
}

TEST_CASE("rows on explicit axes: every typed layout gives the whole result, laid out as typed, or is refused") {
  Tally tally;
  for_samples([&](const ir::OpDef& op, const ir::Sample& sample) {
    return wrong_explicit(use_of(rows(), op, sample), 40 / kShare, false, tally);
  });
  CHECK(tally.tried * kShare > 2500);
  CHECK(tally.refused * kShare > 200);
}

TEST_CASE("rows on explicit axes: gradients are laid out as their operands") {
  Tally tally;
  for_samples([&](const ir::OpDef& op, const ir::Sample& sample) {
    return wrong_explicit(use_of(rows(), op, sample, true), 12 / kShare, true, tally);
  });
  CHECK(tally.tried * kShare > 800);
}

TEST_CASE("rows in per-device code: each device has its own result and gradient") {
  int tried = 0;
  for (bool backward : {false, true})
    for_samples([&](const ir::OpDef& op, const ir::Sample& sample) {
      return wrong_manual(rows(), op, sample, backward, tried);
    });
  CHECK(tried > 700);
}

TEST_CASE("rows: the report of samples") {
  int with_samples = 0, samples = 0, core = 0, zero = 0, refused = 0;
  std::string none;
  for (const ir::OpDef& op : rows().rows()) {
    INFO(op.name);
    CHECK(!std::holds_alternative<std::monostate>(op.derivative));  // a gradient, Zero, or the word
    core += !ir::is_composite(op);
    zero += std::holds_alternative<ir::Zero>(op.derivative);
    refused += std::holds_alternative<ir::NotDifferentiable>(op.derivative);
    const std::size_t count = ir::samples_of(op).size();
    samples += static_cast<int>(count);
    with_samples += count > 0;
    if (count > 0) continue;
    CHECK(ir::structure_of(op));  // loops, branches, collectives: tests of their own
    none += " " + std::string(op.name);
  }
  WARN(rows().rows().size() << " rows (" << core << " of them core rows), " << with_samples << " with " << samples
                            << " samples; derivative zero: " << zero << ", not differentiable: " << refused
                            << "; structural, tested in tests/interpreter:" << none);
  CHECK(samples > 450);
}

TEST_CASE("every row has a signature that fits it") {
  for (const ir::OpDef& op : rows().rows()) {
    INFO(op.name);
    CHECK(rows().signature(op).name == op.name);
  }
  const auto refused = [](std::string_view signature) {
    ir::OpTable table;
    ir::OpDef row = rows().at("tanh");
    row.signature = signature;
    const ir::OpDef& kept = table.add(std::move(row));
    try {
      table.signature(kept);
    } catch (const std::logic_error& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK(refused("tanh(x)") == "");
  CHECK(refused("sinh(x)") == "row `tanh`: its signature is for `sinh`");
  CHECK(refused("tanh(x, y)") == "row `tanh`: its signature has 2 arrays, and the code Tanh takes 1");
  CHECK(refused("tanh(x: bag)") == "signature `tanh(x: bag)`: `bag` is no kind of parameter");
  CHECK(refused("tanh(x, n: int = many)") == "signature `tanh(x, n: int = many)`: default `many` is no literal");
  CHECK(refused("tanh x") == "signature `tanh x`: needs `name(...)`");
}

// ---- the test of the test: planted mistakes are caught

namespace {

// The row `name` of a fresh table, spoiled and added as `planted`.
std::string caught(std::string_view name, const std::function<void(ir::OpDef&)>& spoil) {
  ir::OpTable table;
  stdlib::register_all(table);
  ir::OpDef row = table.at(name);
  std::string signature = "planted" + std::string(row.signature.substr(row.signature.find('(')));
  row.name = "planted";
  row.signature = signature;
  spoil(row);
  table.add(std::move(row));
  table.freeze();
  const ir::OpDef& op = table.at("planted");
  int tried = 0;
  for (const ir::Sample& sample : ir::samples_of(op)) {
    if (auto why = wrong_derivative(use_of(table, op, sample, true)); !why.empty()) return why;
    if (auto why = wrong_forward(use_of(table, op, sample), 60, tried); !why.empty()) return why;
    if (auto why = wrong_backward(use_of(table, op, sample, true), 24, tried); !why.empty()) return why;
  }
  return "";
}

ir::FactorFn all_pass(const ir::OpDef& row) {
  ir::FactorFn right = std::get<ir::FactorFn>(row.factors);
  return [right](const ir::OpCall& call) {
    ir::FactorRule rule = right(call);
    for (auto& f : rule.factors) f.kind = ir::FactorKind::Pass;
    return rule;
  };
}

}  // namespace

TEST_CASE("a row copied as it is passes") {
  CHECK(caught("permute", [](ir::OpDef&) {}) == "");
}

TEST_CASE("planted mistakes in rules are caught") {
  for (const char* name : {"rev", "rotate", "slice", "concatenate", "pad_with", "dynamic_update_at", "scan_sum"})
    CHECK(caught(name, [](ir::OpDef& row) {  // nothing is fetched from other blocks
            row.factors = all_pass(row);
            row.partition = {};
          }) != "");
  CHECK(caught("sort_last", [](ir::OpDef& row) { row.factors = all_pass(row); }) != "");
  CHECK(caught("reduce_max", [](ir::OpDef& row) {
          ir::FactorFn right = std::get<ir::FactorFn>(row.factors);
          row.factors = [right](const ir::OpCall& call) {
            ir::FactorRule rule = right(call);
            for (auto& f : rule.factors) f.reduce = ir::FactorReduce::Sum;
            return rule;
          };
        }) != "");
#ifndef __SANITIZE_ADDRESS__  // the kernel believes the row, and reads beyond its blocks
  // A square transpose that says its dimensions stay where they are: the shapes alone would not betray it.
  CHECK(caught("permute", [](ir::OpDef& row) {
          row.samples = "i32[4, 4] perm=[-1, -2]";
          row.factors = stdlib::broadcast_factors;
        }) != "");
#endif
  CHECK(caught("iota", [](ir::OpDef& row) { row.partition = {}; }) ==
        "");  // nothing splits a row without operands unless it is asked to
  CHECK(caught("take", [](ir::OpDef& row) {
          row.partition = [](ir::Builder& b, const ir::LocalCall& c, std::span<const ir::Var> in) {
            return b.emit(c.call.op, in, c.attrs);
          };
        }) != "");
}

TEST_CASE("planted mistakes in derivatives are caught") {
  CHECK(caught("sin", [](ir::OpDef& row) {
          row.derivative = ir::Partials{
              [](ir::Builder& b, const ir::NodeView& n) -> ir::Vars { return {b.call("sin", {n.in[0]})}; }};
        }) != "");
  CHECK(caught("rev", [](ir::OpDef& row) {
          row.derivative = ir::Transposes{
              {}, false, [](ir::Builder&, const ir::NodeView&, int, std::span<const ir::Var> ct, const ir::Type&) {
                return ct[0];
              }};
        }) != "");
  CHECK(caught("contract", [](ir::OpDef& row) {
          row.samples = "[4, 6] [6, 8] spec='mk,kn->mn'";
          auto right = std::get<ir::Transposes>(row.derivative);
          row.derivative =
              ir::Transposes{{},
                             false,
                             [right](ir::Builder& b, const ir::NodeView& n, int i, std::span<const ir::Var> ct,
                                     const ir::Type& want) { return ir::neg(b, right.of(b, n, i, ct, want)); }};
        }) != "");
  CHECK(caught("maximum", [](ir::OpDef& row) { row.derivative = ir::Zero{}; }) != "");
}
