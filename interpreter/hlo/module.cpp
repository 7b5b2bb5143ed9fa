#include "interpreter/hlo/module.h"

#include <stdexcept>

#include "grammar/diagnostic.h"
#include "interpreter/hlo/emitter.h"

namespace shard::hlo {
namespace {

using transform::ArrayInfo;

DType outside(DType dtype) { return dtype == DType::Key ? DType::U32 : dtype; }

Value entering(const Value& given, const runtime::Type& type) {
  return type.dtype == DType::Key ? bitcast(given, DType::Key, type.shape) : given;
}
Value leaving(const Value& x) {
  Shape words = x.shape;
  words.push_back(2);
  return x.dtype == DType::Key ? bitcast(x, DType::U32, words) : x;
}

void claims_first(std::span<Value> values, std::span<const Told> told) {
  const Values all(values.begin(), values.end());
  auto to = values.begin();
  for (const bool claims : {true, false})
    for (std::size_t i = 0; i < all.size(); ++i)
      if (told[i].claim == claims) *to++ = all[i];
}

class Printer {
 public:
  Printer(const transform::Program& program, const How& how)
      : program_(program),
        how_(how),
        arguments_(transform::laid_on(program.mesh, how.arguments)),
        results_(transform::laid_on(program.mesh, program.results)),
        emitter_(to_, program, how) {
    if (whole() && how.form == Form::Auto && !how.whole)
      throw std::logic_error("the form `auto` is made of the whole graph");
    to_.partitions = whole();
  }

  Module print() {
    const bool global = whole() && how_.form == Form::Auto;
    const ir::Graph& g = global ? how_.whole->graph : program_.local;
    Module out;
    Reports reports = reports_of(g, global ? nullptr : &program_.distinct);
    Values params(g.params.size());
    for (const std::size_t i : out.taken = taken(g)) {
      in_.push_back(port(local(g.type(g.params[i])), i < arguments_.size() ? &arguments_[i] : nullptr));
      in_.back().value.name = to_.fresh();
      params[i] = in_.back().value;
    }
    taken_ = out.taken;
    to_.indent(4);
    Values results = whole() && !global ? surrounded(g) : body(g, params);
    claims_first(std::span(results).subspan(g.results.size()), reports.values);
    out.claims = std::move(reports.claims);
    out.shown = std::move(reports.shown);
    if (!whole() || global)
      for (std::size_t i = 0; i < results.size(); ++i)
        out_.push_back(i < g.results.size() ? port(results[i], &results_[i]) : Laid{results[i], nowhere()});
    std::vector<std::string> names, types;
    for (const Value& v : results) names.push_back(to_.name_of(v)), types.push_back(type_text(v.dtype, v.shape));
    const std::string last = "    return" + (names.empty() ? "" : " " + list(names) + " : " + list(types)) + "\n";
    out.text = head() + to_.take() + last + "  }\n}\n";
    out.collectives = to_.collectives;
    return out;
  }

 private:
  bool whole() const { return how_.form != Form::Replica && program_.mesh; }  // arrays at the border
  std::string nowhere() const { return whole() ? sharding_text(*program_.mesh, AxesOfDims{}) : ""; }
  // The program's parameters that @main has: who runs it is spared those that nothing reads.
  std::vector<std::size_t> taken(const ir::Graph& g) const {
    std::vector<bool> read(g.types.size(), !how_.shows);
    for (const ir::Node& n : g.nodes)
      for (const ir::Var v : n.inputs) read[at(v)] = true;
    for (const ir::Var v : g.results) read[at(v)] = true;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < g.params.size(); ++i)
      if (read[at(g.params[i])]) out.push_back(i);
    return out;
  }
  Value local(const runtime::Type& t) { return {&to_, {}, outside(t.dtype), shape_of(t)}; }
  static Shape shape_of(const runtime::Type& t) {
    Shape shape = t.shape;
    if (t.dtype == DType::Key) shape.push_back(2);
    return shape;
  }

  Values body(const ir::Graph& g, std::span<const Value> given) {
    Values params, results;
    for (std::size_t i = 0; i < given.size(); ++i)
      params.push_back(given[i].to ? entering(given[i], g.type(g.params[i])) : given[i]);
    const Emitter::Scope known = to_.partitions && &g != &program_.local ? Emitter::Scope{nullptr, &how_.whole->layouts}
                                                                         : Emitter::Scope{&program_.distinct, nullptr};
    for (const Value& v : emitter_.graph(g, params, known)) results.push_back(leaving(v));
    return results;
  }
  // The program of one device as what each device of the mesh does by hand.
  Values surrounded(const ir::Graph& g) {
    Values blocks;
    for (ir::Var v : g.params) blocks.push_back(local(g.type(v)));
    Values results = body(g, to_.begin(blocks));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i >= g.results.size()) results[i] = reshape(results[i], {1});  // each device says what it found
      out_.push_back(i < g.results.size() ? port(results[i], &results_[i]) : claim(results[i]));
    }
    const std::string region = to_.end(results, "sdy.return");
    return by_hand(to_, *program_.mesh, program_.mesh->all(), in_, out_, region);
  }

  // As callers see it: whole, and how it is cut.
  Laid port(const Value& local, const ArrayInfo* info) const {
    if (!whole()) return {local, ""};
    if (!info) throw std::logic_error("this form needs the layouts of all arguments");
    const runtime::Mesh& mesh = *program_.mesh;
    // A sum that is not finished is what it will be where the whole graph is written.
    const runtime::AxisSet terms = info->layout.unreduced;
    for (runtime::AxisId a : (how_.form == Form::Auto ? info->distinct - terms : info->distinct | terms).list())
      if (!info->layout.split_axes().has(a) && mesh.size_of(a) > 1)
        throw grammar::Error("engine", {},
                             "an array at the border of `" + how_.name + "` differs along @" + mesh.axes[a].name +
                                 " without being split: " + runtime::to_string(info->type),
                             {"finish the sum inside, or export the form `replica`, where each device has its own"});
    Laid out{local, sharding_text(mesh, info->layout, local.shape.size())};
    out.value.shape = shape_of(info->type);
    return out;
  }
  Laid claim(const Value& local) const {
    Laid out{local, sharding_text(*program_.mesh, AxesOfDims{program_.mesh->all().list()})};
    out.value.shape = {program_.mesh->size()};
    return out;
  }

  static std::string declared(const Laid& p, std::string_view more) {
    std::string all(more);
    if (!p.sharding.empty())
      all += (all.empty() ? "" : ", ") + std::string("sdy.sharding = #sdy.sharding") + p.sharding;
    return type_text(p.value.dtype, p.value.shape) + (all.empty() ? "" : " {" + all + "}");
  }
  std::string head() const {
    const std::int64_t devices = program_.mesh ? program_.mesh->size() : 1;
    std::string out = "module @" + quoted(how_.name) +
                      " attributes {mhlo.num_partitions = " + std::to_string(whole() ? devices : 1) +
                      " : i32, mhlo.num_replicas = " + std::to_string(whole() ? 1 : devices) + " : i32} {\n";
    if (whole()) out += "  " + mesh_text(*program_.mesh) + "\n";
    std::vector<std::string> params, results;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const bool donated = taken_[i] < how_.donated.size() && how_.donated[taken_[i]];
      params.push_back(in_[i].value.name + ": " + declared(in_[i], donated ? "jax.buffer_donor = true" : ""));
    }
    for (const Laid& p : out_) results.push_back(declared(p, {}));
    return out + "  func.func public @main(" + list(params) + ") -> (" + list(results) + ") {\n";
  }

  const transform::Program& program_;
  const How& how_;
  std::vector<ArrayInfo> arguments_, results_;  // on the program's mesh
  Writer to_;
  Emitter emitter_;
  std::vector<Laid> in_, out_;  // of @main
  std::vector<std::size_t> taken_;
};

}  // namespace

std::string_view name_of(Form form) {
  constexpr std::string_view names[] = {"replica", "manual", "auto"};
  return names[static_cast<std::size_t>(form)];
}
std::optional<Form> form_of(std::string_view name) {
  for (Form form : {Form::Replica, Form::Manual, Form::Auto})
    if (name_of(form) == name) return form;
  return std::nullopt;
}

Module module_of(const transform::Program& program, const How& how) { return Printer(program, how).print(); }

}  // namespace shard::hlo
