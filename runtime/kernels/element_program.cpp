// Prepared elementwise programs: which way a run goes, and how it is shared out to threads.
#include "runtime/kernels/element_program.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "runtime/kernels/element_plan.h"
#include "runtime/kernels/element_run.h"
#include "runtime/kernels/generated/element_code.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

using generated::ElementCode;

// Machine code takes some 50 us to make. It is made once the program has had this much to do (elements times cost).
constexpr std::int64_t kPaysFrom = 1 << 20;
constexpr std::int64_t kLeast = 128;             // elements: a loop of fewer takes no less time
constexpr std::int64_t kSpreadFrom = 64 * 1024;  // work (elements times cost) that is worth a task of its own
constexpr std::int64_t kMostPieces = 256;        // of a run: enough for all threads

}  // namespace

struct ElementKernel::Impl {
  ElementPlan plan;
  // Elements behind those of the plan, where a reduction of all does not end with a whole leaf; each operand is so many
  // bytes further there.
  std::unique_ptr<ElementKernel> rest;
  std::vector<std::int64_t> skipped;
  std::atomic<std::int64_t> done{0};  // elements times cost
  std::once_flag once;
  std::unique_ptr<const ElementCode> code;
  std::atomic<const ElementCode*> ready{nullptr};  // the code, once it is there

  explicit Impl(ElementPlan p) : plan(std::move(p)) {}
  const ElementCode* for_a_run(std::int64_t elements) {
    if (const ElementCode* made = ready.load(std::memory_order_acquire)) return made;
    std::int64_t before = done.load(std::memory_order_relaxed);
    if (before < kPaysFrom) {
      before += std::max(elements, kLeast) * plan.cost;
      done.store(before, std::memory_order_relaxed);  // of runs at the same time one may not count
      if (before < kPaysFrom) return nullptr;
    }
    return generated();
  }
  const ElementCode* generated() {
    std::call_once(once, [this] {
      code = generated::make_element_code(plan);
      ready.store(code.get(), std::memory_order_release);
    });
    return code.get();
  }
};

namespace {

// How many elements are whole leaves of a reduction of all, where others follow them; 0: there are no such.
std::int64_t whole_leaves(const ElementProgram& p, std::span<const View> in, std::span<const View> out) {
  const Leaves& l = p.leaves;
  const auto plain = [](const View& v) { return is_contiguous(v) || all_alike(v); };
  const bool all = l.length > l.leaf() && l.inner == 1 && p.row <= 1 && p.joins.empty() && !out.empty() &&
                   numel(out[0].shape) == l.length && std::all_of(in.begin(), in.end(), plain) &&
                   std::all_of(out.begin(), out.end(), is_contiguous);
  return all && l.length % l.leaf() != 0 ? l.length / l.leaf() * l.leaf() : 0;
}

// n elements of a plain view as a line.
View line_of(const View& v, std::int64_t n) { return {v.dtype, {n}, {is_contiguous(v) ? 1 : 0}, nullptr}; }

}  // namespace

ElementKernel::ElementKernel(ElementProgram program, std::span<const View> inputs, std::span<const View> outputs) {
  const std::int64_t whole = whole_leaves(program, inputs, outputs);
  if (whole == 0) {
    impl_.reset(new Impl(ElementPlan(program, inputs, outputs)));
    return;
  }
  const auto lines = [](std::span<const View> views, std::int64_t n) {
    std::vector<View> made;
    for (const View& v : views) made.push_back(line_of(v, n));
    return made;
  };
  ElementProgram first = program;
  first.leaves.length = whole;
  impl_.reset(new Impl(ElementPlan(first, lines(inputs, whole), lines(outputs, whole))));
  const std::int64_t left = std::exchange(program.leaves.length, program.leaves.length - whole) - whole;
  for (const View& v : inputs)
    impl_->skipped.push_back(line_of(v, 1).strides[0] * whole * static_cast<std::int64_t>(size_of(v.dtype)));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool leaf = i < program.reduced.size() && program.reduced[i];
    impl_->skipped.push_back((leaf ? whole / program.leaves.leaf() : whole) *
                             static_cast<std::int64_t>(size_of(outputs[i].dtype)));
  }
  impl_->rest = std::make_unique<ElementKernel>(std::move(program), lines(inputs, left), lines(outputs, left));
}
ElementKernel::~ElementKernel() = default;
ElementKernel::ElementKernel(ElementKernel&&) noexcept = default;
std::optional<ElementTurns> ElementKernel::turns(std::array<void* const*, 2> operands,
                                                 std::span<const ElementTurns::Moving> moving) const {
  const ElementPlan& p = impl_->plan;
  const ElementCode* const code = impl_->ready.load(std::memory_order_acquire);
  return code && code->few ? std::optional(code->turns(p.inputs.size(), p.count, operands, moving)) : std::nullopt;
}
std::optional<ElementKernel::FewCode> ElementKernel::few_code() const {
  const ElementPlan& p = impl_->plan;
  const ElementCode* const code = p.few && p.count > 0 ? impl_->generated() : nullptr;
  if (!code || !code->few) return std::nullopt;
  FewCode out{code->parts[0].code.run, p.count, {}};
  for (const ElementCode::Place& place : code->parts[0].places)
    out.operands.push_back(place.stored ? p.inputs.size() + place.array : place.array);
  return out;
}
bool ElementKernel::generate() const { return impl_->generated() != nullptr; }

void ElementKernel::run(void* const* inputs, void* const* outputs, const Stop* stop) const {
  const ElementPlan& p = impl_->plan;
  if (impl_->rest) {
    std::vector<void*> behind;
    const auto skip = [&](void* at) { behind.push_back(static_cast<char*>(at) + impl_->skipped[behind.size()]); };
    std::for_each_n(inputs, p.inputs.size(), skip);
    std::for_each_n(outputs, p.outputs.size(), skip);
    impl_->rest->run(behind.data(), behind.data() + p.inputs.size(), stop);
  }
  if (p.count == 0) return;
  const ElementCode* const code = impl_->for_a_run(p.count);
  if (code && code->few) return code->run_few(inputs, outputs, p.count);
  if (p.few) return run_few_elements(p, inputs, outputs);
  const std::int64_t piece = std::max(kSpreadFrom / p.cost, p.count / kMostPieces);
  if (code && code->in_lines) {
    const auto some = [&](std::int64_t from, std::int64_t to) { code->run_lines(p, inputs, outputs, from, to); };
    return spread(p.lines->count(), std::max<std::int64_t>(piece / p.lines->length, 1), some, stop);
  }
  spread(
      p.count, std::max(p.least, piece / p.least * p.least),
      [&](std::int64_t from, std::int64_t to) { run_elements(p, code, inputs, outputs, from, to); }, stop);
}

std::int64_t ElementKernel::together() const {
  const ElementPlan& p = impl_->plan;
  return impl_->rest || p.few || p.lines || p.count == 0 ? 0 : p.together;
}
bool ElementKernel::reads_in_order(std::size_t input) const {
  return impl_->plan.inputs[input].way == ElementPlan::Way::Direct;
}
void ElementKernel::run_part(void* const* inputs, void* const* outputs, std::int64_t from, std::int64_t to) const {
  const ElementPlan& p = impl_->plan;
  run_elements(p, impl_->for_a_run(to - from), inputs, outputs, from, to);
}

}  // namespace shard::runtime
