// Pictures as SVG files, put together shape by shape, and the writing of one where a script says `save: "x.svg"`.
#pragma once
#include <string>
#include <string_view>

#include "stdlib/host/host.h"

namespace shard::stdlib {

class Svg {
 public:
  void rectangle(double x, double y, double width, double height, std::string_view fill);
  void line(double x0, double y0, double x1, double y1);
  void path(const std::string& points, std::string_view stroke);  // "1,2 3,4": a curve through them
  // anchor: start, middle or end
  void text(double x, double y, std::string_view words, std::string_view anchor = "middle");
  std::string document(double width, double height) const;

 private:
  std::string body_;
};

// The colour of the i-th device, or curve: for files, and the number of the same one among a terminal's 256.
std::string color_of(std::size_t i);
std::string painted(std::size_t i, const std::string& text);     // in that colour
std::string background(std::size_t i, const std::string& text);  // black on that colour

std::string short_number(double x);  // a figure in a picture: four digits

// The path of `save:`, none: empty. It ends in .svg.
std::string svg_path(Interpreter& in, const lang::BoundArg& save, std::string_view what);
void save_svg(Interpreter& in, const std::string& path, const std::string& document, grammar::Span span);

}  // namespace shard::stdlib
