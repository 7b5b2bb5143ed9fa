// Values of operations as scripts call them, at ordinary and at odd arguments (infinities, ties, empty arrays, every
// element type), and their derivatives. Goldens are JAX's own numbers: values_goldens.txt, written by
// make_values_goldens.py, and functions_goldens.txt, written by make_functions_goldens.py.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/stdlib/script.h"

using namespace shard;

namespace {

struct Golden {
  std::string expression, type, numbers;
};

std::vector<Golden> goldens() {
  std::vector<Golden> out;
  for (const char* file : {"tests/stdlib/values_goldens.txt", "tests/stdlib/functions_goldens.txt"}) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      auto a = line.find(" ## "), b = line.find(" ## ", a + 4);
      out.push_back({line.substr(0, a), line.substr(a + 4, b - a - 4), line.substr(b + 4)});
    }
  }
  return out;
}

// How far the last digits may be off: derivatives and what is made of many roundings differ more.
double tolerance_of(const Golden& g) {
  if (g.type.rfind("bf16", 0) == 0) return 1e-2;
  if (g.type.rfind("f16", 0) == 0) return 2e-3;
  for (const char* word : {"pinv", "lstsq", "polyfit", "expm", "det(", "corrcoef", "solve_triangular", "gamma(",
                           "beta(", "dirichlet", "matrix_power", "multivariate"})
    if (g.expression.find(word) != std::string::npos) return 1e-4;
  for (const char* word : {"grad(", "hessian(", "conv", "resize", "associative_scan"})
    if (g.expression.find(word) != std::string::npos) return 2e-5;
  return 3e-6;
}

// The numbers of a printed array; truth values count as 1 and 0.
std::vector<double> numbers(std::string text) {
  for (char& c : text)
    if (c == '[' || c == ']' || c == ',') c = ' ';
  std::istringstream in(text);
  std::vector<double> out;
  for (std::string word; in >> word;) out.push_back(word == "true" ? 1 : word == "false" ? 0 : std::stod(word));
  return out;
}

bool near(double got, double want, double tolerance) {
  return got == want || (std::isnan(got) && std::isnan(want)) ||
         std::fabs(got - want) <= tolerance * (0.3 + std::fabs(want));
}

const char* const kBefore =
    "let inf = 1e308 * 10\nlet nan = inf - inf\n"
    "let x = array([-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, inf, nan])\n"
    "let y = array([inf, 2.0, -1.0, 0.0, -0.0, -0.5, nan, 3.0, inf, 1.0])\n";

}  // namespace

TEST_CASE("operations have JAX's types and values") {
  auto all = goldens();
  REQUIRE(all.size() > 1200);
  for (const Golden& g : all) {
    INFO(g.expression);
    std::string printed = test::run(kBefore + ("let r = " + g.expression + "\nprint(typeof(r))\nprint(r)\n"));
    auto line = printed.find('\n');
    REQUIRE(line != std::string::npos);
    CHECK(printed.substr(0, line) == g.type);
    if (printed.find("error") != std::string::npos) {
      FAIL_CHECK(printed);
      continue;
    }
    auto got = numbers(printed.substr(line)), want = numbers(g.numbers);
    REQUIRE(got.size() == want.size());
    const double tolerance = tolerance_of(g);
    for (std::size_t i = 0; i < want.size(); ++i) {
      INFO("element " << i << ": " << got[i] << " and not " << want[i]);
      CHECK(near(got[i], want[i], tolerance));
    }
  }
}

TEST_CASE("gamma numbers and their slopes keep the digits of f64") {  // random.gamma, loggamma and jax.grad in x64
  const std::string exact = test::run(R"(
let a = array([0.05, 0.5, 1.0, 3.0, 40.0], f64)
fn exact(got, want) = max(abs(got / array(want, f64) - 1.0)) < 1e-13
print(exact(gamma(key(0), a, dtype: f64), [1.1295654929515503e-10, 0.007584208174721199, 2.194188716816741, 0.5859830551136811, 40.29528007788055]))
print(exact(vmap(grad(fn(a) = gamma(key(0), a, dtype: f64)))(a), [5.0618479478156856e-08, 0.5031238126584764, 0.7840650498670144, 0.914611713379425, 0.9792410400427434]))
print(exact(vmap(grad(fn(a) = loggamma(key(0), a, dtype: f64)))(a), [448.1234580377536, 5.131105510632805, 1.6488258366845248, 0.40417478022960585, 0.025738283622029512]))
)");
  CHECK(exact == "true\ntrue\ntrue\n");
}
