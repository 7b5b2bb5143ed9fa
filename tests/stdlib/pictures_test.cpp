// Pictures: layouts in boxes of the proportions of jax.debug.visualize_array_sharding, with the ranges that `shards`
// tells; curves, whose dots were set by hand on the grid of braille; counts of NumPy's histogram; tables; the line of
// progress.
#include <catch2/catch.hpp>

#include <sstream>

#include "stdlib/host/data/progress_line.h"
#include "tests/stdlib/folder.h"
#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::stdlib::progress_line;
using shard::test::error;
using shard::test::run;

namespace {

struct Narrow : shard::lang::Screen {
  explicit Narrow(int width, bool color = false) : width_(width), color_(color) {}
  int width() const override { return width_; }
  bool color() const override { return color_; }
  double status_every() const override { return 0; }
  void status(const std::string& line, bool last) override { told += line + (last ? "$" : "\n"); }
  std::string told;

 private:
  int width_;
  bool color_;
};

std::string run_at(int width, const std::string& text, bool color = false) {
  shard::lang::Options options;
  options.screen = std::make_shared<Narrow>(width, color);
  return run(text, options);
}

// Columns of the widest line; every sign here but those of UTF-8's continuation is one column wide.
int widest(const std::string& text) {
  int most = 0, now = 0;
  for (const char c : text) {
    if (c == '\n') now = 0;
    if (c != '\n' && (c & 0xc0) != 0x80) most = std::max(most, ++now);
  }
  return most;
}

bool box_in_every_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find("\xe2\x94") == std::string::npos) return false;  // U+2500 to U+253f
  return true;
}

}  // namespace

TEST_CASE("a layout is drawn with axes, ranges and sizes") {
  CHECK(run("mesh m = (@x: 2, @y: 2)\nvisualize(shard zeros([8, 8]) as P(@x, @y))") ==
        "── f32[8@x,8@y] on (@x: 2, @y: 2)\n"
        "  @x ┌── 0..4 ──┬── 4..8 ──┐ @y\n"
        "     │          │          │\n"
        "0..4 │  CPU 0   │  CPU 1   │\n"
        "     │          │          │\n"
        "     │          │          │\n"
        "     ├──────────┼──────────┤\n"
        "     │          │          │\n"
        "4..8 │  CPU 2   │  CPU 3   │\n"
        "     │          │          │\n"
        "     │          │          │\n"
        "     └──────────┴──────────┘\n");
  CHECK(run("mesh m = (@x: 4)\nvisualize(shard zeros([8]) as P(@x))") ==
        "── f32[8@x] on (@x: 4)\n"
        "┌ 0..2 ─┬ 2..4 ─┬ 4..6 ─┬ 6..8 ─┐ @x\n"
        "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │\n"
        "└───────┴───────┴───────┴───────┘\n");
  CHECK_THAT(run("mesh m = (@x: 4, @y: 2)\nvisualize(shard zeros([8, 8]) as P(_, @y))"),
             Contains("0..8 │CPU 0,2,4,6│CPU 1,3,5,7│\n"));
  CHECK_THAT(run("visualize(array(1.0))"), Contains("│         CPU 0         │"));
  CHECK_THAT(run("mesh m = (@x: 2)\njit fn f(x) {\n  visualize(x)\n  x\n}\nlet y = f(shard zeros([4, 4]) as P(@x))"),
             Contains("2..4 │") && Contains("CPU 1") && Contains("@x ┌"));
}

TEST_CASE("a picture of many blocks shows the first and the last, and fits the window") {
  const std::string many = "mesh m = (@x: 12, @y: 32)\nvisualize(shard zeros([120, 3200]) as P(@x, @y))";
  shard::lang::Options options;
  options.devices = 384;
  for (const int width : {30, 40, 80, 120}) {
    options.screen = std::make_shared<Narrow>(width);
    const std::string text = run(many, options);
    INFO(text);
    CHECK(widest(text) <= width);
    CHECK(box_in_every_line(text));
    CHECK_THAT(text, Contains("4 more │") && Contains("0..10 │") && Contains("110..120 │") && Contains("⋮"));
  }
  options.screen = std::make_shared<Narrow>(200);
  CHECK_THAT(run(many, options), Contains(" 24 more ") && Contains(" 300..400 ") && Contains(" 2800..2900 ") &&
                                     !Contains(" 400..500 ") && Contains("CPU 383"));
  options.screen = std::make_shared<Narrow>(40);
  const std::string whole = run("mesh m = (@x: 384)\nvisualize(shard ones([8, 8]) as P())", options);
  CHECK_THAT(whole, Contains("CPU 0,1..383"));
  CHECK(widest(whole) <= 40);
}

TEST_CASE("three dimensions are drawn by the blocks of the outer one") {
  const std::string text = run("mesh m = (@x: 2, @y: 2)\nvisualize(shard zeros([4, 2, 6]) as P(@x, _, @y))");
  CHECK_THAT(text, Contains("── [0..2, :, :]\n") && Contains("── [2..4, :, :]\n"));
  const std::size_t second = text.find("[2..4");
  CHECK(text.find("CPU 1") < second);
  CHECK(text.find("CPU 2") > second);
  CHECK(box_in_every_line(text));
  CHECK_THAT(run("visualize(zeros([2, 2, 2, 2]))"), Contains("── [0..2, 0..2, :, :]\n"));
}

TEST_CASE("blocks have the colours of their devices where there are colours") {
  const std::string text = run_at(80, "mesh m = (@x: 2)\nvisualize(shard zeros([8]) as P(@x))", true);
  CHECK_THAT(text, Contains("\x1b[30;48;5;74m CPU 0 \x1b[0m│\x1b[30;48;5;209m CPU 1 \x1b[0m│"));
}

TEST_CASE("pictures are saved as SVG") {
  const shard::test::Folder folder("pictures");
  const std::string path = folder.at("a.svg");
  CHECK(run("mesh m = (@x: 2)\nvisualize(shard zeros([8]) as P(@x), save: \"" + path + "\")").empty());
  const std::string layout = folder.bytes("a.svg");
  CHECK(layout.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK_THAT(layout,
             Contains(">CPU 1</text>") && Contains(">4..8</text>") && Contains(">@x</text>") && Contains("</svg>"));
  CHECK(run("plot({train: [3, 2, 1], test: [3, 2.5, nan, 2]}, save: \"" + path + "\")").empty());
  const std::string curves = folder.bytes("a.svg");  // 70 to 620 in x, 360 to 30 in y
  CHECK_THAT(curves, Contains("points=\"70,30 253.3,195 436.7,360\"") && Contains(">train</text>") &&
                         Contains("points=\"620,195 620,195\""));
  CHECK_THAT(error("plot([1], save: \"a.png\")"), Contains("a.svg") && Contains("does not end in .svg"));
  shard::lang::Options closed;
  closed.may_write = [](const std::string&) { return false; };
  CHECK_THAT(error("plot([1, 2], save: \"" + path + "\")", closed), Contains("not allowed"));
}

TEST_CASE("curves are drawn in braille") {
  // Ten columns are twenty dots; from 0 to 51 in height on thirteen rows: a rising line ends at the top right.
  const std::string text = run_at(14, "plot([0, 1])");
  CHECK_THAT(text, Contains("  1 ┤") && Contains("0.5 ┤") && Contains("  0 ┤⡜") && Contains("    └─"));
  CHECK(widest(text) <= 14);
  CHECK_THAT(run_at(40, "plot([2, 2, 2])"), Contains("⠉") || Contains("⣀") || Contains("⠒") || Contains("⠤"));
  const std::string two = run("plot({a: [0, 1, 2], b: array([2.0, 1.0, 0.0])})");
  CHECK_THAT(two, Contains("\n   * a  + b\n") && !Contains("──  * a"));  // each sign has its name
  CHECK_THAT(run("plot({loss: [2, 1]})"), Contains("\n     ── loss\n"));
  CHECK_THAT(two, Contains("2 ┤+"));
  CHECK(widest(two) <= 80);
  CHECK_THAT(run_at(80, "plot({a: [0, 1], b: [1, 0]})", true), Contains("\x1b[38;5;209m"));
  CHECK_THAT(error("plot([nan])"), Contains("no finite number"));
  CHECK_THAT(error("plot(zeros([2, 3]))"), Contains("f32[2,3]") && Contains("plot({a: x[0], b: x[1]})"));
  CHECK_THAT(error("jit fn f(x) {\n  plot(x)\n  x\n}\nf(zeros([3]))"), Contains("plot"));
}

TEST_CASE("bars count as NumPy's histogram does") {
  // numpy.histogram([1, 2, 2, 3, 4, 4, 4, 5], 4): [1, 2, 1, 4] over 1, 2, 3, 4, 5
  CHECK(run_at(30, "hist([1, 2, 2, 3, 4, 4, 4, 5], bins: 4)") ==
        "1 .. 2 │█████ 1\n"
        "2 .. 3 │██████████ 2\n"
        "3 .. 4 │█████ 1\n"
        "4 .. 5 │████████████████████ 4\n");
  CHECK_THAT(run("hist([0.5, nan, inf])"), Contains("2 numbers are not finite") && Contains("0 .. 0.2"));
  CHECK_THAT(error("hist([1.0], bins: 0)"), Contains("1 to 1000 bins"));
}

TEST_CASE("tables have a column for each name, and fit") {
  CHECK(run("table([{name: \"linear\", loss: 0.5}, {name: \"日本\", loss: 12.25, note: \"best\"}])") ==
        "name     loss  note\n"
        "──────  ─────  ────\n"
        "linear    0.5\n"
        "日本    12.25  best\n");
  CHECK(run("table({step: [1, 2], loss: array([0.5, 0.25])})") == "step  loss\n────  ────\n   1   0.5\n   2  0.25\n");
  const std::string wide = "table([{a: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", b: 123456, c: 1.5, d: \"xxxxxxxx\"}])";
  for (const int width : {12, 20, 40}) CHECK(widest(run_at(width, wide)) <= width);
  CHECK_THAT(run_at(30, wide), Contains("…") && Contains("123456"));
  CHECK_THAT(run_at(12, wide), Contains("not shown:"));
  CHECK_THAT(run("table(map(fn(i) = {i: i}, 0..1000))"), Contains("... 900 more\n") && Contains("\n999\n"));
  CHECK_THAT(error("table([1])"), Contains("the item at [0]"));
  CHECK_THAT(error("table({a: [1], b: [1, 2]})"), Contains("`a` has 1 and `b` 2"));
}

TEST_CASE("the line of progress tells rate, time left and numbers, and fits") {
  // Eleven turns, ten of them in 5 s: two a second, so the other 89 take 44.5 s.
  CHECK(progress_line({11, 100, 25, 5, false}, "loss 0.25", 80) ==
        "[##..................] 11/100  2.0/s  0:45 left  loss 0.25");
  CHECK(progress_line({11, 100, 25, 5, false}, "loss 0.25", 41) == "11/100  2.0/s  0:45 left  loss 0.25");
  CHECK(progress_line({11, 100, 25, 5, false}, "loss 0.25", 20) == "11/100  2.0/s  0:45");
  CHECK(progress_line({3, std::nullopt, 60, 40, false}, "", 80) == "3  20.0 s each");
  CHECK(progress_line({4, 4, 4000, 3000, true}, "", 80) == "[####################] 4/4  1000.0 s each  1:06:40");
}

TEST_CASE("progress shows what the script gives") {
  const auto screen = std::make_shared<Narrow>(80);
  shard::lang::Options options;
  options.screen = screen;
  CHECK(run("let loss = none\nfor i in progress(0..3, show: fn() = if loss == none { none } else { {loss: loss, at: "
            "\"here\"} }) { loss = 0.5 / (i + 1) }",
            options) == "");
  CHECK_THAT(screen->told, Contains("0/3\n") && Contains("1/3") && Contains("loss 0.5  at here\n") && Contains("2/3") &&
                               Contains("loss 0.25") && Contains("loss 0.1667  at here$"));
  screen->told.clear();
  CHECK(run("import train\nlet r = train.loop(fn(s, x) = (s + x, {loss: s}), 0, [1, 2, 3])\nprint(r.state)", options) ==
        "6\n");
  CHECK_THAT(screen->told, Contains("0/3\n") && Contains("2/3") && Contains("loss 3$"));
  CHECK_THAT(error("for i in progress([1], show: fn() = [1]) { }", options), Contains("gives a record of numbers"));
  CHECK_THAT(error("for i in progress([1], show: 3) { }"), Contains("show: fn() = {loss: loss}"));
}
