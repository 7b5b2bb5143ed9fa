// loader: batches of a tree of arrays, in an order that is a function of a key and the epoch, laid out as they are
// made; progress: the same sequence with a line on the terminal. Both are walked by `for`; position tells how far a
// loader is.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <future>
#include <limits>

#include "interpreter/lang/layouts/shard_expr.h"
#include "interpreter/lang/values/format.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using runtime::ArrayRef;

// The rows of every array, side by side, as bytes. It reads buffers that nobody changes while it holds them, so it may
// run beside the interpreter; what it gives is made into arrays by the interpreter's thread.
struct Rows {
  std::vector<ArrayRef> arrays;  // on the host, row-major
  std::vector<std::size_t> row_bytes;

  std::vector<std::string> gather(const std::vector<std::int32_t>& which, std::int64_t batch) const {
    std::vector<std::string> out;
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      std::string bytes(static_cast<std::size_t>(batch) * row_bytes[a], '\0');
      const char* from = static_cast<const char*>(arrays[a]->buffer->data());
      for (std::size_t i = 0; i < which.size(); ++i)
        std::memcpy(bytes.data() + i * row_bytes[a], from + static_cast<std::size_t>(which[i]) * row_bytes[a],
                    row_bytes[a]);
      out.push_back(std::move(bytes));
    }
    return out;
  }
};

class Batches : public lang::Loader {
 public:
  Value tree, spec;
  std::shared_ptr<Rows> rows = std::make_shared<Rows>();  // shared with what is gathered ahead
  std::int64_t count = 0, batch = 1, epochs = 1, skip = 0, ahead = 0;
  bool pad = false;
  std::optional<trace::Tensor> shuffle;  // a key
  grammar::Span span;

  std::vector<trace::Tensor> types;  // where a program is checked: arrays without data, one batch of each
  std::int64_t steps() const { return pad ? (count + batch - 1) / batch : count / batch; }
  std::int64_t position() const { return at_; }
  std::optional<std::int64_t> length() const override { return std::max<std::int64_t>(0, steps() * epochs - skip); }
  void restart() override {
    at_ = skip;
    queue_.clear();
    orders_.clear();
  }
  std::string describe() const override {
    return "loader of " + std::to_string(*length()) + " batches of " + std::to_string(batch);
  }

  std::optional<Value> next(Interpreter& in) override {
    if (at_ >= steps() * epochs) return std::nullopt;
    if (!types.empty()) return typed(in);
    std::vector<std::string> bytes;
    if (queue_.empty()) {
      bytes = rows->gather(which(in, at_), batch);
    } else {
      bytes = queue_.front().get();
      queue_.pop_front();
    }
    ++at_;
    for (std::int64_t i = at_ + static_cast<std::int64_t>(queue_.size()); i < std::min(at_ + ahead, steps() * epochs);
         ++i)
      queue_.push_back(std::async(std::launch::async,
                                  [rows = rows, chosen = which(in, i), n = batch] { return rows->gather(chosen, n); }));
    return made(in, bytes, real_rows(at_ - 1));
  }

 private:
  std::int64_t real_rows(std::int64_t at) const { return std::min(batch, count - at % steps() * batch); }

  // The rows of batch `at`, counted over all epochs. Orders of epochs that may still be asked for are kept.
  std::vector<std::int32_t> which(Interpreter& in, std::int64_t at) {
    const std::int64_t epoch = at / steps(), first = at % steps() * batch, n = real_rows(at);
    std::vector<std::int32_t> out(static_cast<std::size_t>(n));
    if (!shuffle) {
      for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
      return out;
    }
    while (!orders_.empty() && orders_.front().first < at_ / steps()) orders_.pop_front();
    if (orders_.empty() || orders_.back().first < epoch) {
      const Value key = call_row(in, "fold_in", std::vector<Value>{Value(*shuffle), Value(epoch)}, span);
      const Value all = call_row(in, "arange", std::vector<Value>{Value(count)}, span);
      const trace::Tensor order = call_row(in, "permutation", std::vector<Value>{key, all}, span).tensor();
      orders_.emplace_back(epoch, runtime::to_host(in.context().pool(), in.context().concrete(order, "loader")));
    }
    for (const auto& [e, order] : orders_)
      if (e == epoch)
        std::memcpy(out.data(), static_cast<const std::int32_t*>(order->buffer->data()) + first,
                    out.size() * sizeof out[0]);
    return out;
  }

  Value typed(Interpreter& in) {
    ++at_;
    std::vector<Value> out;
    for (const trace::Tensor& x : types) {
      runtime::Shape shape = x.type().shape;
      shape[0] = batch;
      std::vector<Value> sizes(shape.begin(), shape.end());
      const Value blank = call_row(
          in, "zeros", {{"", Value::list(std::move(sizes)), span}, {"dtype", Value(x.type().dtype), span}}, span);
      out.push_back(blank);
    }
    return finished(in, std::move(out), batch);
  }

  Value made(Interpreter& in, const std::vector<std::string>& bytes, std::int64_t real) {
    std::vector<Value> out;
    for (std::size_t a = 0; a < bytes.size(); ++a) {
      runtime::Shape shape = rows->arrays[a]->type.shape;
      shape[0] = batch;
      out.emplace_back(new_array(in, rows->arrays[a]->type.dtype, std::move(shape), bytes[a].data()));
    }
    return finished(in, std::move(out), real);
  }

  Value finished(Interpreter& in, std::vector<Value> arrays, std::int64_t real) {
    Value v = lang::with_leaves(tree, std::move(arrays));
    if (!spec.is_none()) v = lang::shard_tree(in, v, spec, nullptr, span);
    if (!pad) return v;
    std::string marks(static_cast<std::size_t>(batch), '\0');
    std::fill_n(marks.begin(), real, '\1');
    Value mask(new_array(in, runtime::DType::Bool, {batch}, marks.data()));
    if (spec.get<std::shared_ptr<const lang::Spec>>()) mask = lang::shard_tree(in, mask, first_entry(), nullptr, span);
    std::vector<Value> items;
    if (v.is<std::shared_ptr<lang::Tuple>>())
      items = *v.items();
    else
      items.push_back(std::move(v));
    items.push_back(std::move(mask));
    return Value::tuple(std::move(items));
  }

  Value first_entry() const {  // the layout of rows alone
    lang::Spec s = **spec.get<std::shared_ptr<const lang::Spec>>();
    if (s.dims.size() > 1) s.dims.resize(1);
    return Value(std::make_shared<const lang::Spec>(std::move(s)));
  }

  std::int64_t at_ = 0;
  std::deque<std::future<std::vector<std::string>>> queue_;  // batches at_, at_ + 1, ...
  std::deque<std::pair<std::int64_t, ArrayRef>> orders_;     // epoch, i32 [count]
};

void take_arrays(Interpreter& in, BoundArgs& a, Batches& out) {
  std::string first;
  bool any_checked = false;
  for (const Value& leaf : lang::leaves(a[0])) {
    const trace::Tensor t = leaf.is_tensor() ? leaf.tensor() : array_of(in, leaf, std::nullopt, a.args[0].span);
    const bool checked = !t.traced() && in.context().types_only();
    if (t.traced()) in.fail("type", a.args[0].span, "a loader reads arrays that are there, not traced ones");
    if (t.type().rank() == 0)
      in.fail("shape", a.args[0].span, "a loader takes arrays with rows, one of these has rank 0",
              {"a list is a tree of several arrays; array(xs) makes one array of it"});
    if (!first.empty() && t.type().shape[0] != out.count)
      in.fail("shape", a.args[0].span,
              "the arrays of a loader have one number of rows; these are " + first + " and " +
                  runtime::to_string(t.type()));
    if (first.empty()) first = runtime::to_string(t.type());
    out.count = t.type().shape[0];
    out.types.push_back(t);
    if (checked) any_checked = true;
    if (any_checked) continue;
    out.rows->arrays.push_back(runtime::to_host(in.context().pool(), in.context().concrete(t, "loader")));
    std::size_t bytes = runtime::size_of(t.type().dtype);
    for (std::size_t d = 1; d < t.type().shape.size(); ++d) bytes *= static_cast<std::size_t>(t.type().shape[d]);
    out.rows->row_bytes.push_back(bytes);
  }
  if (!any_checked) out.types.clear();
  if (first.empty()) in.fail("type", a.args[0].span, "a loader needs at least one array");
  if (out.count > std::numeric_limits<std::int32_t>::max())
    in.fail("shape", a.args[0].span, "a loader takes fewer than 2 ** 31 rows");
}

Value loader(Interpreter& in, BoundArgs& a) {
  auto out = std::make_shared<Batches>();
  out->span = a.span;
  out->tree = a[0];
  take_arrays(in, a, *out);
  const auto number = [&](std::size_t i, const char* what) { return in.integer(a[i], a.args[i].span, what); };
  out->batch = number(1, "batch"), out->epochs = number(3, "epochs"), out->skip = number(5, "skip"),
  out->ahead = number(7, "prefetch");
  if (a.given(6)) {
    const std::string& rest = in.text(a[6], a.args[6].span, "rest");
    if (rest != "drop" && rest != "pad")
      in.fail("call", a.args[6].span, "rest is \"drop\" or \"pad\", not " + lang::quoted(rest));
    out->pad = rest == "pad";
  }
  if (out->count < 1) in.fail("shape", a.args[0].span, "a loader needs at least one row");
  if (out->batch < 1 || (out->batch > out->count && !out->pad))
    in.fail("call", a.args[1].span,
            "a batch has between 1 and " + std::to_string(out->count) + " rows here, not " + std::to_string(out->batch),
            out->batch > 0 ? std::vector<std::string>{"`rest: \"pad\"` fills a batch that is too short"}
                           : std::vector<std::string>{});
  if (out->epochs < 0 || out->skip < 0 || out->ahead < 0)
    in.fail("call", a.span, "epochs, skip and prefetch are not negative");
  if (out->ahead > 64) in.fail("call", a.args[7].span, "prefetch is at most 64 batches");
  if (!a[2].is_none()) {
    if (!a[2].is_tensor() || a[2].tensor().type().dtype != runtime::DType::Key || a[2].tensor().type().rank() != 0)
      in.fail("type", a.args[2].span, "shuffle takes a key: shuffle: key(1)");
    out->shuffle = a[2].tensor();
  }
  for (const Value& leaf : lang::leaves(a[4]))
    if (!leaf.get<std::shared_ptr<const lang::Spec>>())
      in.fail("type", a.args[4].span,
              "spec takes a layout such as P(@data), or a tree of them; this is " + lang::kind_name(leaf));
  out->spec = a[4];
  out->restart();
  return Value(std::shared_ptr<lang::Loader>(std::move(out)));
}

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

// The same batches, begun behind the first n.
std::shared_ptr<Batches> later(const Batches& from, std::int64_t n) {
  auto out = std::make_shared<Batches>();
  out->tree = from.tree, out->spec = from.spec, out->rows = from.rows, out->types = from.types;
  out->count = from.count, out->batch = from.batch, out->epochs = from.epochs, out->ahead = from.ahead;
  out->pad = from.pad, out->shuffle = from.shuffle, out->span = from.span;
  out->skip = from.skip + n;
  out->restart();
  return out;
}

Value resumed(Interpreter& in, BoundArgs& a) {
  const std::int64_t n = in.integer(a[1], a.args[1].span, "a number of turns");
  if (n < 0) in.fail("call", a.args[1].span, "a number of turns is not negative");
  if (n == 0) return a[0];
  if (const auto* given = a[0].get<std::shared_ptr<lang::Loader>>()) {
    if (const auto* batches = dynamic_cast<const Batches*>(given->get()))
      return Value(std::shared_ptr<lang::Loader>(later(*batches, n)));
    in.fail("type", a.args[0].span, "resumed takes a loader itself, not " + (*given)->describe());
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

void register_batches(Interpreter& in) {
  in.define({"loader",
             "loader(tree, batch, shuffle = none, epochs = 1, spec = none, skip = 0, rest = \"drop\", prefetch = 0)",
             "Batches of the rows of a tree of arrays, for `for`. shuffle: a key, another order each epoch; spec: the "
             "layout of a batch; skip: "
             "batches to leave out, to resume; rest: \"drop\" what does not fill a batch, or \"pad\" it with zeros: "
             "each batch then ends with "
             "truth values, which rows are real; prefetch: so many batches are gathered ahead.",
             loader,
             {"DataLoader"}});
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
