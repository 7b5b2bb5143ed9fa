// load and save: trees of arrays to files and folders and back. What a file is, its content says, for text its ending;
// the table of formats knows (files/format.h). A folder is a checkpoint (folder.h).
#include "stdlib/host/storage/convert.h"

#include <algorithm>
#include <map>

#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/value_text.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/host.h"
#include "stdlib/host/storage/folder.h"
#include "stdlib/host/storage/joint_save.h"
#include "stdlib/host/storage/loading.h"

namespace shard::stdlib {
namespace {

enum LoadArgument : std::size_t { kPath, kAs, kLike, kStrict, kRename, kLoadDType, kMap };

void check_load(Interpreter& in, BoundArgs& a) {
  if (!a[kAs].is_none() && !a[kLike].is_none())
    in.fail("call", a.args[kLike].span, "`as:` and `like:` both say the layout: one of them is enough");
  if (a[kLike].is_none() && (a.given(kStrict) || a.given(kRename)))
    in.fail("call", a.span, "`strict:` and `rename:` go with `like:`, which says what is wanted");
  if (!a[kRename].is_none() && !a[kRename].callable())
    in.fail("type", a.args[kRename].span,
            "rename takes a function of a name: rename: fn(name) = ..., this is " + lang::kind_name(a[kRename]));
  const auto* dtype = a[kLoadDType].get<DType>();
  if (!a[kLoadDType].is_none() && (!dtype || *dtype == DType::Key))
    in.fail("type", a.args[kLoadDType].span,
            "dtype takes a type of numbers: dtype: u16, this is " + lang::kind_name(a[kLoadDType]));
}

Value load(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[kPath], a.args[kPath].span, "the path of a file or folder");
  check_load(in, a);
  const Value &specs = a[kAs], &like = a[kLike];
  if (in.context().types_only() && !like.is_none()) return types_like(in, like);
  return reading_from(in, path, a.args[kPath].span, [&] {
    const auto* dtype = a[kLoadDType].get<DType>();
    const std::shared_ptr<OpenTree> tree =
        open_tree(in, path, a.args[kPath].span, dtype ? std::optional(*dtype) : std::nullopt);
    const Fitting how{path, in.truth(a[kStrict], a.args[kStrict].span), a[kRename]};
    Wanted wanted = !like.is_none()    ? fitted(in, *tree->contents, like, how, a.args[kLike].span)
                    : !specs.is_none() ? laid_out(in, *tree->contents, specs, a.args[kAs].span)
                                       : all_of(*tree->contents);
    if (in.truth(a[kMap], a.args[kMap].span)) return mapped(tree, std::move(wanted));
    return filled(in, *tree->contents, std::move(wanted));
  });
}

// ".npz holds a tree of arrays and numbers, .npy and .idx one array, ..."
std::string endings_text() {
  std::vector<std::pair<std::string_view, std::vector<std::string>>> groups;  // what is held, in which
  for (const Format& f : formats()) {
    auto it = groups.begin();
    while (it != groups.end() && it->first != f.holds) ++it;
    if (it == groups.end()) it = groups.insert(it, {f.holds, {}});
    for (const std::string_view ending : f.endings)
      it->second.push_back(ending.empty() ? "a name without an ending" : std::string(ending));
  }
  std::string out;
  for (const auto& [holds, endings] : groups)
    out += (out.empty() ? "" : ", ") + lang::joined(endings) + (out.empty() ? " holds " : " ") + std::string(holds);
  return out + "; .gz packs any of them; a path that ends in / is a checkpoint folder";
}

// An error where nothing is written with the ending of this path.
void check_ending(Interpreter& in, const std::string& path, grammar::Span span) {
  if (is_folder(path) || format_to_write(path)) return;
  std::vector<std::string> notes;
  const std::string ending = ending_of(path);
  if (const auto near = grammar::near_miss(ending, endings_written())) notes.push_back("did you mean " + *near + "?");
  notes.push_back(endings_text());
  in.fail("call", span, "cannot write '" + path + "': no format has the ending " + ending, std::move(notes));
}

// A folder where the path ends in "/" or names one, else a file in the format of its ending. Asks the host, and throws
// grammar::Error with the path.
void write_tree(Interpreter& in, const std::string& path, const Value& tree, grammar::Span span) {
  check_ending(in, path, span);
  writing_to(in, path, span, [&] {
    runtime::Processes* processes = in.context().processes().get();
    if (is_folder(path)) {
      for (const std::string& file : files_of_folder(path, share_of(processes))) check_may_write(in, file, span);
      return write_together(in.context().pool(), processes, path, snapshot_of(in, tree));
    }
    // Formats bring arrays together as they write them: all processes do that, and one keeps it.
    all_together(processes, "save", [&] {
      const bool keeps = share_of(processes).index == 0;
      const std::unique_ptr<Sink> file = keeps ? open_sink(path, lower(path).ends_with(".gz")) : no_sink();
      format_to_write(path)->writes(in, tree, *file);
      file->finish();
    });
  });
}

Value save(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file or folder");
  check_ending(in, path, a.args[0].span);
  if (!writes_nothing(in, path)) write_tree(in, path, a[1], a.span);
  return {};
}

// ---- shard convert

// Names split at their dots, as a tree that is being put together.
struct NameTree {
  Value value;  // of a leaf
  bool leaf = false;
  std::vector<std::string> order;
  std::map<std::string, NameTree> fields;

  bool put(std::string_view name, const Value& v) {  // false where a name is both a leaf and a field
    if (leaf) return false;
    if (name.empty()) {
      if (!fields.empty()) return false;
      leaf = true, value = v;
      return true;
    }
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string first(name.substr(0, dot));
    if (first.empty()) return false;
    const auto [it, fresh] = fields.try_emplace(first);
    if (fresh) order.push_back(first);
    return it->second.put(name.substr(std::min(dot + 1, name.size())), v);
  }

  Value tree() const {
    if (leaf) return value;
    std::vector<Value> items;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (const auto it = fields.find(std::to_string(i)); it != fields.end()) items.push_back(it->second.tree());
    if (items.size() == fields.size()) return Value::list(std::move(items));
    std::vector<std::pair<std::string, Value>> out;
    for (const std::string& name : order) out.emplace_back(name, fields.at(name).tree());
    return Value::record(std::move(out));
  }
};

Value nested(const Value& flat) {
  const lang::Record* r = flat.fields();
  if (!r) return flat;
  NameTree root;
  constexpr std::ptrdiff_t kDeepest = 100;
  for (const auto& [name, v] : r->fields)
    if (std::count(name.begin(), name.end(), '.') > kDeepest || !root.put(name, v)) return flat;
  return root.tree();
}

}  // namespace

void convert(Interpreter& in, const std::string& from, const std::string& to) {
  check_ending(in, to, {});
  const Value tree = reading_from(in, from, {}, [&] {
    const auto file = open_tree(in, from, {}, std::nullopt);
    const Value v = held(in, file);
    return file->contents->flat() ? nested(v) : v;
  });
  write_tree(in, to, tree, {});
}

void register_load_save(Interpreter& in) {
  in.define({"load",
             "load(path, as = none, like = none, strict = true, rename = none, dtype = none, map = false)",
             "The content of a file: " + format_names("or") +
                 ", gzipped or not, or of a checkpoint folder. csv gives one array of rank 2. as: specs for the tree, "
                 "or for some fields of it, on the current mesh. like: a tree of arrays or types; arrays come in their "
                 "layout, and all that does not fit is reported. Each device reads the bytes of its blocks. "
                 "strict: false leaves out what is left over and keeps what `like` has for what is missing; rename: "
                 "a function of a name in the file, none where it is to be left out. dtype: the file holds numbers of "
                 "this type and nothing else. map: true leaves arrays in the file (" +
                 format_names("and", [](const Format& f) { return f.in_parts; }) +
                 "; folders; raw numbers) until they are looked at; indexing reads the rows that it names.",
             load,
             {{"input", "what a file holds is read by `load`, `read_text` or `read_csv`"},
              {"open", "what a file holds is read by `load`, `read_text` or `read_csv`"}}});
  in.define({"save", "save(path, tree)",
             "Writes arrays, numbers, text and trees of them; load gives them back. By the ending: " + endings_text() +
                 ", which keeps the blocks of split arrays apart. Another ending is an error.",
             save});
}

}  // namespace shard::stdlib
