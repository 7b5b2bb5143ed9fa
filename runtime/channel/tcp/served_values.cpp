#include "runtime/channel/tcp/served_values.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/array/shape.h"
#include "runtime/channel/tcp/handshake.h"

namespace shard::runtime {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t kLargest = 16u << 20;  // of a key, of a value
constexpr std::uint32_t kNone = ~0u;
constexpr auto kAddressWithin = std::chrono::seconds(3);  // an address that leads nowhere may say nothing
constexpr auto kAnswersWithin = std::chrono::seconds(30);
const Deadline kWhenever = steady_clock::now() + std::chrono::hours(24 * 365);

// A request is the sizes of key and value, then both; kNone for the value: it is asked for. Its answer is a size, kNone
// where there is none, and the value.
struct Sizes {
  std::uint32_t key = 0, value = 0;
};

class Store {
 public:
  void put(std::string_view key, std::string_view value) {
    const std::scoped_lock lock(mutex_);
    values_[std::string(key)] = value;
  }
  std::optional<std::string> find(std::string_view key) {
    const std::scoped_lock lock(mutex_);
    const auto at = values_.find(key);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> values_;
};

// Until the other side leaves, or says what is no request.
void serve(Store& store, Connection& guest) {
  for (Sizes sizes; guest.read(&sizes, sizeof sizes, kWhenever) && sizes.key <= kLargest;) {
    std::string key(sizes.key, '\0');
    if (!guest.read(key.data(), key.size(), steady_clock::now() + kAnswersWithin)) return;
    if (sizes.value == kNone) {
      const std::optional<std::string> found = store.find(key);
      const std::uint32_t size = found ? static_cast<std::uint32_t>(found->size()) : kNone;
      if (!guest.write(&size, sizeof size, steady_clock::now() + kAnswersWithin)) return;
      if (found && !guest.write(found->data(), size, steady_clock::now() + kAnswersWithin)) return;
      continue;
    }
    if (sizes.value > kLargest) return;
    std::string value(sizes.value, '\0');
    if (!guest.read(value.data(), value.size(), steady_clock::now() + kAnswersWithin)) return;
    store.put(key, value);
    const std::uint32_t done = 0;
    if (!guest.write(&done, sizeof done, steady_clock::now() + kAnswersWithin)) return;
  }
}

class Keeper final : public KeyValues {  // of process 0
 public:
  // A thread for each of the others, which ends with its connection; they keep the store.
  void attend(Connection guest) {
    std::thread([store = store_, guest = std::move(guest)]() mutable { serve(*store, guest); }).detach();
  }
  void put(std::string_view key, std::string_view value) override { store_->put(key, value); }
  std::optional<std::string> find(std::string_view key) override { return store_->find(key); }

 private:
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
};

class Asking final : public KeyValues {  // of the others
 public:
  explicit Asking(Connection keeper) : keeper_(std::move(keeper)) {}
  void put(std::string_view key, std::string_view value) override { ask(key, &value); }
  std::optional<std::string> find(std::string_view key) override { return ask(key, nullptr); }

 private:
  std::optional<std::string> ask(std::string_view key, const std::string_view* value) {
    if (key.size() > kLargest || (value && value->size() > kLargest))
      throw RuntimeError("process", "a value for all processes has more than 16 MiB");
    const std::scoped_lock lock(mutex_);
    const Deadline until = steady_clock::now() + kAnswersWithin;
    const auto gone = [](bool well) {
      if (!well) throw RuntimeError("process", "process 0, which keeps the values that processes share, has gone");
    };
    const Sizes sizes{static_cast<std::uint32_t>(key.size()),
                      value ? static_cast<std::uint32_t>(value->size()) : kNone};
    std::string request(reinterpret_cast<const char*>(&sizes), sizeof sizes);
    request += key;
    if (value) request += *value;
    gone(keeper_.write(request.data(), request.size(), until));
    std::uint32_t size = 0;
    gone(keeper_.read(&size, sizeof size, until) && (size == kNone || size <= kLargest));
    if (size == kNone) return std::nullopt;
    std::string out(size, '\0');
    gone(keeper_.read(out.data(), out.size(), until));
    return out;
  }
  std::mutex mutex_;
  Connection keeper_;
};

// By which others may reach this machine; the loopback leads nobody else astray, as a stranger there does not know the
// token.
std::vector<std::string> addresses() {
  std::vector<std::string> out = {"127.0.0.1"};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return out;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK)) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST] = {};
    const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (getnameinfo(i->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (const std::string address = text; !address.starts_with("fe80")) out.push_back(address);
  }
  freeifaddrs(all);
  return out;
}

// At all addresses of this machine, of IPv6 too where the system has it.
std::unique_ptr<Door> door(bool one_machine, Ports ports, int size, const std::string& token) {
  if (one_machine) return std::make_unique<Door>("127.0.0.1", ports, size, token);
  try {
    return std::make_unique<Door>("::", ports, size, token);
  } catch (const RuntimeError&) { return std::make_unique<Door>("0.0.0.0", ports, size, token); }
}

std::shared_ptr<KeyValues> keep(Processes& processes, bool one_machine, Ports ports, Deadline until) {
  const std::string token = new_token();
  const std::unique_ptr<Door> at = door(one_machine, ports, processes.count(), token);
  at->open();
  std::string text = token + " " + std::to_string(at->port());
  for (const std::string& a : addresses())
    if (text += " " + a; one_machine) break;
  processes.hand_round(text);
  auto out = std::make_shared<Keeper>();
  for (int come = 1; come < processes.count(); ++come) {
    std::optional<Guest> guest = at->next(until);
    if (!guest)
      throw RuntimeError("process", std::to_string(processes.count() - come) +
                                        " of the other processes did not find process 0 at port " +
                                        std::to_string(at->port()) +
                                        ", where it keeps what devices must know of each other");
    out->attend(std::move(guest->connection));
  }
  return out;
}

std::shared_ptr<KeyValues> ask(Processes& processes, Deadline until) {
  std::string text;
  processes.hand_round(text);
  std::istringstream words(text);
  std::string token, port, tried, why;
  words >> token >> port;
  for (std::string address; words >> address;) {
    const Deadline by = std::min(until, steady_clock::now() + kAddressWithin);
    std::optional<Connection> link = Connection::to(address, std::stoi(port), by, why);
    const Hello hello{.rank = processes.index(), .size = processes.count()};
    if (link && link->prove(token, by) && link->write(&hello, sizeof hello, by))
      return std::make_shared<Asking>(std::move(*link));
    tried += (tried.empty() ? "" : ", ") + address + ":" + port + " (" + (link ? "somebody else" : why) + ")";
  }
  throw RuntimeError("process",
                     "process 0 is not reached, which keeps what devices must know of each other: tried " + tried);
}

}  // namespace

std::shared_ptr<KeyValues> served_values(Processes& processes, bool one_machine, Ports ports,
                                         std::chrono::milliseconds limit) {
  const Deadline until = steady_clock::now() + limit;
  return processes.index() == 0 ? keep(processes, one_machine, ports, until) : ask(processes, until);
}

}  // namespace shard::runtime
