// Products as users write them: dot, matmul, einsum, outer. All become `contract` (see contract.cpp), which only knows
// letters that stand in both arrays or in one and the result; here ellipses, diagonals, sums of one array and many
// arrays are brought to that.
#include <algorithm>
#include <array>
#include <map>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string types_text(const Builder& b, std::span<const Var> xs) {
  std::string made;
  for (std::size_t i = 0; i < xs.size(); ++i)
    made += (i == 0 ? "" : i + 1 == xs.size() ? " and " : ", ") + runtime::to_string(b.type(xs[i]));
  return made;
}

// One product of two arrays. Truth values are counted, and the count is true where it is not 0.
Var contract(Builder& b, Var x, Var y, const std::string& spec, const Attrs& attrs) {
  Kind kind = promoted(b, std::array{x, y});
  Attrs a = with_out({{"spec", spec}}, attrs);
  if (attrs.has("lenient")) a.set("lenient", true);
  if (kind.dtype != DType::Bool) return b.call("contract", {promote_to(b, x, kind), promote_to(b, y, kind)}, a);
  Var counted = b.call("contract", {ir::convert(b, x, DType::I32), ir::convert(b, y, DType::I32)}, a);
  return b.call("ne", {counted, ir::constant_int(b, 0)});
}

// ---- dot, matmul, outer

Vars dot(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  std::size_t rx = b.type(in[0]).shape.size(), ry = b.type(in[1]).shape.size();
  if (rx == 0 || ry == 0) return {ir::mul(b, in[0], in[1])};
  std::string x(kLetters.substr(0, rx)), y(kLetters.substr(rx, ry));
  y[ry == 1 ? 0 : ry - 2] = x.back();
  std::string out = x.substr(0, rx - 1);
  for (std::size_t i = 0; i < ry; ++i)
    if (y[i] != x.back()) out += y[i];
  return {contract(b, in[0], in[1], x + "," + y + "->" + out, attrs)};
}

Vars matmul(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Shape sx = b.type(in[0]).shape, sy = b.type(in[1]).shape;
  if (sx.empty() || sy.empty())
    fail("shape", "matmul needs arrays of rank 1 or more, got " + types_text(b, in) + "; write `*` for a number");
  std::int64_t k = sx.back(), ky = sy[sy.size() == 1 ? 0 : sy.size() - 2];
  if (k != ky)
    fail("shape", "matmul: the last dimension of the first array is " + std::to_string(k) + ", " +
                      (sy.size() == 1 ? "the only one" : "the last but one") + " of the second is " +
                      std::to_string(ky) + ": " + types_text(b, in));
  std::size_t bx = sx.size() < 2 ? 0 : sx.size() - 2, by = sy.size() < 2 ? 0 : sy.size() - 2, batch = std::max(bx, by);
  // Letters: batch from the start, then m, k, n. A batch dimension of size 1 against a larger one is dropped and so
  // broadcasts.
  std::string letters(kLetters.substr(0, batch)), x, y, out;
  char m = kLetters[batch], kk = kLetters[batch + 1], n = kLetters[batch + 2];
  Shape keep_x, keep_y;
  for (std::size_t d = 0; d < batch; ++d) {
    bool in_x = d + bx >= batch, in_y = d + by >= batch;
    std::int64_t nx = in_x ? sx[d + bx - batch] : 1, ny = in_y ? sy[d + by - batch] : 1;
    if (nx != ny && nx != 1 && ny != 1)
      fail("shape", "matmul: batch dimensions of sizes " + std::to_string(nx) + " and " + std::to_string(ny) +
                        " do not match: " + types_text(b, in));
    bool drop_x = in_x && in_y && nx == 1 && ny != 1, drop_y = in_x && in_y && ny == 1 && nx != 1;
    if (in_x && !drop_x) x += letters[d], keep_x.push_back(nx);
    if (in_y && !drop_y) y += letters[d], keep_y.push_back(ny);
    out += letters[d];
  }
  if (sx.size() > 1) x += m, out += m, keep_x.push_back(sx[sx.size() - 2]);
  x += kk, y += kk;
  keep_x.push_back(k), keep_y.push_back(k);
  if (sy.size() > 1) y += n, out += n, keep_y.push_back(sy.back());
  return {contract(b, expand(b, in[0], keep_x), expand(b, in[1], keep_y), x + "," + y + "->" + out, attrs)};
}

Vars outer(Builder& b, std::span<const Var> in, const Attrs&) {
  std::int64_t m = runtime::numel(b.type(in[0]).shape), n = runtime::numel(b.type(in[1]).shape);
  return {ir::mul(b, expand(b, in[0], {m, 1}), expand(b, in[1], {1, n}))};
}

// ---- einsum

struct Term {
  Var x;
  std::string labels;
};

std::string without_blanks(std::string_view s) {
  std::string made;
  for (char c : s)
    if (c != ' ') made += c;
  return made;
}

// The letters of each operand and of the result, ellipses written out with letters that the text does not use.
struct Reading {
  std::vector<std::string> in;
  std::string out;
};

Reading read_einsum(const Builder& b, std::string_view text, std::span<const Var> xs) {
  std::string spec = without_blanks(text);
  auto bad = [&](const std::string& why) { fail("einsum", "einsum \"" + std::string(text) + "\": " + why); };
  std::size_t arrow = spec.find("->");
  if (const std::size_t sign = spec.find('>'); arrow == std::string::npos && sign != std::string::npos)
    bad("the result follows `->`: \"" + std::string(text.substr(0, text.find('>'))) + "->" +
        std::string(text.substr(text.find('>') + 1)) + "\"");
  std::string left = spec.substr(0, arrow), right = arrow == std::string::npos ? "" : spec.substr(arrow + 2);
  Reading r;
  for (std::size_t from = 0;;) {
    std::size_t comma = left.find(',', from);
    r.in.push_back(left.substr(from, comma == std::string::npos ? comma : comma - from));
    if (comma == std::string::npos) break;
    from = comma + 1;
  }
  if (r.in.size() != xs.size())
    bad("it names " + std::to_string(r.in.size()) + " arrays, " + std::to_string(xs.size()) + " are given");
  std::string spare;
  for (char c : kLetters)
    if (spec.find(c) == std::string::npos) spare += c;
  std::size_t widest = 0;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    std::size_t dots = r.in[i].find("..."), rank = b.type(xs[i]).shape.size();
    std::size_t named = r.in[i].size() - (dots == std::string::npos ? 0 : 3);
    if (named > rank || (dots == std::string::npos && named != rank))
      bad("\"" + r.in[i] + "\" names " + std::to_string(named) + " dimensions of " + runtime::to_string(b.type(xs[i])));
    widths.push_back(rank - named);
    widest = std::max(widest, rank - named);
  }
  if (widest > spare.size()) bad("it uses too many letters");
  std::string shared = spare.substr(0, widest);
  auto write_out = [&](std::string labels, std::size_t width) {
    if (auto dots = labels.find("..."); dots != std::string::npos)
      labels.replace(dots, 3, shared.substr(widest - width));
    for (char c : labels)
      if (kLetters.find(c) == std::string_view::npos) bad("`" + std::string(1, c) + "` is no letter");
    return labels;
  };
  for (std::size_t i = 0; i < xs.size(); ++i) r.in[i] = write_out(r.in[i], widths[i]);
  if (arrow != std::string::npos) {
    r.out = write_out(right, widest);
  } else {  // the letters that occur once, in the order of the alphabet, after the ellipsis
    std::string all;
    for (auto& s : r.in) all += s;
    std::string once;
    for (char c : all)
      if (std::count(all.begin(), all.end(), c) == 1 && shared.find(c) == std::string::npos) once += c;
    std::sort(once.begin(), once.end());
    r.out = shared + once;
  }
  for (char c : r.out) {
    if (std::count(r.out.begin(), r.out.end(), c) > 1) bad("the result names `" + std::string(1, c) + "` twice");
    bool known = std::any_of(r.in.begin(), r.in.end(), [&](auto& s) { return s.find(c) != std::string::npos; });
    if (!known) bad("the result names `" + std::string(1, c) + "`, which no array has");
  }
  return r;
}

// A letter that stands twice in one array takes its diagonal: what is off it counts as 0 and one of the two is summed.
void take_diagonals(Builder& b, Term& t) {
  for (std::size_t i = 0; i < t.labels.size(); ++i)
    for (std::size_t j = t.labels.size() - 1; j > i; --j) {
      if (t.labels[i] != t.labels[j]) continue;
      Shape shape = b.type(t.x).shape;
      if (shape[i] != shape[j]) fail("shape", "a diagonal needs equal sizes, got " + runtime::to_string(b.type(t.x)));
      auto line = [&](std::size_t d) {
        return positions_along(b, shape[d], shape.size(), static_cast<std::int64_t>(d) - b.type(t.x).rank());
      };
      Expr x{b, t.x}, on = eq(line(i), line(j));
      t.x = ir::reduce_sum(b, select(on, x, 0.0), {static_cast<std::int64_t>(j)});
      t.labels.erase(j, 1);
    }
}

// Sums the letters that neither `others` nor the result have, and drops dimensions of size 1 that broadcast against
// larger ones.
void sum_alone(Builder& b, Term& t, const std::string& others, const std::map<char, std::int64_t>& sizes) {
  Ints axes;
  Shape shape = b.type(t.x).shape, kept;
  std::string labels, after;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    char c = t.labels[d];
    if (shape[d] == 1 && sizes.at(c) != 1) continue;
    kept.push_back(shape[d]);
    labels += c;
  }
  t.x = expand(b, t.x, kept);
  for (std::size_t d = 0; d < labels.size(); ++d) {
    if (others.find(labels[d]) == std::string::npos)
      axes.push_back(static_cast<std::int64_t>(d));
    else
      after += labels[d];
  }
  t.x = ir::reduce_sum(b, t.x, axes);
  t.labels = after;
}

Var arranged(Builder& b, const Term& t, const std::string& out, const Attrs& attrs) {
  std::vector<std::int64_t> perm;
  for (char c : out) perm.push_back(static_cast<std::int64_t>(t.labels.find(c)));
  Var x = ir::transpose(b, t.x, perm);
  if (attrs.has("out")) x = b.emit1(*b.core().shard, {x}, {{"layout", attrs.layout("out")}});
  return x;
}

Vars einsum(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Reading r = read_einsum(b, attrs.text("spec"), in);
  Kind kind = promoted(b, in);
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t d = 0; d < r.in[i].size(); ++d) {
      std::int64_t n = b.type(in[i]).shape[d];
      auto [it, fresh] = sizes.try_emplace(r.in[i][d], n);
      if (fresh || it->second == n || n == 1) continue;
      if (it->second != 1)
        fail("shape", "einsum \"" + attrs.text("spec") + "\": `" + std::string(1, r.in[i][d]) + "` has sizes " +
                          std::to_string(it->second) + " and " + std::to_string(n) + " in " + types_text(b, in));
      it->second = n;
    }
  std::vector<Term> terms;
  for (std::size_t i = 0; i < in.size(); ++i) {
    terms.push_back({promote_to(b, in[i], kind), r.in[i]});
    take_diagonals(b, terms.back());
  }
  auto wanted_beside = [&](std::size_t i, std::size_t j) {  // letters that all but i and j, and the result, have
    std::string made = r.out;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != i && k != j) made += terms[k].labels;
    return made;
  };
  for (std::size_t i = 0; i < terms.size(); ++i) sum_alone(b, terms[i], wanted_beside(i, i), sizes);
  auto size_of_product = [&](std::size_t i, std::size_t j, std::string& labels) {
    std::string beside = wanted_beside(i, j);
    double n = 1;
    labels.clear();
    for (char c : terms[i].labels + terms[j].labels)
      if (beside.find(c) != std::string::npos && labels.find(c) == std::string::npos)
        labels += c, n *= static_cast<double>(sizes[c]);
    return n;
  };
  while (terms.size() > 1) {  // the pair with the smallest product first
    std::size_t bi = 0, bj = 1;
    std::string labels;
    double best = size_of_product(0, 1, labels);
    for (std::size_t i = 0; i < terms.size(); ++i)
      for (std::size_t j = i + 1; j < terms.size(); ++j)
        if (double n = size_of_product(i, j, labels); n < best) best = n, bi = i, bj = j;
    size_of_product(bi, bj, labels);
    bool final = terms.size() == 2;
    if (final) labels = r.out;
    Attrs how = final ? attrs : Attrs{};
    how.set("lenient",
            true);  // a batch dimension that one side splits is split, as in JAX's einsum (not in its matmul)
    Var x = contract(b, terms[bi].x, terms[bj].x, terms[bi].labels + "," + terms[bj].labels + "->" + labels, how);
    if (final) return {x};
    terms[bi] = {x, labels};
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(bj));
  }
  return {arranged(b, terms[0], r.out, attrs)};
}

// `preferred:` is the type of the result. A wider one is what is summed in; to a narrower one the sum is rounded, once.
ir::Compose with_preferred(Vars (*product)(Builder&, std::span<const Var>, const Attrs&)) {
  return [product](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    if (!attrs.has("preferred")) return product(b, in, attrs);
    const DType want = attrs.dtype("preferred"), have = promoted(b, in).dtype;
    if (!runtime::is_number(want) || (runtime::is_float(have) && !runtime::is_float(want)))
      fail("type", "a product of " + std::string(runtime::name(have)) + " cannot be asked for as " +
                       std::string(runtime::name(want)));
    Vars operands(in.begin(), in.end());
    if (runtime::size_of(want) < runtime::size_of(have)) return {ir::convert(b, product(b, in, attrs).at(0), want)};
    for (Var& x : operands) x = ir::convert(b, x, want);
    return product(b, operands, attrs);
  };
}

}  // namespace

void register_einsum(OpTable& t) {
  add_composite(t, "dot(x, y, preferred: dtype? = none, out: spec? = none)",
                "The sum over the last dimension of x and the last but one of y (NumPy's dot); preferred: the "
                "type of the result.",
                "[4, 6] [6, 2]; [6] [6]; [2, 4] [4]; [] [4]; [2, 4] [2, 4, 6]", with_preferred(dot));
  add_composite(
      t, "matmul(x, y, preferred: dtype? = none, out: spec? = none)",
      "The product of matrices; leading dimensions are batch and broadcast; preferred: the type of the result.",
      "[4, 6] [6, 2]; [2, 4, 6] [6, 4]; [2, 1, 2, 4] [6, 4, 2]; [4] [4, 6]; [2, 4, 6] [6]; "
      "i32[2, 4] i32[4, 2]; bool[2, 4] 0..2 bool[4, 2] 0..2; bf16[2, 4] bf16[4, 2] preferred=f32; "
      "[2, 4] [4, 2] preferred=bf16",
      with_preferred(matmul))
      .aliases = {"mm", "bmm"};
  add_composite(t, "outer(x, y)", "All products of an element of x with one of y.", "[4] [6]; i32[2, 2] [2]", outer);
  add_composite(t, "einsum(spec: str, xs: arrays..., preferred: dtype? = none, out: spec? = none)",
                "Sums of products written with letters: \"ij,jk->ik\"; preferred: the type of the result.",
                "[2, 4] [4, 6] spec='ij,jk->ik'; [2, 4] [4, 6] spec='ij,jk'; [4, 6] spec='ij->ji'; "
                "[4, 6] spec='ij->i'; [4, 4] spec='ii'; [4, 4] spec='ii->i'; [2, 4] [2, 4] spec='ij,ij->'; "
                "[2] [4] [6] spec='i,j,k->ijk'; [2, 4, 6] [2, 6, 2] spec='bij,bjk->bik'; "
                "[2, 4, 6] [6, 4] spec='...ij,jk->...ik'; [2, 4] [4, 6] [6, 2] spec='ab,bc,cd->ad'",
                with_preferred(einsum));
}

}  // namespace shard::stdlib
