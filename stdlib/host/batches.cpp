// loader: batches of a tree of arrays, in an order that is a function of a key and the epoch, laid out as they are made; progress: the same
// sequence with a line on the terminal. Both are walked by `for`.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "interpreter/lang/format.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using trace::Tensor;

class Batches : public lang::Loader {
 public:
  Value tree;
  std::vector<Tensor> arrays;
  std::int64_t rows = 0, batch = 1, epochs = 1, skip = 0;
  std::optional<Tensor> shuffle;                           // a key
  lang::Spec spec;
  bool laid_out = false;
  grammar::Span span;

  std::int64_t steps() const { return rows / batch; }
  std::optional<std::int64_t> length() const override { return std::max<std::int64_t>(0, steps() * epochs - skip); }
  void restart() override { at_ = skip; order_.reset(); }
  std::string describe() const override { return "loader of " + std::to_string(*length()) + " batches of " + std::to_string(batch); }

  std::optional<Value> next(Interpreter& in) override {
    if (at_ >= steps() * epochs) return std::nullopt;
    const std::int64_t epoch = at_ / steps(), step = at_ % steps();
    if (shuffle && (!order_ || epoch != order_epoch_)) {
      const Value key = call_row(in, "fold_in", std::vector<Value>{Value(*shuffle), Value(epoch)}, span);
      const Value all = call_row(in, "arange", std::vector<Value>{Value(rows)}, span);
      order_ = call_row(in, "permutation", std::vector<Value>{key, all}, span).tensor();
      order_epoch_ = epoch;
    }
    std::vector<Value> out;
    const Value start(step * batch);
    std::optional<Value> chosen;
    if (order_) chosen = slice(in, *order_, start);
    for (const Tensor& x : arrays) {
      Value rows_of_batch = chosen ? call_row(in, "take", {{"", Value(x), span}, {"", *chosen, span}, {"axis", Value(std::int64_t{0}), span}}, span) : slice(in, x, start);
      out.push_back(laid_out ? place(in, rows_of_batch.tensor()) : std::move(rows_of_batch));
    }
    ++at_;
    return lang::with_leaves(tree, std::move(out));
  }

 private:
  Value slice(Interpreter& in, const Tensor& x, const Value& start) {
    std::vector<Value> starts{start}, sizes{Value(batch)};
    for (int d = 1; d < x.type().rank(); ++d) starts.emplace_back(std::int64_t{0}), sizes.emplace_back(x.type().shape[static_cast<std::size_t>(d)]);
    return call_row(in, "dynamic_slice", std::vector<Value>{Value(x), Value::list(std::move(starts)), Value::list(std::move(sizes))}, span);
  }

  Value place(Interpreter& in, const Tensor& x) {
    trace::Context& c = in.context();
    return Value(c.apply1(*c.table().core().shard, {x}, {{"layout", in.resolve(spec, x.type().rank(), span)}}));
  }

  std::int64_t at_ = 0, order_epoch_ = -1;
  std::optional<Tensor> order_;
};

Value loader(Interpreter& in, BoundArgs& a) {
  auto out = std::make_shared<Batches>();
  out->span = a.span;
  out->tree = a[0];
  for (const Value& leaf : lang::leaves(a[0])) {
    const Tensor t = leaf.is_tensor() ? leaf.tensor() : array_of(in, leaf, std::nullopt, a.args[0].span);
    if (t.traced()) in.fail("type", a.args[0].span, "a loader reads arrays that are there, not traced ones");
    if (t.type().rank() == 0) in.fail("shape", a.args[0].span, "a loader takes arrays with rows, one of these has rank 0");
    if (!out->arrays.empty() && t.type().shape[0] != out->rows)
      in.fail("shape", a.args[0].span, "the arrays of a loader need as many rows: " + runtime::to_string(out->arrays[0].type()) + " and " + runtime::to_string(t.type()));
    out->rows = t.type().shape[0];
    out->arrays.push_back(t);
  }
  if (out->arrays.empty()) in.fail("type", a.args[0].span, "a loader needs at least one array");
  out->batch = in.integer(a[1], a.args[1].span, "batch");
  out->epochs = in.integer(a[3], a.args[3].span, "epochs");
  out->skip = in.integer(a[5], a.args[5].span, "skip");
  if (out->batch < 1 || out->batch > out->rows)
    in.fail("call", a.args[1].span, "a batch has between 1 and " + std::to_string(out->rows) + " rows here, not " + std::to_string(out->batch));
  if (out->epochs < 0 || out->skip < 0) in.fail("call", a.span, "epochs and skip are not negative");
  if (!a[2].is_none()) {
    if (!a[2].is_tensor() || a[2].tensor().type().dtype != runtime::DType::Key || a[2].tensor().type().rank() != 0)
      in.fail("type", a.args[2].span, "shuffle takes a key: shuffle: key(1)");
    out->shuffle = a[2].tensor();
  }
  if (!a[4].is_none()) {
    const auto* spec = a[4].get<std::shared_ptr<const lang::Spec>>();
    if (!spec) in.fail("type", a.args[4].span, "spec takes a layout such as P(@data), this is a " + lang::kind_name(a[4]));
    out->spec = **spec;
    out->laid_out = true;
  }
  out->restart();
  return Value(std::shared_ptr<lang::Loader>(std::move(out)));
}

class Progress : public lang::Loader {
 public:
  std::shared_ptr<lang::Loader> inner;                     // or:
  std::vector<Value> items;

  std::optional<std::int64_t> length() const override { return inner ? inner->length() : static_cast<std::int64_t>(items.size()); }
  void restart() override {
    if (inner) inner->restart();
    at_ = 0;
    begun_ = shown_ = clock::now();
  }
  std::string describe() const override { return "progress of " + (inner ? inner->describe() : std::to_string(items.size()) + " items"); }

  std::optional<Value> next(Interpreter& in) override {
    std::optional<Value> v;
    if (inner) v = inner->next(in);
    else if (at_ < static_cast<std::int64_t>(items.size())) v = items[static_cast<std::size_t>(at_)];
    if (isatty(STDERR_FILENO)) draw(!v);
    ++at_;
    return v;
  }

 private:
  using clock = std::chrono::steady_clock;

  void draw(bool last) {
    const auto now = clock::now();
    if (!last && now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - begun_).count(), rate = seconds > 0 ? static_cast<double>(at_) / seconds : 0;
    if (const auto n = length(); n && *n > 0) {
      const int filled = static_cast<int>(20 * std::min(at_, *n) / *n);
      std::fprintf(stderr, "\r[%s%s] %lld/%lld  %.1f/s  %.0f s ", std::string(static_cast<std::size_t>(filled), '#').c_str(),
                   std::string(static_cast<std::size_t>(20 - filled), '.').c_str(), static_cast<long long>(at_), static_cast<long long>(*n), rate, seconds);
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
  if (auto* loader = a[0].get<std::shared_ptr<lang::Loader>>()) out->inner = *loader;
  else out->items = items_of(in, a[0], a.span, "progress");
  return Value(std::shared_ptr<lang::Loader>(std::move(out)));
}

}  // namespace

void register_batches(Interpreter& in) {
  in.define({"loader", "loader(tree, batch, shuffle = none, epochs = 1, spec = none, skip = 0)",
             "Batches of the rows of a tree of arrays, for `for`. shuffle: a key, another order each epoch; spec: the layout of a batch; skip: batches to leave out, to resume.",
             loader});
  in.define({"progress", "progress(xs)", "The same sequence, with a line on the terminal that tells how far it is.", progress});
}

}  // namespace shard::stdlib
