// Channels and what processes do over them, in one process: a thread each, sockets between them, and peers that do not
// play along.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <thread>

#include "runtime/array/shape.h"
#include "runtime/channel/processes.h"
#include "runtime/mesh/between.h"
#include "runtime/mesh/part.h"

using namespace shard::runtime;
using namespace std::chrono_literals;

namespace {

std::vector<std::vector<int>> links(int count) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(count), std::vector<int>(static_cast<std::size_t>(count)));
  for (std::size_t a = 0; a < out.size(); ++a)
    for (std::size_t b = a + 1; b < out.size(); ++b) {
      int pair[2];
      REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
      out[a][b] = pair[0], out[b][a] = pair[1];
    }
  return out;
}

// The transports between processes of one machine.
enum class By { Sockets, Memory };

class Channels {
 public:
  Channels(By by, int count) : ends_(links(count)), memory_(by == By::Memory ? make_channel_memory(count) : -1) {
    REQUIRE((by == By::Sockets || memory_ >= 0));
  }
  ~Channels() {
    if (memory_ >= 0) close(memory_);
  }
  Channels(const Channels&) = delete;
  std::unique_ptr<Channel> of(int i) const {
    const auto& sockets = ends_[static_cast<std::size_t>(i)];
    return memory_ >= 0 ? memory_channel(i, sockets, memory_) : socket_channel(i, sockets);
  }
  const std::vector<std::vector<int>>& ends() const { return ends_; }
  int memory() const { return memory_; }

 private:
  std::vector<std::vector<int>> ends_;
  int memory_;
};

// What each of `count` processes is told by an error, "" where it was none.
template <class F>
std::vector<std::string> together(By by, int count, std::chrono::milliseconds limit, F f) {
  const Channels channels(by, count);
  std::vector<std::string> told(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      Processes p(channels.of(i), limit);
      try {
        f(p);
      } catch (const RuntimeError& e) { told[static_cast<std::size_t>(i)] = e.code + ": " + e.what(); }
    });
  for (std::thread& t : threads) t.join();
  return told;
}

std::vector<int> up_to(int n) {
  std::vector<int> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

TEST_CASE("processes bring blocks together, large ones in both directions at once") {
  const By by = GENERATE(By::Sockets, By::Memory);
  for (const std::size_t size : {std::size_t{1}, std::size_t{3} << 20}) {
    const auto told = together(by, 3, 10s, [&](Processes& p) {
      const std::vector<char> mine(size, static_cast<char>('a' + p.index()));
      std::vector<char> all(3 * size);
      for (int turn = 0; turn < 3; ++turn) p.gather({"gather"}, up_to(3), mine.data(), size, all.data());
      for (std::size_t i = 0; i < 3; ++i)
        if (all[i * size] != static_cast<char>('a' + i) || all[i * size + size - 1] != all[i * size])
          throw RuntimeError("test", "wrong bytes");
      p.meet({"end"});
    });
    CHECK(told == std::vector<std::string>(3));
  }
}

TEST_CASE("sums over processes have the bits of reduce_blocks, whole or in parts, in pieces of any size") {
  const By by = GENERATE(By::Sockets, By::Memory);
  for (const int count : {2, 3, 4}) {
    for (const std::int64_t n : {1, 7, 16385, 300'001}) {
      const auto value = [](int process, std::int64_t i) {
        return static_cast<float>((i * 7 + process * 13) % 101) / 7.0f - static_cast<float>(process);
      };
      std::vector<float> terms, want(static_cast<std::size_t>(n));
      for (int i = 0; i < count; ++i)
        for (std::int64_t k = 0; k < n; ++k) terms.push_back(value(i, k));
      reduce_blocks(Reduce::Sum, contiguous(DType::F32, {count, n}, terms.data()), 1,
                    contiguous(DType::F32, {n}, want.data()));
      const auto told = together(by, count, 10s, [&](Processes& p) {
        Mesh mesh{{{"X", count, AxisKind::Auto}}, up_to(count)};
        const std::shared_ptr<Processes> borrowed(&p, [](Processes*) {});
        mesh.part = part_of(mesh, borrowed, count);
        const AxisId x = 0;
        const ReduceBetween whole(mesh, {&x, 1}, Reduce::Sum, DType::F32, n);
        std::vector<char> scratch(static_cast<std::size_t>(whole.scratch_bytes()));
        std::vector<float> mine(terms.begin() + p.index() * n, terms.begin() + (p.index() + 1) * n);
        whole.run({"sum"}, mine.data(), mine.data(), scratch.data());
        if (mine != want) throw RuntimeError("test", "another sum");
        // Everybody brings the same for each part, so that every part is that sum.
        std::vector<float> brought, part(static_cast<std::size_t>(n));
        for (int i = 0; i < count; ++i)
          brought.insert(brought.end(), terms.begin() + p.index() * n, terms.begin() + (p.index() + 1) * n);
        whole.run_parts({"parts"}, brought.data(), part.data(), scratch.data());
        if (part != want) throw RuntimeError("test", "another part");
        p.meet({"end"});
      });
      CHECK(told == std::vector<std::string>(static_cast<std::size_t>(count)));
    }
  }
}

TEST_CASE("two that do different things are told what, on both sides; who waits for them learns that they have gone") {
  const By by = GENERATE(By::Sockets, By::Memory);
  const auto told = together(by, 3, 10s, [](Processes& p) {
    int x = 0, all[3];
    p.gather({p.index() == 1 ? "psum of f32[4]" : "all_gather of f32[4]", p.index() == 1 ? 7u : 3u}, up_to(3), &x,
             sizeof x, all);
  });
  CHECK(told[0] ==
        "process: the processes do different things: process 0 is at `all_gather of f32[4]` in line 3, "
        "process 1 at `psum of f32[4]` in line 7");
  CHECK(told[1].find("process 1 is at `psum of f32[4]` in line 7, process 0 at `all_gather of f32[4]` in line 3") !=
        std::string::npos);
  CHECK(told[2].find("process: ") == 0);
}

TEST_CASE("other sizes of the same thing are an error, and no wrong number") {
  const By by = GENERATE(By::Sockets, By::Memory);
  const auto told = together(by, 2, 10s, [](Processes& p) {
    char mine[8] = {}, all[16];
    p.gather({"psum"}, up_to(2), mine, p.index() == 0 ? 8 : 4, all);
  });
  CHECK(told[0] == "process: the processes bring different sizes to `psum`: process 0 8 bytes, process 1 4");
  CHECK(told[1] == "process: the processes bring different sizes to `psum`: process 1 4 bytes, process 0 8");
}

TEST_CASE("one that has ended, and one that does not come, are named") {
  const By by = GENERATE(By::Sockets, By::Memory);
  auto told = together(by, 3, 10s, [](Processes& p) {
    if (p.index() != 2) p.meet({"the step", 5});
  });
  // process 1 learns it too and ends; process 0 may see that first
  CHECK_THAT(told[0],
             Catch::Matches("process: process [12] has ended, and process 0 waits for it at `the step` in line 5"));
  CHECK(told[2].empty());
  const Channels channels(by, 2);  // nobody reads the other end
  Processes alone(channels.of(0), 50ms);
  CHECK_THROWS_WITH(alone.meet({"the step", 5}), Catch::Contains("process 1 did not come to `the step` in line 5"));
  CHECK_THROWS_WITH(alone.meet({"another"}), Catch::Contains("process 1 has ended"));  // the channel is closed
  close(channels.ends()[1][0]);
}

TEST_CASE("who goes on meeting others is waited for beyond the limit, who stands is named with his line") {
  const int memory = ProgressBoard::make(3);
  const auto ends = links(3);
  std::vector<std::string> told(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      Processes p(socket_channel(i, ends[static_cast<std::size_t>(i)]), 2s);
      p.set_board(ProgressBoard::of(memory, 3, i));
      p.set_script({[] { return ScriptPlace{}; }, [](ScriptPlace at) { return at.offset; }});
      try {
        const int pair[] = {1, 2};
        char mine = 'x', both[2];
        for (int turn = 0; i > 0 && turn < 15; ++turn) {  // 3 s
          std::this_thread::sleep_for(200ms);
          p.gather({"between two"}, pair, &mine, 1, both);
        }
        p.meet({"all", 9});
        p.stand_at({1, 7});
        if (i == 1) std::this_thread::sleep_for(4s);
        if (i == 2) p.stand_at({1, 8});
        if (i != 1) p.meet({"never", 10});
      } catch (const RuntimeError& e) { told[static_cast<std::size_t>(i)] = e.what(); }
    });
  for (std::thread& t : threads) t.join();
  // or process 2 finds it out first and ends
  CHECK_THAT(told[0],
             Catch::Matches("process 1 did not come to `never` in line 10 within 2 s: it stands in line 7|"
                            "process 2 has ended in line 8, and process 0 waits for it at `never` in line 10"));
  CHECK(told[1].empty());
  CHECK_FALSE(told[2].empty());
  CHECK(ProgressBoard::of(memory, 4, 0) == nullptr);  // of another size
  CHECK(ProgressBoard::of(-1, 3, 0) == nullptr);
  close(memory);
}

TEST_CASE("a peer that sends rubbish, or breaks off at any byte, is an error") {
  for (const int length : {0, 1, 64, 127, 128, 130, 135}) {
    const auto ends = links(2);
    std::string message(static_cast<std::size_t>(length), 'x');
    if (length >= 128) {  // what a well-behaved peer says, then less than it promised
      const auto other = links(2);
      std::thread peer([&] {
        Processes p(socket_channel(1, other[1]), 10s);
        char all[16];
        try {
          p.gather({"psum"}, up_to(2), "12345678", 8, all);
        } catch (const RuntimeError&) {}
      });
      REQUIRE(recv(other[0][1], message.data(), 128, MSG_WAITALL) == 128);
      close(other[0][1]);
      peer.join();
    }
    REQUIRE(write(ends[1][0], message.data(), message.size()) == static_cast<ssize_t>(message.size()));
    close(ends[1][0]);
    Processes p(socket_channel(0, ends[0]), 10s);
    char all[16];
    CHECK_THROWS_WITH(p.gather({"psum"}, up_to(2), "12345678", 8, all), Catch::Contains("process 1"));
  }
  const auto ends = links(2);
  const std::string rubbish(128, 'x');
  REQUIRE(write(ends[1][0], rubbish.data(), rubbish.size()) == 128);
  Processes p(socket_channel(0, ends[0]), 10s);
  CHECK_THROWS_WITH(p.meet({"psum"}), Catch::Contains("process 1 speaks another version of the protocol"));
  close(ends[1][0]);
}

TEST_CASE("through memory: who sleeps is woken, and messages of any size come as they went") {
  const Channels channels(By::Memory, 2);
  const auto later = [] { return std::chrono::steady_clock::now() + 10s; };
  const auto byte = [](std::size_t i) { return static_cast<char>(i * 31 % 251); };
  const std::vector<std::size_t> sizes = {1, 0, 3, 70'000, 1, 131'072, 131'073, 1'000'003};
  std::vector<char> sent(1'000'003);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = byte(i);
  std::optional<ChannelError> told;
  std::thread other([&] {
    const auto channel = channels.of(1);
    for (const std::size_t size : sizes) {  // each once the other sleeps
      std::this_thread::sleep_for(5ms);
      if (auto error = channel->send({0, sent.data(), size}, later())) told = error;
    }
    std::this_thread::sleep_for(5ms);
    const Outgoing both[] = {{0, sent.data(), 200'000}, {0, sent.data(), 5}};
    if (auto error = channel->exchange(both, {}, later())) told = error;  // more than there is room for: it sleeps too
    char last = 0;
    channel->receive({0, &last, 1}, later());
  });
  const auto channel = channels.of(0);
  for (const std::size_t size : sizes) {
    std::vector<char> got(size + 1, 'x');
    REQUIRE_FALSE(channel->receive({1, got.data(), size}, later()));
    CHECK((std::equal(got.begin(), got.end() - 1, sent.begin()) && got.back() == 'x'));
  }
  std::this_thread::sleep_for(20ms);
  std::vector<char> got(200'005);
  REQUIRE_FALSE(channel->receive({1, got.data(), got.size()}, later()));
  CHECK((std::equal(got.begin(), got.end() - 5, sent.begin()) && std::equal(got.end() - 5, got.end(), sent.begin())));
  CHECK_FALSE(channel->gone());
  REQUIRE_FALSE(channel->send({1, got.data(), 1}, later()));
  other.join();
  CHECK_FALSE(told);
  CHECK(channel->gone() == 1);
  CHECK(channel->send({1, got.data(), 1}, later())->kind == ChannelError::Kind::Ended);
}

TEST_CASE("through memory: what one wrote before it ended is read, and a link that is cut gives nothing more") {
  const auto soon = [] { return std::chrono::steady_clock::now() + 5s; };
  for (const bool cut : {false, true}) {
    const Channels channels(By::Memory, 2);
    const auto reads = channels.of(0);
    auto writes = channels.of(1);
    REQUIRE_FALSE(writes->send({0, "abcd", 4}, soon()));
    if (cut) {
      CHECK(writes->cut(0));
      CHECK(writes->send({0, "efgh", 4}, soon())->kind == ChannelError::Kind::Ended);
    }
    writes.reset();
    char got[5] = {};
    REQUIRE_FALSE(reads->receive({1, got, 4}, soon()));
    CHECK(std::string(got) == "abcd");
    const auto error = reads->receive({1, got, 4}, soon());
    CHECK((error && error->kind == ChannelError::Kind::Ended && error->peer == 1));
  }
}

TEST_CASE("through memory: whatever stands in it, a process reads and writes within it") {
  const Channels channels(By::Memory, 2);
  struct stat info {};
  REQUIRE(fstat(channels.memory(), &info) == 0);
  void* all =
      mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, channels.memory(), 0);
  REQUIRE(all != MAP_FAILED);
  std::memset(all, 0x5a, static_cast<std::size_t>(info.st_size));
  munmap(all, static_cast<std::size_t>(info.st_size));
  Processes p(channels.of(0), 200ms);
  CHECK_THROWS_WITH(p.meet({"psum"}), Catch::Contains("process 1"));
  CHECK(ftruncate(channels.memory(), 64) != 0);  // nor does anybody make it shorter
  CHECK(memory_channel(0, channels.ends()[0], -1) == nullptr);
  CHECK(memory_channel(0, {-1, channels.ends()[0][1], channels.ends()[0][1]}, channels.memory()) == nullptr);
  close(channels.ends()[1][0]);
}

TEST_CASE("a mesh is shared out as boxes, or not at all") {
  const auto ends = links(2);
  const auto p = std::make_shared<Processes>(socket_channel(1, ends[1]), 10s);
  const auto shared = [&](std::vector<MeshAxis> axes, std::vector<int> devices) {
    return part_of(Mesh{std::move(axes), std::move(devices)}, p, 8);
  };
  const AxisKind kind = AxisKind::Auto;
  auto part = shared({{"X", 8, kind}}, up_to(8));
  REQUIRE(part);
  CHECK((part->here.size_of(0) == 4 && part->first[0] == 4 && part->apart.has(0)));
  part = shared({{"X", 2, kind}, {"Y", 4, kind}}, up_to(8));
  REQUIRE(part);
  CHECK((part->here.size_of(0) == 1 && part->here.size_of(1) == 4 && part->first[0] == 1 && !part->apart.has(1)));
  part = shared({{"X", 2, kind}, {"Y", 4, kind}}, {0, 1, 4, 5, 2, 3, 6, 7});  // the second axis is cut
  REQUIRE(part);
  CHECK((part->here.size_of(1) == 2 && part->first[1] == 2 && part->apart.has(1) && !part->apart.has(0)));
  CHECK(part->here.devices == std::vector<int>{4, 5, 6, 7});
  CHECK_FALSE(shared({{"X", 6, kind}}, {0, 1, 2, 3, 4, 5}));        // four of one, two of the other
  CHECK_FALSE(shared({{"X", 4, kind}}, {0, 1, 2, 3}));              // all of process 0
  CHECK_FALSE(shared({{"X", 8, kind}}, {0, 4, 1, 5, 2, 6, 3, 7}));  // no boxes
  CHECK_FALSE(part_of(Mesh{{{"X", 8, kind}}, up_to(8)}, nullptr, 8));
  close(ends[0][1]);
}
