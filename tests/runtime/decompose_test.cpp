// Decompositions against what they must satisfy: the factors give the matrix back, and vectors are orthonormal, for
// matrices of the kinds that are hard (equal values, no rank, graded, tiny, huge), in each element type.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "runtime/array/shape.h"
#include "runtime/kernels/dense/decompose.h"
#include "runtime/kernels/dense/matrix.h"

using namespace shard::runtime;
using dense::Complex;
using dense::Index;

namespace {

constexpr DType kTypes[] = {DType::F32, DType::F64, DType::C64, DType::C128};

// A matrix as decompositions take it: a batch of one.
struct M {
  dense::Matrix m;
  M(DType t, Index rows, Index cols) {
    m.reset(t, rows, cols);
    m.fill(0);
  }
  View one() { return {m.type(), {1, m.rows(), m.cols()}, {m.size(), 1, m.rows()}, m.data()}; }
  View vector() { return {m.type(), {1, m.rows()}, {m.size(), 1}, m.data()}; }
  View number() { return {m.type(), {1}, {1}, m.data()}; }
  Complex operator()(Index i, Index j) const { return m.at(i, j); }
};
bool narrow(DType t) { return t == DType::F32 || t == DType::C64; }
DType part(DType t) { return is_complex(t) ? part_of(t) : t; }
double epsilon(DType t) { return narrow(t) ? 1.2e-7 : 2.3e-16; }

template <class F>
M made(DType t, Index rows, Index cols, F f) {
  M out(t, rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) out.m.set(i, j, f(i, j));
  return out;
}
M random(DType t, Index rows, Index cols, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  return made(t, rows, cols, [&](Index, Index) {
    const double re = normal(bits), im = normal(bits);
    return Complex(re, is_complex(t) ? im : 0);
  });
}
M adjoint(const M& a) {
  return made(a.m.type(), a.m.cols(), a.m.rows(), [&](Index i, Index j) { return std::conj(a(j, i)); });
}
M scaled(const M& a, const M& values) {  // columns; those behind the values by 0
  return made(a.m.type(), a.m.rows(), a.m.cols(),
              [&](Index i, Index j) { return j < values.m.rows() ? a(i, j) * values(j, 0) : 0.0; });
}
// The largest |a b - c|, in double.
double apart(const M& a, const M& b, const M& c) {
  double out = 0;
  for (Index j = 0; j < c.m.cols(); ++j)
    for (Index i = 0; i < c.m.rows(); ++i) {
      Complex sum = -c(i, j);
      for (Index k = 0; k < std::min(a.m.cols(), b.m.rows()); ++k) sum += a(i, k) * b(k, j);
      out = std::abs(sum) <= out ? out : std::abs(sum);  // nan stays
    }
  return out;
}
double largest(const M& a) {
  double out = 0;
  for (Index j = 0; j < a.m.cols(); ++j)
    for (Index i = 0; i < a.m.rows(); ++i) out = std::max(out, std::abs(a(i, j)));
  return out;
}
M identity(DType t, Index n) {
  return made(t, n, n, [](Index i, Index j) { return i == j ? 1.0 : 0.0; });
}
double of_identity(const M& q) { return apart(adjoint(q), q, identity(q.m.type(), q.m.cols())); }
bool all_nan(const M& a) {
  for (Index j = 0; j < a.m.cols(); ++j)
    for (Index i = 0; i < a.m.rows(); ++i)
      if (a(i, j) == a(i, j)) return false;
  return true;
}

std::vector<std::pair<const char*, M>> hard(DType t, Index n) {
  std::vector<std::pair<const char*, M>> out;
  const M noise = random(t, n, n, 4), left = random(t, n, 3, 2), right = random(t, 3, n, 3);
  const double tiny = narrow(t) ? 1e-30 : 1e-250, huge = narrow(t) ? 1e15 : 1e120, near = narrow(t) ? 1e-5 : 1e-12;
  const auto add = [&](const char* name, auto f) { out.emplace_back(name, made(t, n, n, f)); };
  out.emplace_back("random", random(t, n, n, 1));
  add("rank 3",
      [&](Index i, Index j) { return left(i, 0) * right(0, j) + left(i, 1) * right(1, j) + left(i, 2) * right(2, j); });
  out.emplace_back("identity", identity(t, n));
  out.emplace_back("zeros", M(t, n, n));
  add("ones", [](Index, Index) { return 1.0; });
  add("hilbert", [](Index i, Index j) { return 1.0 / static_cast<double>(i + j + 1); });
  add("chain", [](Index i, Index j) { return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0; });
  add("near one", [&](Index i, Index j) { return near * noise(i, j) + (i == j ? 1.0 : 0.0); });
  add("tiny", [&](Index i, Index j) { return tiny * noise(i, j); });
  add("huge", [&](Index i, Index j) { return huge * noise(i, j); });
  return out;
}

}  // namespace

TEST_CASE("singular values and vectors", "[decompose]") {
  const auto check = [](M a, Index u_cols, Index vt_rows) {
    const DType t = a.m.type();
    const Index rows = a.m.rows(), cols = a.m.cols(), n = std::max(rows, cols);
    const double close = 10 * static_cast<double>(n) * epsilon(t);
    M u(t, rows, u_cols), values(part(t), std::min(rows, cols), 1), vt(t, vt_rows, cols);
    svd(a.one(), u.one(), values.vector(), vt.one(), nullptr);
    for (Index i = 0; i < values.m.rows(); ++i)
      CHECK((values(i, 0).real() >= 0 && (i == 0 || values(i - 1, 0).real() >= values(i, 0).real())));
    CHECK(of_identity(u) < close);
    CHECK(of_identity(adjoint(vt)) < close);
    CHECK(apart(scaled(u, values), vt, a) <= close * values(0, 0).real());
  };
  for (DType t : kTypes) {
    for (Index n : {1, 3, 26, 70})
      for (auto& [name, a] : hard(t, n)) {
        INFO(n << " " << name << " " << shard::runtime::name(t));
        check(a, n, n);
      }
    for (const auto& [rows, cols] : {std::pair{40, 7}, {7, 40}, {90, 60}, {260, 70}, {70, 260}, {180, 100}}) {
      INFO(rows << " x " << cols << " " << shard::runtime::name(t));
      const Index k = std::min(rows, cols);
      check(random(t, rows, cols, 7), k, k);
      check(random(t, rows, cols, 7), rows, cols);
    }
    for (const auto& [rows, cols] : {std::pair{260, 70}, {70, 260}}) {  // enough for reflectors in blocks
      const M left = random(t, rows, 3, 2), right = random(t, 3, cols, 3), noise = random(t, rows, cols, 4);
      const double tiny = narrow(t) ? 1e-30 : 1e-250, huge = narrow(t) ? 1e15 : 1e120;
      const M kinds[] = {
          M(t, rows, cols),
          made(t, rows, cols, [](Index, Index) { return 1.0; }),
          made(t, rows, cols, [](Index i, Index j) { return i == j ? 1.0 : 0.0; }),
          made(t, rows, cols,
               [&](Index i, Index j) {
                 return left(i, 0) * right(0, j) + left(i, 1) * right(1, j) + left(i, 2) * right(2, j);
               }),
          made(t, rows, cols, [&](Index i, Index j) { return tiny * noise(i, j); }),
          made(t, rows, cols, [&](Index i, Index j) { return huge * noise(i, j); }),
      };
      for (const M& a : kinds) check(a, 70, 70);
    }
  }
}

TEST_CASE("eigenvalues and vectors", "[decompose]") {
  for (DType t : kTypes)
    for (Index n : {1, 3, 26, 70})
      for (auto& [name, given] : hard(t, n)) {
        INFO(n << " " << name << " " << shard::runtime::name(t));
        const M &from = given,
                a = made(t, n, n, [&](Index i, Index j) {
                  return i == j ? Complex(from(i, i).real()) : i > j ? from(i, j) : std::conj(from(j, i));
                });
        M q(t, n, n), values(part(t), n, 1);
        eigh(given.one(), values.vector(), q.one(), nullptr);  // reads the lower triangle
        for (Index i = 1; i < n; ++i) CHECK(values(i - 1, 0).real() <= values(i, 0).real());
        const double close = 10 * static_cast<double>(n) * epsilon(t);
        CHECK(of_identity(q) < close);
        CHECK(apart(scaled(q, values), adjoint(q), a) <= close * largest(a) * static_cast<double>(n));
      }
}

TEST_CASE("factors of matrices and systems", "[decompose]") {
  for (DType t : kTypes)
    for (Index n : {1, 5, 70}) {
      INFO(n << " " << name(t));
      const double close = 100 * static_cast<double>(n) * epsilon(t);
      for (const auto& [rows, cols, q_cols] : {std::array<Index, 3>{n, n, n},
                                               {n + 4, n, n},
                                               {n + 4, n, n + 4},
                                               {n, n + 4, n},
                                               {n + 200, n, n},
                                               {n + 200, n, n + 200},
                                               {n, n + 200, n},
                                               {2 * n, 2 * n, 2 * n}}) {
        M a = random(t, rows, cols, 8), q(t, rows, q_cols), r(t, q_cols, cols);
        qr(a.one(), q.one(), r.one(), nullptr);
        CHECK(of_identity(q) < close);
        CHECK(apart(q, r, a) < close);
        CHECK((q_cols == 1 || r(1, 0) == 0.0));
      }
      M a = random(t, n, n, 8), l(t, n, n);
      const M plus = made(t, n, n, [&](Index i, Index j) {
        Complex sum = i == j ? 1 : 0;
        for (Index k = 0; k < n; ++k) sum += a(i, k) * std::conj(a(j, k));
        return sum;
      });
      M positive = plus;
      cholesky(positive.one(), l.one(), nullptr);
      CHECK(apart(l, adjoint(l), plus) < close * largest(plus));
      CHECK((n == 1 || l(0, n - 1) == 0.0));
      positive.m.set(n - 1, n - 1, -1);
      cholesky(positive.one(), l.one(), nullptr);
      CHECK(l(n - 1, 0) != l(n - 1, 0));

      M sign(t, 1, 1), logarithm(part(t), 1, 1), number(t, 1, 1), derivative(t, n, n);
      log_det(a.one(), sign.number(), logarithm.number(), nullptr);
      determinant(a.one(), number.number(), nullptr);
      CHECK(std::abs(std::abs(sign(0, 0)) - 1) < close);
      if (n <= 5) {
        CHECK(std::abs(sign(0, 0) * std::exp(logarithm(0, 0)) - number(0, 0)) < close * std::abs(number(0, 0)));
        cofactors(a.one(), derivative.one(), nullptr);  // a adj(a) = det(a)
        const M adjugate = made(t, n, n, [&](Index i, Index j) { return derivative(j, i); });
        CHECK(apart(a, adjugate, scaled(identity(t, n), made(t, n, 1, [&](Index, Index) { return number(0, 0); }))) <
              close * std::max(1.0, std::abs(number(0, 0))));
      }
      if (is_complex(t)) continue;
      const Index columns = n == 5 ? 300 : 3;  // more than a thread takes
      M b = random(t, n, columns, 9), x(t, n, columns);
      for (bool transposed : {false, true}) {
        solve(a.one(), b.one(), x.one(), transposed, nullptr);
        CHECK(apart(transposed ? adjoint(a) : a, x, b) < close * static_cast<double>(n) * largest(x));
      }
      for (bool lower : {false, true})
        for (bool transposed : {false, true})
          for (bool unit : {false, true}) {
            const M given = made(t, n, n, [&](Index i, Index j) { return i == j ? 2.0 : a(i, j) / (4.0 * n); });
            const M triangle = made(t, n, n, [&](Index i, Index j) {
              const Index r = transposed ? j : i, c = transposed ? i : j;
              return r == c ? (unit ? 1.0 : 2.0) : (r > c) == lower ? given(r, c) : 0.0;
            });
            M read = given;
            solve_triangular(read.one(), b.one(), x.one(), lower, transposed, unit, nullptr);
            CHECK(apart(triangle, x, b) < close);
          }
    }
}

TEST_CASE("systems and determinants of few unknowns", "[decompose]") {
  for (DType t : kTypes) {
    for (Index n = 1; n <= 10; ++n) {  // the library's from some size on
      INFO(n << " " << name(t));
      const double close = 1000 * static_cast<double>(n) * epsilon(t);
      // Lines of a triangular matrix in another order: the product of the diagonal, with a sign.
      M a = made(t, n, n, [&](Index i, Index j) {
        const Index line = (i + 1) % n;
        return line > j ? 0.0 : line == j ? 1.0 + static_cast<double>(j) / 4 : is_complex(t) ? Complex(0.5, 0.25) : 0.5;
      });
      double expected = n % 2 ? 1 : -1;
      for (Index j = 0; j < n; ++j) expected *= 1.0 + static_cast<double>(j) / 4;
      M number(t, 1, 1), sign(t, 1, 1), size(part(t), 1, 1), derivative(t, n, n);
      determinant(a.one(), number.number(), nullptr);
      CHECK(std::abs(number(0, 0) - expected) < close * std::abs(expected));
      log_det(a.one(), sign.number(), size.number(), nullptr);
      CHECK(std::abs(sign(0, 0) - (n % 2 ? 1.0 : -1.0)) < close);
      CHECK(std::abs(size(0, 0) - std::log(std::abs(expected))) < close);
      cofactors(a.one(), derivative.one(), nullptr);
      const M adjugate = made(t, n, n, [&](Index i, Index j) { return derivative(j, i); });
      M whole = identity(t, n);
      for (Index k = 0; k < n; ++k) whole.m.set(k, k, expected);
      CHECK(apart(a, adjugate, whole) < close * std::abs(expected));
      if (is_complex(t)) continue;
      for (Index columns : {1, 3, 12})
        for (bool transposed : {false, true}) {
          M b = random(t, n, columns, 9), x(t, n, columns);
          solve(a.one(), b.one(), x.one(), transposed, nullptr);
          CHECK(apart(transposed ? adjoint(a) : a, x, b) < close * std::max(1.0, largest(x)));
        }
    }
    for (double last : {0.0, 1e-9, 1e-20}) {  // singular, and nearly
      M a = made(t, 4, 4, [&](Index i, Index j) { return i != j ? 0.0 : i == 2 ? last : 2.0; }), derivative(t, 4, 4);
      cofactors(a.one(), derivative.one(), nullptr);
      const double close = 100 * epsilon(t);
      const double small = static_cast<double>(narrow(t) ? static_cast<float>(last) : last);
      CHECK(std::abs(derivative(2, 2) - 8.0) < close);
      CHECK(std::abs(derivative(0, 0) - 4 * small) <= close * small);
      CHECK(std::abs(derivative(0, 2)) <= close);
      if (is_complex(t) || last != 0) continue;
      M b = made(t, 4, 1, [](Index, Index) { return 1.0; }), x(t, 4, 1);
      solve(a.one(), b.one(), x.one(), false, nullptr);
      CHECK(!std::isfinite(x(2, 0).real()));
    }
  }
}

TEST_CASE("what has no answer is nan", "[decompose]") {
  for (DType t : kTypes)
    for (double bad : {std::nan(""), static_cast<double>(INFINITY)}) {
      M a = random(t, 30, 30, 1), q(t, 30, 30), r(t, 30, 30), values(part(t), 30, 1);
      a.m.set(4, 2, bad);
      svd(a.one(), q.one(), values.vector(), r.one(), nullptr);
      CHECK((all_nan(q) && all_nan(values) && all_nan(r)));
      eigh(a.one(), values.vector(), q.one(), nullptr);
      CHECK((all_nan(values) && all_nan(q)));
      cholesky(a.one(), q.one(), nullptr);
      CHECK(q(29, 0) != q(29, 0));
      qr(a.one(), q.one(), r.one(), nullptr);
      CHECK(r(29, 29) != r(29, 29));
      for (const auto& [rows, cols] : {std::pair{260, 70}, {70, 260}}) {
        M b = random(t, rows, cols, 1), u(t, rows, 70), vt(t, 70, cols), sizes(part(t), 70, 1);
        b.m.set(69, 2, bad);
        svd(b.one(), u.one(), sizes.vector(), vt.one(), nullptr);
        CHECK((all_nan(u) && all_nan(sizes) && all_nan(vt)));
      }
      M number(t, 1, 1), size(part(t), 1, 1);
      log_det(a.one(), number.number(), size.number(), nullptr);
      CHECK(number(0, 0) != number(0, 0));
      const M zeros(t, 4, 4);
      M singular = zeros;
      log_det(singular.one(), number.number(), size.number(), nullptr);
      CHECK((number(0, 0) == 0.0 && size(0, 0).real() == -INFINITY));
    }
}

TEST_CASE("matrices without elements", "[decompose]") {
  for (DType t : kTypes) {
    M none(t, 0, 0), number(t, 1, 1), size(part(t), 1, 1), q(t, 3, 3), flat(t, 3, 0), r(t, 3, 0);
    determinant(none.one(), number.number(), nullptr);
    CHECK(number(0, 0) == 1.0);
    log_det(none.one(), number.number(), size.number(), nullptr);
    CHECK((number(0, 0) == 1.0 && size(0, 0) == 0.0));
    qr(flat.one(), q.one(), r.one(), nullptr);
    CHECK(of_identity(q) == 0);
    M large(t, 200, 200), none_wide(t, 200, 0), rest(t, 200, 0);
    qr(none_wide.one(), large.one(), rest.one(), nullptr);
    CHECK(of_identity(large) == 0);
    cholesky(none.one(), none.one(), nullptr);
    eigh(none.one(), none.vector(), none.one(), nullptr);
  }
}

// Of a turn by x: cosines and sines, for norms of each order of approximation and with squaring.
TEST_CASE("the exponential of a turn", "[decompose]") {
  for (DType t : {DType::F32, DType::F64})
    for (double x : {0.0, 0.01, 0.2, 0.4, 0.9, 1.8, 2.0, 3.5, 5.0, 11.0, 100.0}) {
      INFO(x << " " << name(t));
      const double given = narrow(t) ? static_cast<double>(static_cast<float>(x)) : x;
      M a = made(t, 3, 3, [&](Index i, Index j) { return i == 2 || j == 2 ? (i == j ? -1.0 : 0.0) : (j - i) * given; });
      M e(t, 3, 3);
      expm(a.one(), e.one(), 16, nullptr);
      const double close = 4 * epsilon(t) * (1 + x);
      CHECK(std::abs(e(0, 0) - std::cos(given)) < close);
      CHECK(std::abs(e(0, 1) - std::sin(given)) < close);
      CHECK(std::abs(e(1, 0) + std::sin(given)) < close);
      CHECK(std::abs(e(2, 2) - std::exp(-1.0)) < close);
      CHECK((e(0, 2) == 0.0 && e(2, 1) == 0.0));
    }
  M large = made(DType::F64, 2, 2, [](Index, Index) { return 1e6; }), e(DType::F64, 2, 2), none(DType::F64, 0, 0);
  expm(large.one(), e.one(), 16, nullptr);
  CHECK(all_nan(e));
  expm(none.one(), none.one(), 16, nullptr);
}

// Against what stands above the diagonal of the exponential of [[a, e], [0, a]], and of large directions as of small.
TEST_CASE("the exponential's derivative in a direction", "[decompose]") {
  for (DType t : {DType::F32, DType::F64})
    for (Index n : {1, 4, 12, 40})
      for (double size : {0.0, 0.005, 0.1, 0.5, 1.0, 2.5, 4.0, 30.0}) {
        INFO(n << " " << size << " " << name(t));
        const M noise = random(t, n, n, 3), direction = random(t, n, n, 5);
        const double of_row = 0.8 * static_cast<double>(n);
        const auto scaled_by = [&](const M& m, DType to, double by) {
          return made(to, n, n, [&](Index i, Index j) { return m(i, j) * by; });
        };
        M a = scaled_by(noise, t, size / of_row), e = scaled_by(direction, t, 1 / of_row), got(t, n, n);
        M block = made(DType::F64, 2 * n, 2 * n, [&](Index i, Index j) {
          return i < n ? (j < n ? a(i, j) : e(i, j - n)) : j < n ? 0.0 : a(i - n, j - n);
        });
        expm(block.one(), block.one(), 16, nullptr);
        const M want = made(t, n, n, [&](Index i, Index j) { return block(i, j + n); });
        expm_along(a.one(), e.one(), got.one(), 16, nullptr);
        const double close = 40 * epsilon(t) * (1 + size) * largest(want);
        CHECK(apart(got, identity(t, n), want) <= close);
        const double by = std::ldexp(1.0, narrow(t) ? 60 : 600);  // exact
        M far = scaled_by(e, t, by);
        expm_along(a.one(), far.one(), far.one(), 16, nullptr);
        CHECK(apart(scaled_by(far, t, 1 / by), identity(t, n), got) <= close);
      }
  M large = made(DType::F64, 2, 2, [](Index, Index) { return 1e6; }), one = identity(DType::F64, 2), e = one;
  expm_along(large.one(), one.one(), e.one(), 16, nullptr);
  CHECK(all_nan(e));
  large.m.set(0, 1, std::nan(""));
  expm_along(one.one(), large.one(), e.one(), 16, nullptr);
  CHECK(all_nan(e));
  M none(DType::F64, 0, 0);
  expm_along(none.one(), none.one(), none.one(), 16, nullptr);
}

// A result without data is not wanted: the others are as they are with it.
TEST_CASE("what is not wanted is not made", "[decompose]") {
  const auto unwanted = [](View v) {
    v.data = nullptr;
    return v;
  };
  for (DType t : kTypes)
    for (const auto& [rows, cols] :
         {std::pair{1, 1}, {5, 5}, {70, 70}, {40, 7}, {7, 40}, {260, 70}, {70, 260}, {150, 150}}) {
      INFO(rows << " x " << cols << " " << name(t));
      const Index k = std::min(rows, cols);
      const double close = 10 * static_cast<double>(std::max(rows, cols)) * epsilon(t);
      M a = random(t, rows, cols, 1), u(t, rows, k), vt(t, k, cols), values(part(t), k, 1), alone = values, none = u;
      const M one = identity(part(t), 1);
      svd(a.one(), u.one(), values.vector(), vt.one(), nullptr);
      svd(a.one(), unwanted(u.one()), alone.vector(), unwanted(vt.one()), nullptr);
      CHECK(apart(alone, one, values) <= close * values(0, 0).real());
      M all_u(t, rows, rows), all_vt(t, cols, cols);
      svd(a.one(), unwanted(all_u.one()), alone.vector(), unwanted(all_vt.one()), nullptr);
      CHECK(apart(alone, one, values) <= close * values(0, 0).real());
      svd(a.one(), none.one(), unwanted(values.vector()), unwanted(vt.one()), nullptr);
      CHECK(apart(none, identity(t, k), u) == 0);

      M q(t, rows, k), r(t, k, cols), q_alone = q, r_alone = r;
      qr(a.one(), q.one(), r.one(), nullptr);
      qr(a.one(), unwanted(q.one()), r_alone.one(), nullptr);
      qr(a.one(), q_alone.one(), unwanted(r.one()), nullptr);
      CHECK(apart(q_alone, identity(t, k), q) == 0);
      CHECK(apart(r_alone, identity(t, cols), r) == 0);

      if (rows != cols) continue;
      M vectors(t, k, k), vectors_alone = vectors;
      eigh(a.one(), values.vector(), vectors.one(), nullptr);
      eigh(a.one(), alone.vector(), unwanted(vectors.one()), nullptr);
      CHECK(apart(alone, one, values) <= close * largest(values));
      eigh(a.one(), unwanted(values.vector()), vectors_alone.one(), nullptr);
      CHECK(apart(vectors_alone, identity(t, k), vectors) == 0);
      M number(t, 1, 1), sign(t, 1, 1), size(part(t), 1, 1), size_alone = size;
      log_det(a.one(), sign.number(), size.number(), nullptr);
      log_det(a.one(), unwanted(number.number()), size_alone.number(), nullptr);
      CHECK(size_alone(0, 0) == size(0, 0));

      a.m.set(k - 1, 0, std::nan(""));
      svd(a.one(), unwanted(u.one()), values.vector(), unwanted(vt.one()), nullptr);
      eigh(a.one(), alone.vector(), unwanted(vectors.one()), nullptr);
      qr(a.one(), unwanted(q.one()), r.one(), nullptr);
      CHECK((all_nan(values) && all_nan(alone) && r(0, 0) != r(0, 0)));
    }
}

TEST_CASE("a batch has the bits of its matrices", "[decompose]") {
  const Index count = 300, n = 40;
  M all = random(DType::F64, n, n * count, 3), u = all, vt = all, values(DType::F64, n, count);
  const auto batch = [&](M& m) { return View{DType::F64, {count, n, n}, {n * n, 1, n}, m.m.data()}; };
  svd(batch(all), batch(u), {DType::F64, {count, n}, {n, 1}, values.m.data()}, batch(vt), nullptr);
  for (Index i = 0; i < count; ++i) {
    M one = made(DType::F64, n, n, [&](Index r, Index c) { return all(r, i * n + c); }), u1(DType::F64, n, n), vt1 = u1,
      s(DType::F64, n, 1);
    svd(one.one(), u1.one(), s.vector(), vt1.one(), nullptr);
    const auto same = [&](M& part, M& whole) {
      const auto bytes = static_cast<std::size_t>(part.m.size()) * sizeof(double);
      return std::memcmp(part.m.data(), whole.m.as<double>() + i * part.m.size(), bytes) == 0;
    };
    CHECK((same(u1, u) && same(vt1, vt) && same(s, values)));
  }
}

TEST_CASE("long decompositions end where they are asked to", "[decompose]") {
  Stop stop;
  stop.begin(0, 0);
  M a = random(DType::F64, 900, 900, 10), u = a, vt = a, values(DType::F64, 900, 1);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop.request();
  });
  const auto begun = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(svd(a.one(), u.one(), values.vector(), vt.one(), &stop), RuntimeError);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(1));
  other.join();
  CHECK_THROWS_AS(qr(a.one(), u.one(), vt.one(), &stop), RuntimeError);
  CHECK_THROWS_AS(solve(a.one(), a.one(), u.one(), false, &stop), RuntimeError);
}
