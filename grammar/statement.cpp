// Statements, blocks and whole programs; functions. A definition has a name, a lambda none; who may have one is up to
// the caller.
#include <algorithm>

#include <boost/spirit/home/x3.hpp>

#include "grammar/characters.h"
#include "grammar/rules.h"

namespace shard::grammar {
namespace {

struct Assignment {
  ExprPtr target;
  std::optional<AssignOp> op;
  ExprPtr value;
};
struct Using {
  ExprPtr mesh;
  ExprPtr body;
};
struct Title {
  StringLit string;
  Span span;
};
struct Import {
  std::optional<Title> file;
  std::optional<Word> module, name;
};

const x3::rule<class let_id, LetStmt> let = "let";
const x3::rule<class fn_id, FnStmt> fn = "fn";
const x3::rule<class mesh_id, MeshStmt> mesh = "mesh";
const x3::rule<class mesh_axis_id, MeshAxis> mesh_axis = "an axis such as `@X: 8`";
const x3::rule<class using_id, Using> using_ = "use";
const x3::rule<class rules_id, RulesStmt> rules = "rules";
const x3::rule<class test_id, TestStmt> test = "test";
const x3::rule<class import_id, Import> import = "import";
const x3::rule<class for_id, ForStmt> for_ = "for";
const x3::rule<class while_id, WhileStmt> while_ = "while";
const x3::rule<class return_id, ReturnStmt> return_ = "return";
const x3::rule<class assignment_id, Assignment> assignment = "an expression";
const x3::rule<class statement_id, StmtPtr> statement = "a statement";
const x3::rule<class modifier_id, Modifier> modifier = "`fn`";
const x3::rule<class param_id, Param> param = "a parameter";
const x3::rule<class draft_id, Function> draft = "a function";

// ---- functions ------------------------------------------------------------------------------------------------------
const auto kind = [](ModifierKind k) { return [k](auto& c) { x3::_val(c).kind = k; }; };
const auto some_axes = [](auto& c) { x3::_val(c).all_axes = false; };
const auto modifier_axes = quiet("(")[some_axes] >
                           listed(as_expr[axis][push(&Modifier::axes)] | missing("an axis such as `@X`")) > sym(")");
const auto modifier_def = kw("jit")[kind(ModifierKind::Jit)] |
                          ((kw("manual")[kind(ModifierKind::Manual)] | kw("auto")[kind(ModifierKind::Auto)] |
                            kw("explicit")[kind(ModifierKind::Explicit)]) >>
                           -modifier_axes);

const auto param_def = pattern[set(&Param::pattern)] >> -(quiet(":") > annotation[set(&Param::annot)]) >>
                       -(quiet("=") > expression[set(&Param::default_value)]);

const auto named = [](auto& c) {
  x3::_val(c).name = std::move(x3::_attr(c).text);
  x3::_val(c).name_span = x3::_attr(c).span;
};
const auto header = [](auto& c) { x3::_val(c).header.end = static_cast<std::uint32_t>(here(c) - state_of(c).begin); };
const auto draft_def = *spanned<Modifier>[modifier][push(&Function::modifiers)] >> need("fn") >
                       -(!quiet("(") >> word(WordKind::New, "a name")[named]) > sym("(") >
                       listed(spanned<Param>[param][push(&Function::params)]) > sym(")") >
                       -(quiet("->") > annotation[set(&Function::result)]) > x3::eps[header] >
                       (as_expr[block][set(&Function::body)] | (sym("=") > expression[set(&Function::body)]));

constexpr auto as_function = maker<FunctionPtr>([](State& s, Span span, Function&& f) {
  const Iterator header_end = s.place(f.header.end);
  f.header = s.span(s.place(span.begin), header_end);
  if (!f.name.empty()) f.doc = s.layout.doc_above(span.begin);
  return s.make(span, std::move(f));
});
const auto function_def = as_function[draft][all];

// ---- statements -----------------------------------------------------------------------------------------------------
const auto let_def = kw("let") > pattern[set(&LetStmt::pattern)] > sym("=") > expression[set(&LetStmt::value)];
constexpr auto named_ahead = ahead([](State& s, Iterator at) { return at_function(s, at, true); });
const auto fn_def = named_ahead >> function[set(&FnStmt::function)];

// mesh m = (@X: 2, @Y: 4 explicit) explicit on devices()[4:8]
constexpr auto axis_sign = silent([](State& s, Iterator& at) {
  if (take_symbol(s, at, "@", true, false)) return true;
  s.expect(at, "an axis such as `@X: 8`");
  return false;
});
const auto axis_kind = [](AxisKind k) { return [k](auto& c) { x3::_val(c).kind = k; }; };
const auto mesh_kind = [](AxisKind k) {
  return [k](auto& c) {
    for (MeshAxis& a : x3::_val(c).axes) a.kind = k;
  };
};
const auto mesh_axis_def = axis_sign > word(WordKind::Name, "an axis' name")[set(&MeshAxis::name)] >
                           sym(":") > expression[set(&MeshAxis::size)] >
                           -(kw("explicit")[axis_kind(AxisKind::Explicit)] | kw("auto")[axis_kind(AxisKind::Auto)]);
const auto mesh_def = kw("mesh") > word(WordKind::New, "a name")[set(&MeshStmt::name)] > sym("=") > sym("(") >
                      listed(mesh_axis[push(&MeshStmt::axes)]) > sym(")") >
                      -(kw("explicit")[mesh_kind(AxisKind::Explicit)] | kw("auto")[mesh_kind(AxisKind::Auto)]) >
                      -(kw("on") > postfix[set_expr(&MeshStmt::devices)]);

const auto using__def = kw("use") > postfix[set_expr(&Using::mesh)] > -as_expr[block][set(&Using::body)];
constexpr auto rules_ahead = ahead([](State& s, Iterator at) { return at_statement_word(s, at, "rules"); });
const auto rules_def = rules_ahead >> kw("rules") > postfix[set_expr(&RulesStmt::rules)];

constexpr auto as_title = maker<Title>([](State&, Span span, StringLit&& s) { return Title{std::move(s), span}; });
const auto plain = [](State& s, const Title& t) -> std::string {
  if (t.string.pieces.empty()) return {};
  if (t.string.pieces.size() > 1 || t.string.pieces[0].value)
    s.fail(t.span, "this string cannot interpolate: it is read before the program runs",
           {"write a brace as `{{` and `}}`"});
  return t.string.pieces[0].text;
};
constexpr auto test_ahead = ahead([](State& s, Iterator at) { return at_statement_word(s, at, "test"); });
const auto titled = [](auto& c) { x3::_val(c).name = plain(state_of(c), x3::_attr(c)); };
const auto skipped = [](auto& c) { x3::_val(c).skip = true; };
const auto test_def = test_ahead >> kw("test") >
                      -(quiet(".") >
                        kw("skip")[skipped]) > as_title[string][titled] > as_expr[block][set(&TestStmt::body)];

const auto import_def = kw("import") >
                        (as_title[string][set(&Import::file)] |
                         word(WordKind::Name, "a module's name or a file's in quotes")[set(&Import::module)]) >
                        -(kw("as") > word(WordKind::New, "a name")[set(&Import::name)]);
const auto for__def = kw("for") > pattern[set(&ForStmt::pattern)] >
                      need("in") > expression[set(&ForStmt::sequence)] > as_expr[block][set(&ForStmt::body)];
const auto while__def = kw("while") > expression[set(&WhileStmt::condition)] > as_expr[block][set(&WhileStmt::body)];
constexpr auto break_ =
    giving<BreakStmt>([](State& s, Iterator& at, BreakStmt&) { return take_keyword(s, at, "break", true); });
constexpr auto continue_ =
    giving<ContinueStmt>([](State& s, Iterator& at, ContinueStmt&) { return take_keyword(s, at, "continue", true); });
constexpr auto ends =
    ahead([](State& s, Iterator at) { return at >= s.end || *at == '\n' || *at == ';' || *at == '}'; });
const auto return__def = kw("return") > (ends | expression[set(&ReturnStmt::value)]);

const auto op = [](AssignOp o) { return [o](auto& c) { x3::_val(c).op = o; }; };
const auto assign_op = quiet("+=")[op(AssignOp::Add)] | quiet("-=")[op(AssignOp::Sub)] |
                       quiet("*=")[op(AssignOp::Mul)] | quiet("/=")[op(AssignOp::Div)] | quiet("=")[op(AssignOp::Set)];
const auto assignment_def = expression[set(&Assignment::target)] >> -(assign_op > expression[set(&Assignment::value)]);

// ---- from the drafts to statements ----------------------------------------------------------------------------------
StmtPtr made(Span span, decltype(Stmt::node) node) { return std::make_shared<const Stmt>(Stmt{span, std::move(node)}); }

constexpr auto as_mesh = maker<StmtPtr>([](State& s, Span span, MeshStmt&& m) {
  m.id = s.next_id();
  return made(span, std::move(m));
});
constexpr auto as_use = maker<StmtPtr>([](State& s, Span span, Using&& u) {
  if (!u.body) return made(span, UseStmt{std::move(u.mesh)});
  return made(span, ExprStmt{s.make(span, UseExpr{std::move(u.mesh), std::move(u.body)})});
});
constexpr auto as_import = maker<StmtPtr>([](State& s, Span span, Import&& i) {
  ImportStmt out;
  out.file = i.file.has_value();
  out.module = out.file ? plain(s, *i.file) : i.module->text;
  if (i.name) {
    out.name = *i.name;
  } else if (!out.file) {
    out.name = *i.module;
  } else {  // the file's name without folders and ending
    std::string stem = out.module.substr(out.module.find_last_of('/') + 1);
    stem = stem.substr(0, stem.find('.'));
    if (!is_word(stem) || is_keyword(stem))
      s.fail(i.file->span, "the file needs a name here: `import \"" + out.module + "\" as name`");
    out.name = {stem, i.file->span};
  }
  out.id = s.next_id();
  return made(span, std::move(out));
});
constexpr auto as_assignment = maker<StmtPtr>([](State&, Span span, Assignment&& a) {
  if (a.op) return made(span, AssignStmt{std::move(a.target), *a.op, std::move(a.value)});
  return made(span, ExprStmt{std::move(a.target)});
});

const auto statement_def = as_stmt[let][all] | as_stmt[fn][all] | as_mesh[mesh][all] | as_use[using_][all] |
                           as_stmt[rules][all] | as_stmt[test][all] | as_import[import][all] | as_stmt[for_][all] |
                           as_stmt[while_][all] | as_stmt[break_][all] | as_stmt[continue_][all] |
                           as_stmt[return_][all] | as_assignment[assignment][all] | missing("a statement");

const auto statements = *newline >> -(statement[push(&Block::body)] >> *(+newline >> statement[push(&Block::body)])) >>
                        *newline;
const auto block_def = sym("{") >> statements > sym("}");
const auto program_def = statements > text_end;

BOOST_SPIRIT_DEFINE(let, fn, mesh, mesh_axis, using_, rules, test, import, for_, while_, return_, assignment, statement,
                    modifier, param, draft)

}  // namespace

BOOST_SPIRIT_DEFINE(block, program, function)
BOOST_SPIRIT_INSTANTIATE(BlockRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(ProgramRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(FunctionRule, Iterator, Context)

}  // namespace shard::grammar
