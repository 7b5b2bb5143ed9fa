// The module for MPI: point-to-point messages of bytes, nothing else. Reductions of MPI promise no order.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "runtime/channel/mpi_module.h"

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 30;  // a count of MPI is an int

struct Request {
  std::vector<MPI_Request> pieces;
};

const char* join(int* rank, int* size) {
  int given = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS) return "MPI_Init failed";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  return given < MPI_THREAD_SERIALIZED ? "this MPI is built for programs of one thread" : nullptr;
}

// Messages of one sender, tag and communicator do not overtake each other: both sides cut alike.
template <typename Begin>
void* in_pieces(std::size_t bytes, Begin begin) {
  auto* out = new Request;
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    MPI_Request piece = MPI_REQUEST_NULL;
    if (begin(at, static_cast<int>(std::min(kPiece, bytes - at)), &piece) != MPI_SUCCESS) return nullptr;
    out->pieces.push_back(piece);
  }
  return out;
}

void* send(int to, int tag, const void* data, std::size_t bytes) {
  return in_pieces(bytes, [&](std::size_t at, int count, MPI_Request* r) {
    return MPI_Isend(static_cast<const char*>(data) + at, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
  });
}

void* receive(int from, int tag, void* data, std::size_t bytes) {
  return in_pieces(bytes, [&](std::size_t at, int count, MPI_Request* r) {
    return MPI_Irecv(static_cast<char*>(data) + at, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, r);
  });
}

int ended(void* request) {
  auto* r = static_cast<Request*>(request);
  int all = 0;
  if (MPI_Testall(static_cast<int>(r->pieces.size()), r->pieces.data(), &all, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
    return -1;
  if (all) delete r;
  return all ? 1 : 0;
}

void give_up(void* request) {
  auto* r = static_cast<Request*>(request);
  for (MPI_Request& piece : r->pieces)
    if (piece != MPI_REQUEST_NULL) MPI_Cancel(&piece), MPI_Request_free(&piece);
  delete r;
}

int waiting(int tag, int* from) {
  int there = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there) return 0;
  *from = status.MPI_SOURCE;
  return 1;
}

void leave() { MPI_Finalize(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const shard::runtime::MpiModule* shard_mpi_module() {
  static constexpr shard::runtime::MpiModule kModule{
      shard::runtime::kMpiModule, join, send, receive, ended, give_up, waiting, leave};
  return &kModule;
}
