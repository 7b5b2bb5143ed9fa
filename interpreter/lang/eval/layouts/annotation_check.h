// One annotation against one value. A spec lays the value out: on auto axes it is a constraint, on explicit axes it is
// checked and nothing moves. A type checks dtype, shape and, on explicit axes, layout; names of
// sizes bind on first use in a call.
#pragma once
#include <string>
#include <vector>

#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

class AnnotationCheck {
 public:
  // `next`: the first of the function's annotation values that belongs to this annotation.
  // `written`: the expression that gives the value, where a fix can lay it out.
  AnnotationCheck(Interpreter::Impl& m, const Closure& f, std::size_t next, std::string what, grammar::Span span,
                  grammar::Span written = {}, bool types_only = false)
      : m_(m), f_(f), next_(next), what_(std::move(what)), span_(span), written_(written), types_only_(types_only) {}

  Value check(const grammar::Annot& a, Value v);

 private:
  // While a part of the value is looked at, how it is reached.
  struct Within {
    std::string& path;
    std::size_t before;
    Within(std::string& p, const std::string& step) : path(p), before(p.size()) { path += step; }
    ~Within() { path.resize(before); }
    Within(const Within&) = delete;
  };

  std::string what() const { return path_.empty() ? what_ : "`" + path_.substr(path_[0] == '.') + "` of " + what_; }
  // A list or tuple of n parts, each as `checked` gives it.
  template <class F>
  Value each_item(const Value& v, std::size_t n, grammar::Span annotation, const F& checked);
  [[noreturn]] void misfit(grammar::Span annotation, const Value& v);
  // A wrong layout; the fix is a `shard`.
  [[noreturn]] void misplaced(std::string why, std::vector<std::string> notes, const std::string& spec);
  // What a variable, or P(...), stands for: a spec, a type, none, or a tree of them.
  Value stands_for(const Value& annotation, grammar::Span where, Value v);
  Value layout(const Spec& spec, Value v);

  // ---- types
  Value type(const grammar::TypeLit& t, grammar::Span where, Value v);
  runtime::Type type_of(const Value& v, runtime::DType wanted, const std::string& written) const;
  std::string size(const grammar::TypeDim& d, std::size_t at, std::int64_t n);  // why it does not fit; "" where it does
  void layout_of_type(const grammar::TypeLit& t, grammar::Span where, const runtime::Type& have, std::size_t open,
                      std::size_t rank);
  // Which axes it is unreduced and reduced over. A reduced value is as good as a whole one where the annotation does
  // not say.
  void groups_of_type(const grammar::TypeLit& t, grammar::Span where, const runtime::Type& have,
                      const runtime::Mesh& mesh, const std::string& spec);

  Interpreter::Impl& m_;
  const Closure& f_;
  std::size_t next_;
  std::string what_;
  grammar::Span span_, written_;
  Value whole_;  // what is checked, and how the part at hand is reached in it
  std::string path_;
  bool types_only_;  // sizes and element types; layouts are somebody else's
};

}  // namespace shard::lang
