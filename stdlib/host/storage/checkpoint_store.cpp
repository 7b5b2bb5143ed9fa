// checkpoint_folder: the checkpoints of a training run, which `train.checkpoints` hands on. One folder a step; written
// by a thread while training goes on, one at a time; found again, the newest that is whole first.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>

#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/unknown.h"
#include "stdlib/host/files/byte_source.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/host.h"
#include "stdlib/host/storage/folder.h"
#include "stdlib/host/storage/joint_save.h"
#include "stdlib/host/storage/loading.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kStep = "step_";

struct Retention {
  std::string folder;
  std::int64_t newest = 3;                // so many, and
  std::optional<std::int64_t> multiples;  // those of these steps
};

std::string folder_of_step(const std::string& folder, std::int64_t step) {
  return folder + "/" + std::string(kStep) + std::to_string(step);
}

std::vector<std::int64_t> steps_in(const std::string& folder) {  // newest first
  std::vector<std::int64_t> out;
  const auto names = names_in(folder);
  if (!names && errno != ENOENT) refuse_file(std::strerror(errno));
  for (const std::string_view name : names ? *names : std::vector<std::string>()) {
    std::int64_t step = 0;
    if (!name.starts_with(kStep)) continue;
    const auto end = std::from_chars(name.data() + kStep.size(), name.data() + name.size(), step);
    if (end.ec == std::errc() && end.ptr == name.data() + name.size() && std::to_string(step) == name.substr(5))
      out.push_back(step);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

// Older ones than `written` that need not be kept. Those of later steps are another run's, or damaged: they stay.
void remove_old(const Retention& kept, std::int64_t written) {
  std::int64_t seen = 0;
  for (const std::int64_t step : steps_in(kept.folder)) {
    if (step > written || ++seen <= kept.newest) continue;
    if (kept.multiples && step % *kept.multiples == 0) continue;
    remove_checkpoint(folder_of_step(kept.folder, step));
  }
}

class CheckpointStore {
 public:
  CheckpointStore(Retention kept, std::int64_t every) : kept_(std::move(kept)), every_(every) {}
  ~CheckpointStore() {  // where the script ended in an error: nobody else tells what went wrong
    try {
      if (under_way_) under_way_->give_up();
      if (writing_.valid()) writing_.get();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "error: the checkpoint of step %lld was not written: %s\n", static_cast<long long>(step_),
                   e.what());
    }
  }

  bool save(Interpreter& in, std::int64_t step, const Value& tree, grammar::Span span) {
    if (step % every_ != 0) return false;
    const std::string path = folder_of_step(kept_.folder, step);
    if (writes_nothing(in, path)) return not_written_ = true;
    wait(in, span, true);
    check_may_write(in, path, span);
    runtime::Processes* processes = in.context().processes().get();
    const Share share = share_of(processes);
    for (const std::string& file : files_of_folder(path, share)) check_may_write(in, file, span);
    try {
      Snapshot what = snapshot_of(in, tree);
      all_together(processes, "save", [&] {
        if (share.index > 0) return;
        if (mkdir(kept_.folder.c_str(), 0777) != 0 && errno != EEXIST) refuse_file(std::strerror(errno));
        if (!cleaned_) remove_unfinished(kept_.folder);
        cleaned_ = true;
      });
      under_way_ = std::make_unique<SharedFolder>(processes, path);
      step_ = step, saved_at_ = span;
      writing_ = std::async(std::launch::async, [&pool = in.context().pool(), &folder = *under_way_, kept = kept_, step,
                                                 share, what = std::move(what)]() mutable {
        const bool written = folder.write(pool, what);
        what = {};  // arrays may be donated again
        if (written && share.index == 0) remove_old(kept, step);
      });
    } catch (const runtime::RuntimeError& e) {
      in.fail(e.code, span, "cannot write '" + path + "': " + e.what(), missing_folder(kept_.folder));
    }
    return true;
  }

  // Until what was saved is on the disk. Its errors come here. `next`: another one waits for it.
  void wait(Interpreter& in, grammar::Span span, bool next) {
    if (!writing_.valid()) return;
    const auto begun = std::chrono::steady_clock::now();
    try {
      const auto folder = std::exchange(under_way_, nullptr);
      folder->settle(std::exchange(writing_, {}));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      if (next && seconds >= 0.1 && share_of(in.context().processes().get()).index == 0)
        std::fprintf(stderr, "note: waited %.1f s until the checkpoint of step %lld was on the disk\n", seconds,
                     static_cast<long long>(step_));
    } catch (const runtime::RuntimeError& e) {
      in.fail(e.code, span, "cannot write '" + folder_of_step(kept_.folder, step_) + "': " + e.what(),
              {"the checkpoint of step " + std::to_string(step_) + " was not saved; older ones are as they were"});
    }
  }

  void end(Interpreter& in) { wait(in, saved_at_, false); }  // an error is told where it was saved

  Value latest(Interpreter& in, grammar::Span span) {
    if (in.context().types_only() && (in.checker() || not_written_)) lang::only_in_a_run(span);
    Value found;
    newest_good(in, span, [&](std::int64_t step, const std::string& path, const MayRead& may_read) {
      check_folder(path, may_read);
      found = Value(step);
    });
    return found;
  }

  Value restore(Interpreter& in, const Value& like, grammar::Span span) {
    if (in.context().types_only()) {
      if (like.is_none()) lang::only_in_a_run(span);
      return types_like(in, like);
    }
    Value found;
    const std::vector<std::string> bad =
        newest_good(in, span, [&](std::int64_t, const std::string& path, const MayRead& may_read) {
          const std::unique_ptr<Contents> folder = open_folder(path, may_read);
          found =
              filled(in, *folder, like.is_none() ? all_of(*folder) : fitted(in, *folder, like, {path, true, {}}, span));
        });
    if (bad.empty() || found_) return found;
    in.fail("io", span, "none of the checkpoints in '" + kept_.folder + "' is good", bad);
  }

 private:
  // Tries from the newest on; what is bad is told, named and passed over. Gives what was wrong with which.
  template <class F>
  std::vector<std::string> newest_good(Interpreter& in, grammar::Span span, F f) {
    wait(in, span, false);
    if (const auto& processes = in.context().processes()) processes->meet({"reading checkpoints"});
    check_may_read(in, kept_.folder, span);
    const MayRead may_read = [&](const std::string& file) { check_may_read(in, file, span); };
    std::vector<std::string> bad;
    found_ = false;
    try {
      for (const std::int64_t step : steps_in(kept_.folder)) {
        const std::string path = folder_of_step(kept_.folder, step);
        try {
          f(step, path, may_read);
          found_ = true;
          return bad;
        } catch (const runtime::RuntimeError& e) {
          if (e.code != "io") throw;  // a stop, or no memory: that says nothing of the checkpoint
          bad.push_back("'" + path + "': " + e.what());
          std::fprintf(stderr, "warning: the checkpoint '%s' is passed over: %s\n", path.c_str(), e.what());
        }
      }
    } catch (const runtime::RuntimeError& e) {
      in.fail(e.code, span, "cannot read '" + kept_.folder + "': " + e.what());
    }
    return bad;
  }

  Retention kept_;
  std::int64_t every_, step_ = 0;
  bool cleaned_ = false, found_ = false, not_written_ = false;  // the last: a save that nothing has run
  grammar::Span saved_at_;
  std::unique_ptr<SharedFolder> under_way_;
  std::future<void> writing_;
};

Value checkpoint_folder(Interpreter& in, BoundArgs& a) {
  Retention kept;
  kept.folder = without_slashes(in.text(a[0], a.args[0].span, "the folder of a run"));
  kept.newest = in.integer(a[1], a.args[1].span, "keep");
  const std::int64_t every = in.integer(a[2], a.args[2].span, "every");
  if (!a[3].is_none()) kept.multiples = in.integer(a[3], a.args[3].span, "keep_every");
  if (kept.folder.empty()) in.fail("call", a.args[0].span, "the folder of a run has a name");
  if (kept.newest < 1) in.fail("call", a.args[1].span, "keep: at least one checkpoint is kept");
  if (every < 1) in.fail("call", a.args[2].span, "every: at least one step lies between checkpoints");
  if (kept.multiples && *kept.multiples < 1) in.fail("call", a.args[3].span, "keep_every is a number of steps");
  const auto store = std::make_shared<CheckpointStore>(std::move(kept), every);
  in.at_end([weak = std::weak_ptr(store), &in] {
    if (const auto there = weak.lock()) there->end(in);
  });
  const auto function = [&](std::string name, std::string signature, std::string doc, auto call, bool acts = false) {
    lang::Native native{name, std::move(signature), std::move(doc), std::move(call)};
    native.acts = acts;
    return std::pair(name, Value(std::make_shared<const lang::Native>(std::move(native))));
  };
  return Value::record(
      {function(
           "save", "save(step, tree)",
           "Saves the tree of this step, where it is one of `every`, while the script goes on; returns once the "
           "previous checkpoint is on the disk. Whether it saved.",
           [store](Interpreter& at, BoundArgs& x) -> Value {
             const std::int64_t step = at.integer(x[0], x.args[0].span, "a step");
             if (step < 0) at.fail("call", x.args[0].span, "a step is not negative");
             return Value(store->save(at, step, x[1], x.span));
           },
           true),
       function("latest", "latest()", "The step of the newest good checkpoint, or none.",
                [store](Interpreter& at, BoundArgs& x) { return store->latest(at, x.span); }),
       function("restore", "restore(like = none)",
                "The tree of the newest good checkpoint in the layout of `like`, or `none` before the first.",
                [store](Interpreter& at, BoundArgs& x) { return store->restore(at, x[0], x.span); }),
       function("wait", "wait()", "Returns once everything that was saved is on the disk.",
                [store](Interpreter& at, BoundArgs& x) -> Value {
                  store->wait(at, x.span, false);
                  return {};
                })});
}

}  // namespace

void register_checkpoint_store(Interpreter& in) {
  in.define({"checkpoint_folder", "checkpoint_folder(folder, keep = 3, every = 1, keep_every = none)",
             "The checkpoints of a training run, as `train.checkpoints` gives them: a record {save, latest, restore, "
             "wait}. One folder a step, step_100; `keep` newest stay, and those whose step is a multiple of "
             "`keep_every`.",
             checkpoint_folder});
}

}  // namespace shard::stdlib
