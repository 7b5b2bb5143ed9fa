#include "interpreter/cli/cost/prediction.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "interpreter/lang/eval/checking/checking.h"
#include "stdlib/host/cost/chips.h"

namespace shard::cli {

using cost_model::Chip;

void note_calls(lang::Options& options, std::vector<Prediction>& calls) {
  options.compiled = [&calls](const lang::CompiledCall& call) {
    const auto same = [&](const Prediction& f) { return f.call.plan == call.plan; };
    if (std::none_of(calls.begin(), calls.end(), same)) calls.push_back({call});
  };
}

namespace {

// Looks at a script as `shard check` does, where statements that need data are passed over, but follows loops to their
// end: how often a call is made is part of what is predicted.
class PassedOver final : public lang::Checking {
 public:
  using Checking::Checking;
  void declared(const grammar::LetStmt&, grammar::Span) override {}
  std::unique_ptr<lang::LoopWatch> loop(const void* statement) override {
    return std::make_unique<Whole>(Checking::loop(statement));
  }

 private:
  class Whole final : public lang::LoopWatch {
   public:
    explicit Whole(std::unique_ptr<LoopWatch> watch) : watch_(std::move(watch)) {}
    bool last() override { return false; }
    bool left() override { return watch_->left(); }
    void blur() override { watch_->blur(); }
    lang::Value blurred(const lang::Value& item) override { return watch_->blurred(item); }
    void perhaps(const std::function<void()>& turn) override { watch_->perhaps(turn); }

   private:
    std::unique_ptr<LoopWatch> watch_;
  };
};

std::string where_of(const grammar::Diagnostic& d, const grammar::SourceMap& sources) {  // "train.shard:12"
  if (!sources.has(d.span.source)) return "the script";
  return sources.at(d.span.source).name() + ":" + std::to_string(source_line(sources, d.span));
}

}  // namespace

DryRun::DryRun(const Settings& settings, bool quiet, bool simulated,
               std::function<void(const std::string&, const lang::Value*)> laid_out)
    : settings_(settings), simulated_(simulated), laid_out_(std::move(laid_out)) {
  begin(quiet);
}

void DryRun::begin(bool quiet) {
  calls_.clear();
  not_written_.clear();
  counts_ = std::make_shared<std::map<const exec::Executable*, std::int64_t>>();
  lang::Options options;
  if (quiet) options.output = [](std::string_view) {};
  note_calls(options, calls_);
  options.not_written = [this](const std::string& file) { not_written_.push_back(file); };
  options.counts = counts_;
  options.laid_out = laid_out_;
  machine_ = make_machine(settings_, std::move(options));
  trace::Context& context = machine_->interpreter().context();
  context.set_target(context.target(simulated_ ? "abstract" : "apart"));
}

int DryRun::run_once(const std::string& path, std::string text, const Teller& teller) {
  return guarded(
      machine_->interpreter(),
      [&] {
        machine_->interpreter().run(path, std::move(text));
        if (calls_.empty())
          throw runtime::RuntimeError("estimate",
                                      "nothing is compiled: the script calls no jit and no manual function");
        for (Prediction& f : calls_) f.count = (*counts_)[f.call.plan.get()];
        // Those that the script only asks about count where there are no others.
        const auto called = [](const Prediction& f) { return f.count > 0; };
        if (std::any_of(calls_.begin(), calls_.end(), called)) std::erase_if(calls_, std::not_fn(called));
      },
      teller);
}

int DryRun::run(const std::string& path, std::string text, const Teller& teller) {
  std::optional<grammar::Diagnostic> needs;
  const int status = run_once(path, text, [&](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
    if (d.code == "unknown")
      needs = d;
    else
      teller(d, sources);
  });
  if (!needs) return status;
  needs->notes.emplace_back("without data it is not known: say what shall be taken for it, `assume(x, value)`");
  const std::unique_ptr<embed::Machine> first = std::move(machine_);
  begin(true);
  const PassedOver passed(machine_->interpreter());
  if (const int again = run_once(path, std::move(text), [](const grammar::Diagnostic&, const grammar::SourceMap&) {});
      again != 0) {
    if (!stopped(again)) teller(*needs, first->interpreter().sources());
    return again;
  }
  passed_over_ = where_of(*needs, first->interpreter().sources()) + " needs data: " + needs->message +
                 "; what depends on them is left out, unless `assume(x, value)` says what to take";
  return 0;
}

void DryRun::tell_passed_over() const {
  if (passed_over_.empty()) return;
  flush_out();
  std::fprintf(stderr, "note: %s\n", passed_over_.c_str());
}

const Prediction& DryRun::on(const Chip& chip) {
  const Prediction* most = nullptr;
  const auto weight = [](const Prediction& x) {
    return x.of.time.seconds * static_cast<double>(std::max<std::int64_t>(x.count, 1));
  };
  for (Prediction& f : calls_) {
    const transform::Program& program = f.call.plan->program();
    if (!f.works || f.simulated != chip.simulated) {
      f.works = cost_model::instructions_of(*f.call.plan, chip.simulated);
      f.simulated = chip.simulated;
      f.of.memory = cost_model::memory_of(*f.call.plan, f.call.given, f.call.becomes);
    }
    f.of = cost_model::estimate(chip, program, *f.works, f.of.memory);
    if (!most || weight(f) > weight(*most)) most = &f;
  }
  return *most;
}

std::vector<Chip> read_chips(const std::string& words, int devices, const std::string& stack) {
  std::vector<Chip> chips;
  const auto machine = make_machine({});
  lang::Interpreter& in = machine->interpreter();
  for (std::size_t from = 0, to = 0; from <= words.size(); from = to + 1) {
    to = std::min(words.find(',', from), words.size());
    const std::string word = words.substr(from, to - from);
    const bool file = word.ends_with(".shard");
    std::string text;
    if (file && !read_script(word, text)) return {};
    const auto read = [&] {
      const lang::Value v = file ? in.run(word, std::move(text)) : lang::Value::string(word);
      const std::vector<lang::Value> one{v};
      for (const lang::Value& chip : v.items() ? *v.items() : one) {
        chips.push_back(stdlib::chip_of(in, chip, in.context().span(), stack));
        if (chips.back().name.empty()) chips.back().name = word;
        if (const auto n = std::llround(chips.back().simulated); n > 1 && devices % n != 0)
          in.fail("chip", in.context().span(),
                  std::to_string(devices) + " devices cannot be shared out to the " + std::to_string(n) +
                      " processes of `simulated`: --devices takes a multiple of " + std::to_string(n));
      }
    };
    if (guarded(in, read) != 0) return {};
  }
  return chips;
}

bool simulated(const std::vector<Chip>& chips) {
  return std::all_of(chips.begin(), chips.end(), [](const Chip& c) { return c.simulated > 0; });
}

std::string number(double x) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  return {buffer, end};
}

}  // namespace shard::cli
