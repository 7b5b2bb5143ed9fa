// Times the kernels: matrix products, elementwise codes and chains, reductions, copies and random bits. Prints one line
// each, the best of several rounds: a name, microseconds, and what it makes a second. An argument runs only lines whose
// name contains it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/array/buffer.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/kernels.h"

using namespace shard::runtime;

namespace {

using Clock = std::chrono::steady_clock;

struct Bench {
  Pool pool;
  std::string only;

  BufferRef array(DType t, std::int64_t n) {
    BufferRef b = pool.allocate(static_cast<std::size_t>(n) * size_of(t));
    const View v = contiguous(t, {n}, b->data());
    fill(v, 0.5, 1);
    if (t == DType::F32)
      for (std::int64_t i = 0; i < n; ++i) v.as<float>()[i] = 0.001f * static_cast<float>(i % 1000) + 0.01f;
    return b;
  }

  template <class F>
  void time(const std::string& name, double units, const char* unit, F f) {
    if (name.find(only) == std::string::npos) return;
    double best = 1e9;
    int calls = 1;
    for (int round = 0; round < 12; ++round) {
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) f();
      const double each = std::chrono::duration<double>(Clock::now() - start).count() / calls;
      best = std::min(best, each);
      calls = std::clamp(static_cast<int>(0.01 / each), 1, 20000);
    }
    std::printf("%-32s %12.3f us %10.1f %s\n", name.c_str(), best * 1e6, units / best / 1e9, unit);
  }
};

void products(Bench& b) {
  for (const std::int64_t n : {16, 64, 128, 256, 512, 1024, 2048}) {
    const BufferRef x = b.array(DType::F32, n * n), y = b.array(DType::F32, n * n), z = b.array(DType::F32, n * n);
    const View a = contiguous(DType::F32, {1, n, n}, x->data()), w = contiguous(DType::F32, {1, n, n}, y->data()),
               out = contiguous(DType::F32, {1, n, n}, z->data());
    View at = a, wt = w;
    std::swap(at.strides[1], at.strides[2]);
    std::swap(wt.strides[1], wt.strides[2]);
    const double flops = 2.0 * static_cast<double>(n * n * n);
    b.time("matmul " + std::to_string(n), flops, "GFLOP/s", [&] { matmul(a, w, out); });
    b.time("matmul " + std::to_string(n) + " a turned", flops, "GFLOP/s", [&] { matmul(at, w, out); });
    b.time("matmul " + std::to_string(n) + " w turned", flops, "GFLOP/s", [&] { matmul(a, wt, out); });
  }
  for (const auto& [batch, m, n, k] : std::vector<std::array<std::int64_t, 4>>{{64, 128, 512, 784},
                                                                               {1, 1, 1024, 1024},
                                                                               {1, 8, 1024, 1024},
                                                                               {1, 1024, 10, 512},
                                                                               {1, 784, 512, 1024},
                                                                               {512, 16, 16, 16},
                                                                               {512, 4, 4, 4}}) {
    const BufferRef x = b.array(DType::F32, batch * m * k), y = b.array(DType::F32, k * n),
                    z = b.array(DType::F32, batch * m * n);
    const View a = contiguous(DType::F32, {batch, m, k}, x->data()),
               out = contiguous(DType::F32, {batch, m, n}, z->data());
    const View w{DType::F32, {batch, k, n}, {0, n, 1}, y->data()};
    b.time(
        "matmul " + std::to_string(batch) + "x" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
        2.0 * static_cast<double>(batch * m * n * k), "GFLOP/s", [&] { matmul(a, w, out); });
  }
}

void elementwise(Bench& b) {
  const DType f = DType::F32;
  const std::vector<std::pair<const char*, Code>> codes{
      {"add", Code::Add}, {"mul", Code::Mul}, {"max", Code::Max},        {"pow", Code::Pow},
      {"exp", Code::Exp}, {"log", Code::Log}, {"tanh", Code::Tanh},      {"sigmoid", Code::Sigmoid},
      {"sin", Code::Sin}, {"erf", Code::Erf}, {"erf_inv", Code::ErfInv}, {"sqrt", Code::Sqrt}};
  for (const std::int64_t n : {std::int64_t{32}, std::int64_t{4096}, std::int64_t{1} << 22})
    for (const auto& [name, code] : codes) {
      const BufferRef x = b.array(f, n), y = b.array(f, n), z = b.array(f, n);
      const View v = contiguous(f, {n});
      const ElementKernel kernel({{f, f, f}, {0, 1}, {}, {{code, f, 2, 0, 1}}, {2}}, std::vector<View>{v, v},
                                 std::vector<View>{v});
      void* in[] = {x->data(), y->data()};
      void* out[] = {z->data()};
      b.time(std::string(name) + " " + std::to_string(n), static_cast<double>(n), "Gelem/s",
             [&] { kernel.run(in, out); });
    }
  for (const std::int64_t n : {std::int64_t{4096}, std::int64_t{1} << 24}) {  // gelu by tanh: 9 operations
    const BufferRef x = b.array(f, n), z = b.array(f, n);
    const View v = contiguous(f, {n});
    ElementProgram p{
        {f, f, f, f, f, f, f}, {0}, {{1, 0.044715, 0}, {2, 0.7978845608, 0}, {3, 0.5, 0}, {4, 1, 0}}, {}, {5}};
    p.code = {{Code::Square, f, 5, 0}, {Code::Mul, f, 5, 5, 0}, {Code::Mul, f, 5, 5, 1},
              {Code::Add, f, 5, 5, 0}, {Code::Mul, f, 5, 5, 2}, {Code::Tanh, f, 5, 5},
              {Code::Add, f, 5, 5, 4}, {Code::Mul, f, 5, 5, 0}, {Code::Mul, f, 5, 5, 3}};
    const ElementKernel kernel(p, std::vector<View>{v}, std::vector<View>{v});
    void* in[] = {x->data()};
    void* out[] = {z->data()};
    b.time("gelu chain " + std::to_string(n), static_cast<double>(n), "Gelem/s", [&] { kernel.run(in, out); });
  }
}

void others(Bench& b) {
  const DType f = DType::F32;
  const BufferRef x = b.array(f, 1 << 24), z = b.array(f, 1 << 24);
  for (const auto& [name, shape, axes] :
       std::vector<std::tuple<const char*, Shape, std::vector<int>>>{{"sum all 16M", {1 << 24}, {0}},
                                                                     {"sum rows 4096x4096", {4096, 4096}, {1}},
                                                                     {"sum columns 4096x4096", {4096, 4096}, {0}},
                                                                     {"sum rows 1Mx16", {1 << 20, 16}, {1}},
                                                                     {"sum columns 1Mx16", {1 << 20, 16}, {0}},
                                                                     {"sum rows 64x64", {64, 64}, {1}},
                                                                     {"sum columns 64x64", {64, 64}, {0}}}) {
    Shape kept;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (axes[0] != static_cast<int>(i)) kept.push_back(shape[i]);
    const View in = contiguous(f, shape, x->data()), out = contiguous(f, kept, z->data());
    b.time(name, static_cast<double>(numel(shape)), "Gelem/s", [&] { reduce(Reduce::Sum, in, axes, out); });
  }
  b.time("argmax rows 100kx10", 1e6, "Gelem/s", [&] {
    arg_reduce(true, contiguous(f, {100000, 10}, x->data()), 1, contiguous(DType::I32, {100000}, z->data()));
  });
  b.time("transpose 4096x4096", 1 << 24, "Gelem/s", [&] {
    copy({f, {4096, 4096}, {1, 4096}, x->data()}, contiguous(f, {4096, 4096}, z->data()));
  });
  b.time("copy 16M", 1 << 24, "Gelem/s",
         [&] { copy(contiguous(f, {1 << 24}, x->data()), contiguous(f, {1 << 24}, z->data())); });
  b.time("transpose 64x64", 4096, "Gelem/s", [&] {
    copy({f, {64, 64}, {1, 64}, x->data()}, contiguous(f, {64, 64}, z->data()));
  });
  std::uint32_t words[2] = {0, 1};
  const View key = contiguous(DType::Key, {1}, words);
  const std::int64_t start[] = {0};
  for (const std::int64_t n : {4096, 1 << 24})
    b.time("random bits " + std::to_string(n), static_cast<double>(n), "Gelem/s", [&] {
      random_bits(key, {n}, start, {n}, contiguous(DType::U32, {1, n}, z->data()));
    });
  b.time("sort 1M", 1e6, "Gelem/s",
         [&] { sort(contiguous(f, {1000000}, x->data()), contiguous(f, {1000000}, z->data())); });
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench;
  if (argc > 1) bench.only = argv[1];
  std::printf("kernels: %s\n", matmul_isa());
  products(bench);
  elementwise(bench);
  others(bench);
}
