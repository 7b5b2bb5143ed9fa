// JSON of the protocol: what comes is read by the house's parser (nlohmann's, stdlib/host/files/json.h), what goes is
// text put together.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/lang/report/report.h"
#include "stdlib/host/files/json.h"

namespace shard::lsp {

using lang::json_string;
using stdlib::Json;

// An answer that is an error of JSON-RPC.
struct Refused {
  int code;
  std::string message;
};
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602,
                     kInternalError = -32603, kNotInitialized = -32002, kCancelled = -32800, kRequestFailed = -32803;

// {"name": value, ...}; fields whose text is empty are left out. The values are JSON.
std::string object(std::initializer_list<std::pair<std::string_view, std::string>> fields);
std::string list(const std::vector<std::string>& items);
std::string strings(const std::vector<std::string>& texts);  // a list of them
std::string number(std::int64_t n);
std::string boolean(bool b);

// What stands at this path of names; nothing where there is nothing.
std::optional<Json> find(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
// The same, refused where it is missing or of another kind.
Json need(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
std::string need_text(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
std::int64_t need_number(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
bool truth(const std::optional<Json>& in, std::initializer_list<std::string_view> path);  // false where there is none

}  // namespace shard::lsp
