// Samplers that draw until something is accepted: gamma, Poisson and binomial numbers, element by element, from the
// same Threefry bits as jax.random and by its formulas (draws_formulas.h). Views all have the shape of `out`, which is
// contiguous; strides of 0 broadcast. f32 and f64. `stop` (it may be null) ends the work with its RuntimeError.
#pragma once
#include <span>

#include "runtime/array/stop.h"
#include "runtime/array/view.h"

namespace shard::runtime {

using Views = std::span<const View>;

// keys, alpha: of a key for each element; the logarithm of the number where asked (small alphas would give 0).
void draw_gamma(Views in, const View& out, bool logarithm, const Stop* stop);
// alpha, sample: the derivative of a gamma number (or of its logarithm) by alpha.
void gamma_derivative(Views in, const View& out, bool logarithm, const Stop* stop);
// key, index, turns, rate: element number `index` (i32 or i64) of an array that is drawn with one key, in as many turns
// as the array takes; out i32.
void draw_poisson(Views in, const View& out, bool, const Stop* stop);
// key, index, rate: how many turns each element takes (i32): the array takes as many as the most.
void poisson_turns(Views in, const View& out, bool, const Stop* stop);
// The same; `trials` and `chance` in place of rate, of the type of out.
void draw_binomial(Views in, const View& out, bool, const Stop* stop);
void binomial_turns(Views in, const View& out, bool, const Stop* stop);

}  // namespace shard::runtime
