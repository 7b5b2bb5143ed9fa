// What a file holds, held against a tree that says how it shall come: by name, leaf by leaf. Everything that does not
// fit is told at once.
#include <map>

#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/files/tree_json.h"
#include "stdlib/host/storage/loading.h"

namespace shard::stdlib {
namespace {

std::string type_text(DType dtype, const Shape& shape) { return runtime::to_string(Type::of(dtype, shape)); }

bool host_value(const Value& v) { return v.is_host_number() || v.is<bool>() || v.is_string(); }

// What a leaf of `like` asks for, or nothing where it is no leaf that can be loaded.
std::optional<runtime::Placement> asked(const Value& leaf) {
  if (leaf.is_tensor() && !leaf.tensor().traced()) return runtime::placement_of(*leaf.tensor().array());
  if (leaf.is_tensor()) return runtime::placement_of(leaf.tensor().type());
  if (const auto* type = leaf.get<TypeRef>()) return runtime::placement_of(**type);
  if (const auto* dtype = leaf.get<DType>()) return runtime::placement_of(Type::of(*dtype, {}));
  return std::nullopt;
}

struct Differences {
  std::vector<std::string> missing, left_over, others;
  std::vector<std::string> near;  // "did you mean": notes

  static std::string counted(std::size_t n, const char* what) {
    return std::to_string(n) + " " + (n == 1 ? "is " : "are ") + what;
  }
  static std::string shown(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 40;
    std::string out;
    for (std::size_t i = 0; i < names.size() && i < kMost; ++i) out += (i ? ", `" : "`") + names[i] + "`";
    return names.size() <= kMost ? out : out + " and " + std::to_string(names.size() - kMost) + " more";
  }

  bool any() const { return !missing.empty() || !left_over.empty() || !others.empty(); }

  [[noreturn]] void tell(Interpreter& in, grammar::Span span, const std::string& path, bool strict) {
    std::vector<std::string> counts, notes;
    if (!missing.empty()) counts.push_back(counted(missing.size(), "missing"));
    if (!left_over.empty()) counts.push_back(counted(left_over.size(), "left over"));
    if (!others.empty()) counts.push_back(counted(others.size(), "of another type"));
    if (!missing.empty()) notes.push_back("missing in the file: " + shown(missing));
    if (!left_over.empty()) notes.push_back("left over in the file: " + shown(left_over));
    notes.insert(notes.end(), others.begin(), others.end());
    notes.insert(notes.end(), near.begin(), near.end());
    if (strict && (!missing.empty() || !left_over.empty()))
      notes.push_back("`strict: false` leaves out what is left over and keeps what `like` has for what is missing");
    in.fail("structure", span, "'" + path + "' does not fit `like`: " + lang::joined(counts), std::move(notes));
  }
};

class Fitter {
 public:
  Fitter(Interpreter& in, Contents& file, const Fitting& how, grammar::Span span)
      : in_(in), how_(how), span_(span), there_(all_of(file)), file_(file) {
    const std::vector<std::string> names = names_in_files(there_.tree);
    for (std::size_t i = 0; i < names.size(); ++i) name_leaf(names[i], i);
  }

  Wanted fit(const Value& like) {
    Wanted out;
    out.tree = like;
    const std::vector<std::string> names = names_in_files(like);
    const std::vector<Value> leaves = lang::leaves(like);
    std::vector<char> used(there_.leaves.size(), 0);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto found = by_name_.find(names[i]);
      if (found == by_name_.end()) {
        out.leaves.push_back(absent(names[i], leaves[i]));
        continue;
      }
      used[found->second] = 1;
      out.leaves.push_back(one(names[i], leaves[i], there_.leaves[found->second]));
    }
    if (how_.strict)
      for (const auto& [name, i] : by_name_)
        if (!used[i]) wrong_.left_over.push_back(name);
    add_near_misses();
    if (wrong_.any()) wrong_.tell(in_, span_, how_.path, how_.strict);
    return out;
  }

 private:
  void name_leaf(const std::string& name, std::size_t i) {
    std::string now = name;
    if (!how_.rename.is_none()) {
      const Value v = in_.call(how_.rename, {Value::string(name)}, span_);
      if (v.is_none()) return;  // left out
      now = in_.text(v, span_, "what `rename` gives: a name, or none to leave it out,");
    }
    if (!by_name_.emplace(now, i).second)
      in_.fail("structure", span_,
               how_.rename.is_none() ? "the file has `" + now + "` twice"
                                     : "`rename` gives two arrays the name `" + now + "`; one was `" + name + "`");
  }

  // What the file does not have.
  Wanted::Leaf absent(const std::string& name, const Value& leaf) {
    Wanted::Leaf out;
    out.value = leaf;
    if (how_.strict || !(leaf.is_tensor() || host_value(leaf))) wrong_.missing.push_back(name);
    return out;
  }

  Wanted::Leaf one(const std::string& name, const Value& leaf, const Wanted::Leaf& there) {
    Wanted::Leaf out = there;
    const auto place = asked(leaf);
    const auto differ = [&](const std::string& file, const std::string& like) {
      wrong_.others.push_back("`" + name + "` is " + file + " in the file, and `like` has " + like);
    };
    if (!there.at) {
      const bool both = there.value.is_host_number() ? leaf.is_host_number()
                                                     : there.value.variant().index() == leaf.variant().index();
      if (!both) differ(lang::kind_name(there.value), lang::kind_name(leaf));
      return out;
    }
    const ArrayHeader& header = file_.arrays[there.array];
    const std::string text = type_text(header.dtype, header.shape);
    if (!place && header.shape.empty() && is_number_like(header.dtype, leaf)) {  // a format without numbers
      out.as_number = true;
      return out;
    }
    if (!place) {
      differ(text, lang::kind_name(leaf));
      return out;
    }
    const std::string like = type_text(place->type.dtype, place->type.shape);
    if (text != like && !words_of_keys(header, place->type)) differ(text, like);
    out.at = std::make_shared<const runtime::Placement>(*place);
    return out;
  }

  static bool is_number_like(DType file, const Value& like) {
    if (file == DType::Bool) return like.is<bool>();
    return like.is_host_number() && runtime::is_number(file) && !runtime::is_complex(file);
  }

  // Keys in a foreign file are their words: the same bytes.
  static bool words_of_keys(const ArrayHeader& file, const Type& like) {
    Shape words = like.shape;
    words.push_back(2);
    return like.dtype == DType::Key && file.dtype == DType::U32 && file.shape == words;
  }

  void add_near_misses() {
    for (const std::string& name : wrong_.missing) {
      if (wrong_.near.size() == 10) return;
      if (const auto near = grammar::near_miss(name, wrong_.left_over))
        wrong_.near.push_back("`" + name + "` may be what the file calls `" + *near + "`: rename: fn(name) = ...");
    }
  }

  Interpreter& in_;
  const Fitting& how_;
  grammar::Span span_;
  Wanted there_;
  Contents& file_;
  std::map<std::string, std::size_t> by_name_;  // leaves of the file
  Differences wrong_;
};

}  // namespace

Value types_like(Interpreter& in, const Value& like) {
  return lang::map_leaves(like, [&](const Value& leaf) {
    if (const auto place = asked(leaf)) return Value(in.context().unknown(*place));
    // While checking, a host number is the file's; what is predicted goes on from the one that is here.
    if (!in.checker() || !(leaf.is_host_number() || leaf.is<bool>())) return leaf;
    return Value(in.context().unknown(Type::of(leaf.is<bool>()           ? DType::Bool
                                               : leaf.is<std::int64_t>() ? DType::I32
                                                                         : DType::F32,
                                               {}, !leaf.is<bool>())));
  });
}

Wanted fitted(Interpreter& in, Contents& file, const Value& like, const Fitting& how, grammar::Span span) {
  return Fitter(in, file, how, span).fit(like);
}

}  // namespace shard::stdlib
