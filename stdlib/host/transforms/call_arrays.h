// The arguments of one call of a transformed function: the arrays among their leaves, which become parameters of a
// graph.
#pragma once
#include <span>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// The arguments of one call: their leaves, and which of them are arrays, floats first.
struct CallArrays {
  std::vector<lang::CallArg> call;
  lang::TreeStructure tree;        // of the arguments' values
  std::vector<std::size_t> where;  // leaves that are arrays: those of floating point first
  std::size_t floats = 0;
  std::vector<trace::Tensor> tensors;  // by `where`
  explicit CallArrays(std::vector<lang::CallArg> args) : call(std::move(args)) {
    std::vector<lang::Value> values;
    for (const lang::CallArg& a : call) values.push_back(a.value);
    tree = lang::TreeStructure(lang::Value::tuple(std::move(values)));
    for (bool wants_float : {true, false})
      for (std::size_t i = 0; i < tree.size(); ++i) {
        const lang::Value& leaf = tree.leaf(i);
        if (!leaf.is_tensor() || runtime::is_inexact(leaf.tensor().type().dtype) != wants_float) continue;
        tree.take(i, tensors.size());
        where.push_back(i);
        tensors.push_back(leaf.tensor());
        floats += wants_float;
      }
  }
  std::vector<lang::CallArg> with(std::span<const trace::Tensor> given) const {
    const lang::Value rebuilt = tree.filled(given);
    std::vector<lang::CallArg> out = call;
    for (std::size_t i = 0; i < out.size(); ++i) out[i].value = (*rebuilt.items())[i];
    return out;
  }
};

}  // namespace shard::stdlib
