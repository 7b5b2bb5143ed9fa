// How long plans take: a cached operation on a tiny array, a plan of ten tiny instructions, and training steps (the
// programs of this folder, built as graphs) on meshes of 1, 8 and 64 devices. Prints one line each; not a test.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "interpreter/exec/target.h"
#include "interpreter/trace/context.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/ops.h"

using namespace shard;
using exec::ArrayRef;
using ir::Builder;
using ir::Type;
using ir::Var;
using ir::Vars;
using runtime::DType;

namespace {

// Of all threads, in milliseconds: on a busy machine the better measure.
double processor_time() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

template <class F>
double best_of(int rounds, int turns, F f) {
  double best = 1e9;
  for (int r = 0; r < rounds; ++r) {
    auto start = std::chrono::steady_clock::now();
    for (int t = 0; t < turns; ++t) f();
    best = std::min(
        best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / turns);
  }
  return best;
}

Type f32(runtime::Shape s) { return Type::of(DType::F32, std::move(s)); }

ArrayRef numbers(runtime::Pool& pool, const runtime::Shape& shape, double scale, unsigned seed) {
  std::vector<float> data(static_cast<std::size_t>(runtime::numel(shape)));
  std::uint64_t s = seed * 0x9E3779B97F4A7C15ull + 1;
  for (float& x : data) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    x = static_cast<float>((static_cast<double>(s >> 40) / static_cast<double>(1 << 23) - 1) * scale);
  }
  return runtime::from_host(pool, DType::F32, shape, data.data());
}

runtime::MeshRef line(std::int64_t devices) {
  runtime::Mesh m;
  m.axes.push_back({"data", devices, runtime::AxisKind::Auto});
  for (int i = 0; i < devices; ++i) m.devices.push_back(i);
  return std::make_shared<const runtime::Mesh>(std::move(m));
}

// Never laid out -> on the mesh, dimension 0 split where `split`.
ArrayRef placed(const ArrayRef& x, const runtime::MeshRef& m, bool split) {
  auto a = std::make_shared<runtime::DeviceArray>(*x);
  a->type.mesh = m;
  if (split) {
    a->layout.dims[0].axes = {0};
    a->distinct.add(0);
  }
  return a;
}

struct Step {  // a function of state and data, compiled; the state comes out first
  std::shared_ptr<const exec::Executable> plan;
  std::vector<ArrayRef> state, data;
  void run() {
    std::vector<ArrayRef> args = std::move(state);
    std::size_t n = args.size();
    args.insert(args.end(), data.begin(), data.end());
    std::vector<bool> donate(args.size(), true);
    auto out = plan->run(std::move(args), donate, {});
    state.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n));
    loss = out.back();
  }
  ArrayRef loss;
};

Step make(const ir::OpTable& table, runtime::Pool& pool, const ir::Graph& g, std::vector<ArrayRef> state,
          std::vector<ArrayRef> data, const runtime::MeshRef& m) {
  std::vector<exec::ArrayInfo> infos;
  for (const auto& list : {state, data})
    for (const ArrayRef& a : list) infos.push_back(exec::array_info(*a));
  return {exec::compile(*exec::make_lockstep(table, pool), table, g, infos, m), std::move(state), std::move(data),
          nullptr};
}

ir::Graph logistic(const ir::OpTable& table) {
  Builder f(table);
  Var w = f.param(f32({32, 1})), b = f.param(f32({1})), x = f.param(f32({1024, 32})), y = f.param(f32({1024, 1}));
  Var z = f.call("sigmoid", {ir::add(f, f.emit1(*f.core().contract, {x, w}, {{"spec", std::string("mk,kn->mn")}}), b)});
  Var loss = f.call("mean", {f.call("square", {ir::sub(f, z, y)})});
  ir::Graph forward = f.finish({loss});
  int wrt[] = {0, 1};
  ir::Graph grad = transform::vjp(table, forward, wrt, {true}, true);
  Builder s(table);
  Vars in;
  for (Var p : forward.params) in.push_back(s.param(forward.type(p)));
  Vars args = in;
  args.push_back(ir::constant(s, 1, DType::F32));
  Vars out = s.inline_graph(grad, args);
  auto lower = [&](Var p, Var g) { return ir::sub(s, p, ir::mul(s, ir::constant(s, 0.01, DType::F32, true), g)); };
  return s.finish({lower(in[0], out[1]), lower(in[1], out[2]), out[0]});
}

ir::Graph mlp(const ir::OpTable& table) {
  Builder f(table);
  const std::int64_t sizes[] = {784, 512, 512, 10};
  Vars params;
  for (int i = 0; i < 3; ++i) {
    params.push_back(f.param(f32({sizes[i], sizes[i + 1]})));
    params.push_back(f.param(f32({sizes[i + 1]})));
  }
  Var x = f.param(f32({1024, 784})), y = f.param(f32({1024, 10})), h = x;
  for (int i = 0; i < 3; ++i) {
    auto u = static_cast<std::size_t>(2 * i);
    h = ir::add(f, f.emit1(*f.core().contract, {h, params[u]}, {{"spec", std::string("mk,kn->mn")}}), params[u + 1]);
    if (i < 2) h = f.call("relu", {h});
  }
  Var nll = ir::sub(f, f.call("logsumexp", {h}, {{"axis", ir::Ints{-1}}}),
                    f.call("sum", {ir::mul(f, h, y)}, {{"axis", ir::Ints{-1}}}));
  ir::Graph forward = f.finish({f.call("mean", {nll})});
  int wrt[] = {0, 1, 2, 3, 4, 5};
  ir::Graph grad = transform::vjp(table, forward, wrt, {true}, true);
  // State: parameters, first and second moments, the step.
  Builder s(table);
  Vars p, m, v;
  for (Vars* list : {&p, &m, &v})
    for (std::size_t i = 0; i < 6; ++i) list->push_back(s.param(forward.type(forward.params[i])));
  Var t = s.param(f32({}));
  Vars args = p;
  for (std::size_t i = 6; i < 8; ++i) args.push_back(s.param(forward.type(forward.params[i])));
  args.push_back(ir::constant(s, 1, DType::F32));
  Vars out = s.inline_graph(grad, args), next_p, next_m, next_v;
  auto c = [&](double value) { return ir::constant(s, value, DType::F32, true); };
  Var c1 = ir::sub(s, c(1), s.call("pow", {c(0.9), t})), c2 = ir::sub(s, c(1), s.call("pow", {c(0.999), t}));
  for (std::size_t i = 0; i < 6; ++i) {
    Var g = out[1 + i];
    next_m.push_back(ir::add(s, ir::mul(s, c(0.9), m[i]), ir::mul(s, c(0.1), g)));
    next_v.push_back(ir::add(s, ir::mul(s, c(0.999), v[i]), ir::mul(s, ir::mul(s, c(0.001), g), g)));
    Var root = ir::add(s, s.call("sqrt", {ir::div(s, next_v[i], c2)}), c(1e-8));
    next_p.push_back(ir::sub(s, p[i], ir::div(s, ir::mul(s, c(0.001), ir::div(s, next_m[i], c1)), root)));
  }
  Vars results = next_p;
  results.insert(results.end(), next_m.begin(), next_m.end());
  results.insert(results.end(), next_v.begin(), next_v.end());
  results.push_back(ir::add(s, t, c(1)));
  results.push_back(out[0]);
  return s.finish(results);
}

}  // namespace

int main(int argc, char** argv) {
  ir::OpTable table;
  stdlib::register_all(table);
  table.freeze();
  runtime::Pool pool;
  bool dump = argc > 1 && std::strcmp(argv[1], "dump") == 0;

  {
    trace::Context ctx(table, pool, 8);
    trace::Tensor x(numbers(pool, {4}, 1, 1));
    const ir::OpDef& add = table.at("add");
    std::printf("cached operation, f32[4]              %8.3f us\n", best_of(5, 20000, [&] {
                  ctx.apply1(add, {x, x});
                }));
  }
  {
    Builder b(table);
    Var x = b.param(f32({4, 4}));
    for (int i = 0; i < 10; ++i)
      x = ir::transpose(b, b.emit1(*b.core().reduce_sum, {ir::broadcast_to(b, x, {2, 4, 4})}, {{"axes", ir::Ints{-3}}}),
                        {1, 0});
    ir::Graph g = b.finish({x});
    ArrayRef a = numbers(pool, {4, 4}, 1e-6, 1);
    std::vector<exec::ArrayInfo> infos = {exec::array_info(*a)};
    auto plan = exec::compile(*exec::make_lockstep(table, pool), table, g, infos, nullptr);
    std::printf("ten tiny instructions                 %8.3f us\n", best_of(5, 5000, [&] { plan->run({a}, {}, {}); }));
  }
  ir::Graph small = logistic(table), large = mlp(table);
  for (std::int64_t devices : {1, 8, 64}) {
    auto m = line(devices);
    ArrayRef x = placed(numbers(pool, {1024, 32}, 1, 1), m, true), y = placed(numbers(pool, {1024, 1}, 1, 2), m, true);
    Step s =
        make(table, pool, small,
             {placed(numbers(pool, {32, 1}, 0, 3), m, false), placed(numbers(pool, {1}, 0, 4), m, false)}, {x, y}, m);
    if (dump && devices == 8) std::printf("%s\n", ir::to_string(s.plan->program().local).c_str());
    std::printf("logistic, %2lld devices                  %8.3f us\n", static_cast<long long>(devices),
                best_of(5, 500, [&] { s.run(); }));
  }
  for (std::int64_t devices : {1, 8, 64}) {
    auto m = line(devices);
    std::vector<ArrayRef> state;
    const std::int64_t sizes[] = {784, 512, 512, 10};
    for (int k = 0; k < 3; ++k)
      for (unsigned i = 0; i < 3; ++i) {
        state.push_back(placed(numbers(pool, {sizes[i], sizes[i + 1]}, k == 0 ? 0.05 : 0, i + 1), m, false));
        state.push_back(placed(numbers(pool, {sizes[i + 1]}, 0, i + 1), m, false));
      }
    float one = 1;
    state.push_back(placed(runtime::from_host(pool, DType::F32, {}, &one), m, false));
    ArrayRef x = placed(numbers(pool, {1024, 784}, 1, 8), m, true),
             y = placed(numbers(pool, {1024, 10}, 1, 9), m, true);
    Step s = make(table, pool, large, std::move(state), {x, y}, m);
    if (dump && devices == 8) std::printf("%s\n", ir::to_string(s.plan->program().local).c_str());
    pool.reset_peak();
    double before = processor_time(), us = best_of(5, 8, [&] { s.run(); }), busy = (processor_time() - before) / 40;
    std::printf("mlp_dp, %2lld devices                    %8.3f ms (processors %.3f ms), peak %.1f MB\n",
                static_cast<long long>(devices), us / 1000, busy, static_cast<double>(pool.stats().peak) / 1e6);
  }
}
