// Processes that find each other over TCP, in one process: a thread each, and strangers at the port.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/array/shape.h"
#include "runtime/channel/processes.h"
#include "runtime/channel/tcp/handshake.h"
#include "runtime/channel/tcp/rendezvous.h"

using namespace shard::runtime;
using namespace std::chrono_literals;

namespace {

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

std::vector<int> joined(int rank, int size, int port, const std::string& token, std::chrono::milliseconds limit = 60s) {
  return sockets_by_tcp({rank, size, "127.0.0.1", port, token, {}, in(limit)}).links;
}

int connected_to(int port) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<unsigned short>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(s, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  return s;
}

}  // namespace

TEST_CASE("a handshake holds for its token, its side and its numbers alone") {
  const std::string token = new_token();
  CHECK(token.size() == 64);
  CHECK(token != new_token());
  const Nonce a = new_nonce(), b = new_nonce();
  const Handshake p = handshake_of(token, Side::Asks, a, b);
  CHECK(same_handshake(p, handshake_of(token, Side::Asks, a, b)));
  CHECK_FALSE(same_handshake(p, handshake_of(token, Side::Answers, a, b)));  // nobody can send back what he heard
  CHECK_FALSE(same_handshake(p, handshake_of(token, Side::Asks, b, a)));
  CHECK_FALSE(same_handshake(p, handshake_of(new_token(), Side::Asks, a, b)));
}

TEST_CASE("processes find each other over TCP, with strangers at the port") {
  const std::string token = new_token();
  constexpr int kCount = 3;
  Coordinator coordinator("127.0.0.1", {}, kCount, token);
  std::atomic<int> strangers = 0;
  std::atomic<bool> refused = false;
  const int silent = connected_to(coordinator.port()), rubbish = connected_to(coordinator.port());
  const std::string noise(200, 'x');
  REQUIRE(send(rubbish, noise.data(), noise.size(), MSG_NOSIGNAL) == 200);
  std::vector<std::string> told(kCount + 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kCount; ++rank)
    threads.emplace_back([&, rank] {
      try {
        while (!refused) std::this_thread::sleep_for(1ms);
        Processes p(socket_channel(rank, joined(rank, kCount, coordinator.port(), token)), 60s);
        int all[kCount];
        const int mine = rank * rank;
        const int members[] = {0, 1, 2};
        p.gather({"squares"}, members, &mine, sizeof mine, all);
        told[static_cast<std::size_t>(rank)] = std::to_string(all[0]) + std::to_string(all[1]) + std::to_string(all[2]);
      } catch (const RuntimeError& e) { told[static_cast<std::size_t>(rank)] = e.what(); }
    });
  threads.emplace_back([&] {  // of another job
    try {
      joined(1, kCount, coordinator.port(), new_token(), 10s);
    } catch (const RuntimeError& e) { told[kCount] = e.what(); }
    refused = true;
  });
  std::vector<int> came;
  coordinator.bring_together(in(60s), {[](const std::vector<int>&) {}, [&](const std::string&) { ++strangers; },
                                       [] { return false; }, [&](int rank) { came.push_back(rank); }});
  for (std::thread& t : threads) t.join();
  close(silent), close(rubbish);
  for (int i = 0; i < kCount; ++i) CHECK(told[static_cast<std::size_t>(i)] == "014");
  CHECK(told[kCount] == "the launcher does not know process 1: it has another token");
  CHECK(strangers == 1);  // an address is named once
  std::sort(came.begin(), came.end());
  CHECK(came == std::vector{0, 1, 2});
}

TEST_CASE("who does not come to the start is named, and a port that is taken") {
  Coordinator coordinator("127.0.0.1", {}, 3, new_token());
  CHECK_THROWS_WITH(
      coordinator.bring_together(in(50ms), {[](const auto&) {}, [](const auto&) {}, [] { return false; }, [](int) {}}),
      "process 0, 1, 2 did not come to the start");
  CHECK_THROWS_WITH(Coordinator("127.0.0.1", {coordinator.port(), coordinator.port()}, 2, ""),
                    Catch::StartsWith("port " + std::to_string(coordinator.port()) + " at 127.0.0.1 cannot be had"));
  CHECK_THROWS_WITH(Coordinator("10.255.255.1", {}, 2, ""), Catch::Contains("at 10.255.255.1 cannot be had"));
  CHECK_THROWS_WITH(Coordinator("nowhere", {}, 2, ""), "'nowhere' is no address of this machine");
  CHECK_THROWS_WITH(joined(0, 2, 1, ""), Catch::Contains("process 0 does not reach the launcher at 127.0.0.1:1: "));
}
