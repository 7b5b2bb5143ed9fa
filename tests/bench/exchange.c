/* What processes.py holds Shard against, for two processes: `MPI_Allreduce` of floats (compiled with -DMPI by mpicc), or both sending each
   other so many bytes over a pair of Unix sockets. Arguments: bytes, how often. Prints the best microseconds of five rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef MPI
#include <mpi.h>
#else
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

#ifndef MPI
static void exchange(int fd, char* out, char* in, size_t bytes) {
  size_t sent = 0, got = 0;
  while (sent < bytes || got < bytes) {
    struct pollfd p = {fd, (short)((sent < bytes ? POLLOUT : 0) | (got < bytes ? POLLIN : 0)), 0};
    ssize_t n;
    poll(&p, 1, -1);
    if ((p.revents & POLLOUT) && (n = send(fd, out + sent, bytes - sent, MSG_DONTWAIT)) > 0) sent += (size_t)n;
    if ((p.revents & POLLIN) && (n = recv(fd, in + got, bytes - got, MSG_DONTWAIT)) > 0) got += (size_t)n;
  }
}
#endif

int main(int argc, char** argv) {
  const size_t bytes = (size_t)atoll(argv[1]);
  const int times = atoi(argv[2]);
  char *a = calloc(bytes, 1), *b = calloc(bytes, 1);
  double best = 1e30;
  int rank = 0;
#ifdef MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#else
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  rank = fork() == 0;
#endif
  (void)argc;
  for (int round = 0; round < 5; ++round) {
    const double began = now();
    for (int i = 0; i < times; ++i) {
#ifdef MPI
      MPI_Allreduce(a, b, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
#else
      exchange(ends[rank], a, b, bytes);
#endif
    }
    const double each = (now() - began) / times;
    if (each < best) best = each;
  }
  if (rank == 0) printf("%f\n", best);
#ifdef MPI
  MPI_Finalize();
#endif
  return 0;
}
