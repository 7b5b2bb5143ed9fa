// By what a plug-in finds its processes: three functions that it calls, on any thread, over values that all see.
#pragma once
#include "runtime/channel/key_values.h"
#include "runtime/pjrt/abi.h"

namespace shard::runtime::pjrt {

// `values` lives as long as the client that is made.
void set_callbacks(abi::ClientCreate& create, KeyValues& values);

}  // namespace shard::runtime::pjrt
