#include "interpreter/cost_model/instruction_parts.h"

#include <algorithm>
#include <map>

#include "interpreter/exec/fuse.h"
#include "interpreter/ir/region_edges.h"

namespace shard::cost_model {
namespace {

using ir::Graph;
using ir::Node;
using ir::Structure;
using ir::Var;

constexpr double kRow = 16384;                // elements of a row that a chip holds at once while it reduces it
constexpr double kInRow = 4, kRowEnds = 300;  // additions that a processor takes for a reduction of rows
constexpr double kFew = 8;  // a value that is so many times larger than all it is made of is made where it is read

// A graph as instructions, in three steps: what each node is, which nodes are one instruction, in which order.
class Reader {
 public:
  // `distinct`: of the graph, where all devices do it together, in `processes`; `copies` of that engine.
  Reader(const Graph& g, const transform::Distinct* distinct, const runtime::Mesh* mesh, const exec::Copies* copies,
         double processes)
      : g_(g),
        distinct_(distinct),
        copies_(copies),
        mesh_(mesh),
        processes_(processes),
        producer_(g.types.size(), -1),
        users_(g.types.size()),
        root_(g.types.size()) {
    for (std::size_t v = 0; v < g.types.size(); ++v) root_[v] = Var{static_cast<std::int32_t>(v)};
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      for (Var v : g.nodes[i].outputs) producer_[at(v)] = static_cast<int>(i);
      for (Var v : g.nodes[i].inputs) users_[at(v)].push_back(static_cast<int>(i));
    }
    is_result_.assign(g.types.size(), false);
    for (Var v : g.results) is_result_[at(v)] = true;
  }

  std::shared_ptr<Instructions> read() {
    classify();
    sink();
    group();
    build();
    if (!distinct_) epilogues();  // the engine that simulates devices makes products by themselves
    order();
    return out_;
  }
  void fix(std::vector<char> fixed) { fixed_ = std::move(fixed); }  // by value: the same in every turn of the loop

 private:
  enum class What : std::uint8_t { Free, Pointwise, Alone };

  double copies(Var v) const {  // of what lies on the devices
    return distinct_ ? blocks_of(distinct_->of[at(v)], mesh_, processes_) : 1;
  }
  double held(Var v) const { return bytes_of(g_.type(v)) * copies(v); }

  // Seen through views: the value that lies in memory, and how much of it is read.
  Var root(Var v) const { return root_[at(v)]; }

  void classify() {
    const std::size_t n = g_.nodes.size();
    what_.assign(n, What::Pointwise);
    products_.resize(n);
    level_.assign(g_.types.size(), 0);
    node_level_.assign(n, 0);
    if (fixed_.empty()) {
      fixed_.assign(g_.types.size(), 0);
      for (Var p : g_.params) fixed_[at(p)] = 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Node& node = g_.nodes[i];
      products_[i] = product_of(g_, node);
      const bool view = std::holds_alternative<ir::ViewOf>(node.op->kernel) || is(node, Structure::Shard) ||
                        (node.op->comm && !node.op->comm->communicates()) || made_anew(node) || same_type(node) ||
                        (distinct_ && copies_host(node));  // one machine's memory
      const bool none = node.inputs.empty() || of_type_alone(node);
      if ((none || ir::is_effect(*node.op) || view) && copied(node) == 0)
        what_[i] = What::Free;
      else if (products_[i] || node.op->comm || !node.regions.empty() || copies_host(node))
        what_[i] = What::Alone;
      int level = 0;
      bool fixed = true;
      for (Var v : none ? std::vector<Var>{} : node.inputs) {
        level = std::max(level, level_[at(v)]);
        fixed &= fixed_[at(v)] != 0;
      }
      node_level_[i] = level;
      for (Var v : node.outputs) {
        level_[at(v)] = level + (what_[i] == What::Alone || ends_stretch(node));
        fixed_[at(v)] = fixed;
        if (view && !none && copied(node) == 0) root_[at(v)] = root_[at(largest(node))];
      }
    }
  }

  double copied(const Node& n) const {
    const auto at = copies_ ? copies_->find(&n) : exec::Copies::const_iterator{};
    return copies_ && at != copies_->end() ? static_cast<double>(at->second) : 0;
  }
  bool same_type(const Node& n) const {  // a conversion that changes the weakness alone
    return distinct_ && convert_of(n) && g_.type(n.inputs[0]).dtype == g_.type(n.outputs[0]).dtype;
  }
  // Element by element of one operand that is no larger, or of some that are small beside it: whoever reads it makes it
  // himself from them.
  bool made_anew(const Node& n) const {
    if (distinct_ || copies_host(n) || !std::holds_alternative<runtime::Code>(n.op->kernel) || n.inputs.empty() ||
        is_result_[at(n.outputs[0])])
      return false;
    const double made = bytes_of(g_.type(n.outputs[0]));
    if (n.inputs.size() == 1) return bytes_of(g_.type(n.inputs[0])) <= made;
    double read = 0;
    for (Var v : n.inputs) read += bytes_of(g_.type(root(v)));
    return read * kFew <= made;
  }
  Var largest(const Node& n) const {  // of its operands, as they lie in memory
    return *std::max_element(n.inputs.begin(), n.inputs.end(),
                             [&](Var a, Var b) { return bytes_of(g_.type(root(a))) < bytes_of(g_.type(root(b))); });
  }

  // What only later stretches read is made there: it would be written and read again for nothing.
  void sink() {
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& n = g_.nodes[i];
      if (what_[i] == What::Alone || n.inputs.empty() || n.outputs.size() != 1 || is_result_[at(n.outputs[0])])
        continue;
      const ir::Type& out = g_.type(n.outputs[0]);
      bool grows = what_[i] == What::Free || std::holds_alternative<runtime::Code>(n.op->kernel);
      for (Var v : n.inputs) grows &= what_[i] == What::Free || bytes_of(g_.type(v)) <= 2 * bytes_of(out);
      int late = INT32_MAX;
      for (int u : users_[at(n.outputs[0])]) late = std::min(late, node_level_[static_cast<std::size_t>(u)]);
      if (grows && late != INT32_MAX) node_level_[i] = std::max(node_level_[i], late);
    }
  }

  // A reduction of more than a chip holds at once: what reads its operand again reads memory again.
  bool ends_stretch(const Node& n) const {
    if (ir::structure_of(*n.op) || n.inputs.size() != 1) return false;
    const auto rule = rule_of(g_, n);
    if (!rule) return false;
    double reduced = 1;
    for (const ir::Factor& f : rule->factors)
      if (f.kind == ir::FactorKind::Reduced) reduced *= static_cast<double>(f.size);
    return reduced > kRow;
  }

  int find(int i) {
    while (join_[static_cast<std::size_t>(i)] != i) i = join_[static_cast<std::size_t>(i)];
    return i;
  }

  // Pointwise nodes of one level that feed one another, or read the same large value. Levels count what stands alone on
  // the way to a node, so a way out of a stretch and back into it does not exist.
  void group() {
    std::map<std::pair<std::int32_t, int>, int> readers;  // of a value at a level: the first
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) join_.push_back(static_cast<int>(i));
    if (distinct_) {  // the engine that simulates devices says itself what it makes one instruction
      for (const exec::Unit& u : exec::units_of(g_, distinct_->of, mesh_))
        for (int i : u.nodes) unite(u.nodes[0], i);
      return;
    }
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      if (what_[i] != What::Pointwise) continue;
      for (Var v : g_.nodes[i].inputs) {
        const int p = producer_[at(root(v))];
        const auto [same, first] = readers.try_emplace({root(v).id, node_level_[i]}, static_cast<int>(i));
        if (!first && root(largest(g_.nodes[i])) == root(v) && is_large(root(v)))
          unite(same->second, static_cast<int>(i));
        if (p < 0 || what_[static_cast<std::size_t>(p)] != What::Pointwise ||
            node_level_[static_cast<std::size_t>(p)] != node_level_[i])
          continue;
        unite(p, static_cast<int>(i));
      }
    }
  }
  void unite(int x, int y) {
    const int a = find(x), b = find(y);
    join_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  // To read it twice costs more than a launch.
  bool is_large(Var v) const { return bytes_of(g_.type(v)) > 1 << 20; }

  double read_bytes(const Node& n, Var v) const {
    const double whole = held(root(v)), seen = held(v);
    double most = std::min(whole, seen);
    if (std::holds_alternative<runtime::Code>(n.op->kernel) || n.regions.size()) return most;
    double given = 0;
    for (Var o : n.outputs) given += held(o);
    const auto rule = rule_of(g_, n);
    // What is linear and needs whole dimensions without summing them picks a part (dynamic_slice).
    const bool picks = std::holds_alternative<ir::Transposes>(n.op->derivative);
    const bool reduces = rule && std::any_of(rule->factors.begin(), rule->factors.end(), [&](const ir::Factor& f) {
                           return f.kind == ir::FactorKind::Reduced || (f.kind == ir::FactorKind::Whole && !picks);
                         });
    return reduces ? most : std::min(most, std::max(given, 1.0));  // a row of a table is read, not the table
  }

  void build() {
    out_ = std::make_shared<Instructions>();
    std::map<int, int> of_group;
    instruction_of_.assign(g_.nodes.size(), -1);
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      if (what_[i] == What::Free) continue;
      const int home = find(static_cast<int>(i));
      auto [it, fresh] = of_group.try_emplace(home, static_cast<int>(out_->list.size()));
      if (fresh) {
        out_->list.emplace_back();
        members_.emplace_back();
      }
      instruction_of_[i] = it->second;
      members_[static_cast<std::size_t>(it->second)].push_back(static_cast<int>(i));
    }
    for (std::size_t w = 0; w < out_->list.size(); ++w) fill(static_cast<int>(w));
  }

  int maker(Var v) const {  // the instruction that makes what lies behind v; of a parameter -1 - index; else kNobody
    const Var r = root(v);
    const int p = producer_[at(r)];
    if (p >= 0)
      return instruction_of_[static_cast<std::size_t>(p)] >= 0 ? instruction_of_[static_cast<std::size_t>(p)]
                                                               : Instructions::kNobody;
    for (std::size_t i = 0; i < g_.params.size(); ++i)
      if (g_.params[i] == r) return -1 - static_cast<int>(i);
    return Instructions::kNobody;
  }

  void fill(int w) {
    Instruction& instruction = out_->list[static_cast<std::size_t>(w)];
    const auto& nodes = members_[static_cast<std::size_t>(w)];
    const Node& last = g_.nodes[static_cast<std::size_t>(nodes.back())];
    instruction.node = &last;
    instruction.copied = copied(last);
    if (distinct_ && mesh_ && last.op->comm && last.op->comm->communicates())  // by itself, or with the product it sums
      for (Var v : last.inputs) instruction.given += held(v);
    instruction.early = true;
    std::vector<Var> read;
    for (int i : nodes) {
      const Node& n = g_.nodes[static_cast<std::size_t>(i)];
      instruction.points += points_of(n);
      const bool updated = in_place(n, i);
      for (Var v : n.inputs) {
        instruction.early &= fixed_[at(v)] != 0;
        const int m = maker(v);
        if (m == w) continue;
        if (m != Instructions::kNobody &&
            std::find(instruction.after.begin(), instruction.after.end(), m) == instruction.after.end())
          instruction.after.push_back(m);
        if (m == Instructions::kNobody || std::find(read.begin(), read.end(), root(v)) != read.end()) continue;
        read.push_back(root(v));
        if (!updated || v != n.inputs[0]) instruction.bytes += read_bytes(n, v);
      }
      for (Var v : n.outputs)
        if (leaves(v, w)) instruction.bytes += updated ? held(n.inputs[1]) : held(v);
    }
    if (what_[static_cast<std::size_t>(nodes[0])] == What::Alone) alone(instruction, nodes[0]);
  }

  // Whether it changes a part of an array that nobody reads any more: that part alone is written.
  bool in_place(const Node& n, int i) const {
    if (!n.op->in_place || n.inputs.size() < 2) return false;
    const auto& readers = users_[at(root(n.inputs[0]))];
    return std::all_of(readers.begin(), readers.end(), [&](int u) { return u <= i; });
  }

  // What a product or a kernel gives and a stretch alone reads, element by element, is changed before it is written: it
  // is not written and read once more. A copy to the host reads it too, so that it is written all the same.
  void epilogues() {
    for (std::size_t w = 0; w < out_->list.size(); ++w) {
      Instruction& instruction = out_->list[w];
      if (instruction.kind != Instruction::Kind::Stretch) continue;
      const auto pointwise = [&](int i) {
        return std::holds_alternative<runtime::Code>(g_.nodes[static_cast<std::size_t>(i)].op->kernel);
      };
      if (!std::all_of(members_[w].begin(), members_[w].end(), pointwise)) continue;
      std::vector<Var> done;
      for (int i : members_[w])
        for (Var v : g_.nodes[static_cast<std::size_t>(i)].inputs) {
          const Var r = root(v);
          const int m = maker(v);
          if (m < 0 || m == static_cast<int>(w) || std::find(done.begin(), done.end(), r) != done.end()) continue;
          const Instruction::Kind made = out_->list[static_cast<std::size_t>(m)].kind;
          if ((made != Instruction::Kind::Product && made != Instruction::Kind::Kernel) ||
              leaves(r, static_cast<int>(w), true))
            continue;
          done.push_back(r);
          instruction.bytes = std::max(0.0, instruction.bytes - (leaves(r, static_cast<int>(w)) ? 1 : 2) * held(r));
          if (instruction.bytes * kFew < held(r)) instruction.bytes = 0;
        }
    }
  }

  // Of a node, and of what is made anew for it.
  double points_of(const Node& n) const {
    const auto* code = std::get_if<runtime::Code>(&n.op->kernel);
    double most = 0;  // elements that it looks at, or makes
    for (Var v : n.inputs) most = std::max(most, elements(v));
    for (Var v : n.outputs) most = std::max(most, elements(v));
    double out = most * (code ? runtime::facts(*code).cost : 1);
    if (!code && n.inputs.size() == 1 && adds_rows(n)) out = kInRow * most + kRowEnds * elements(n.outputs[0]);
    for (Var v : n.inputs)
      if (const int p = producer_[at(v)]; p >= 0 && what_[static_cast<std::size_t>(p)] == What::Free) {
        const Node& maker = g_.nodes[static_cast<std::size_t>(p)];
        if (std::holds_alternative<runtime::Code>(maker.op->kernel)) out += points_of(maker);
      }
    return out;
  }
  // Elements that lie side by side are reduced: within vectors, and once more at each row's end.
  bool adds_rows(const Node& n) const {
    const auto rule = n.regions.empty() ? rule_of(g_, n) : nullptr;
    if (!rule || rule->operands[0].empty()) return false;
    const ir::DimFactors& last = rule->operands[0].back();
    return std::any_of(last.begin(), last.end(), [&](int f) {
      return rule->factors[static_cast<std::size_t>(f)].kind == ir::FactorKind::Reduced;
    });
  }
  double elements(Var v) const { return static_cast<double>(runtime::numel(g_.type(v).shape)) * copies(v); }

  // Whether another instruction, or the caller, reads it; `here`: other than to copy it to the host.
  bool leaves(Var v, int w, bool here = false) const {
    if (is_result_[at(v)]) return true;
    for (int u : users_[at(v)]) {
      const auto user = static_cast<std::size_t>(u);
      if (here && copies_host(g_.nodes[user])) continue;
      if (what_[user] != What::Free) {
        if (instruction_of_[user] != w) return true;
      } else {
        for (Var o : g_.nodes[user].outputs)
          if (root_[at(o)] == root_[at(v)] && leaves(o, w, here)) return true;
      }
    }
    return false;
  }

  // What type the elements had before they were widened: units that take the narrow one sum in the wide one.
  runtime::DType narrow(Var v) const {
    runtime::DType t = g_.type(v).dtype;
    for (int p = producer_[at(v)]; p >= 0;) {
      const Node& n = g_.nodes[static_cast<std::size_t>(p)];
      const bool same = what_[static_cast<std::size_t>(p)] == What::Free && !n.inputs.empty();
      if (!same && n.op != convert_of(n)) break;
      v = n.inputs[0];
      if (runtime::is_float(g_.type(v).dtype) && runtime::size_of(g_.type(v).dtype) < runtime::size_of(t))
        t = g_.type(v).dtype;
      p = producer_[at(v)];
    }
    return t;
  }
  // A node that changes nothing but the type of elements.
  const ir::OpDef* convert_of(const Node& n) const {
    return n.inputs.size() == 1 && n.attrs.has("dtype") && std::holds_alternative<runtime::Code>(n.op->kernel)
               ? n.op
               : nullptr;
  }

  void alone(Instruction& instruction, int i) {
    const Node& n = g_.nodes[static_cast<std::size_t>(i)];
    if (n.op->comm) {
      instruction.kind = Instruction::Kind::Collective;
      instruction.bytes = 0;
      for (Var v : n.inputs) instruction.bytes += held(v);
      if (distinct_)
        for (Var v : n.outputs) instruction.bytes += held(v);
    } else if (auto& p = products_[static_cast<std::size_t>(i)]) {
      instruction.kind = Instruction::Kind::Product;
      p->dtype = narrow(n.inputs[0]);
      const runtime::DType other = narrow(n.inputs[1]);
      if (runtime::size_of(other) > runtime::size_of(p->dtype)) p->dtype = other;
      const double made = copies(instruction.node->outputs[0]);  // that, or its sum over devices
      p->batch *= made;
      p->k *= copies(n.outputs[0]) / made;
      instruction.products.push_back(*p);
    } else if (!n.regions.empty()) {
      regions(instruction, n);
    } else if (copies_host(n)) {
      instruction.kind =
          ir::host_copy(n) == ir::HostCopy::Out ? Instruction::Kind::ToHost : Instruction::Kind::FromHost;
      instruction.bytes = held(n.outputs[0]);
    }
  }

  void regions(Instruction& instruction, const Node& n) {
    const ir::RegionEdges edges = ir::region_edges(n);
    instruction.turns = edges.turns;
    instruction.kind = flag(n, "kernel") ? Instruction::Kind::Kernel : Instruction::Kind::Loop;
    if (instruction.kind == Instruction::Kind::Kernel)
      for (const auto& r : n.regions)
        kernel_products(*r, instruction, static_cast<double>(instruction.turns), flag(n, "again"));
    else
      instruction.bytes = 0;
    std::shared_ptr<Instructions> costliest;
    for (std::size_t r = 0; r < n.regions.size(); ++r) {
      if (edges.repeats && edges.verdict && edges.verdict->region == r) continue;  // a condition
      const Graph& g = *n.regions[r];
      Reader inner(g, distinct_ ? &inside(n).regions[r] : nullptr, mesh_, copies_, processes_);
      std::vector<char> fixed(g.types.size(), 0);
      std::vector<Instructions::Carried> carried;
      for (Var p : g.params) fixed[at(p)] = 1;
      for (const ir::RegionEdge& e : edges.edges) {
        if (!e.carried() || !edges.repeats) continue;
        for (const ir::RegionPort& p : e.params)
          if (p.region == r) {
            fixed[at(g.params[p.index])] = 0;
            for (const ir::RegionPort& out : e.results)
              if (out.region == r) carried.push_back({p.index, out.index});
          }
      }
      inner.fix(std::move(fixed));
      std::shared_ptr<Instructions> body = inner.read();
      for (const Instructions::Carried& c : carried)
        if (!distinct_) add_up_later(g, *body, c, instruction.turns);
      body->carried = std::move(carried);
      if (!costliest || body->list.size() > costliest->list.size()) costliest = std::move(body);
    }
    instruction.body = std::move(costliest);
  }

  const transform::Distinct::Inside& inside(const Node& n) const {
    return distinct_->inside[static_cast<std::size_t>(&n - g_.nodes.data())];
  }

  // Everything that a kernel multiplies, in all its turns.
  static void kernel_products(const Graph& g, Instruction& instruction, double turns, bool again) {
    Reader inside(g, nullptr, nullptr, nullptr, 0);
    inside.classify();
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = g.nodes[i];
      if (auto& p = inside.products_[i]) {
        p->batch *= turns;
        p->again |= again;
        p->dtype = inside.narrow(n.inputs[0]);
        instruction.products.push_back(*p);
      }
      const auto more = static_cast<double>(ir::region_edges(n).turns);
      for (const auto& r : n.regions) kernel_products(*r, instruction, turns * more, again);
    }
  }

  void order() {
    const std::vector<int> place = put_in_order(*out_, members_);
    for (int& w : instruction_of_)
      if (w >= 0) w = place[static_cast<std::size_t>(w)];
    settle_early(*out_);
    settle_copies(*out_);
    for (Var v : g_.results) out_->given.push_back(maker(v));
  }

  const Graph& g_;
  const transform::Distinct* distinct_;
  const exec::Copies* copies_;
  const runtime::Mesh* mesh_;
  double processes_;
  std::vector<int> producer_;
  std::vector<std::vector<int>> users_;
  std::vector<Var> root_;
  std::vector<bool> is_result_;
  std::vector<What> what_;
  std::vector<std::optional<Product>> products_;
  std::vector<int> level_, node_level_;
  std::vector<char> fixed_;
  std::vector<int> join_, instruction_of_;
  std::vector<std::vector<int>> members_;
  std::shared_ptr<Instructions> out_;
};

}  // namespace

std::shared_ptr<const Instructions> instructions_of(const transform::Program& program) {
  return Reader(program.local, nullptr, program.mesh.get(), nullptr, 0).read();
}
std::shared_ptr<const Instructions> instructions_of(const exec::Executable& plan, double processes) {
  const transform::Program& program = plan.program();
  if (processes <= 0) return instructions_of(program);
  const exec::Copies copies = plan.copies();
  return Reader(program.local, &program.distinct, program.mesh.get(), &copies, processes).read();
}

}  // namespace shard::cost_model
