// Checks beside the session.
#include <algorithm>

#include "interpreter/lang/staging/explanation.h"
#include "interpreter/lsp/server.h"

namespace shard::lsp {
namespace {

constexpr std::chrono::milliseconds kPause{120};
constexpr double kSeconds = 5;
constexpr std::int64_t kMemory = std::int64_t(2) << 30;
constexpr int kRecursion = 400;

ExplainedCall told(const lang::CompiledCall& call, const grammar::SourceMap& sources, const std::string& path) {
  ExplainedCall out{call.name, grammar::separated(lang::communication(call)), lang::explained(call, sources), {}};
  if (sources.has(call.where.source) && sources.at(call.where.source).name() == path) out.function = call.where;
  return out;
}

}  // namespace

Worker::Worker(const cli::Settings& settings, std::function<void(std::shared_ptr<const Checked>)> done)
    : settings_(settings), done_(std::move(done)), thread_([this] { work(); }) {}

void Worker::stop(const std::string& uri) {
  if (at_work_ != uri) return;
  overtaken_ = true;
  if (running_) running_->context().pool().stop().request();
}

void Worker::check(const Document& d) {
  const std::lock_guard lock(mutex_);
  texts_[d.path] = d.text.str();
  std::erase_if(jobs_, [&](const Job& j) { return j.uri == d.uri; });
  jobs_.push_back({d.uri, d.path, d.text.str(), Clock::now() + kPause});
  stop(d.uri);
  changed_.notify_all();
}

void Worker::forget(const Document& d) {
  const std::lock_guard lock(mutex_);
  texts_.erase(d.path);
  std::erase_if(jobs_, [&](const Job& j) { return j.uri == d.uri; });
  stop(d.uri);
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !jobs_.empty(); });
    const auto first = std::min_element(jobs_.begin(), jobs_.end(), [](auto& a, auto& b) { return a.due < b.due; });
    if (const auto due = first->due; due > Clock::now()) {
      changed_.wait_until(lock, due);
      continue;
    }
    const Job job = *first;
    jobs_.erase(first);
    at_work_ = job.uri;
    overtaken_ = false;
    for (const bool layouts : {false, true}) {
      if (overtaken_) break;
      lock.unlock();
      auto result = checked(job, layouts);
      lock.lock();
      if (!overtaken_) done_(std::move(result));
    }
    at_work_.clear();
  }
}

std::shared_ptr<const Checked> Worker::checked(const Job& job, bool layouts) {
  auto out = std::make_shared<Checked>(settings_);
  out->uri = job.uri, out->path = job.path, out->text = job.text, out->layouts = layouts;
  cli::Checker& c = out->checker;
  c.options.seconds = kSeconds;
  c.options.memory = kMemory;
  c.options.recursion = kRecursion;
  c.options.edited = [this](const std::string& path) -> std::optional<std::string> {
    const std::lock_guard lock(mutex_);
    const auto at = texts_.find(path);
    return at == texts_.end() ? std::nullopt : std::optional(at->second);
  };
  lang::Interpreter* running = nullptr;
  c.running = [&](lang::Interpreter* in) {
    const std::lock_guard lock(mutex_);
    running_ = running = in;
    if (in && overtaken_) in->context().pool().stop().request();
  };
  if (layouts) {
    c.target = "abstract";
    c.parameters = true;
    c.options.compiled = [&, result = out.get()](const lang::CompiledCall& call) {
      if (!running) return;
      ExplainedCall one = told(call, running->sources(), result->path);
      const auto same = [&](const ExplainedCall& x) { return x.text == one.text; };
      if (std::none_of(result->calls.begin(), result->calls.end(), same)) result->calls.push_back(std::move(one));
    };
  }
  try {
    c.check(job.path, job.text);
  } catch (const std::exception& e) {  // a fault in Shard itself
    c.found.push_back({"internal", {}, std::string("a fault in Shard itself: ") + e.what(), {}, {}, {}});
  }
  for (std::uint32_t i = 1; c.sources.has(i); ++i)
    if (c.sources.at(i).name() == job.path) out->source = i;
  return out;
}

}  // namespace shard::lsp
