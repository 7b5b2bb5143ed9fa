// The derivatives of every collective row by <J t, y> = <t, J' y>: forward and reverse mode are each other's
// transposes, on meshes of one, two and three axes, for values that vary along any of the axes. The inner product adds
// up the devices along which a value varies and counts the others once. The test itself is tested: rows with wrong
// transposes are caught.
#include <map>

#include "stdlib/stdlib.h"
#include "tests/interpreter/per_device.h"
#include "tests/share.h"

using namespace shard;
using namespace shard::testing;

namespace {

// What disagrees, or nothing.
std::string disagreement(const ir::OpTable& table, const MeshRef& m, const Type& in, const ir::OpDef& op,
                         const ir::Attrs& attrs) {
  Graph f = local(
      m, {in}, [&](Builder& b, const Vars& p) { return Vars{b.emit1(op, {p[0]}, attrs)}; }, table);
  Graph forward = transform::jvp(table, f, std::vector<int>{0}),
        back = transform::vjp(table, f, std::vector<int>{0}, {true}, false);
  ir::verify(forward);
  ir::verify(back);
  const Type &out = f.type(f.results[0]), &grad = back.type(back.results[0]);
  if (!(grad.varying == in.varying) || grad.shape != in.shape)
    return "the gradient of " + runtime::to_string(in) + " is typed " + runtime::to_string(grad);
  Blocks x = per_device(m, in, 5), t = per_device(m, in, 41), y = per_device(m, out, 77);
  Lockstep devices(m);
  Blocks jt = devices.run(forward, {x, t})[1], back_y = devices.run(back, {x, y})[0];
  // What a type says is the same on all devices is.
  auto same = [&](const Type& type, const Blocks& blocks) {
    for (std::int64_t d = 0; d < m->size(); ++d) {
      auto at = coordinates(*m, d);
      for (AxisId a : (m->all() - type.varying).list()) at[a] = 0;
      std::int64_t first = 0;
      for (std::size_t i = 0; i < at.size(); ++i) first = first * m->axes[i].size + at[i];
      auto mine = blocks[static_cast<std::size_t>(d)].values(), want = blocks[static_cast<std::size_t>(first)].values();
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (std::fabs(mine[i] - want[i]) > 1e-4 * (1 + std::fabs(want[i]))) return false;
    }
    return true;
  };
  if (!same(out, jt)) return "the tangent varies more than its type " + runtime::to_string(out);
  if (!same(in, back_y)) return "the gradient varies more than its type " + runtime::to_string(in);
  double left = inner(m, out, jt, y), right = inner(m, in, t, back_y);
  if (std::fabs(left - right) <= 2e-4 * (1 + std::fabs(left))) return "";
  return "<J t, y> is " + std::to_string(left) + ", <t, J' y> is " + std::to_string(right);
}

struct LinearUse {
  std::string row;
  ir::Attrs attrs;
};

// Every way to use the rows over these axes, on a value of shape [n, 2n]; n: how many devices communicate.
std::vector<LinearUse> uses(const MeshRef& mesh, const Axes& axes) {
  const Mesh& m = *mesh;
  const std::int64_t first = -2, last = -1, n = [&] {
    std::int64_t k = 1;
    for (AxisId a : axes) k *= m.size_of(a);
    return k;
  }();
  auto with = [&](std::initializer_list<std::pair<std::string, ir::AttrValue>> more) {
    ir::Attrs attrs{{"axes", ir::Ints(axes.begin(), axes.end())}, {"mesh", ir::Layout{mesh, {}}}};
    for (const auto& [name, value] : more) attrs.set(name, value);
    return attrs;
  };
  ir::Pairs ring, some{{0, n - 1}};
  for (std::int64_t i = 0; i < n; ++i) ring.emplace_back(i, (i + 1) % n);
  if (n > 2) some.emplace_back(n - 1, 1);
  const std::string same = "same", varying = "varying";
  std::vector<LinearUse> out = {
      {"psum", with({})},
      {"pmax", with({})},
      {"pmin", with({})},
      {"ppermute", with({{"pairs", ring}})},
      {"ppermute", with({{"pairs", some}})},
      {"pcast", with({{"to", varying}})},
  };
  for (std::int64_t d : {first, last}) {
    out.push_back({"own_slice", with({{"axis", d}})});
    out.push_back({"psum_scatter", with({{"axis", d}, {"tiled", true}})});
    for (const std::string& to : {varying, same}) {
      out.push_back({"all_gather", with({{"axis", d}, {"tiled", true}, {"to", to}})});
      out.push_back({"all_gather", with({{"axis", d}, {"tiled", false}, {"to", to}})});
    }
    for (std::int64_t c : {first, last})
      out.push_back({"all_to_all", with({{"split", d}, {"concat", c}, {"tiled", true}})});
  }
  out.push_back({"all_gather", with({{"axis", std::int64_t{-3}}})});
  out.push_back({"psum_scatter", with({{"axis", first}})});
  for (std::int64_t c : {first, last}) out.push_back({"all_to_all", with({{"split", first}, {"concat", c}})});
  if (n % 2 == 0 && n > 2) {  // in two groups: even places, odd places
    ir::Ints groups;
    for (std::int64_t half : {0, 1})
      for (std::int64_t i = half; i < n; i += 2) groups.push_back(i);
    auto grouped = [&](std::initializer_list<std::pair<std::string, ir::AttrValue>> more) {
      ir::Attrs attrs = with(more);
      attrs.set("groups", groups);
      attrs.set("group_size", n / 2);
      return attrs;
    };
    out.push_back({"psum", grouped({})});
    out.push_back({"pmax", grouped({})});
    out.push_back({"all_gather", grouped({{"axis", last}, {"tiled", true}})});
    out.push_back({"psum_scatter", grouped({{"axis", last}, {"tiled", true}})});
    out.push_back({"all_to_all", grouped({{"split", first}, {"concat", last}, {"tiled", true}})});
  }
  return out;
}

std::vector<Axes> all_orders(std::size_t axes) {
  if (axes == 1) return {{0}};
  if (axes == 2) return {{0}, {1}, {0, 1}, {1, 0}};
  return {{0}, {1}, {2}, {0, 2}, {2, 1}, {0, 1, 2}, {2, 0, 1}};
}

std::vector<MeshRef> meshes() {
  return {mesh({{"X", 4}}), mesh({{"X", 2}, {"Y", 3}}), mesh({{"X", 2}, {"Y", 3}, {"Z", 2}})};
}

// Operands as the language makes them: a reduction, a gather or a move takes a value that varies along its axes (the
// host casts it); a cast one that does not, an own slice one that all have.
bool takes(const ir::OpDef& op, runtime::AxisSet varying, const Axes& axes) {
  runtime::AxisSet over;
  for (AxisId a : axes) over.add(a);
  if (!op.comm->communicates()) return (varying & over).empty();
  return true;
}

// The first disagreement of any use of the row; `row` may stand for another one (a planted one).
std::string first_disagreement(const ir::OpTable& table, const std::string& row, const ir::OpDef& op,
                               int* count = nullptr) {
  for (const MeshRef& m : meshes())
    for (const Axes& axes : all_orders(m->axes.size()))
      for (const LinearUse& use : uses(m, axes)) {
        if (use.row != row) continue;
        std::int64_t n = 1;
        for (AxisId a : axes) n *= m->size_of(a);
        for (unsigned bits = 0; bits < 1u << m->axes.size(); ++bits) {
          Axes varies;
          for (AxisId a = 0; a < m->axes.size(); ++a)
            if (bits >> a & 1) varies.push_back(a);
          Type in = varying(m, {n, 2 * n}, varies);
          if (!takes(op, in.varying, axes)) continue;
          if (count && ++*count % kShare) continue;
          std::string wrong = disagreement(table, m, in, op, use.attrs);
          if (!wrong.empty())
            return row + "(" + ir::to_string(use.attrs) + ") of " + runtime::to_string(in) + ": " + wrong;
        }
      }
  return "";
}

}  // namespace

TEST_CASE("every collective's derivatives are transposes of each other") {
  int rows_seen = 0;
  for (const ir::OpDef& row : rows().rows()) {
    const ir::OpDef* op = &row;
    if (!op->comm || op->comm->place || std::holds_alternative<ir::NotDifferentiable>(op->derivative)) continue;
    ++rows_seen;
    INFO(op->name);
    int count = 0;
    CHECK(first_disagreement(rows(), std::string(op->name), *op, &count) == "");
    CHECK(count >= 20);  // a new row needs uses above
  }
  CHECK(rows_seen >= 9);
}

TEST_CASE("planted wrong transposes are caught") {
  ir::OpTable table;
  stdlib::install(table);
  using ir::NodeView;
  using Wrong = Var (*)(Builder&, const NodeView&, Var ct, const Type& want);
  struct Planted {
    const char* row;
    const char* what;
    Wrong of;
  };
  auto again = [](Builder& b, const NodeView& n, Var ct, const Type&) {  // itself, with the same attributes
    return b.emit1(b.table().at(std::string(n.call.op.name).substr(6)), {ct}, n.call.attrs);
  };
  const Planted planted[] = {
      {"psum", "counts the cotangent once a device", again},
      {"psum", "forgets that a value which does not vary counted once a device",
       [](Builder& b, const NodeView& n, Var ct, const Type& want) {
         ir::Attrs attrs{{"axes", n.call.attrs.ints("axes")}, {"to", std::string("varying")}};
         return want.varying.empty() ? ct : b.emit1(*b.core().pcast, {ct}, attrs);
       }},
      {"pcast", "takes the mean",
       [](Builder& b, const NodeView& n, Var ct, const Type&) {
         Var sum = b.emit1(*b.core().psum, {ct}, {{"axes", n.call.attrs.ints("axes")}});
         return ir::mul(b, sum, ir::constant(b, 0.5, DType::F32));
       }},
      {"all_gather", "keeps only its own part",
       [](Builder& b, const NodeView& n, Var ct, const Type& want) {
         if (b.type(ct).shape.size() != want.shape.size()) return ir::zeros(b, want);
         return b.emit1(*b.core().own_slice, {ct},
                        {{"axes", n.call.attrs.ints("axes")}, {"axis", n.call.attrs.integer("axis")}});
       }},
      {"psum_scatter", "gathers along the wrong dimension",
       [](Builder& b, const NodeView& n, Var ct, const Type& want) {
         Var all = b.emit1(*b.core().all_gather, {ct},
                           {{"axes", n.call.attrs.ints("axes")}, {"axis", std::int64_t{-1}}, {"tiled", true}});
         return ir::reshape(b, all, want.shape);
       }},
      {"all_to_all", "sends the pieces where they came from",
       [](Builder& b, const NodeView& n, Var ct, const Type& want) {
         return ir::reshape(b, b.emit1(*b.core().all_to_all, {ct}, n.call.attrs), want.shape);
       }},
      {"ppermute", "goes the same way", again},
      {"own_slice", "fills up with zeros",
       [](Builder& b, const NodeView&, Var, const Type& want) { return ir::zeros(b, want); }},
  };
  std::map<std::string, int> seen;
  for (const Planted& p : planted) {
    INFO(p.row << " that " << p.what);
    ir::OpDef wrong = table.at(p.row);
    static std::vector<std::unique_ptr<std::string>> names;  // rows keep views of their names
    names.push_back(std::make_unique<std::string>("wrong_" + std::string(p.row) +
                                                  std::string(static_cast<std::size_t>(seen[p.row]++), '_')));
    std::string signature(table.at(p.row).signature);
    names.push_back(std::make_unique<std::string>(*names.back() + signature.substr(signature.find('('))));
    wrong.name = *names[names.size() - 2];
    wrong.signature = *names.back();
    Wrong of = p.of;
    wrong.derivative =
        ir::Transposes{{}, false, [of](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
                         return of(b, n, ct[0], want);
                       }};
    table.add(std::move(wrong));
    std::string found;
    try {
      found = first_disagreement(table, p.row, table.at(*names[names.size() - 2]));
    } catch (const std::exception& e) { found = e.what(); }
    CHECK(found != "");
    UNSCOPED_INFO(found);
  }
}
