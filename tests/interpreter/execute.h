// Running graphs through the executor in tests: arrays from whole values or from blocks, and back.
#pragma once
#include "interpreter/exec/cache.h"
#include "interpreter/exec/target.h"
#include "tests/interpreter/lockstep.h"

namespace shard::testing {

using exec::ArrayRef;

// Blocks (one a device) as a device array that is distinct along `distinct`.
inline ArrayRef from_blocks(runtime::Pool& pool, const Blocks& blocks, const runtime::Shape& whole, const MeshRef& m,
                            const Sharding& layout, AxisSet distinct) {
  auto a = std::make_shared<runtime::DeviceArray>();
  a->type = Type::of(blocks[0].dtype, whole);
  a->type.mesh = m;
  a->layout = layout;
  a->distinct = distinct;
  std::size_t each = blocks[0].bytes.size();
  a->buffer = pool.allocate(each * static_cast<std::size_t>(m->size_of(distinct)));
  for (std::int64_t d = 0; d < m->size(); ++d) {
    auto at = coordinates(*m, d);
    std::int64_t block = 0;
    for (AxisId axis : distinct.list()) block = block * m->size_of(axis) + at[axis];
    if (each)
      std::memcpy(static_cast<char*>(a->buffer->data()) + static_cast<std::size_t>(block) * each,
                  blocks[static_cast<std::size_t>(d)].bytes.data(), each);
  }
  return a;
}
inline ArrayRef laid_out(runtime::Pool& pool, const Array& whole, const MeshRef& m, const Sharding& layout) {
  return from_blocks(pool, split(whole, *m, layout), whole.shape, m, layout, layout.split_axes() | layout.unreduced);
}
inline ArrayRef plain(runtime::Pool& pool, const Array& x) {
  return runtime::from_host(pool, x.dtype, x.shape, x.bytes.data());
}
inline Array read(runtime::Pool& pool, const ArrayRef& a) {
  ArrayRef host = runtime::to_host(pool, a);
  Array out(host->type.dtype, host->type.shape);
  std::memcpy(out.bytes.data(), host->buffer->data(), out.bytes.size());
  return out;
}

// On the target `lockstep`.
inline std::shared_ptr<const exec::Executable> compile(const Graph& g, std::span<const exec::ArrayInfo> infos,
                                                       const MeshRef& m, runtime::Pool& pool) {
  return exec::compile(*exec::make_lockstep(rows(), pool), rows(), g, infos, m);
}
// A graph that is local already, with results of these layouts.
inline std::shared_ptr<const exec::Executable> compile_local(const Graph& g, std::span<const exec::ArrayInfo> infos,
                                                             const std::vector<Type>& types,
                                                             const std::vector<Sharding>& layouts, const MeshRef& m,
                                                             runtime::Pool& pool) {
  auto target = exec::make_lockstep(rows(), pool);
  std::vector<exec::ArrayInfo> results;
  for (std::size_t i = 0; i < types.size(); ++i) results.push_back({types[i], layouts[i], {}, types[i].mesh});
  transform::LowerOptions options{[](std::string_view, const Graph& after) { ir::verify(after); }, target->passes()};
  auto program = transform::settle(rows(), g, m, infos, std::move(results), options);
  return target->compile(std::make_shared<exec::Program>(std::move(program)), infos);
}

// The results of a global graph, compiled for arguments of these layouts; on the target `exact` where asked.
inline Arrays execute(const Graph& g, const Arrays& args, const MeshRef& m, const std::vector<Sharding>& layouts,
                      bool exact = false) {
  runtime::Pool pool;
  std::vector<ArrayRef> arrays;
  std::vector<exec::ArrayInfo> infos;
  for (std::size_t i = 0; i < args.size(); ++i) {
    arrays.push_back(m ? laid_out(pool, args[i], m, layouts[i]) : plain(pool, args[i]));
    infos.push_back(exec::array_info(*arrays.back()));
  }
  auto target = exec::make_lockstep(rows(), pool, exact);
  auto plan = exec::compile(*target, rows(), g, infos, m);
  Arrays out;
  for (const ArrayRef& r : plan->run(arrays, {}, {})) {
    CHECK(r->distinct.contains(r->layout.split_axes() | r->layout.unreduced));
    out.push_back(read(pool, r));
  }
  return out;
}

}  // namespace shard::testing
