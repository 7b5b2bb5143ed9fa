// What shows the output of a script: how wide pictures and tables may be, whether they may have colours, and the line
// that tells how far a run is. The `shard` program gives its terminal (cli/terminal.h); without one, 80 columns.
#pragma once
#include <limits>
#include <string>

namespace shard::lang {

class Screen {
 public:
  virtual ~Screen() = default;
  virtual int width() const { return 80; }      // columns
  virtual bool color() const { return false; }  // ANSI escapes
  virtual int status_width() const { return 80; }
  // Seconds between two lines of progress: none are told by default.
  virtual double status_every() const { return std::numeric_limits<double>::infinity(); }
  // A line that replaces the one before; `last`: it stays, nothing follows.
  virtual void status(const std::string& /*line*/, bool /*last*/) {}
};

}  // namespace shard::lang
