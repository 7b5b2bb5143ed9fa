// An array in NumPy's form, alone in a file or as a member of an npz.
#pragma once
#include "stdlib/host/files/format.h"

namespace shard::stdlib {

struct Npy {
  ArrayHeader header;
  Stored stored;
  bool text = false;  // of letters, not numbers: its elements are not read
};
bool is_npy(std::string_view head);
// The file holds the array and nothing else. Text is an error unless the caller leaves it out.
Npy read_npy_header(Source& file, bool or_text = false);
std::string npy_header(const Type& t, std::string_view name = {});  // name: for an error, of one of several

}  // namespace shard::stdlib
