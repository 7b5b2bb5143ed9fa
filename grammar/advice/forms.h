// One function a form of another language: it looks whether the form fits around the place where a parse stopped, and
// says what to write instead. Called by advice.cpp only, which has their order.
#pragma once
#include <optional>
#include <string>

#include "grammar/advice/near_text.h"

namespace shard::grammar {

using Advice = std::optional<Diagnostic>;

std::string quote(std::string_view text);  // between back quotes, shortened
// One fix is what was meant, and safe; but for those of perhaps().
Diagnostic say(Span span, std::string message, std::vector<Fix> fixes = {});
Diagnostic perhaps(Diagnostic d);

// words and operators: forms_words.cpp
Advice foreign_word(NearText& t);
Advice lambda(NearText& t);
Advice print_statement(NearText& t);
Advice string_prefix(NearText& t);
Advice logical(NearText& t);
Advice increment(NearText& t);
Advice operator_and_more(NearText& t);
Advice unknown_sign(NearText& t);
Advice compare(NearText& t);
Advice leading_operator(NearText& t);
Advice spread(NearText& t);

// conditions, loops, blocks, calls, meshes: forms_blocks.cpp
Advice ternary(NearText& t);
Advice comprehension(NearText& t);
Advice c_style_for(NearText& t);
Advice block_place(NearText& t);
Advice lone_else(NearText& t);
Advice record_fields(NearText& t);
Advice named_argument(NearText& t);
Advice axis_sign(NearText& t);
Advice in_parentheses(NearText& t);

// arrays, ranges, layouts, meshes: forms_arrays.cpp
Advice mesh_call(NearText& t);
Advice shard_call(NearText& t);
Advice ranged_for(NearText& t);
Advice blanks_in_list(NearText& t);
Advice dotted(NearText& t);

// statements, parameters, text: forms_statements.cpp
Advice opening_word(NearText& t);
Advice decorator(NearText& t);
Advice in_let(NearText& t);
Advice several_targets(NearText& t);
Advice colon_equals(NearText& t);
Advice in_for(NearText& t);
Advice closed_range(NearText& t);
Advice arrow_function(NearText& t);
Advice in_operator(NearText& t);
Advice in_parameters(NearText& t);
Advice result_annotation(NearText& t);
Advice in_mesh(NearText& t);
Advice in_import(NearText& t);
Advice in_text(NearText& t);
Advice comment_behind(NearText& t);
Advice two_statements(NearText& t);
Advice lone_as(NearText& t);

}  // namespace shard::grammar
