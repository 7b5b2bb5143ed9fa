#include "runtime/kernels/dense/reflectors.h"

namespace shard::runtime::dense {
namespace {

constexpr int kColumns = Lapack::kColumns;

constexpr int kBlock = 32;  // columns

int reflectors_of(const Matrix& a) { return std::min(a.rows(), a.cols()); }
int block_of(const Matrix& a) { return std::min(kBlock, reflectors_of(a)); }
double work_of(const Matrix& a, Index columns) {
  return 2 * static_cast<double>(a.rows()) * reflectors_of(a) * static_cast<double>(std::max<Index>(a.cols(), columns));
}

// Block by block, from the last, w->u becomes q times itself. `identity`: it is that, of which a block changes only
// what stands below and right of its first element.
void apply_blocks(const WorkRef& w, bool identity, const Stop* stop) {
  call(work_of(w->a, w->u.cols()), stop, [w, identity] {
    Matrix &a = w->a, &u = w->u;
    const int k = reflectors_of(a), block = block_of(a);
    if (k == 0) return;
    w->space.reset(a.type(), u.cols(), block);
    for (int i = (k - 1) / block * block; i >= 0; i -= block) {
      const int from = identity ? i : 0, count = u.cols() - from;
      lapack(a.type()).larfb(kColumns, 'L', 'N', 'F', 'C', a.rows() - i, count, std::min(block, k - i), a.element(i, i),
                             a.step(), w->factors.column(i), block, u.element(i, from), u.step(), w->space.data(),
                             count);
    }
  });
}

}  // namespace

// LAPACK's geqrf and orgqr go in blocks from 128 columns on, and before that column by column, through memory.
bool in_blocks(const Matrix& a, Index columns) {
  constexpr Index kLeast = 1 << 14;  // of fewer elements, which the nearest cache holds, they are faster,
  constexpr Index kNarrow = 48;      // and of few columns, where geqrt halves them: 5,000 x 10 in a quarter of its time
  const Index width = std::max<Index>(a.cols(), columns);
  return width > kNarrow && a.rows() * width >= kLeast;
}

void reflect(const WorkRef& w, Index columns, const Stop* stop) {
  const bool blocks = in_blocks(w->a, columns);
  const int k = reflectors_of(w->a);
  w->factors.reset(w->a.type(), blocks ? block_of(w->a) : k, blocks ? k : 1);
  if (k == 0) return;
  call(work_of(w->a, 0), stop, [w, blocks] {
    Matrix& a = w->a;
    const Lapack& library = lapack(a.type());
    if (blocks) {
      w->space.reset(a.type(), block_of(a), a.cols());
      library.geqrt(kColumns, a.rows(), a.cols(), block_of(a), a.data(), a.step(), w->factors.data(), block_of(a),
                    w->space.data());
    } else {
      w->space.reset(a.type(), a.cols(), kBlock);
      library.geqrf(kColumns, a.rows(), a.cols(), a.data(), a.step(), w->factors.data(), w->space.data(),
                    static_cast<int>(w->space.size()));
    }
  });
}

void unfold(const WorkRef& w, Index columns, const Stop* stop) {
  w->u.reset(w->a.type(), w->a.rows(), columns);
  if (in_blocks(w->a, columns)) {
    w->u.fill_identity();
    return apply_blocks(w, true, stop);
  }
  w->u.fill_from(w->a);
  call(work_of(w->a, columns), stop, [w] {
    Matrix& u = w->u;
    w->space.reset(u.type(), std::max(u.cols(), 1), kBlock);
    lapack(u.type()).orgqr(kColumns, u.rows(), u.cols(), reflectors_of(w->a), u.data(), u.step(), w->factors.data(),
                           w->space.data(), static_cast<int>(w->space.size()));
  });
}

void apply(const WorkRef& w, const Stop* stop) { apply_blocks(w, false, stop); }

}  // namespace shard::runtime::dense
