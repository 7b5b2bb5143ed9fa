// progress: the same sequence with a line on the terminal; resumed: the sequence behind its first turns; position: how
// far a loader is.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "stdlib/host/data/loader.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

class Progress : public lang::Loader {
 public:
  std::shared_ptr<lang::Loader> inner;  // or:
  std::vector<Value> items;

  std::optional<std::int64_t> length() const override {
    return inner ? inner->length() : static_cast<std::int64_t>(items.size());
  }
  void restart() override {
    if (inner) inner->restart();
    at_ = 0;
    begun_ = shown_ = clock::now();
  }
  std::string describe() const override {
    return "progress of " + (inner ? inner->describe() : std::to_string(items.size()) + " items");
  }

  std::optional<Value> next(Interpreter& in) override {
    std::optional<Value> v;
    if (inner)
      v = inner->next(in);
    else if (at_ < static_cast<std::int64_t>(items.size()))
      v = items[static_cast<std::size_t>(at_)];
    if (isatty(STDERR_FILENO) && !in.context().types_only()) draw(!v);
    ++at_;
    return v;
  }

 private:
  using clock = std::chrono::steady_clock;

  void draw(bool last) {
    const auto now = clock::now();
    if (!last && now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - begun_).count(),
                 rate = seconds > 0 ? static_cast<double>(at_) / seconds : 0;
    if (const auto n = length(); n && *n > 0) {
      const int filled = static_cast<int>(20 * std::min(at_, *n) / *n);
      std::fprintf(stderr, "\r[%s%s] %lld/%lld  %.1f/s  %.0f s ",
                   std::string(static_cast<std::size_t>(filled), '#').c_str(),
                   std::string(static_cast<std::size_t>(20 - filled), '.').c_str(), static_cast<long long>(at_),
                   static_cast<long long>(*n), rate, seconds);
    } else {
      std::fprintf(stderr, "\r%lld  %.1f/s  %.0f s ", static_cast<long long>(at_), rate, seconds);
    }
    if (last) std::fputc('\n', stderr);
    std::fflush(stderr);
  }

  std::int64_t at_ = 0;
  clock::time_point begun_ = clock::now(), shown_ = clock::now();
};

Value progress(Interpreter& in, BoundArgs& a) {
  auto out = std::make_shared<Progress>();
  if (auto* loader = a[0].get<std::shared_ptr<lang::Loader>>())
    out->inner = *loader;
  else
    out->items = items_of(in, a[0], a.span, "progress");
  return Value(std::shared_ptr<lang::Loader>(std::move(out)));
}

Value resumed(Interpreter& in, BoundArgs& a) {
  const std::int64_t n = in.integer(a[1], a.args[1].span, "a number of turns");
  if (n < 0) in.fail("call", a.args[1].span, "a number of turns is not negative");
  if (n == 0) return a[0];
  if (const auto* given = a[0].get<std::shared_ptr<lang::Loader>>()) {
    const auto* batches = dynamic_cast<const Batches*>(given->get());
    if (!batches) in.fail("type", a.args[0].span, "resumed takes a loader itself, not " + (*given)->describe());
    LoaderPlan plan = batches->plan();
    plan.skip += n;
    return Value(std::shared_ptr<lang::Loader>(std::make_shared<Batches>(std::move(plan))));
  }
  std::vector<Value> items = items_of(in, a[0], a.args[0].span, "resumed");
  items.erase(items.begin(), items.begin() + std::min<std::ptrdiff_t>(n, static_cast<std::ptrdiff_t>(items.size())));
  return Value::list(std::move(items));
}

Value position(Interpreter& in, BoundArgs& a) {
  const auto* given = a[0].get<std::shared_ptr<lang::Loader>>();
  const lang::Loader* l = given ? given->get() : nullptr;
  if (const auto* shown = dynamic_cast<const Progress*>(l)) l = shown->inner.get();
  const auto* batches = dynamic_cast<const Batches*>(l);
  if (!batches) in.fail("type", a.args[0].span, "position takes a loader, this is " + lang::kind_name(a[0]));
  return Value(batches->position());
}

}  // namespace

void register_progress(Interpreter& in) {
  in.define({"position", "position(loader)",
             "How many batches a loader has given since its first epoch began: saved and given as `skip`, it resumes "
             "where it was.",
             position});
  in.define({"resumed", "resumed(xs, n)",
             "The sequence without its first n turns, where a run goes on: a loader begins there at once, whatever n.",
             resumed});
  in.define({"progress", "progress(xs)", "The same sequence, with a line on the terminal that tells how far it is.",
             progress});
}

}  // namespace shard::stdlib
