// The board (progress_board.h) of a job on several machines: each process says now and then where it stands, the
// launcher hands that round, and everybody writes it into a board of his own. It comes late, by a period or two, and
// costs a thread that sleeps.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/channel/progress_board.h"

namespace shard::runtime {

// How often a process of a job of that many says where it stands.
std::chrono::milliseconds report_period(int count);
// A process's side, in a thread of its own until the link, to the launcher, ends. Takes the link.
void report_progress(int link, std::unique_ptr<ProgressBoard> board, int count, int index);
// The launcher's side: what comes from one goes to all others, until nobody is left or `stop` says so. Takes the links;
// gives the processes that are left.
std::vector<int> hand_boards_round(std::vector<int> links, const std::function<bool()>& stop);

}  // namespace shard::runtime
