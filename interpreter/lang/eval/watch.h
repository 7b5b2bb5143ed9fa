// What a run keeps an eye on for warnings that only a run can find.
#pragma once
#include <cstdint>
#include <unordered_set>

#include "interpreter/lang/names/resolve.h"

namespace shard::lang {

struct Watch {
  // Counts whatever a script can do beside making values: calls of natives that act or give none, assignments of
  // variables that functions share, text that is printed.
  std::int64_t effects = 0;
  // Functions of which a call once did such a thing: a compiled one may do it while it is traced alone.
  std::unordered_set<const grammar::Function*> acted;
  AxisNames axes;  // of all texts but the library's
  void see(const AxisNames& of_text) {
    axes.declared.insert(axes.declared.end(), of_text.declared.begin(), of_text.declared.end());
    axes.named.insert(of_text.named.begin(), of_text.named.end());
    axes.listed |= of_text.listed;
  }
};

}  // namespace shard::lang
