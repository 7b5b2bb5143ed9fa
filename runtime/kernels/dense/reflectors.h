// a = q r by Householder's reflectors, whose product q is applied and not made where it need not be.
#pragma once
#include "runtime/kernels/dense/batch.h"

namespace shard::runtime::dense {

// w->a, of finite numbers, becomes r and, below it, reflectors. `columns`: how many of w->u will be asked for, by which
// the way is chosen.
void reflect(const WorkRef& w, Index columns, const Stop* stop);

// w->u [rows of w->a, as many columns as reflect was told] becomes the first columns of q.
void unfold(const WorkRef& w, Index columns, const Stop* stop);

// Whether reflect goes block by block; then w->u may be any matrix, that becomes q times itself.
bool in_blocks(const Matrix& a, Index columns);
void apply(const WorkRef& w, const Stop* stop);

}  // namespace shard::runtime::dense
