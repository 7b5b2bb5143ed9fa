// What the channel between processes of this machine does, measured in a job of its own.
#pragma once
#include <optional>

namespace shard::cli {

struct ChannelFigures {
  double latency = 0;    // seconds of one message
  double bandwidth = 0;  // bytes/s of a process, each way
};
// All-reduces of a few and of many bytes over so many processes, which `shard launch` starts; nothing where that fails,
// which then has been told.
std::optional<ChannelFigures> measure_channel(int processes);

}  // namespace shard::cli
