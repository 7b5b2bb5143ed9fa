// decompose.h, of c64 and c128: the same names, called from there.
#pragma once
#include "runtime/array/stop.h"
#include "runtime/array/view.h"

namespace shard::runtime::complex {

void cholesky(const View& a, const View& lower, const Stop* stop);
void qr(const View& a, const View& q, const View& r, const Stop* stop);
void eigh(const View& a, const View& values, const View& vectors, const Stop* stop);
void svd(const View& a, const View& u, const View& values, const View& vt, const Stop* stop);
void determinant(const View& a, const View& out, const Stop* stop);
void log_det(const View& a, const View& sign, const View& logarithm, const Stop* stop);
void cofactors(const View& a, const View& out, const Stop* stop);

}  // namespace shard::runtime::complex
