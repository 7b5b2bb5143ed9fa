// progress: the same sequence with a line on the terminal; resumed: the sequence behind its first turns; position: how
// far a loader is.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "grammar/characters.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/value_text.h"
#include "stdlib/host/data/progress_line.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

std::string printed(const char* format, double x) {
  char out[48];
  std::snprintf(out, sizeof out, format, x);
  return out;
}

std::string clock_text(double seconds) {  // 0:07, 12:30, 2:05:00
  const auto s = static_cast<long long>(std::min(seconds, 3.6e9) + 0.5);
  char out[48];
  if (s >= 3600)
    std::snprintf(out, sizeof out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(out, sizeof out, "%lld:%02lld", s / 60, s % 60);
  return out;
}

std::string rate_text(double rate) { return rate >= 1 ? printed("%.1f/s", rate) : printed("%.1f s each", 1 / rate); }

}  // namespace

std::string progress_line(const ProgressState& s, const std::string& numbers, int width) {
  constexpr int kBar = 20;
  std::string out = std::to_string(s.at);
  if (s.all) out += "/" + std::to_string(*s.all);
  const bool steady = s.at > 1 && s.since_first > 0;
  const double rate = steady          ? static_cast<double>(s.at - 1) / s.since_first
                      : s.seconds > 0 ? static_cast<double>(s.at) / s.seconds
                                      : 0;
  if (rate > 0) out += "  " + rate_text(rate);
  if (s.last)
    out += "  " + clock_text(s.seconds);
  else if (s.all && rate > 0)
    out += "  " + clock_text(static_cast<double>(*s.all - s.at) / rate) + " left";
  if (!numbers.empty()) out += "  " + numbers;
  if (s.all && *s.all > 0 && static_cast<int>(out.size()) + kBar + 4 <= width) {
    const auto filled = static_cast<std::size_t>(kBar * std::min(s.at, *s.all) / *s.all);
    out = "[" + std::string(filled, '#') + std::string(kBar - filled, '.') + "] " + out;
  }
  int columns = 0;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t from = at;
    columns += lang::columns_of(grammar::decode(out, at));
    if (columns > width - 1) return out.substr(0, from);
  }
  return out;
}

namespace {

class Progress : public lang::Loader {
 public:
  std::shared_ptr<lang::Loader> inner;  // or:
  std::vector<Value> items;
  Value show;  // a function of what stands beside, or none
  grammar::Span span;

  std::optional<std::int64_t> length() const override {
    return inner ? inner->length() : static_cast<std::int64_t>(items.size());
  }
  void restart() override {
    if (inner) inner->restart();
    at_ = 0;
    begun_ = told_ = first_ = clock::now();
    drawn_ = false;
  }
  std::optional<std::int64_t> position() const override { return inner ? inner->position() : std::nullopt; }
  std::string describe() const override {
    return "progress of " + (inner ? inner->describe() : std::to_string(items.size()) + " items");
  }

  std::optional<Value> next(Interpreter& in) override {
    std::optional<Value> v;
    if (inner)
      v = inner->next(in);
    else if (at_ < static_cast<std::int64_t>(items.size()))
      v = items[static_cast<std::size_t>(at_)];
    tell(in, !v);
    ++at_;
    if (at_ == 2) first_ = clock::now();
    return v;
  }

 private:
  using clock = std::chrono::steady_clock;

  void tell(Interpreter& in, bool last) {
    if (in.context().types_only()) return;
    const double every = in.screen().status_every();
    const auto now = clock::now();
    constexpr double kSeldom = 1;  // lines that stay: a run that ended before the first says nothing
    if (std::isinf(every) || (last ? every > kSeldom && !drawn_ : seconds_of(now - told_) < every)) return;
    told_ = now;
    drawn_ = true;
    const ProgressState s{at_, length(), seconds_of(now - begun_), at_ > 1 ? seconds_of(now - first_) : 0, last};
    in.screen().status(progress_line(s, numbers(in), in.screen().status_width()), last);
  }

  static double seconds_of(clock::duration d) { return std::chrono::duration<double>(d).count(); }

  static bool is_number(const Value& v) {
    return v.is_host_number() ||
           (v.is_tensor() && v.tensor().type().rank() == 0 && v.tensor().type().dtype != DType::Key);
  }

  // What the script shows beside: "loss 0.25".
  std::string numbers(Interpreter& in) {
    if (show.is_none()) return "";
    const Value v = in.call(show, std::vector<Value>{}, span);
    if (v.is_none()) return "";  // not yet
    const lang::Record* r = v.fields();
    if (is_number(v)) return lang::format_value(v, ".4g", in.context().pool());
    if (!r)
      in.fail("type", span, "`show:` gives a record of numbers, and this is " + lang::kind_name(v),
              {"write `show: fn() = {loss: loss}`"});
    std::string out;
    for (const auto& [name, x] : r->fields)
      if (is_number(x) || x.is<std::shared_ptr<const std::string>>())
        out += (out.empty() ? "" : "  ") + name + " " +
               (is_number(x) ? lang::format_value(x, ".4g", in.context().pool()) : in.show(x));
    return out;
  }

  std::int64_t at_ = 0;
  bool drawn_ = false;
  clock::time_point begun_ = clock::now(), told_ = begun_, first_ = begun_;  // first_: when the first turn was over
};

Value progress(Interpreter& in, BoundArgs& a) {
  auto out = std::make_shared<Progress>();
  out->show = a[1];
  out->span = a.span;
  if (!a[1].is_none() && !a[1].callable())
    in.fail("type", a.args[1].span, "`show:` takes a function that gives numbers, and this is " + lang::kind_name(a[1]),
            {"write `show: fn() = {loss: loss}`"});
  if (auto* loader = a[0].get<std::shared_ptr<lang::Loader>>())
    out->inner = *loader;
  else
    out->items = items_of(in, a[0], a.span, "progress");
  return Value(std::shared_ptr<lang::Loader>(std::move(out)));
}

Value resumed(Interpreter& in, BoundArgs& a) {
  const std::int64_t n = in.integer(a[1], a.args[1].span, "a number of turns");
  if (n < 0) in.fail("call", a.args[1].span, "a number of turns is not negative");
  const bool unknown = in.context().types_only() && runtime::is_unknown_size(n);  // so many as only a run knows
  if (n == 0 || unknown) return a[0];
  if (const auto* given = a[0].get<std::shared_ptr<lang::Loader>>()) {
    std::shared_ptr<lang::Loader> rest = (*given)->resumed(n);
    if (!rest) in.fail("type", a.args[0].span, "resumed takes a loader itself, not " + (*given)->describe());
    return Value(std::move(rest));
  }
  std::vector<Value> items = items_of(in, a[0], a.args[0].span, "resumed");
  items.erase(items.begin(), items.begin() + std::min<std::ptrdiff_t>(n, static_cast<std::ptrdiff_t>(items.size())));
  return Value::list(std::move(items));
}

Value position(Interpreter& in, BoundArgs& a) {
  const auto* given = a[0].get<std::shared_ptr<lang::Loader>>();
  const std::optional<std::int64_t> at = given ? (*given)->position() : std::nullopt;
  if (!at) in.fail("type", a.args[0].span, "position takes a loader, this is " + lang::kind_name(a[0]));
  return Value(*at);
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
  in.define({"progress",
             "progress(xs, show = none)",
             "The same sequence, with a line on the terminal that shows how far it is, how fast, and the time left. "
             "show: a function of no arguments that gives a record of numbers to show with it, fn() = {loss: loss}; it "
             "is called when the line is drawn. Without a terminal, a line every 30 s.",
             progress,
             {{"tqdm", "write `for x in progress(xs) { ... }`"}}});
}

}  // namespace shard::stdlib
