// A file or folder with its headers read, and arrays that stay there until they are looked at.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/mesh/device_blocks.h"
#include "stdlib/host/files/format.h"

namespace shard::stdlib {

struct OpenTree {
  std::string path;
  std::unique_ptr<Source> source;  // outlives the contents; none of a folder
  std::unique_ptr<Contents> contents;
  std::mutex reading;  // of mapped arrays: one thread at a time
};
// `raw`: the file holds numbers of this type and nothing else. Throws RuntimeError("io").
std::shared_ptr<OpenTree> open_tree(Interpreter& in, const std::string& path, grammar::Span span,
                                    std::optional<DType> raw);

// Array `which` of the file, laid out; its elements are read when they are needed.
ArrayRef mapped_array(std::shared_ptr<OpenTree> file, std::size_t which, const runtime::Placement& at);

}  // namespace shard::stdlib
