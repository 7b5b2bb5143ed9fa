// The builtin `loader`: where rows come from, in which order, how many at once.
#include "stdlib/host/data/loader.h"

#include <limits>

#include "interpreter/lang/values/value_text.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/host.h"
#include "stdlib/host/storage/loading.h"

namespace shard::stdlib {
namespace {

enum LoaderArgument : std::size_t {
  kTree,
  kBatch,
  kShuffle,
  kEpochs,
  kSpec,
  kSkip,
  kRest,
  kPrefetch,
  kLength,
  kWindows,
  kStride,
  kOrder,
  kDType
};

class LoaderMaker {
 public:
  LoaderMaker(Interpreter& in, BoundArgs& a) : in_(in), a_(a) { plan_.span = a.span; }

  LoaderPlan make() {
    plan_.batch = number(kBatch, "batch"), plan_.epochs = number(kEpochs, "epochs"), plan_.skip = number(kSkip, "skip");
    if (a_[kLength].is_none() == a_[kTree].callable())
      in_.fail("call", a_.args[kLength].span,
               a_[kTree].callable() ? "a function of the row's number needs to know how many rows there are: length: n"
                                    : "`length:` goes with a function of the row's number");
    take_windows();
    if (a_[kTree].callable())
      take_function();
    else if (const auto paths = file_names())
      take_files(*paths);
    else
      take_arrays(a_[kTree], "");
    plan_.count = plan_.example.is_none() ? plan_.rows->count() : plan_.count;
    if (plan_.example.is_none()) plan_.types = plan_.rows->types();
    take_order();
    take_rest();
    check_sizes();
    return std::move(plan_);
  }

 private:
  std::int64_t number(std::size_t i, const char* what) { return in_.integer(a_[i], a_.args[i].span, what); }

  void take_windows() {
    if (a_[kWindows].is_none()) {
      if (!a_[kStride].is_none()) in_.fail("call", a_.args[kStride].span, "`stride:` goes with `windows:`");
      return;
    }
    if (a_[kTree].callable()) in_.fail("call", a_.args[kWindows].span, "windows are runs of arrays, not of a function");
    const std::int64_t n = number(kWindows, "windows"),
                       by = a_[kStride].is_none() ? std::max<std::int64_t>(1, n - 1) : number(kStride, "stride");
    if (n < 1 || by < 1) in_.fail("call", a_.args[kWindows].span, "windows and stride are at least 1");
    plan_.rows->set_windows(n, by);
  }

  // A list of texts: files, one after the other.
  std::optional<std::vector<std::string>> file_names() {
    const auto* items = a_[kTree].items();
    if (a_[kTree].is_string()) return std::vector<std::string>{a_[kTree].str()};
    if (!items || items->empty()) return std::nullopt;
    std::vector<std::string> out;
    for (const Value& v : *items) {
      if (!v.is_string()) return std::nullopt;
      out.push_back(v.str());
    }
    return out;
  }

  void take_files(const std::vector<std::string>& paths) {
    const auto* dtype = a_[kDType].get<DType>();
    const grammar::Span span = a_.args[kTree].span;
    for (const std::string& path : paths) {
      const Value tree = reading_from(in_, path, span, [&] {
        return held(in_, open_tree(in_, path, span, dtype ? std::optional(*dtype) : std::nullopt));
      });
      if (plan_.tree.is_none()) plan_.tree = tree;
      if (!lang::same_structure(plan_.tree, tree))
        in_.fail("structure", span,
                 "the files of a loader hold the same tree; '" + path + "' holds " + lang::structure(tree) +
                     ", the first one " + lang::structure(plan_.tree));
      take_arrays(tree, path);
    }
    plan_.keyed = true;
  }

  void take_arrays(const Value& tree, const std::string& path) {
    std::vector<ArrayRef> arrays;
    const grammar::Span span = a_.args[kTree].span;
    for (const Value& leaf : lang::leaves(tree)) {
      const Tensor t = as_array(in_, leaf, span);
      if (t.traced()) in_.fail("type", span, "a loader reads arrays that are there, not traced ones");
      if (t.type().rank() == 0)
        in_.fail("shape", span, "a loader takes arrays with rows, one of these has rank 0",
                 {"a list is a tree of several arrays; array(xs) makes one array of it"});
      arrays.push_back(t.array());
      if (!t.array()->has_elements() || in_.context().types_only()) {
        plan_.types_only = true;
      } else if (const auto& far = t.array()->elsewhere; !far || !far->in_parts() || !t.array()->distinct.empty()) {
        arrays.back() = on_host(in_, t, "loader");
      }
    }
    if (arrays.empty()) in_.fail("type", span, "a loader needs at least one array");
    plan_.tree = tree;
    try {
      plan_.rows->add(std::move(arrays), path);
    } catch (const runtime::RuntimeError& e) { in_.fail(e.code, span, e.what()); }
    if (plan_.rows->far() && !plan_.types_only) plan_.keyed = true;
  }

  void take_function() {
    plan_.example = a_[kTree];
    plan_.keyed = true;
    plan_.count = number(kLength, "length");
    if (plan_.count < 1) return;  // told with the other sizes
    plan_.tree = in_.call(plan_.example, {Value(std::int64_t{0})}, a_.args[kTree].span);
    plan_.types_only = in_.context().types_only();
    for (const Value& leaf : lang::leaves(plan_.tree)) {
      const Tensor t = as_array(in_, leaf, a_.args[kTree].span);
      plan_.types.push_back({t.type().dtype, t.type().shape});
    }
    if (plan_.types.empty()) in_.fail("type", a_.args[kTree].span, "an example holds at least one array or number");
  }

  void take_order() {
    if (!a_[kOrder].is_none()) {
      const std::string& order = in_.text(a_[kOrder], a_.args[kOrder].span, "order");
      if (order != "keyed") in_.fail("call", a_.args[kOrder].span, "order is \"keyed\", not " + lang::quoted(order));
      plan_.keyed = true;
    }
    if (!a_[kShuffle].is_none()) {
      const Value& key = a_[kShuffle];
      if (!key.is_tensor() || key.tensor().type().dtype != DType::Key || key.tensor().type().rank() != 0)
        in_.fail("type", a_.args[kShuffle].span, "shuffle takes a key: shuffle: key(1)");
      plan_.shuffle = key.tensor();
    }
    plan_.ahead = a_[kPrefetch].is_none() ? (plan_.rows->far() ? 2 : 0) : number(kPrefetch, "prefetch");
    for (const Value& leaf : lang::leaves(a_[kSpec]))
      if (!leaf.get<std::shared_ptr<const lang::Spec>>())
        in_.fail("type", a_.args[kSpec].span,
                 "spec takes a layout such as P(@data), or a tree of them; this is " + lang::kind_name(leaf));
    plan_.spec = a_[kSpec];
  }

  void take_rest() {
    if (!a_.given(kRest)) return;
    const std::string& rest = in_.text(a_[kRest], a_.args[kRest].span, "rest");
    if (rest != "drop" && rest != "pad")
      in_.fail("call", a_.args[kRest].span, "rest is \"drop\" or \"pad\", not " + lang::quoted(rest));
    plan_.pad = rest == "pad";
  }

  void check_sizes() {
    if (plan_.count < 1) in_.fail("shape", a_.args[kTree].span, "a loader needs at least one row");
    if (!plan_.keyed && plan_.count > std::numeric_limits<std::int32_t>::max())
      in_.fail("shape", a_.args[kTree].span, "a table in memory is shuffled with fewer than 2 ** 31 rows",
               {"`order: \"keyed\"` takes any number"});
    if (plan_.batch < 1 || (plan_.batch > plan_.count && !plan_.pad))
      in_.fail(
          "call", a_.args[kBatch].span,
          "a batch has between 1 and " + std::to_string(plan_.count) + " rows here, not " + std::to_string(plan_.batch),
          note_if(plan_.batch > 0, "`rest: \"pad\"` fills a batch that is too short"));
    if (plan_.epochs < 0 || plan_.skip < 0 || plan_.ahead < 0)
      in_.fail("call", a_.span, "epochs, skip and prefetch are not negative");
    if (plan_.ahead > 64) in_.fail("call", a_.args[kPrefetch].span, "prefetch is at most 64 batches");
  }

  Interpreter& in_;
  BoundArgs& a_;
  LoaderPlan plan_;
};

Value loader(Interpreter& in, BoundArgs& a) {
  return Value(std::shared_ptr<lang::Loader>(std::make_shared<Batches>(LoaderMaker(in, a).make())));
}

}  // namespace

void register_loader(Interpreter& in) {
  in.define(
      {"loader",
       "loader(rows, batch, shuffle = none, epochs = 1, spec = none, skip = 0, rest = \"drop\", prefetch = none, "
       "length = none, windows = none, stride = none, order = none, dtype = none)",
       "Batches of rows, for `for`: of a tree of arrays, in memory or left in files (`load(..., map: true)`), of "
       "files one after the other ([\"a.npy\", \"b.npy\"], read row by row; dtype: for raw numbers), of a function "
       "fn(i) = example with `length:`, or with windows: 33 runs of so many tokens, one every `stride` (32). "
       "shuffle: a key, another order each epoch; of a table in memory permutation(fold_in(key, epoch), n), else, "
       "and with order: \"keyed\", one that is computed and takes no memory. spec: the layout of a batch; skip: "
       "batches to leave out, to resume; rest: \"drop\" what does not fill a batch, or \"pad\" it with zeros: each "
       "batch then ends with truth values, which rows are real; prefetch: so many batches are gathered ahead by "
       "threads (2 where rows lie in files).",
       loader,
       {"DataLoader"}});
}

}  // namespace shard::stdlib
