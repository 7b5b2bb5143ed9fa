// What other languages and libraries have and no function of ours stands behind: types, words, values, forms; and
// parameters, which many functions share. What a function is called elsewhere stands beside the function.
#include "interpreter/lang/names/aliases.h"

#include <algorithm>

#include "grammar/diagnostic.h"

namespace shard::lang {
namespace {

struct Known {
  std::string_view names, here;
};

// Each is called so elsewhere and so here, and can be put in its place as it stands.
constexpr std::string_view kNames =
    // element types
    "float32 f32, float64 f64, float16 f16, bfloat16 bf16, half f16, double f64, int8 i8, int16 i16, int32 i32, "
    "int64 i64, uint8 u8, uint16 u16, uint32 u32, uint64 u64, int4 i4, complex64 c64, complex128 c128, "
    "float8_e4m3fn f8_e4m3fn, float8_e5m2 f8_e5m2, bool_ bool, long i64, "
    // values
    "nil none, null none, NULL none, undefined none, Null none, NaN nan, infinity inf, "
    // layouts and devices
    "visualize_array_sharding visualize, addressable_shards shards, get_sharding sharding, allgather all_gather, "
    "collective_permute ppermute";

// How it is done here: of every name in front.
constexpr Known kWays[] = {
    {"launch", "processes are started from outside: `shard launch -n 4 FILE`"},
    {"np numpy jnp torch tf", "functions have no prefix: `zeros([3])`, `sum(x)`"},
    {"jax", "functions have no prefix: `grad(f)`, `normal(key(0), [3])`"},
    {"lax", "functions have no prefix: `scan(f, init, xs)`, `psum(x, @i)`"},
    {"math", "functions have no prefix: `sqrt(x)`, and the constant is `pi`"},
    {"optax", "optimizers are the module optim: `import optim`, then `optim.adam(1e-3)`"},
    {"flax", "layers are the module nn: `import nn`, then `nn.linear(784, 10)`"},
    {"nn", "layers are a module: `import nn`"},
    {"optim", "optimizers are a module: `import optim`"},
    {"train", "the training loop is a module: `import train`"},
    {"__name__", "a file has no main part: drop the `if`, its top level runs"},
    {"t", "the transpose is a field: `x.T`"},
    {"pass", "a block that does nothing is `{ }`"},
    {"end", "a block ends with `}`; the last element is `x[-1]`"},
    {"self this", "a function takes the record as its first parameter, and `p.f()` is `f(p)`"},
    {"elif", "write `else if`, after the `}` of the `if`"},
    {"list", "a list is `[a, b]`; another one of changed values `map(f, xs)`"},
    {"tuple", "a tuple is `(a, b)`"},
    {"set", "there are no sets; a list is `[a, b]`"},
    {"shape", "the sizes of an array are its field: `x.shape`"},
    {"numel", "the number of elements is a field: `x.size`"},
    {"dim", "the number of dimensions is a field: `x.ndim`"},
    {"clone copy deepcopy", "values never change in place: nothing has to be copied"},
    {"at", "a changed copy is made by assignment: `x[i] = v`, `x[i] += v`"},
    {"cuda cpu", "arrays are laid out over devices by `shard x as P(@X)`"},
    {"cond", "a choice is `if c { a } else { b }`, in traced code too"},
    {"fori_loop", "a loop is `for i in 0..n { ... }`, in traced code too"},
    {"while_loop", "a loop is `while c { ... }`, in traced code too"},
    {"pmap", "per-device code is a `manual fn`; an array is split by `shard x as P(@X)`"},
    {"block_until_ready", "a call returns when its work is done: nothing has to be waited for"},
    {"extend", "lists are joined by `[...xs, ...ys]`"},
    {"format", "a string takes values in braces: `\"loss {loss:.4f}\"`"},
    {"exit quit", "a script ends with its last line; an interactive session by `:quit` or Ctrl-D"},
    {"tree", "functions of trees have names of their own: `tree_map(f, p)`, `tree_leaves(p)`, `tree_reduce(f, p, 0)`"},
    {"unstack", "an array is taken apart into its rows by a pattern: `let (a, b, c) = x`"},
    {"switch", "one of several is `if i == 0 { a } else if i == 1 { b } else { c }`, in traced code too"},
    {"select", "choices are `where(c, x, where(d, y, z))`"},
    {"tri", "ones below the diagonal are `tril(ones([n, n]))`"},
    {"array_split", "parts of different sizes are cut at positions: `split(x, [2, 5])`"},
    {"nonzero", "elements where something holds are `x[mask]`; their places `arange(n)[mask]`, outside of traced code"},
    {"count_nonzero", "how many are true is a sum: `sum(x != 0)`"},
    {"array_equal", "whether all elements are equal: `all(x == y)`"},
    {"reciprocal", "it is `1 / x`"},
    {"inner", "the product of vectors is `dot(x, y)`; of all rows of x with those of y `x @ y.T`"},
    {"vecdot", "the product of vectors along the last dimension is `sum(x * y, axis: -1)`"},
    {"matvec", "a matrix times a vector is `a @ v`"},
    {"multi_dot", "a product of several matrices is `a @ b @ c`"},
    {"dot_general", "sums over named dimensions are `einsum(\"bij,bjk->bik\", x, y)`"},
    {"conv_general_dilated", "it is `conv(x, w, stride: 2, pads: [(1, 2), (1, 2)])`, with channels last"},
    {"reduce_window", "maxima and means of windows are `max_pool(x, [2, 2])`, `avg_pool(x, [2, 2])`"},
    {"select_n", "a choice between arrays is `where(c, x, y)`"},
    {"dynamic_index_in_dim", "a traced index is an index: `x[i]`, `x[:, i]`"},
    {"dynamic_update_index_in_dim", "a changed copy is made by assignment: `x[i] = v`, also where i is traced"},
    {"slice_in_dim", "a slice is `x[1:3]`; of a traced start `dynamic_slice(x, [i, 0], [2, 4])`"},
    {"hvp", "the second derivatives times a vector are `jvp(grad(f), x, v)[1]`"},
    {"custom_gradient", "a function with its own gradient is `custom_vjp(f, fwd, bwd)`"},
    {"argwhere flatnonzero", "places where something holds are `arange(n)[mask]`, outside of traced code"},
    {"isin", "whether each is among some: `any(x[..., none] == values, axis: -1)`"},
    {"ptp", "it is `max(x) - min(x)`"},
    {"trunc fix", "the fraction is cut off by `sign(x) * floor(abs(x))`"},
    {"exp2", "it is `2.0 ** x`"},
    {"deg2rad radians", "it is `x * (pi / 180)`"},
    {"rad2deg degrees", "it is `x * (180 / pi)`"},
    {"heaviside", "it is `where(x > 0, 1.0, 0.0)`"},
    {"signbit", "it is `x < 0`"},
    {"copysign", "it is `where(y < 0, -abs(x), abs(x))`"},
    {"logical_xor", "of truth values it is `a != b`"},
    {"fliplr", "it is `flip(x, axis: 1)`"},
    {"flipud", "it is `flip(x, axis: 0)`"},
    {"rot90", "it is `flip(x.T, axis: 0)`"},
    {"hsplit", "columns are split by `split(x, n, axis: 1)`"},
    {"vsplit", "rows are split by `split(x, n)`"},
    {"column_stack", "vectors become columns by `stack([x, y], axis: 1)`"},
    {"dstack", "arrays are stacked after the last dimension by `stack([x, y], axis: -1)`"},
    {"atleast_1d atleast_2d", "a dimension is added by `x[none]`"},
    {"vander", "powers of a vector are `x[:, none] ** arange(n)`"},
    {"tril_indices", "what lies below the diagonal is `tril(x)`, a mask of it `tril(ones([n, n], bool))`"},
    {"triu_indices", "what lies above the diagonal is `triu(x)`, a mask of it `triu(ones([n, n], bool))`"},
    {"unravel_index", "row and column of a place i are `i // columns` and `i % columns`"},
    {"trapezoid", "it is `sum((y[1:] + y[:-1]) / 2 * diff(x))`"},
    {"gradient", "derivatives of a function are `grad(f)`, differences of numbers `diff(x)`"},
    {"vector_norm", "it is `norm(x, axis: -1)`"},
    {"matrix_norm", "it is `norm(x, axis: (-2, -1))`"},
    {"logit", "it is `log(p / (1 - p))`"},
    {"entr", "it is `-xlogy(p, p)`"},
    {"ndtr", "it is `0.5 * erfc(-x / sqrt(2.0))`"},
    {"ndtri", "it is `sqrt(2.0) * erf_inv(2 * p - 1)`"},
    {"factorial", "it is `exp(lgamma(n + 1))`"},
    {"soft_sign", "it is `x / (1 + abs(x))`"},
    {"normalize standardize", "it is `(x - mean(x, axis: -1, keepdims: true)) / std(x, axis: -1, keepdims: true)`"},
    {"cosine_similarity", "it is `sum(x * y, axis: -1) / (norm(x, axis: -1) * norm(y, axis: -1))`"},
    {"l2_loss", "it is `0.5 * (x - y) ** 2`"},
    {"lognormal", "it is `exp(normal(k, shape))`"},
    {"cauchy", "it is `tan(pi * (uniform(k, shape) - 0.5))`"},
    {"tree_structure", "the structure of a tree is the second that `tree_flatten(p)` gives"},
    {"tree_all", "it is `tree_reduce(fn(a, b) = a and b, p, true)`"},
    {"startswith", "it is `s[:4] == \"lora\"`, or `matches(s, \"^lora\")`"},
    {"endswith", "it is `s[-2:] == \".w\"`, or `matches(s, \"w$\")`"},
    {"digitize", "the bin of each number is `searchsorted(edges, x, side: \"right\")`"},
    {"eigvalsh", "the eigenvalues are the first that eigh gives: `eigh(a)[0]`"},
    {"cbrt", "a cube root is `sign(x) * abs(x) ** (1 / 3)`"},
    {"rademacher", "signs by chance are `where(bernoulli(k, 0.5, shape), 1.0, -1.0)`"},
    {"shard_array device_put", "arrays are laid out by `shard x as P(@X)`"},
    {"with_sharding_constraint reshard", "arrays are laid out by `shard x as P(@X)`, in traced code too"},
    {"make_mesh Mesh create_device_mesh", "a mesh is declared: `mesh m = (@X: 8)`"},
    {"with_logical_constraint logical_to_mesh_axes",
     "names are mapped by `rules { batch: @X }`, and then `shard x as P(@batch)`"},
    {"auto_axes", "a region with automatic axes is a function: `auto fn f(x) -> P(@X) = ...`"},
    {"explicit_axes", "a region with explicit axes is a function: `explicit fn f(x: P(@X)) = ...`"},
    {"AxisType",
     "axes are automatic; those of `mesh m = (@X: 8) explicit` are explicit, those of a `manual fn` manual"},
    {"set_mesh use_mesh", "an earlier mesh becomes the current one by `use m`, for one block by `use m { ... }`"},
    {"pvary", "a value that may differ from device to device is `pcast(x, @X)`"},
    {"all_gather_invariant", "a gathered value that is the same everywhere is `all_gather(x, @X, to: \"same\")`"},
    {"pswapaxes", "a dimension is exchanged with a mesh axis by `all_to_all(x, @X, split: 0, concat: 0)`"},
    {"xmap", "per-device code is a `manual fn`"},
    {"inspect_array_sharding", "the layout that the compiler chose is `print(sharding(x))`, in traced code too"},
    {"make_array_from_callback make_array_from_process_local_data",
     "blocks are put together by `from_blocks(fn(index) = block, shape, spec)`"},
    {"local_device_count", "the devices of this process are `len(local_devices())`"},
    {"ShapeDtypeStruct", "a type stands for an array: `f32[8, 4]`, with a layout `shard f32[8, 4] as P(@X)`"},
    {"dynamic_slice_in_dim",
     "a slice from a traced place has a start and a size for each dimension: `dynamic_slice(x, [0, i], [8, n])`"},
    {"dynamic_update_slice_in_dim",
     "what is written has a start for each dimension: `dynamic_update_slice(x, v, [0, i])`"},
    {"NamedSharding", "a layout is a spec such as `P(@X, _)`, used as in `shard x as P(@X, _)`"},
    {"PartitionSpec", "a spec is `P(@X, _)`"},
};

// Parameters: called so elsewhere, and so here.
constexpr std::string_view kParameters =
    "dim axis, dims axis, axes axis, keepdim keepdims, constant_values value, num_classes n, num_segments n, "
    "a_min lo, a_max hi, min lo, max hi, correction ddof, pad_width widths, learning_rate lr, rng key, size shape, "
    "in_axes in, out_axes out, argnums wrt, argnum wrt, has_aux aux, axis_name along, axis_name axis, "
    "spmd_axis_name axis, axis_names axes, scatter_dimension axis, perm pairs, in_specs in, out_specs out, "
    "in_shardings in, out_shardings out, strides stride, kernel_size window, in_features inputs, "
    "out_features outputs, features outputs, use_bias bias, num_heads heads, n_heads heads, p rate, betas b1, "
    "beta1 b1, beta2 b2, permutation perm, sharding spec, drop_last rest, xs_length length, epsilon eps, "
    "in_channels inputs, out_channels outputs, num_embeddings n, embedding_dim d, embed_dim d, d_model d, "
    "dim_feedforward hidden, normalized_shape d, num_features d, prob rate, dropout rate, n_layers n, num_layers n, "
    "kernel window, max_norm limit, end_value floor, transition_steps steps, init_value start, epoch epochs, "
    "num_epochs epochs, seed shuffle, drop_remainder rest, num_workers prefetch";

constexpr std::string_view kUnchecked =
    "a derivative taken inside is the same with `check: false`: of a value that all devices share it is summed over "
    "them already; `pcast(p, @X)` first gives each device its own";

// Parameters that nothing here does the work of, or that mean something else: what is to be known of them.
constexpr Known kParameterWays[] = {
    {"static_argnums static_argnames", "what the trace needs as a number is static by itself: leave it out"},
    {"donate_argnums donate_argnames",
     "an argument that its call replaces gives its memory: `p = step(p, x)`; leave it out"},
    {"unroll", "loops are compiled as they are: leave it out"},
    {"prevent_cse", "what is made again is never merged with what it is made of: leave it out"},
    {"check_vma check_rep", kUnchecked},
};

std::vector<std::string_view> words(std::string_view text) {  // between blanks and commas
  std::vector<std::string_view> out;
  for (std::size_t at = 0; (at = text.find_first_not_of(" ,", at)) < text.size(); at += out.back().size())
    out.push_back(text.substr(at, text.find_first_of(" ,", at) - at));
  return out;
}

std::vector<std::pair<std::string_view, std::string_view>> pairs(std::string_view text) {
  const std::vector<std::string_view> all = words(text);
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) out.emplace_back(all[i], all[i + 1]);
  return out;
}

}  // namespace

std::string_view parameter_way(std::string_view name) {
  for (const Known& k : kParameterWays)
    for (const std::string_view known : words(k.names))
      if (known == name) return k.here;
  return {};
}

Aliases::Aliases() {
  for (const auto& [elsewhere, here] : pairs(kNames)) known_.emplace(elsewhere, Entry{std::string(here), {}});
  for (const Known& k : kWays)
    for (const std::string_view name : words(k.names)) known_.emplace(name, Entry{{}, k.here});
}

void Aliases::add(std::string_view function, const std::vector<ir::Alias>& names) {
  for (const ir::Alias& e : names) known_.insert_or_assign(e.name, Entry{std::string(function), e.say});
}

std::string_view Aliases::name_here(std::string_view name) const {
  const auto it = known_.find(name);
  return it == known_.end() || !it->second.say.empty() ? std::string_view() : it->second.function;
}

std::string_view Aliases::way_here(std::string_view name) const {
  const auto it = known_.find(name);
  return it == known_.end() || it->second.function == name ? std::string_view() : it->second.say;
}

std::string_view Aliases::differs(std::string_view function) const {
  const auto it = known_.find(function);
  return it == known_.end() || it->second.function != function ? std::string_view() : it->second.say;
}

std::vector<std::string> names_of_elsewhere(std::string_view doc) {
  constexpr std::string_view kHead = "Elsewhere: ";
  std::size_t at = doc.starts_with(kHead) ? 0 : doc.find("\n" + std::string(kHead));
  if (at == std::string_view::npos) return {};
  doc.remove_prefix(doc.find(':', at) + 2);
  doc = doc.substr(0, doc.find_first_of(".\n"));
  std::vector<std::string> out;
  for (;;) {
    const std::size_t comma = doc.find(", ");
    out.emplace_back(doc.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    doc.remove_prefix(comma + 2);
  }
}

bool names_elsewhere(std::string_view doc, std::string_view name) {
  const std::vector<std::string> names = names_of_elsewhere(doc);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::span<const std::pair<std::string_view, std::string_view>> parameter_aliases() {
  static const auto all = pairs(kParameters);
  return all;
}

std::optional<std::string> parameter_near(std::string_view name, const std::vector<std::string>& parameters) {
  const auto has = [&](std::string_view p) {
    return std::find(parameters.begin(), parameters.end(), p) != parameters.end();
  };
  if (auto near = grammar::near_miss(name, parameters)) return near;
  for (const auto& [elsewhere, here] : parameter_aliases())
    if (elsewhere == name && has(here)) return std::string(here);
  for (const std::string& p : parameters) {  // batch_size -> batch
    const bool begins = name.size() > p.size() && name.substr(0, p.size()) == p && name[p.size()] == '_';
    const bool within = p.size() > name.size() && p.substr(0, name.size()) == name && p[name.size()] == '_';
    const bool ends = name.size() > p.size() && name.ends_with(p) && name[name.size() - p.size() - 1] == '_';
    if (p.size() > 1 && (begins || within || ends)) return p;  // label_smoothing -> smoothing
  }
  return std::nullopt;
}

}  // namespace shard::lang
