// The REPL's history on disk: entries are added one by one, each as soon as it is made and under a lock, so that
// neither a session that is killed nor two at once lose any. The format is libedit's, which reads it (H_LOAD).
#pragma once
#include <string>

namespace shard::cli {

class HistoryFile {
 public:
  HistoryFile();  // of this user; nothing is kept where there is no home
  const std::string& path() const { return path_; }
  void add(const std::string& entry);
  void shorten(std::size_t most) const;  // to the last entries, where there are more than twice as many

 private:
  std::string path_;
  std::string last_;  // is not added twice in a row
};

}  // namespace shard::cli
