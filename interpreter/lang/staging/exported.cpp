#include "interpreter/lang/staging/exported.h"

#include "grammar/characters.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/transform/pipeline.h"

namespace shard::lang {
namespace {

constexpr const char* kTestedWith = "[\"jaxlib 0.10.2 (StableHLO 1.17.0)\"]";

// As @main has it: a key is two words.
std::string shape_text(const runtime::Type& t) {
  std::string out = grammar::separated(t.shape, ", ", [](std::int64_t n) { return std::to_string(n); });
  if (t.dtype == runtime::DType::Key) out += out.empty() ? "2" : ", 2";
  return "[" + out + "]";
}

std::string layout_text(const exec::ArrayInfo& info, const runtime::MeshRef& mesh) {
  std::string out;
  for (std::size_t d = 0; d < info.type.shape.size(); ++d) {
    std::string axes;
    if (mesh && d < info.layout.dims.size())
      for (runtime::AxisId a : info.layout.dims[d].axes)
        axes += (axes.empty() ? "" : ", ") + json_string(mesh->axes[a].name);
    out += (d ? ", [" : "[") + axes + "]";
  }
  if (info.type.dtype == runtime::DType::Key) out += out.empty() ? "[]" : ", []";
  return "[" + out + "]";
}

std::string entry(const std::string& name, const exec::ArrayInfo& info, const runtime::MeshRef& mesh) {
  const runtime::DType type = info.type.dtype == runtime::DType::Key ? runtime::DType::U32 : info.type.dtype;
  return "{\"name\": " + json_string(name) + ", \"shape\": " + shape_text(info.type) +
         ", \"type\": " + json_string(runtime::name(type)) + ", \"layout\": " + layout_text(info, mesh);
}

}  // namespace

hlo::Form form_named(std::string_view word) {
  if (const auto form = hlo::form_of(word)) return *form;
  throw runtime::RuntimeError("value",
                              "a form is \"manual\", \"replica\" or \"auto\", got \"" + std::string(word) + "\"");
}

hlo::Module exported(const CompiledCall& call, hlo::Form form, const ir::OpTable& table,
                     const grammar::SourceMap& sources) {
  const auto flags = std::make_unique<bool[]>(call.becomes.size());
  std::copy(call.becomes.begin(), call.becomes.end(), flags.get());
  const std::span<const bool> donated(flags.get(), call.becomes.size());
  hlo::How how{form, call.name, call.given, donated, &sources};
  const transform::Program& program = call.plan->program();
  if (form != hlo::Form::Auto || !program.mesh) return hlo::module_of(program, how);
  transform::Program seen = program;  // what partitions it has axes as they were declared
  seen.mesh = program.seen_mesh();
  std::vector<runtime::Sharding> layouts;
  for (const exec::ArrayInfo& a : call.given) layouts.push_back(a.layout);
  hlo::Whole whole{transform::whole_graph(table, *call.graph), {}};
  whole.layouts = transform::propagate(whole.graph, seen.mesh, layouts);
  how.whole = &whole;
  return hlo::module_of(seen, how);
}

std::string exported_json(const CompiledCall& call, hlo::Form form, const hlo::Module& module,
                          const grammar::SourceMap& sources) {
  const bool known = sources.has(call.where.source);
  const transform::Program& program = call.plan->program();
  const runtime::MeshRef mesh = program.seen_mesh();
  std::string axes, arguments, results;
  if (mesh)
    for (const runtime::MeshAxis& a : mesh->axes)
      axes += (axes.empty() ? "[" : ", [") + json_string(a.name) + ", " + std::to_string(a.size) + "]";
  for (std::size_t i = 0; i < call.given.size(); ++i)
    arguments += (i ? ",\n  " : "\n  ") + entry(call.names[i], call.given[i], mesh) +
                 ", \"donated\": " + (call.becomes[i] ? "true" : "false") + "}";
  for (std::size_t i = 0; i < program.results.size(); ++i)
    results += (results.empty() ? "\n  " : ",\n  ") +
               entry(i < call.results.size() ? call.results[i] : "result", program.results[i], mesh) + "}";
  for (const hlo::Claim& c : module.claims) {  // what must hold; in manual form as each device found it
    const int line = source_line(sources, c.span);
    const bool each = form == hlo::Form::Manual && mesh;
    std::string all;
    if (each) all = grammar::separated(mesh->axes, ", ", [](const auto& a) { return json_string(a.name); });
    results += (results.empty() ? "\n  " : ",\n  ") +
               ("{\"name\": " + json_string("assert of line " + std::to_string(line))) + ", \"shape\": [" +
               (each ? std::to_string(mesh->size()) : "") + "], \"type\": \"bool\", \"layout\": [" +
               (each ? "[" + all + "]" : "") + "]}";
  }
  return "{\"function\": " + json_string(call.name) +
         ", \"file\": " + json_string(known ? sources.at(call.where.source).name() : "") +
         ", \"line\": " + std::to_string(source_line(sources, call.where)) + ", \"form\": \"" +
         std::string(hlo::name_of(form)) + "\", \"mesh\": [" + axes + "],\n \"arguments\": [" + arguments +
         "],\n \"results\": [" + results + "],\n \"tested_with\": " + kTestedWith + "}\n";
}

}  // namespace shard::lang
