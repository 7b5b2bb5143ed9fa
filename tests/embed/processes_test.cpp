// Engines of several processes, here of two threads that know nothing of each other but a pair of sockets: together
// they are what one engine is alone, and what one of them does wrong is an error in both.
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "interpreter/shard.h"

using shard::Engine;
using shard::Options;

namespace {

struct Heard {
  std::string said, code, message;
};

Heard one(int index, int link, const std::string& script) {
  Heard out;
  try {
    Options options{.devices = 4, .output = [&](std::string_view text) { out.said += text; }};
    options.processes = shard::Processes{.index = index, .count = 2, .links = {link, link}, .timeout = 2};
    Engine(std::move(options)).run(script);
  } catch (const shard::Error& e) { out.code = e.diagnostics[0].code, out.message = e.diagnostics[0].message; }
  return out;
}

// What both said and what went wrong, of scripts of their own.
std::pair<Heard, Heard> both(const std::string& first, const std::string& second) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  Heard b;
  std::thread other([&] { b = one(1, ends[1], second); });
  Heard a = one(0, ends[0], first);
  other.join();
  return {std::move(a), std::move(b)};
}

const std::string kSums = R"(mesh m = (@X: 4)
let x = shard arange(8) as P(@X)
jit fn f(x) = x * sum(x)
print(f(x), len(local_devices()))
)";

}  // namespace

TEST_CASE("engines of two processes are one", "[embed]") {
  const auto [a, b] =
      both(kSums + "print(process_index(), process_count())", kSums + "print(process_index(), process_count())");
  CHECK(a.message.empty());
  CHECK(b.message.empty());
  // the sum of 0..7 is 28
  CHECK(a.said == "[  0  28  56  84 112 140 168 196] 2\n0 2\n");
  CHECK(b.said == "[  0  28  56  84 112 140 168 196] 2\n1 2\n");
}

TEST_CASE("a process that goes, and one that does something else, are errors in the other engine", "[embed]") {
  const auto [a, b] = both(kSums + "print(max(x))", kSums);
  CHECK(b.message.empty());
  CHECK(a.code == "process");
  CHECK(a.message == "process 1 has ended, and process 0 waits for it at `pmax of i32[] over @X` in line 5");
  const auto [c, d] = both(kSums + "print(max(x))", kSums + "print(min(x))");
  for (const Heard& h : {c, d}) {
    CHECK(h.code == "process");
    CHECK(h.message.find("the processes do different things: process ") == 0);
  }
}

TEST_CASE("a group that is none is refused at once", "[embed]") {
  const auto refused = [](int devices, shard::Processes group) {
    try {
      Engine engine(Options{.devices = devices, .processes = std::move(group)});
    } catch (const shard::Error& e) { return e.diagnostics[0].code + ": " + e.what(); }
    return std::string();
  };
  CHECK(refused(4, {.index = 2, .count = 2, .links = {1, 1}}) == "process: this is process 2 of 2, with 2 links");
  CHECK(refused(4, {.index = 0, .count = 2, .links = {-1, -1}}) ==
        "process: there are 2 processes, and there is no link to process 1");
  CHECK(refused(3, {.index = 0, .count = 2, .links = {-1, -1}}) ==
        "process: 3 devices cannot be shared out to 2 processes");
  CHECK(refused(4, {.timeout = 0}) == "process: a process is waited for some time");
  CHECK(refused(4, {}).empty());  // no launcher started this
}
