// Between the program and its module for MPI, which is built where MPI is found and loaded only where a job of MPI was
// started: functions and numbers of C, so that the program needs no library and no header of MPI.
#pragma once
#include <cstddef>

namespace shard::runtime {

struct MpiModule {
  int version;                                                          // kMpiModule
  const char* (*join)(int* rank, int* size);                            // null, or what went wrong
  void* (*send)(int to, int tag, const void* data, std::size_t bytes);  // under way; null: it failed
  void* (*receive)(int from, int tag, void* data, std::size_t bytes);
  int (*ended)(void* request);         // 1: it is done, and so is the request; 0: not yet; -1: it failed
  void (*give_up)(void* request);      // of one that has not ended
  int (*waiting)(int tag, int* from);  // whether a message has come that nobody receives yet, and whose
  void (*leave)();                     // once every process does
};
constexpr int kMpiModule = 1;
constexpr char kMpiEntry[] = "shard_mpi_module";  // the module's function `const MpiModule* ()`

}  // namespace shard::runtime
