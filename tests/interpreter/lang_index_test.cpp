// Indexing of arrays against NumPy. The goldens are x[items] and x[items] op= v computed by NumPy 2 for x = arange(60)
// of shape (3, 4, 5), items drawn at random (seed 7; updates through np.add.at where an index array may repeat): shape
// and the sum of elements times 1, 2, 3, ... in row-major order.
#include <catch2/catch.hpp>

#include "tests/stdlib/script.h"

using Catch::Contains;
using shard::test::error;
using shard::test::run;

namespace {

struct Read {
  const char *items, *result;
};
struct Update {
  const char *items, *assign;
  long long sum;
};

constexpr Read kReads[] = {
    {"-3, 1", "(5,) 115"},
    {"none, ::-1, ..., -5:2, :", "(1, 3, 2, 5) 7640"},
    {":", "(3, 4, 5) 71980"},
    {":3", "(3, 4, 5) 71980"},
    {"1", "(4, 5) 6860"},
    {"1, -1:-5", "(0, 5) 0"},
    {":, :, 3:1:2", "(3, 4, 0) 0"},
    {"-4:4, ::-1", "(3, 4, 5) 68230"},
    {"-3, -1:-4", "(0, 5) 0"},
    {"1, 0:2:-1", "(0, 5) 0"},
    {"none, -1, -4, 4:1:3", "(1, 0) 0"},
    {"-1:-2:-3, 3", "(1, 5) 865"},
    {"1:1, ...", "(0, 4, 5) 0"},
    {"2:-1:-2, ..., -1:4:2", "(0, 4, 0) 0"},
    {"-3:-2, 3", "(1, 5) 265"},
    {"none, ::-1, :, ..., 4:6", "(1, 3, 4, 1) 1892"},
    {"0, :, ::-1", "(4, 5) 2580"},
    {"-4:-2, 1, ...", "(1, 5) 115"},
    {"..., :, none, :-4:3, :", "(3, 1, 0, 5) 0"},
    {":, ..., -4", "(3, 4) 2938"},
    {"::-1, -5:5", "(3, 4, 5) 39980"},
    {"3:, :", "(0, 4, 5) 0"},
    {":, 0, ...", "(3, 5) 3670"},
    {"3:3, -2:-2:-2, -4:1", "(0, 0, 0) 0"},
    {"none, -1, 5:3", "(1, 0, 5) 0"},
    {":-3:-1, none, ::-1", "(2, 1, 4, 5) 27220"},
    {"2", "(4, 5) 11060"},
    {"2:-3", "(0, 4, 5) 0"},
    {"::-1, -2", "(3, 5) 2870"},
    {"none, :", "(1, 3, 4, 5) 71980"},
    {":, 3:3:-2", "(3, 0, 5) 0"},
    {"..., -1:6", "(3, 4, 1) 3172"},
    {"-2:0:-2", "(1, 4, 5) 6860"},
    {"none, 1:0:2, :", "(1, 0, 4, 5) 0"},
    {"3:-3, 3", "(0, 5) 0"},
    {"-3:-3", "(0, 4, 5) 0"},
    {"-1, :", "(4, 5) 11060"},
    {":, none, -2:, :", "(3, 1, 2, 5) 20290"},
    {"0, :", "(4, 5) 2660"},
    {"::-1, ::-1, 4:1", "(3, 4, 0) 0"},
    {"2:-3, ::-1", "(0, 4, 5) 0"},
    {"::-1, none, array([0, -3])", "(3, 1, 2, 5) 7640"},
    {"-2:-3:-2", "(1, 4, 5) 6860"},
    {"..., ::-1, array([-2, -3])", "(3, 4, 2) 11254"},
    {"-3:-2:2, array([1, -4]), ::-1", "(1, 2, 5) 165"},
    {":, :", "(3, 4, 5) 71980"},
    {"..., -4", "(3, 4) 2938"},
    {"-1:-3, array([[0], [2], [-2]])", "(0, 3, 1, 5) 0"},
    {"array([-1, -3]), array([[-2], [2], [-3]]), -4", "(3, 2) 536"},
    {"..., none, array([[-3], [3], [-4]]), :", "(3, 1, 3, 1, 5) 38385"},
    {":3, -2", "(3, 5) 4870"},
    {"..., array([0, -1]), :", "(3, 2, 5) 18340"},
    {"::-3, :, ..., :", "(1, 4, 5) 11060"},
    {"none, array([[2], [0], [2]]), ..., array([[1], [3], [-1]])", "(3, 1, 1, 4) 2996"},
    {"array([[2], [2], [2]]), ..., -3::-3, none, array([-1, 1])", "(3, 2, 1, 1) 993"},
    {"array([-1, 1]), ...", "(2, 4, 5) 29720"},
    {"none, -3:-1", "(1, 2, 4, 5) 21320"},
    {":, ..., -1", "(3, 4) 3172"},
    {"none, ::-1", "(1, 3, 4, 5) 39980"},
    {"-2:3", "(2, 4, 5) 37720"},
    {"..., :", "(3, 4, 5) 71980"},
    {"array([-2, -3])", "(2, 4, 5) 13320"},
    {"4:1, array([3, -2]), :", "(0, 2, 5) 0"},
    {"array([[1], [-2], [1]]), :, array([[-5], [4], [-2]]), ...", "(3, 1, 4) 2450"},
    {"..., 1", "(3, 4) 2938"},
    {"array([1, 2]), 2:-4:-3", "(2, 1, 5) 2580"},
    {"2, array([3, 0]), array([[-1], [-2], [-2]])", "(3, 2) 1041"},
    {"::-1", "(3, 4, 5) 39980"},
    {"1, -5:3, ...", "(3, 5) 3520"},
    {"array([-1, 1])", "(2, 4, 5) 29720"},
    {"none, 1:-3:-3, -1:2:3, array([[-4], [3], [-2]]), ...", "(1, 1, 0, 3, 1) 0"},
    {"-1, array([[3], [0], [2]])", "(3, 1, 5) 5945"},
    {"4:3, ...", "(0, 4, 5) 0"},
    {"2:2, :1", "(0, 1, 5) 0"},
    {"1:0, 1, none, array([[0], [1], [-4]])", "(3, 1, 0, 1) 0"},
    {"-2::-1", "(2, 4, 5) 13320"},
    {"-1, array([[0], [-4], [0]])", "(3, 1, 5) 5070"},
    {"-2:-1, ...", "(1, 4, 5) 6860"},
    {":2:2, ::-1", "(1, 4, 5) 1410"},
    {"2, :, array([-1, 2])", "(2, 4) 1852"},
    {"2:1", "(0, 4, 5) 0"},
    {"array([2, -1]), -2:1", "(2, 0, 5) 0"},
    {"none, array([-2, -3]), array([[3], [-1], [3]]), array([[2], [1], [-3]])", "(1, 3, 2) 530"},
    {"..., :, none, -1:-2, :4", "(3, 1, 0, 4) 0"},
    {"1:-1, 3", "(1, 5) 565"},
    {"array([1, 1]), array([[-1], [-3], [0]])", "(3, 2, 5) 11890"},
    {"-2, none, array([3, 3])", "(2, 1, 5) 2055"},
    {"-4:-2, ...", "(1, 4, 5) 2660"},
    {"..., array([2, -4])", "(3, 4, 2) 11554"},
    {"none, -2:4, array([0, -2]), :", "(1, 2, 2, 5) 9060"},
};
constexpr Update kUpdates[] = {
    {"-3, :, 3::-2", "+= 100", 80380},
    {"::-1, -4:-2:3, -3:5", "= arange(9).reshape([3, 1, 3])", 65116},
    {"1, ..., ::-1, none, 4", "+= 100", 84980},
    {"::-1", "= arange(60).reshape([3, 4, 5])", 39980},
    {"0:-2, :", "= arange(20).reshape([1, 4, 5])", 71980},
    {"-1:-3:-1", "+= 100", 233980},
    {"1", "= arange(20).reshape([4, 5])", 59780},
    {"::2", "= arange(40).reshape([2, 4, 5])", 51780},
    {"none, ::-1, ::-1, none, 2", "+= 100", 108580},
    {":", "+= 100", 254980},
    {"-1, -1::-1", "= arange(20).reshape([4, 5])", 30330},
    {"-3, 3, ::-1", "= arange(5).reshape([5])", 70610},
    {"::-1, ::-1", "+= 100", 254980},
    {"..., ::-1", "= arange(60).reshape([3, 4, 5])", 71740},
    {"-1, ..., -6:-1", "+= 100", 151980},
    {"-1:-2:-3, :", "= arange(20).reshape([1, 4, 5])", 31580},
    {"-3, none, 1:-1, none, -5::-2", "+= 100", 73680},
    {"..., 2:4, -3, :", "+= 100", 95980},
    {"-1:", "= arange(20).reshape([1, 4, 5])", 31580},
    {"..., :, :", "+= 100", 254980},
    {"-1::-1", "+= 100", 254980},
    {"-1, ::-1, :-1", "= arange(16).reshape([4, 4])", 37880},
    {"array([[-2], [-1], [-2]]), 3", "+= 100", 138980},
    {":1", "= arange(20).reshape([1, 4, 5])", 71980},
    {"-2:", "= arange(40).reshape([2, 4, 5])", 39580},
    {"none, :, array([[0], [2], [0]]), ..., ::-1", "+= 100", 190480},
    {"-3, ::-1", "+= 100", 92980},
    {"::-1, array([[3], [2], [-3]])", "+= 100", 220480},
    {"none, ::-1, array([-4, -4])", "+= arange(30).reshape([1, 3, 2, 5])", 78045},
    {"array([1, -3])", "+= 100", 153980},
    {"array([[-2], [-3], [-3]]), array([-3, -1]), ::-1", "+= 100", 130980},
    {":, array([[3], [-2], [0]]), ::-1", "+= 100", 212980},
    {"none, :, ..., none, array([[0], [2], [3]])", "+= arange(36).reshape([1, 3, 4, 1, 3, 1])", 97456},
    {"::-1, :, ..., -1", "= arange(12).reshape([3, 4])", 57700},
    {"array([[1], [2], [-1]]), array([-4, -1])", "+= 100", 203480},
    {":, :", "+= 100", 254980},
    {"-2, ...", "= arange(20).reshape([4, 5])", 59780},
    {"array([-1, 0]), -4, ...", "+= arange(10).reshape([2, 5])", 72535},
    {":, :, -5:", "+= 100", 254980},
    {"-3, ..., none, :, -5:-1", "+= 100", 87980},
    {"::-1, ::-1, none, array([2, -3])", "+= 100", 145180},
    {"-1", "= arange(20).reshape([4, 5])", 31580},
    {"-1, array([2, 0]), -6:1", "+= 100", 81180},
    {"array([[2], [2], [2]]), :", "+= 100", 374980},
    {"-3:, none, -2, 4:", "+= 100", 82480},
    {"array([-3, 2])", "+= 100", 193980},
    {"array([[1], [2], [-3]]), array([[2], [-3], [-1]]), -5", "+= 100", 81280},
    {":, array([[2], [-4], [2]]), 0", "+= 100", 96880},
    {"array([[-3], [1], [-1]])", "+= 100", 254980},
    {"array([[-3], [-3], [-1]])", "+= 100", 214980},
};

std::string line_of(const std::string& text, std::size_t number) {
  std::size_t at = 0;
  for (; number > 0; --number) at = text.find('\n', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("arrays are read as NumPy reads them, at once and in jit") {
  std::string script =
      "let x = arange(60).reshape([3, 4, 5])\nfn show(r) { print(r.shape, sum(r.reshape([r.size]) * (arange(r.size) + "
      "1))) }\n";
  for (const Read& r : kReads) {
    script += "show(x[" + std::string(r.items) + "])\n";
    script += "show(jit(fn(x) = x[" + std::string(r.items) + "])(x))\n";
  }
  const std::string printed = run(script);
  std::size_t i = 0;
  for (const Read& r : kReads) {
    INFO(r.items);
    CHECK(line_of(printed, i++) == r.result);
    CHECK(line_of(printed, i++) == r.result);
  }
}

TEST_CASE("arrays are updated as NumPy updates them, at once and in jit") {
  std::string script = "let x = arange(60).reshape([3, 4, 5])\nlet weights = arange(60).reshape([3, 4, 5]) + 1\n";
  for (const Update& u : kUpdates) {
    const std::string change = "{ let y = x; y[" + std::string(u.items) + "] " + u.assign + "; y }";
    script += "print(sum((" + change + ") * weights))\n";
    script += "print(sum(jit(fn(x) " + ("= " + change) + ")(x) * weights))\n";
  }
  const std::string printed = run(script);
  std::size_t i = 0;
  for (const Update& u : kUpdates) {
    INFO(u.items << " " << u.assign);
    CHECK(line_of(printed, i++) == std::to_string(u.sum));
    CHECK(line_of(printed, i++) == std::to_string(u.sum));
  }
}

TEST_CASE("positions that only a run knows are clamped when read and dropped when written (JAX)") {
  CHECK(run("jit fn f(x, i) = x[i]\nlet x = arange(5)\nprint(f(x, array(1)), f(x, array(-1)), f(x, array(9)), f(x, "
            "array(-9)))") == "1 4 4 0\n");
  CHECK(run("jit fn f(x, i) { x[i] = 7; x }\nlet x = arange(4)\nprint(f(x, array(1)), f(x, array(-1)), f(x, "
            "array(9)))") == "[0 7 2 3] [0 1 2 7] [0 1 2 3]\n");
  CHECK(run("jit fn f(x, i, j) { x[i, j] += 5; x }\nlet x = zeros([2, 2], i32)\nprint(f(x, array([0, 0, 9]), array([1, "
            "1, 0])))") == "[[ 0 10]\n [ 0  0]]\n");
}

TEST_CASE("a loop over i reuses one plan") {
  shard::test::Script s;
  s.in().run("a.shard",
             "let x = arange(100)\nlet total = 0\nfor i in 0..100 { total = total + x[i] }\nfor i in 0..90 { total = "
             "total + x[i:i + 10].sum() }\nprint(total)");
  // 4950 + sum over i of the ten numbers from i
  CHECK(s.printed == "49050\n");
  CHECK(s.in().context().plans().compiled() < 12);
}

TEST_CASE("an update copies only where somebody else holds the array") {
  shard::test::Script s;
  auto data = [&](const char* name) { return s.in().global(name)->tensor().array()->buffer->data(); };
  s.in().enter("let x = zeros([100, 100])");
  const void* first = data("x");
  s.in().enter("for i in 0..100 { x[i, ::2] = 2; x[i, -1] = array(3.0); x[-i] = x[i, 1] }");
  CHECK(data("x") == first);
  s.in().enter("let y = x\nx[0] = 7");
  CHECK(data("y") == first);
  CHECK(data("x") != first);
  CHECK(s.in().repr(s.in().enter("(x[0, 0], y[0, 0])")) == "(7.0, 0.0)");
  // a failing update leaves the variable as it was
  CHECK_THROWS(s.in().enter("x[0] = zeros([7])"));
  CHECK(s.in().repr(s.in().enter("x[0, :3]")) == "[7. 7. 7.]");
}

TEST_CASE("masks") {
  CHECK(run("let x = arange(6).reshape([2, 3])\nprint(x[x > 3], x[array([false, true])], x[array([true, true]), 1])") ==
        "[4 5] [[3 4 5]] [1 4]\n");
  CHECK(
      run("let x = arange(6).reshape([2, 3])\nx[array([true, false])] = array([7, 8, 9])\nx[x < 5] *= 10\nprint(x)") ==
      "[[ 7  8  9]\n [30 40  5]]\n");
  CHECK(run("let x = arange(6)\nx[x > 3] = array([10, 20])\nprint(x)") == "[ 0  1  2  3 10 20]\n");
  CHECK(run("jit fn f(x) { x[x > 2] = 0; x }\nprint(f(arange(5)))") == "[0 1 2 0 0]\n");
  CHECK_THAT(error("jit fn f(x) = x[x > 2]\nf(arange(5))"), Contains("mask") && Contains("where"));
  CHECK_THAT(error("let x = zeros([3])\nx[array([true, false])]"), Contains("bool[2]") && Contains("f32[3]"));
}

TEST_CASE("an index that does not fit says which dimension and which size") {
  CHECK_THAT(error("let x = zeros([2, 3])\nx[0, 3]"),
             Contains("index 3") && Contains("dimension 1") && Contains("size 3") && Contains("f32[2,3]"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[-3]"), Contains("index -3") && Contains("dimension 0"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[0, 0, 0]"), Contains("2 dimensions") && Contains("3 indices"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[1.5]"), Contains("float"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[array([1.5])]"), Contains("f32[1]"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[..., ...]"), Contains("..."));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[::0]"), Contains("step"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[array([0, 1]), array([0, 1, 2])]"), Contains("(2)") && Contains("(3)"));
  CHECK_THAT(error("let x = zeros([2, 3])\nx[0] = zeros([4])"), Contains("(4)") && Contains("(3)"));
}
