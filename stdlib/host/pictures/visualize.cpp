// visualize: which device holds which part of an array, at once or, in traced code, when the program runs.
#include "stdlib/host/host.h"
#include "stdlib/host/pictures/grid.h"
#include "stdlib/host/pictures/svg.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

Value visualize(Interpreter& in, BoundArgs& a) {
  if (!a[0].is_tensor()) in.fail("type", a.span, "visualize takes an array, this is " + lang::kind_name(a[0]));
  const std::string path = svg_path(in, a.args[1], "visualize");
  const trace::Tensor& x = a[0].tensor();
  if (x.traced()) {
    record_effect(in, "visualize", {}, {x},
                  {{"layout_only", true}, {"whole", ir::Ints(x.type().shape)}, {"save", path}});
    return {};
  }
  runtime::Type type = x.array()->type;
  type.sharding = x.array()->layout;
  draw_layout(in, type, path, a.span);
  return {};
}

}  // namespace

void draw_layout(Interpreter& in, const runtime::Type& type, const std::string& path, grammar::Span span) {
  if (in.context().types_only()) return;
  const LayoutPicture picture = layout_picture(type);
  if (path.empty())
    in.write(as_text(picture, in.screen()));
  else
    save_svg(in, path, as_svg(picture), span);
}

void register_visualize(Interpreter& in) {
  in.define({"visualize", "visualize(x, save = none)",
             "Draws which device holds which part of an array: blocks with their ranges, the axes that split them, as "
             "wide as the window; of more than eight blocks a side the first and the last. Of three or more dimensions "
             "a picture for each block of the outer ones. save: an SVG file instead.",
             visualize});
}

}  // namespace shard::stdlib
