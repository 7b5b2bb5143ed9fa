// Decompositions by blocks against what they must satisfy: the factors give the matrix back, and vectors are
// orthonormal, for matrices of the kinds that are hard (equal values, no rank, graded, tiny, huge). Sizes on both sides
// of the blocks.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <thread>

#include "runtime/array/shape.h"
#include "runtime/kernels/dense/dense.h"

using namespace shard::runtime;
using namespace shard::runtime::dense;

namespace {

Matrix random(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  Matrix m(rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) m(i, j) = normal(bits);
  return m;
}

Matrix product(Matrix a, Way way_a, Matrix b, Way way_b) {
  Block x = a, y = b;
  Matrix out(way_a == Way::Plain ? x.rows : x.cols, way_b == Way::Plain ? y.cols : y.rows);
  multiply(x, way_a, y, way_b, out, nullptr);
  return out;
}

double largest(Matrix m) {
  double out = 0;
  Block b = m;
  for (Index j = 0; j < b.cols; ++j)
    for (Index i = 0; i < b.rows; ++i) out = std::max(out, std::abs(b(i, j)));
  return out;
}

double apart(Matrix a, Matrix b) {
  Block x = a, y = b;
  for (Index j = 0; j < x.cols; ++j)
    for (Index i = 0; i < x.rows; ++i) x(i, j) -= y(i, j);
  return largest(a);
}

Matrix identity(Index n) {
  Matrix m(n, n);
  for (Index i = 0; i < n; ++i) m(i, i) = 1;
  return m;
}

Matrix scaled(Matrix m, const std::vector<double>& by) {  // columns
  Block b = m;
  for (Index j = 0; j < b.cols; ++j)
    for (Index i = 0; i < b.rows; ++i)
      b(i, j) *= j < static_cast<Index>(by.size()) ? by[static_cast<std::size_t>(j)] : 0;
  return m;
}

double of_identity(Matrix q) {
  Block b = q;
  return apart(product(q, Way::Transposed, q, Way::Plain), identity(b.cols));
}

Matrix symmetric(Matrix m) {
  Block b = m;
  for (Index j = 0; j < b.cols; ++j)
    for (Index i = 0; i < j; ++i) b(i, j) = b(j, i);
  return m;
}

std::vector<std::pair<const char*, Matrix>> hard(Index n) {
  std::vector<std::pair<const char*, Matrix>> out;
  out.emplace_back("random", random(n, n, 1));
  out.emplace_back("rank 3", product(random(n, 3, 2), Way::Plain, random(3, n, 3), Way::Plain));
  out.emplace_back("identity", identity(n));
  out.emplace_back("zeros", Matrix(n, n));
  Matrix ones(n, n), hilbert(n, n), chain(n, n), near_one = random(n, n, 4), tiny = random(n, n, 5),
                                                 huge = random(n, n, 6);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) {
      ones(i, j) = 1;
      hilbert(i, j) = 1.0 / static_cast<double>(i + j + 1);
      chain(i, j) = i == j ? 2 : std::abs(static_cast<double>(i - j)) == 1 ? -1 : 0;
      near_one(i, j) = 1e-12 * near_one(i, j) + (i == j);
      tiny(i, j) *= 1e-250;
      huge(i, j) *= 1e120;
    }
  out.emplace_back("ones", ones);
  out.emplace_back("hilbert", hilbert);
  out.emplace_back("chain", chain);
  out.emplace_back("near one", near_one);
  out.emplace_back("tiny", tiny);
  out.emplace_back("huge", huge);
  return out;
}

}  // namespace

TEST_CASE("singular values and vectors", "[decompose]") {
  for (Index n : {33, 49, 64, 65, 97, 130}) {
    for (auto& [name, a] : hard(n)) {
      INFO(name << " " << n);
      Matrix work = a, u, v;
      std::vector<double> values;
      singular(work, n, u, values, v, nullptr);
      for (std::size_t i = 0; i < values.size(); ++i) CHECK((values[i] >= 0 && (i == 0 || values[i - 1] >= values[i])));
      CHECK(of_identity(u) < 1e-12);
      CHECK(of_identity(v) < 1e-12);
      CHECK(apart(product(scaled(u, values), Way::Plain, v, Way::Transposed), a) <= 1e-12 * values[0]);
    }
    Matrix tall = random(n + 40, n, 7);
    for (Index columns : {n, n + 40}) {
      Matrix work = tall, u, v;
      std::vector<double> values;
      singular(work, columns, u, values, v, nullptr);
      CHECK(of_identity(u) < 1e-12);
      Block all = u;
      Matrix first(n + 40, n);
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n + 40; ++i) first(i, j) = all(i, j);
      CHECK(apart(product(scaled(first, values), Way::Plain, v, Way::Transposed), tall) < 1e-12 * values[0]);
    }
  }
}

TEST_CASE("eigenvalues and vectors", "[decompose]") {
  for (Index n : {33, 49, 64, 65, 97, 130})
    for (auto& [name, given] : hard(n)) {
      INFO(name << " " << n);
      Matrix a = symmetric(given), work = a, q;
      std::vector<double> values;
      eigen_symmetric(work, values, q, nullptr);
      CHECK(std::is_sorted(values.begin(), values.end()));
      CHECK(of_identity(q) < 1e-12);
      CHECK(apart(product(scaled(q, values), Way::Plain, q, Way::Transposed), a) <=
            1e-12 * largest(a) * static_cast<double>(n));
    }
}

TEST_CASE("factors of matrices and systems", "[decompose]") {
  for (Index n : {1, 5, 63, 64, 65, 200}) {
    INFO(n);
    const Matrix a = random(n, n, 8);
    Matrix r = a, q = identity(n);
    const std::vector<double> tau = qr(r, nullptr);
    apply_reflectors(r, tau, Way::Plain, q, nullptr);
    for (Index j = 0; j < n; ++j)
      for (Index i = j + 1; i < n; ++i) r(i, j) = 0;
    CHECK(of_identity(q) < 1e-12);
    CHECK(apart(product(q, Way::Plain, r, Way::Plain), a) < 1e-11);

    Matrix b = random(n, 3, 9), x = b, f = a;
    const std::vector<Index> pivots = lu(f, nullptr);
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < 3; ++j) std::swap(x(k, j), x(pivots[static_cast<std::size_t>(k)], j));
    solve_in_place(f, Triangle::UnitLower, x, nullptr);
    solve_in_place(f, Triangle::Upper, x, nullptr);
    CHECK(apart(product(a, Way::Plain, x, Way::Plain), b) < 1e-9);

    Matrix positive = product(a, Way::Plain, a, Way::Transposed);
    for (Index i = 0; i < n; ++i) positive(i, i) += 1;
    Matrix l = positive;
    REQUIRE(cholesky(l, nullptr));
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < j; ++i) l(i, j) = 0;
    CHECK(apart(product(l, Way::Plain, l, Way::Transposed), positive) < 1e-10 * largest(positive));
    positive(n - 1, n - 1) = -1;
    CHECK_FALSE(cholesky(positive, nullptr));
  }
}

TEST_CASE("long decompositions end where they are asked to", "[decompose]") {
  Stop stop;
  stop.begin(0, 0);
  Matrix a = random(900, 900, 10), u, v;
  std::vector<double> values;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop.request();
  });
  CHECK_THROWS_AS(singular(a, 900, u, values, v, &stop), RuntimeError);
  other.join();
  CHECK_THROWS_AS(qr(a, &stop), RuntimeError);
  CHECK_THROWS_AS(lu(a, &stop), RuntimeError);
}
