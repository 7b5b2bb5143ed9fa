// The rules that one file of the grammar uses of another, and for each the file that defines it. Each is compiled once,
// with one context.
#pragma once
#include "grammar/lexical.h"

namespace shard::grammar {

// A struct of its own: X3 would take a bare vector as a container of attributes.
struct Chain {
  std::vector<Link> links;
};

// expression.cpp
using ExpressionRule = x3::rule<class expression_id, ExprPtr>;
using SizeRule = x3::rule<class size_id, ExprPtr>;  // an expression before the `@` of a type
using PostfixRule = x3::rule<class postfix_id, Operand>;
using SpecLitRule = x3::rule<class spec_literal_id, SpecLit>;  // "P" arguments
// expression_primary.cpp
using PrimaryRule = x3::rule<class primary_id, Operand>;
using StringRule = x3::rule<class string_id, StringLit>;
using AxisRule = x3::rule<class axis_id, AxisLit>;
// types.cpp
using TypeRule = x3::rule<class type_id, TypeLit>;
using AnnotationRule = x3::rule<class annotation_id, AnnotPtr>;
using PatternRule = x3::rule<class pattern_id, PatternPtr>;
// statement.cpp
using FunctionRule = x3::rule<class function_id, FunctionPtr>;
using BlockRule = x3::rule<class block_id, Block>;
using ProgramRule = x3::rule<class program_id, Block>;

BOOST_SPIRIT_DECLARE(ExpressionRule, SizeRule, PostfixRule, SpecLitRule, PrimaryRule, StringRule, AxisRule, TypeRule,
                     AnnotationRule, PatternRule, FunctionRule, BlockRule, ProgramRule)

const ExpressionRule expression = "an expression";
const SizeRule size = "a size";
const PostfixRule postfix = "an expression";
const SpecLitRule spec_literal = "a spec";
const PrimaryRule primary = "an expression";
const StringRule string = "a string";
const AxisRule axis = "an axis";
const TypeRule type = "a type";
const AnnotationRule annotation = "an annotation";
const PatternRule pattern = "a name";
const FunctionRule function = "a function";
const BlockRule block = "a block";
const ProgramRule program = "a program";

}  // namespace shard::grammar
