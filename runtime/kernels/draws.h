// Samplers that draw until something is accepted: gamma, Poisson and binomial numbers, element by element, from the
// same Threefry bits as jax.random and by its formulas. Views all have the shape of `out`, which is contiguous; strides
// of 0 broadcast. f32 and f64. `stop` (it may
// be null) ends the work with its RuntimeError.
#pragma once
#include "runtime/array/stop.h"
#include "runtime/array/view.h"

namespace shard::runtime {

// Of a key for each element; the logarithm of the number where asked (small alphas would give 0).
void draw_gamma(const View& keys, const View& alpha, const View& out, bool logarithm, const Stop* stop);
// The derivative of a gamma number (or of its logarithm) by alpha.
void gamma_derivative(const View& alpha, const View& sample, const View& out, bool logarithm, const Stop* stop);
// Element number `index` (i32 or i64) of an array that is drawn with one key, in as many turns as the array takes; out
// i32.
void draw_poisson(const View& key, const View& index, const View& turns, const View& rate, const View& out,
                  const Stop* stop);
// How many turns each element takes (i32): the array takes as many as the most.
void poisson_turns(const View& key, const View& index, const View& rate, const View& out, const Stop* stop);
// The same; `trials` and `chance` of the type of out.
void draw_binomial(const View& key, const View& index, const View& turns, const View& trials, const View& chance,
                   const View& out, const Stop* stop);
void binomial_turns(const View& key, const View& index, const View& trials, const View& chance, const View& out,
                    const Stop* stop);

}  // namespace shard::runtime
