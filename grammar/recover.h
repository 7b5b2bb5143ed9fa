// How a text is read on after an error: what cannot be read is left out (made blank, so that offsets hold), statement
// by statement, and the rest is parsed again. Called by parse.cpp only.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "grammar/layout.h"

namespace shard::grammar {

// Blanks the statement around `at`, where a parse of the laid-out text of `source` stopped. The header alone of a loop,
// an `if` or a function whose block goes on: the block stays one of such a statement. False where nothing is left to
// blank.
bool leave_out_statement(std::string& laid_out, std::string_view source, std::size_t at);

// Blanks, in a source whose brackets or strings do not fit at `at`, the lines that belong to it as their indentation
// shows: the line, and those further to the right below. `opened`: where the bracket stands that is never closed.
bool leave_out_lines(std::string& source, std::size_t opened);

}  // namespace shard::grammar
