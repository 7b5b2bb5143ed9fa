// Where a node comes from: the source that caused it, and what that source line does not tell.
#pragma once
#include <string>
#include <string_view>

#include "grammar/source.h"

namespace shard::ir {

struct Origin : grammar::Span {
  Origin() = default;
  Origin(grammar::Span at) : Span(at) {}  // NOLINT: a place is where most come from
  Origin(grammar::Span at, const std::string* of_part) : Span(at), part(of_part) {}
  // The function of the library that made the one which ran, as `attention` makes the function of a layer; null: none.
  const std::string* part = nullptr;
  bool backward = false;  // it is part of a derivative of what is written there
  Origin turned() const {
    Origin out = *this;
    out.backward = true;
    return out;
  }
};

const std::string* part_named(std::string_view name);  // the same for the same name; never let go of

}  // namespace shard::ir
