#include "stdlib/host/pictures/svg.h"

#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "interpreter/lang/values/value_text.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/files/sink.h"
#include "stdlib/host/files/text.h"

namespace shard::stdlib {
namespace {

struct Color {
  const char* web;
  int terminal;  // near it, of the 256
};
constexpr std::array<Color, 10> kColors{{{"#6baed6", 74},
                                         {"#fd8d3c", 209},
                                         {"#74c476", 114},
                                         {"#e377c2", 176},
                                         {"#bcbd22", 143},
                                         {"#9e9ac8", 140},
                                         {"#e7969c", 174},
                                         {"#17becf", 44},
                                         {"#c49c94", 180},
                                         {"#bdbdbd", 250}}};

std::string number(double x) {  // to a tenth of a pixel
  char out[32];
  std::snprintf(out, sizeof out, "%.1f", x);
  return out;
}

std::string in_color(const char* how, std::size_t i, const std::string& text) {
  return "\x1b[" + std::string(how) + ";5;" + std::to_string(kColors[i % kColors.size()].terminal) + "m" + text +
         "\x1b[0m";
}

}  // namespace

std::string color_of(std::size_t i) { return kColors[i % kColors.size()].web; }

std::string painted(std::size_t i, const std::string& text) { return in_color("38", i, text); }
std::string background(std::size_t i, const std::string& text) { return in_color("30;48", i, text); }

std::string short_number(double x) {
  char out[32];
  std::snprintf(out, sizeof out, "%.4g", x);
  return out;
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view fill) {
  body_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\" fill=\"" + std::string(fill) + "\" stroke=\"#333\"/>\n";
}

void Svg::line(double x0, double y0, double x1, double y1) {
  body_ += "<line x1=\"" + number(x0) + "\" y1=\"" + number(y0) + "\" x2=\"" + number(x1) + "\" y2=\"" + number(y1) +
           "\" stroke=\"#333\"/>\n";
}

void Svg::path(const std::string& points, std::string_view stroke) {
  body_ += "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + std::string(stroke) +
           "\" stroke-width=\"1.5\" stroke-linecap=\"round\"/>\n";
}

void Svg::text(double x, double y, std::string_view words, std::string_view anchor) {
  body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + std::string(anchor) + "\">" +
           xml_text(words) + "</text>\n";
}

std::string Svg::document(double width, double height) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         body_ + "</svg>\n";
}

std::string svg_path(Interpreter& in, const lang::BoundArg& save, std::string_view what) {
  if (save.value.is_none()) return {};
  const std::string path = in.text(save.value, save.span, "the path of a picture");
  if (!lower(path).ends_with(".svg"))
    in.fail("io", save.span, std::string(what) + " writes SVG, and '" + path + "' does not end in .svg",
            {"write `save: \"" + path.substr(0, path.rfind('.')) + ".svg\"`"});
  return path;
}

void save_svg(Interpreter& in, const std::string& path, const std::string& document, grammar::Span span) {
  writing_to(in, path, span, [&] {
    if (const std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0)
      mkdir(path.substr(0, slash).c_str(),
            0777);  // as checkpoints and logs make theirs; opening says whether it is there
    const std::unique_ptr<Sink> file = open_sink(path, false);
    file->write(document);
    file->finish();
  });
}

}  // namespace shard::stdlib
