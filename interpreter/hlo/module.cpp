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

std::string list(std::span<const std::string> items) {
  std::string out;
  for (const std::string& item : items) out += (&item == items.data() ? "" : ", ") + item;
  return out;
}

// One argument or result of @main.
struct Port {
  Value value;
  std::string sharding;  // "<@mesh, [{"data"}, {}]>"; empty in replica form
  std::string type() const { return type_text(value.dtype, value.shape); }
  std::string declared() const { return type() + attributes({}); }
  std::string attributes(std::string_view more) const {
    std::string all(more);
    if (!sharding.empty()) all += (all.empty() ? "" : ", ") + std::string("sdy.sharding = #sdy.sharding") + sharding;
    return all.empty() ? "" : " {" + all + "}";
  }
};

std::string sharding_text(const runtime::Mesh& mesh, const std::vector<std::vector<runtime::AxisId>>& dims) {
  std::vector<std::string> texts;
  for (const auto& axes : dims) {
    std::vector<std::string> names;
    for (runtime::AxisId a : axes) names.push_back(quoted(mesh.axes[a].name));
    texts.push_back("{" + list(names) + "}");
  }
  return "<@mesh, [" + list(texts) + "]>";
}

class Printer {
 public:
  Printer(const transform::Program& program, const How& how)
      : program_(program), how_(how), emitter_(to_, program, how) {
    to_.partitions = global();
  }

  Module print() {
    const ir::Graph& g = program_.local;
    Module out;
    emitter_.claims_in(g, out.claims);
    for (ir::Var v : g.params) inner_.push_back({&to_, to_.fresh(), outside(g.type(v).dtype), shape_of(g.type(v))});
    to_.indent(global() ? 6 : 4);
    Values params, results;
    for (std::size_t i = 0; i < inner_.size(); ++i) params.push_back(entering(inner_[i], g.type(g.params[i])));
    for (const Value& v : emitter_.graph(g, params, &program_.distinct)) results.push_back(leaving(v));
    for (std::size_t i = g.results.size(); global() && i < results.size(); ++i)
      results[i] = reshape(results[i], {1});  // each device says what it found
    const std::string body = to_.take();
    for (std::size_t i = 0; i < inner_.size(); ++i)
      in_.push_back(port(inner_[i], i < how_.arguments.size() ? &how_.arguments[i] : nullptr));
    for (std::size_t i = 0; i < results.size(); ++i)
      out_.push_back(i < g.results.size() ? port(results[i], &program_.results[i]) : claim(results[i]));
    out.text = head() + (global() ? surrounded(body, results) : body + returned("    return", results)) + "  }\n}\n";
    out.collectives = to_.collectives;
    return out;
  }

 private:
  bool global() const { return how_.form == Form::Manual && program_.mesh; }
  static Shape shape_of(const runtime::Type& t) {
    Shape shape = t.shape;
    if (t.dtype == DType::Key) shape.push_back(2);
    return shape;
  }

  // As callers see it: whole, and how it is cut.
  Port port(const Value& local, const ArrayInfo* info) const {
    if (!global()) return {local, ""};
    if (!info) throw std::logic_error("the manual form needs the layouts of all arguments");
    const runtime::Mesh& mesh = *program_.mesh;
    if (!info->layout.unreduced.empty() || !info->distinct.empty())
      for (runtime::AxisId a : (info->distinct | info->layout.unreduced).list())
        if (!info->layout.split_axes().has(a) && mesh.size_of(a) > 1)
          throw grammar::Error("engine", {},
                               "an array at the border of `" + how_.name + "` differs along @" + mesh.axes[a].name +
                                   " without being split: " + runtime::to_string(info->type),
                               {"finish the sum inside, or export the form `replica`, where each device has its own"});
    Port out{local, ""};
    out.value.shape = shape_of(info->type);
    std::vector<std::vector<runtime::AxisId>> dims(local.shape.size());
    for (std::size_t d = 0; d < info->layout.dims.size(); ++d) dims[d] = info->layout.dims[d].axes;
    out.sharding = sharding_text(mesh, dims);
    return out;
  }
  Port claim(const Value& local) const {
    if (!global()) return {local, ""};
    std::vector<runtime::AxisId> all;
    for (std::size_t a = 0; a < program_.mesh->axes.size(); ++a) all.push_back(static_cast<runtime::AxisId>(a));
    Port out{local, sharding_text(*program_.mesh, {all})};
    out.value.shape = {program_.mesh->size()};
    return out;
  }

  std::string head() const {
    const std::int64_t devices = program_.mesh ? program_.mesh->size() : 1;
    std::string out = "module @" + quoted(how_.name) +
                      " attributes {mhlo.num_partitions = " + std::to_string(global() ? devices : 1) +
                      " : i32, mhlo.num_replicas = " + std::to_string(global() ? 1 : devices) + " : i32} {\n";
    if (global()) {
      std::vector<std::string> axes;
      for (const runtime::MeshAxis& a : program_.mesh->axes)
        axes.push_back(quoted(a.name) + "=" + std::to_string(a.size));
      out += "  sdy.mesh @mesh = <[" + list(axes) + "]>\n";
    }
    std::vector<std::string> params, results;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const bool donated = i < how_.donated.size() && how_.donated[i];
      params.push_back(outer(i) + ": " + in_[i].type() + in_[i].attributes(donated ? "jax.buffer_donor = true" : ""));
    }
    for (const Port& p : out_) results.push_back(p.declared());
    return out + "  func.func public @main(" + list(params) + ") -> (" + list(results) + ") {\n";
  }
  std::string outer(std::size_t i) const { return global() ? "%arg" + std::to_string(i) : inner_[i].name; }

  static std::string returned(const std::string& word, std::span<const Value> values) {
    std::vector<std::string> names, types;
    for (const Value& v : values) names.push_back(v.name), types.push_back(type_text(v.dtype, v.shape));
    return word + (names.empty() ? "" : " " + list(names) + " : " + list(types)) + "\n";
  }

  // The body as what each device of the mesh does by hand.
  std::string surrounded(const std::string& body, std::span<const Value> results) const {
    std::vector<std::string> given, locals, in_types, in_shardings, out_types, out_shardings, axes, made;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      given.push_back(outer(i));
      locals.push_back(inner_[i].name + ": " + type_text(inner_[i].dtype, inner_[i].shape));
      in_types.push_back(in_[i].type());
      in_shardings.push_back(in_[i].sharding);
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      out_types.push_back(out_[i].type());
      out_shardings.push_back(out_[i].sharding);
      made.push_back(out_.size() == 1 ? "%made" : "%made#" + std::to_string(i));
    }
    for (const runtime::MeshAxis& a : program_.mesh->axes) axes.push_back(quoted(a.name));
    const std::string count = out_.size() > 1 ? ":" + std::to_string(out_.size()) : "";
    std::string text = "    " + (out_.empty() ? "" : "%made" + count + " = ") + "sdy.manual_computation(" +
                       list(given) + ") in_shardings=[" + list(in_shardings) + "] out_shardings=[" +
                       list(out_shardings) + "] manual_axes={" + list(axes) + "} (" + list(locals) + ") {\n" + body;
    text += returned("      sdy.return", results);
    text += "    } : (" + list(in_types) + ") -> (" + list(out_types) + ")\n";
    return text + "    return" + (made.empty() ? "" : " " + list(made) + " : " + list(out_types)) + "\n";
  }

  const transform::Program& program_;
  const How& how_;
  Writer to_;
  Emitter emitter_;
  Values inner_;  // the parameters of one device
  std::vector<Port> in_, out_;
};

}  // namespace

Module module_of(const transform::Program& program, const How& how) { return Printer(program, how).print(); }

}  // namespace shard::hlo
