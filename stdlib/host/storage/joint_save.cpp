#include "stdlib/host/storage/joint_save.h"

#include <array>
#include <chrono>
#include <numeric>
#include <thread>

#include "stdlib/host/files/byte_source.h"
#include "stdlib/host/files/paths.h"

namespace shard::stdlib {
namespace {

// What each process says, in their order.
template <class T>
std::vector<T> gathered(runtime::Processes& processes, std::string_view what, const T& mine) {
  std::vector<int> everybody(static_cast<std::size_t>(processes.count()));
  std::iota(everybody.begin(), everybody.end(), 0);
  std::vector<T> all(everybody.size());
  processes.gather({what}, everybody, &mine, sizeof mine, all.data());
  return all;
}

}  // namespace

void all_together(runtime::Processes* processes, std::string_view what, const std::function<void()>& f) {
  if (!processes) return f();
  struct Said {
    char code[32] = {}, text[480] = {};  // end in 0; no code: all went well
  };
  Said mine;
  try {
    f();
  } catch (const runtime::RuntimeError& e) {
    e.code.copy(mine.code, sizeof mine.code - 1);
    std::string_view(e.what()).copy(mine.text, sizeof mine.text - 1);
  }
  std::vector<Said> all = gathered(*processes, what, mine);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].code[sizeof mine.code - 1] = all[i].text[sizeof mine.text - 1] = '\0';
    if (all[i].code[0] != '\0')
      throw runtime::RuntimeError(all[i].code, "process " + std::to_string(i) + ": " + all[i].text);
  }
}

Share share_of(const runtime::Processes* processes) {
  return processes ? Share{processes->index(), processes->count()} : Share{};
}

SharedFolder::SharedFolder(runtime::Processes* processes, const std::string& path)
    : processes_(processes), share_(share_of(processes)) {
  all_together(processes, "save", [&] {
    if (share_.index == 0) folder_ = std::make_unique<NewFolder>(path);
  });
  if (folder_) beside_ = folder_->beside();
  if (!processes) return;
  // The name of the temporary folder is the first one's to choose; only what stands behind the last `/` is sent.
  std::array<char, 512> name{};
  beside_.substr(beside_.rfind('/') + 1).copy(name.data(), name.size() - 1);
  name = gathered(*processes, "the name of a folder", name)[0];
  name.back() = '\0';
  if (!folder_) beside_ = folder_of(without_slashes(path)) + "/" + name.data();
}

Written SharedFolder::from_others() const {
  Written out;
  for (int i = 1; i < share_.count; ++i) {
    std::optional<Written> theirs;
    while (!(theirs = find_written(beside_, i)).has_value()) {
      if (gave_up_) refuse_file("not all processes wrote their blocks");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    out.insert(out.end(), theirs->begin(), theirs->end());
  }
  return out;
}

bool SharedFolder::write(runtime::Pool& pool, const Snapshot& what) {
  Written own;
  try {
    own = write_part(pool, beside_, what, share_);
    if (share_.index > 0) keep_written(beside_, own, share_);
    part_.set_value();
  } catch (...) {
    part_.set_exception(std::current_exception());
    return false;
  }
  if (share_.index > 0) return true;
  Written theirs = from_others();
  own.insert(own.end(), theirs.begin(), theirs.end());
  folder_->finish(what, std::move(own));
  return true;
}

void SharedFolder::settle(std::future<void> writing) {
  if (!processes_) {
    writing.get();
    return part_.get_future().get();
  }
  try {
    all_together(processes_, "save", [&] { part_.get_future().get(); });
  } catch (...) {
    gave_up_ = true;
    writing.wait();
    folder_.reset();
    throw;
  }
  all_together(processes_, "save", [&] { writing.get(); });
  folder_.reset();
}

void write_together(runtime::Pool& pool, runtime::Processes* processes, const std::string& path, const Snapshot& what) {
  SharedFolder folder(processes, path);
  folder.settle(std::async(processes ? std::launch::async : std::launch::deferred, [&] { folder.write(pool, what); }));
}

}  // namespace shard::stdlib
