// Arrays as NumPy prints them: 8 significant digits, columns aligned, more than 1,000 elements abridged with `...`,
// lines of 75 characters; truth values as true and false; keys as their words. Also single elements and host numbers.
#pragma once
#include <string>

#include "runtime/array/view.h"

namespace shard::runtime {

// While one lives, lines of arrays that this thread prints have at most so many characters, where that is less than 75.
class LineLimit {
 public:
  explicit LineLimit(int characters);
  ~LineLimit();
  LineLimit(const LineLimit&) = delete;

 private:
  std::size_t before_;
};

std::string format_array(const View& v);  // v on the host, any strides
std::string format_element(
    const View& scalar);              // rank 0: as NumPy's str of a scalar: 4.1 -> "4.1", f32 by shortest digits of f32
std::string format_double(double x);  // Python's str of a float: "0.1", "1e+16", "inf", "nan"

}  // namespace shard::runtime
