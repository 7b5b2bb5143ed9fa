// Values by name that process 0 of a job keeps and the others ask it for, over TCP.
#pragma once
#include <memory>

#include "runtime/channel/key_values.h"
#include "runtime/channel/processes.h"
#include "runtime/channel/tcp/connection.h"

namespace shard::runtime {

// All processes of the job call it. Process 0 waits at a port of `ports`, where all are on one machine at the loopback
// alone; where and with which token goes round over the channel of the job. Throws RuntimeError("process").
std::shared_ptr<KeyValues> served_values(Processes& processes, bool one_machine, Ports ports,
                                         std::chrono::milliseconds limit);

}  // namespace shard::runtime
