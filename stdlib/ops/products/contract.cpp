// `contract`, the one bilinear operation with a sum: every product of matrices, einsum and their derivatives come down
// to it. Its rule is its attribute: the letters of `spec` are the factors.
#include <algorithm>

#include "stdlib/ops/complex.h"
#include "stdlib/ops/moving/placed.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/contract_kernel.h"

namespace shard::stdlib {
namespace {

FactorRule contract_factors(const OpCall& call) {
  auto spec = read_spec(call.attrs.text("spec"));
  const Shape &x = call.in[0].shape, &y = call.in[1].shape;
  if (x.size() < spec.x.size() || y.size() < spec.y.size())
    fail("shape", "the product `" + call.attrs.text("spec") + "` needs arrays of rank " +
                      std::to_string(spec.x.size()) + " and " + std::to_string(spec.y.size()) + ", got " +
                      runtime::to_string(call.in[0]) + " and " + runtime::to_string(call.in[1]));
  FactorRule rule;
  rule.operands.resize(2);
  rule.results.resize(1);
  std::size_t lead = x.size() - spec.x.size();
  if (y.size() - spec.y.size() != lead ||
      !std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(lead), y.begin()))
    fail("shape", "the leading dimensions of a product differ: " + runtime::to_string(call.in[0]) + " and " +
                      runtime::to_string(call.in[1]));
  auto add = [&](std::string name, std::int64_t size, FactorKind kind) {
    rule.factors.push_back({std::move(name), size, kind, FactorReduce::Sum});
    return static_cast<int>(rule.factors.size()) - 1;
  };
  for (std::size_t d = 0; d < lead; ++d) {
    int f = add("lead" + std::to_string(d), x[d], FactorKind::Pass);
    rule.operands[0].push_back({f}), rule.operands[1].push_back({f}), rule.results[0].push_back({f});
  }
  std::vector<std::pair<char, int>> known;
  auto factor = [&](char label, std::int64_t size) {
    for (auto& [l, f] : known)
      if (l == label) {
        if (rule.factors[static_cast<std::size_t>(f)].size != size)
          fail("shape", "a dimension that both arrays share has sizes " +
                            std::to_string(rule.factors[static_cast<std::size_t>(f)].size) + " and " +
                            std::to_string(size) + ": " + runtime::to_string(call.in[0]) + " and " +
                            runtime::to_string(call.in[1]));
        return f;
      }
    bool kept = spec.out.find(label) != std::string_view::npos;
    known.emplace_back(label, add(std::string(1, label), size, kept ? FactorKind::Pass : FactorKind::Reduced));
    return known.back().second;
  };
  for (std::size_t i = 0; i < spec.x.size(); ++i) rule.operands[0].push_back({factor(spec.x[i], x[lead + i])});
  for (std::size_t i = 0; i < spec.y.size(); ++i) rule.operands[1].push_back({factor(spec.y[i], y[lead + i])});
  for (char label : spec.out)
    for (auto& [l, f] : known)
      if (l == label) rule.results[0].push_back({f});
  return rule;
}

// Both sides of the sum split: the result could be whole, split or unreduced, so it has to be said. Batch dimensions
// must agree.
std::optional<std::string> contract_refuses(const OpCall& call, const FactorRule& rule) {
  if (call.attrs.has("out")) return std::nullopt;
  const Type &x = call.in[0], &y = call.in[1];
  std::string both = runtime::to_string(x) + " and " + runtime::to_string(y);
  for (std::size_t i = 0; i < rule.operands[0].size(); ++i)
    for (std::size_t j = 0; j < rule.operands[1].size(); ++j) {
      if (rule.operands[0][i] != rule.operands[1][j]) continue;
      int dx = static_cast<int>(i), dy = static_cast<int>(j);
      bool summed = rule.factors[static_cast<std::size_t>(rule.operands[0][i][0])].kind == FactorKind::Reduced;
      if (summed && is_split(x, dx) && is_split(y, dy))
        return "the product of " + both + " sums over a dimension that is split on both sides (" + axes_text(x, dx) +
               " and " + axes_text(y, dy) +
               "), so its layout is ambiguous: say it with `out: P(...)`, or `shard` an operand first";
      const bool one_whole = call.attrs.has("lenient") && (!is_split(x, dx) || !is_split(y, dy));
      if (!summed && !one_whole && laid_out(x) && laid_out(y) && axes_text(x, dx) != axes_text(y, dy))
        return "the product of " + both +
               " has a batch dimension that is laid out in two ways: `shard` one operand first, or say the result's "
               "layout with `out: P(...)`";
    }
  return std::nullopt;
}

std::string spec_text(std::string_view x, std::string_view y, std::string_view out) {
  return std::string(x) + "," + std::string(y) + "->" + std::string(out);
}

Var contract_transpose(Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
  auto spec = read_spec(n.call.attrs.text("spec"));
  Attrs attrs;
  Vars in;
  if (operand == 0) {
    attrs.set("spec", spec_text(spec.out, spec.y, spec.x));
    in = {ct[0], n.in[1]};
  } else {
    attrs.set("spec", spec_text(spec.x, spec.out, spec.y));
    in = {n.in[0], ct[0]};
  }
  return emit_wanted(b, n.call.op, in, std::move(attrs), want, in);
}

std::vector<Mapped> contract_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t) {
  auto spec = read_spec(call.attrs.text("spec"));
  std::string all = std::string(spec.x) + std::string(spec.y);
  char fresh = 'a';
  while (all.find(fresh) != std::string::npos) fresh = fresh == 'z' ? 'A' : static_cast<char>(fresh + 1);
  std::string x(spec.x), y(spec.y), out = fresh + std::string(spec.out);
  if (in[0].mapped) x = fresh + x;
  if (in[1].mapped) y = fresh + y;
  Attrs attrs = with_mapped_out(b, call.attrs, in);
  attrs.set("spec", spec_text(x, y, out));
  return {{b.emit(call.op, {in[0].var, in[1].var}, attrs).at(0), true}};
}

}  // namespace

void register_contract(OpTable& t) {
  OpDef row{.name = "contract",
            .signature = "contract(x, y, spec: str, out: spec? = none)",
            .doc = "The sum of products that `spec` writes with one letter a dimension: \"bmk,bkn->bmn\".",
            .factors = contract_factors};
  row.derivative = Transposes{{}, false, contract_transpose};
  row.hlo = contract_hlo;
  row.kernel = ir::KernelFn(bind_contract);
  row.of_complex = complex::bilinear("contract");
  row.kernel_sum = bind_contract_sum;
  row.copies = contract_copies;
  row.any_order = true;
  row.flops = 2;
  row.explicit_refuses = contract_refuses;
  row.batch = contract_batch;
  row.internal = true;
  row.samples =
      "[4, 6] [6, 8] spec='mk,kn->mn'; [2, 4, 6] [2, 6, 4] spec='bmk,bkn->bmn'; "
      "[2, 4, 6] [6, 8] spec='bmk,kn->bmn'; [4, 2, 6] [8, 2, 6] spec='mbk,nbk->mbn'; "
      "[4, 6] [6, 8] spec='mk,kn->nm'; [2, 4, 2, 6] [2, 8, 2, 6] spec='bqhd,bkhd->bhqk'; "
      "[2, 3, 4] [4, 2, 6] spec='ija,ain->jn'; [6] [6] spec='k,k->'; [4] [6] spec='m,n->mn'; "
      "i32[4, 6] i32[6, 2] spec='mk,kn->mn'; bf16[4, 6] -1..1 bf16[6, 4] -1..1 spec='mk,kn->mn'";
  t.add(std::move(row));
}

}  // namespace shard::stdlib
