// How data flows into regions and out of them, as passes are told.
#include "interpreter/ir/region_edges.h"
#include "tests/interpreter/graphs.h"

using namespace shard;
using namespace shard::testing;
using ir::RegionEdge;
using ir::RegionEdges;

namespace {

const ir::Node& node_with_regions(const Graph& g) {
  for (const ir::Node& n : g.nodes)
    if (!n.regions.empty()) return n;
  throw std::logic_error("no node with regions");
}

// "1 > 0.1 1.1 > 1.0 > 0": operand, parameters, results, output; `*` where a turn sees one row.
std::string text(const RegionEdge& e) {
  const auto ports = [](const std::vector<ir::RegionPort>& all) {
    std::string out;
    for (auto [r, i] : all) out += (out.empty() ? "" : " ") + std::to_string(r) + "." + std::to_string(i);
    return out.empty() ? std::string("-") : out;
  };
  const auto number = [](const std::optional<std::size_t>& n) { return n ? std::to_string(*n) : std::string("-"); };
  return number(e.operand) + " > " + ports(e.params) + " > " + ports(e.results) + " > " + number(e.output) +
         (e.rows ? " *" : "");
}
std::vector<std::string> texts(const RegionEdges& edges) {
  std::vector<std::string> out;
  for (const RegionEdge& e : edges.edges) out.push_back(text(e));
  return out;
}
using Texts = std::vector<std::string>;

Graph scan_graph() {
  auto body = region({f32({2}), f32(), f32(), f32({3})}, [](Builder& b, const Vars& p) -> Vars {
    return {ir::add(b, p[1], p[2]), p[1], p[3], p[0]};
  });
  return graph({f32({2}), f32(), f32(), f32({5, 3})}, [&](Builder& b, const Vars& p) -> Vars {
    return scan(b, body, {p[0]}, {p[1], p[2]}, {p[3]}, 5);
  });
}

Graph counting_graph() {
  auto test = region({f32(), f32()}, [](Builder& b, const Vars& p) -> Vars {
    return {b.emit1(*b.core().lt, {p[1], p[0]})};
  });
  auto body = region({f32(), f32(), f32()},
                     [](Builder& b, const Vars& p) -> Vars { return {ir::add(b, p[2], ir::mul(b, p[0], p[1]))}; });
  return graph({f32(), f32(), f32(), f32()}, [&](Builder& b, const Vars& p) -> Vars {
    return b.emit(*b.core().while_loop, p, ir::with_wiring({}, ir::WhileWiring{1, 2}), {test, body});
  });
}

}  // namespace

TEST_CASE("edges of a scan: constants, carry, rows in and out") {
  const Graph g = scan_graph();
  const RegionEdges edges = ir::region_edges(node_with_regions(g));
  CHECK(texts(edges) == Texts{"0 > 0.0 > - > -", "1 > 0.1 > 0.0 > 0", "2 > 0.2 > 0.1 > 1", "3 > 0.3 > - > - *",
                              "- > - > 0.2 > 2 *", "- > - > 0.3 > 3 *"});
  CHECK(edges.repeats);
  CHECK(!edges.chooser);
  CHECK(!edges.verdict);
  CHECK(edges.edges[0].constant());
  CHECK(edges.edges[1].carried());
  CHECK(!edges.edges[3].constant());
}

TEST_CASE("edges of a while loop: what the condition takes, what the body takes, the carry in both") {
  const Graph g = counting_graph();
  const RegionEdges edges = ir::region_edges(node_with_regions(g));
  CHECK(texts(edges) == Texts{"0 > 0.0 > - > -", "1 > 1.0 > - > -", "2 > 1.1 > - > -", "3 > 0.1 1.2 > 1.0 > 0"});
  REQUIRE(edges.verdict);
  CHECK(edges.verdict->region == 0);
  CHECK(edges.constants(0).first == 0);
  CHECK(edges.constants(0).count == 1);
  CHECK(edges.constants(1).first == 1);
  CHECK(edges.constants(1).count == 2);
}

TEST_CASE("edges of a branch: the condition enters neither region") {
  auto yes = region({f32(), f32()}, [](Builder& b, const Vars& p) -> Vars { return {ir::add(b, p[0], p[1])}; });
  auto no = region({f32(), f32()}, [](Builder&, const Vars& p) -> Vars { return {p[1]}; });
  const Graph g = graph({Type::of(DType::Bool, {}), f32(), f32()}, [&](Builder& b, const Vars& p) -> Vars {
    return b.emit(*b.core().branch, p, {}, {yes, no});
  });
  const RegionEdges edges = ir::region_edges(node_with_regions(g));
  CHECK(texts(edges) == Texts{"1 > 0.0 1.0 > - > -", "2 > 0.1 1.1 > - > -", "- > - > 0.0 1.0 > 0"});
  CHECK(edges.chooser == std::optional<std::size_t>(0));
  CHECK(!edges.repeats);
}

TEST_CASE("more constants of a region move what stands behind them; the attributes say the new edges") {
  for (const Graph& g : {scan_graph(), counting_graph()}) {
    const ir::Node& n = node_with_regions(g);
    for (std::size_t r = 0; r < n.regions.size(); ++r) {
      RegionEdges edges = ir::region_edges(n);
      const auto before = edges.constants(r);
      edges.add_constants(r, 2);
      CHECK(edges.constants(r).count == before.count + 2);
      ir::Attrs attrs = n.attrs;
      ir::set_edges(*n.op, attrs, edges);
      CHECK(texts(ir::region_edges(*n.op, attrs, n.regions, n.inputs.size() + 2)) == texts(edges));
    }
  }
}
