// An array in NumPy's form, alone in a file or as a member of an npz.
#pragma once
#include "stdlib/host/files/format.h"

namespace shard::stdlib {

struct Npy {
  ArrayHeader header;
  Stored stored;
};
bool is_npy(std::string_view head);
Npy read_npy_header(Source& file);  // the file holds the array and nothing else
std::string npy_header(const runtime::Type& t);

}  // namespace shard::stdlib
