#include "interpreter/hlo/module.h"

#include "interpreter/hlo/emitter.h"

namespace shard::hlo {
namespace {

using transform::ArrayInfo;

Shape with_words(Shape shape, DType dtype) {  // as @main has it
  if (dtype == DType::Key) shape.push_back(2);
  return shape;
}
DType outside(DType dtype) { return dtype == DType::Key ? DType::U32 : dtype; }

Value entering(const Value& given, const runtime::Type& type) {
  return type.dtype == DType::Key ? bitcast(given, DType::Key, type.shape) : given;
}
Value leaving(const Value& x) {
  return x.dtype == DType::Key ? bitcast(x, DType::U32, with_words(x.shape, x.dtype)) : x;
}

}  // namespace

Module module_of(const transform::Program& program, const How& how) {
  const ir::Graph& g = program.local;
  Writer to;
  Emitter emitter(to, program, how);
  Module out;
  emitter.claims_in(g, out.claims);
  to.indent(4);
  Values params, given;
  std::string header;
  for (ir::Var v : g.params) {
    const runtime::Type& t = g.type(v);
    given.push_back({&to, to.fresh(), outside(t.dtype), with_words(t.shape, t.dtype)});
    header +=
        (header.empty() ? "" : ", ") + given.back().name + ": " + type_text(given.back().dtype, given.back().shape);
    if (const std::size_t i = given.size() - 1; i < how.donated.size() && how.donated[i])
      header += " {jax.buffer_donor = true}";
  }
  for (std::size_t i = 0; i < given.size(); ++i) params.push_back(entering(given[i], g.type(g.params[i])));
  Values results;
  for (const Value& v : emitter.graph(g, params, &program.distinct)) results.push_back(leaving(v));
  std::string types, names;
  for (const Value& v : results) {
    types += (types.empty() ? "" : ", ") + type_text(v.dtype, v.shape);
    names += (names.empty() ? "" : ", ") + v.name;
  }
  const std::int64_t devices = program.mesh ? program.mesh->size() : 1;
  out.text = "module @" + quoted(how.name) +
             " attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = " + std::to_string(devices) +
             " : i32} {\n  func.func public @main(" + header + ") -> (" + types + ") {\n" + to.take() + "    return" +
             (names.empty() ? "" : " " + names + " : " + types) + "\n  }\n}\n";
  out.collectives = to.collectives;
  return out;
}

}  // namespace shard::hlo
