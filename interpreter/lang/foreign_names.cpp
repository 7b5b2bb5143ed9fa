// The tables: names that stand for names here, names that need a sentence, and parameters.
#include "interpreter/lang/foreign_names.h"

#include <algorithm>

#include "grammar/diagnostic.h"

namespace shard::lang {
namespace {

struct Known { std::string_view name, here; };

constexpr Known kNames[] = {
    // element types
    {"float32", "f32"}, {"float64", "f64"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"half", "f16"}, {"double", "f64"},
    {"int8", "i8"}, {"int16", "i16"}, {"int32", "i32"}, {"int64", "i64"}, {"uint8", "u8"}, {"uint16", "u16"},
    {"uint32", "u32"}, {"uint64", "u64"}, {"bool_", "bool"}, {"long", "i64"},
    // functions that take the same arguments
    {"cat", "concat"}, {"concatenate", "concat"}, {"tensor", "array"}, {"Tensor", "array"}, {"asarray", "array"},
    {"PRNGKey", "key"}, {"absolute", "abs"}, {"arcsin", "asin"}, {"arccos", "acos"}, {"arctan", "atan"},
    {"arctan2", "atan2"}, {"arcsinh", "asinh"}, {"arccosh", "acosh"}, {"arctanh", "atanh"}, {"amax", "max"},
    {"amin", "min"}, {"unsqueeze", "expand_dims"}, {"permute", "transpose"}, {"astype", "cast"}, {"view", "reshape"},
    {"clamp", "clip"}, {"detach", "stop_gradient"}, {"swish", "silu"}, {"power", "pow"}, {"multiply", "mul"},
    {"subtract", "sub"}, {"divide", "div"}, {"remainder", "mod"}, {"println", "print"}, {"puts", "print"},
    {"echo", "print"}, {"length", "len"}, {"mm", "matmul"}, {"bmm", "matmul"}, {"push", "append"}, {"nil", "none"},
    {"null", "none"}, {"NULL", "none"}, {"undefined", "none"}, {"Null", "none"}, {"checkpoint", "remat"},
    {"DataLoader", "loader"}, {"all_reduce", "psum"}, {"allreduce", "psum"}, {"reduce_scatter", "psum_scatter"},
    {"index_select", "take"}, {"topk", "top_k"}, {"split_keys", "split"}, {"NaN", "nan"}, {"infinity", "inf"},
};

constexpr Known kWays[] = {
    {"cost", "`cost` comes with a later version; `explain(f, x)` tells what a call moves, holds and computes"},
    {"time", "`time` comes with a later version"},
    {"plan", "`plan` comes with a later version; `explain(f, x)` tells what a call does"},
    {"launch", "`launch` comes with a later version: one process simulates all devices"},
    {"np", "functions have no prefix: `zeros([3])`, `sum(x)`"},
    {"numpy", "functions have no prefix: `zeros([3])`, `sum(x)`"},
    {"jnp", "functions have no prefix: `zeros([3])`, `sum(x)`"},
    {"jax", "functions have no prefix: `grad(f)`, `normal(key(0), [3])`"},
    {"lax", "functions have no prefix: `scan(f, init, xs)`, `psum(x, @i)`"},
    {"torch", "functions have no prefix: `zeros([3])`, `sum(x)`"},
    {"tf", "functions have no prefix: `zeros([3])`, `sum(x)`"},
    {"math", "functions have no prefix: `sqrt(x)`, and the constant is `pi`"},
    {"random", "random numbers are drawn by functions that take a key: `normal(key(0), [3])`"},
    {"rand", "random numbers are drawn with a key: `uniform(key(0), [3])`"},
    {"randn", "random numbers are drawn with a key: `normal(key(0), [3])`"},
    {"seed", "random numbers are drawn with a key: `normal(key(0), [3])`"},
    {"manual_seed", "random numbers are drawn with a key: `normal(key(0), [3])`"},
    {"optax", "optimizers are the module optim: `import optim`, then `optim.adam(1e-3)`"},
    {"flax", "layers are the module nn: `import nn`, then `nn.linear(784, 10)`"},
    {"nn", "layers are a module: `import nn`"},
    {"optim", "optimizers are a module: `import optim`"},
    {"train", "the training loop is a module: `import train`"},
    {"Linear", "layers are in the module nn: `import nn`, then `nn.linear(784, 10)`"},
    {"Adam", "optimizers are in the module optim: `import optim`, then `optim.adam(1e-3)`"},
    {"SGD", "optimizers are in the module optim: `import optim`, then `optim.sgd(0.1)`"},
    {"linear", "layers are in the module nn: `import nn`, then `nn.linear(784, 10)`"},
    {"adam", "optimizers are in the module optim: `import optim`, then `optim.adam(1e-3)`"},
    {"cross_entropy", "losses are in the module nn: `import nn`, then `nn.cross_entropy(logits, labels)`"},
    {"pass", "a block that does nothing is `{ }`"},
    {"end", "a block ends with `}`"},
    {"self", "a function takes the record as its first parameter, and `p.f()` is `f(p)`"},
    {"this", "a function takes the record as its first parameter, and `p.f()` is `f(p)`"},
    {"elif", "write `else if`, behind the `}` of the `if`"},
    {"list", "a list is `[a, b]`; another one of changed values `map(f, xs)`"},
    {"dict", "a record is `{a: 1, b: 2}`"},
    {"tuple", "a tuple is `(a, b)`"},
    {"set", "there are no sets; a list is `[a, b]`"},
    {"type", "the type of a value is `typeof(x)`"},
    {"isinstance", "the type of an array is `typeof(x)`, its element type `x.dtype`"},
    {"shape", "the sizes of an array are its field: `x.shape`"},
    {"numel", "the number of elements is a field: `x.size`"},
    {"dim", "the number of dimensions is a field: `x.ndim`"},
    {"item", "an array of one element is a number by `float(x)` or `int(x)`"},
    {"tolist", "a list of the parts along the first dimension is `map(fn(v) = v, x)`"},
    {"clone", "values never change in place: nothing has to be copied"},
    {"copy", "values never change in place: nothing has to be copied"},
    {"deepcopy", "values never change in place: nothing has to be copied"},
    {"at", "a changed copy is made by assignment: `x[i] = v`, `x[i] += v`"},
    {"to", "another element type is `cast(x, f16)` or `f16(x)`, another layout `shard x as P(@X)`"},
    {"cuda", "arrays are laid out over devices by `shard x as P(@X)`"},
    {"cpu", "arrays are laid out over devices by `shard x as P(@X)`"},
    {"backward", "gradients are a function: `grad(loss)(params)`"},
    {"zero_grad", "gradients are values that `grad(loss)(params)` returns: there is nothing to reset"},
    {"requires_grad", "gradients are a function: `grad(loss)(params)`"},
    {"no_grad", "gradients are a function, `grad(loss)(params)`; `stop_gradient(x)` holds x constant"},
    {"flatten", "`x.reshape([-1])` makes a vector, `x.reshape([x.shape[0], -1])` keeps the first dimension"},
    {"ravel", "a vector of all elements is `x.reshape([-1])`"},
    {"swapaxes", "dimensions are put in order by `transpose(x, [1, 0])`"},
    {"moveaxis", "dimensions are put in order by `transpose(x, [1, 0])`"},
    {"vstack", "rows are joined by `concat(xs, axis: 0)`; `stack(xs)` makes a new dimension"},
    {"hstack", "columns are joined by `concat(xs, axis: 1)`"},
    {"expand", "sizes of 1 grow by `broadcast_to(x, [3, 4])`"},
    {"log2", "another base is a quotient: `log(x) / log(2.0)`"},
    {"log10", "another base is a quotient: `log(x) / log(10.0)`"},
    {"cond", "a choice is `if c { a } else { b }`, in traced code too"},
    {"fori_loop", "a loop is `for i in 0..n { ... }`, in traced code too"},
    {"while_loop", "a loop is `while c { ... }`, in traced code too"},
    {"pmap", "per-device code is a `manual fn`; an array is split by `shard x as P(@X)`"},
    {"block_until_ready", "a call returns when its work is done: nothing has to be waited for"},
    {"extend", "lists are joined by `[...xs, ...ys]`"},
    {"keys", "the fields of a record are known where it is written: `p.w`; `tree_map` goes over all values"},
    {"values", "the values of a record are `tree_leaves(r)`"},
    {"items", "`tree_map(f, r)` goes over all values of a record"},
    {"format", "a string takes values in braces: `\"loss {loss:.4f}\"`"},
    {"join", "strings are joined by `+`, or put into another: `\"{a}, {b}\"`"},
    {"printf", "`print(\"loss {loss:.4f}\")` formats"},
    {"console", "`print(x)` shows a value"},
    {"exit", "a script ends with its last line; an interactive session by `:quit` or Ctrl-D"},
    {"quit", "a script ends with its last line; an interactive session by `:quit` or Ctrl-D"},
    {"sorted", "an array is sorted by `sort(x)`"},
    {"reversed", "the reverse of a list is `xs[::-1]`, of an array `flip(x)`"},
    {"input", "what a file holds is read by `load`, `read_text` or `read_csv`"},
    {"open", "what a file holds is read by `load`, `read_text` or `read_csv`"},
    {"shard_array", "arrays are laid out by `shard x as P(@X)`"},
    {"device_put", "arrays are laid out by `shard x as P(@X)`"},
    {"with_sharding_constraint", "arrays are laid out by `shard x as P(@X)`, in traced code too"},
    {"pjit", "use `jit`: layouts come from the arguments, annotations, or `in:` and `out:`"},
    {"make_mesh", "a mesh is declared: `mesh m = (@X: 8)`"},
    {"Mesh", "a mesh is declared: `mesh m = (@X: 8)`"},
    {"NamedSharding", "a layout is a spec such as `P(@X, _)`, used as in `shard x as P(@X, _)`"},
    {"PartitionSpec", "a spec is `P(@X, _)`"},
};

constexpr Known kParameters[] = {
    {"dim", "axis"}, {"dims", "axis"}, {"axes", "axis"}, {"keepdim", "keepdims"}, {"learning_rate", "lr"},
    {"rng", "key"}, {"size", "shape"}, {"in_axes", "in"}, {"out_axes", "out"}, {"argnums", "wrt"},
    {"argnum", "wrt"}, {"has_aux", "aux"}, {"axis_name", "axis"}, {"in_specs", "in"}, {"out_specs", "out"},
    {"in_shardings", "in"}, {"out_shardings", "out"}, {"strides", "stride"}, {"kernel_size", "window"},
    {"in_features", "inputs"}, {"out_features", "outputs"}, {"features", "outputs"}, {"use_bias", "bias"},
    {"num_heads", "heads"}, {"n_heads", "heads"}, {"p", "rate"}, {"betas", "b1"}, {"beta1", "b1"}, {"beta2", "b2"},
    {"permutation", "perm"}, {"sharding", "spec"}, {"drop_last", "rest"}, {"xs_length", "length"},
    {"epsilon", "eps"}, {"in_channels", "inputs"}, {"out_channels", "outputs"}, {"num_embeddings", "n"},
    {"embedding_dim", "d"}, {"embed_dim", "d"}, {"d_model", "d"}, {"dim_feedforward", "hidden"},
    {"normalized_shape", "d"}, {"num_features", "d"}, {"prob", "rate"}, {"dropout", "rate"}, {"n_layers", "n"},
    {"num_layers", "n"}, {"kernel", "window"}, {"max_norm", "limit"}, {"end_value", "floor"},
    {"transition_steps", "steps"}, {"init_value", "start"}, {"epoch", "epochs"}, {"num_epochs", "epochs"},
    {"seed", "shuffle"}, {"drop_remainder", "rest"}, {"num_workers", "prefetch"},
};

// Of the modules nn, optim and train.
constexpr Known kMembers[] = {
    {"Dense", "linear"}, {"Linear", "linear"}, {"Embed", "embedding"}, {"LayerNorm", "layer_norm"},
    {"RMSNorm", "rms_norm"}, {"BatchNorm", "batch_norm"}, {"BatchNorm1d", "batch_norm"},
    {"BatchNorm2d", "batch_norm"}, {"Conv", "conv"}, {"Conv1d", "conv"}, {"Conv2d", "conv"}, {"Conv3d", "conv"},
    {"MultiHeadDotProductAttention", "attention"}, {"MultiHeadAttention", "attention"},
    {"MultiheadAttention", "attention"}, {"SelfAttention", "attention"}, {"multi_head_attention", "attention"},
    {"TransformerEncoderLayer", "transformer_block"}, {"TransformerBlock", "transformer_block"},
    {"mlp", "feed_forward"}, {"MLP", "feed_forward"}, {"Flatten", "flatten"},
    {"CrossEntropyLoss", "cross_entropy"}, {"softmax_cross_entropy_with_integer_labels", "cross_entropy"},
    {"softmax_cross_entropy", "soft_cross_entropy"}, {"BCEWithLogitsLoss", "bce"},
    {"sigmoid_binary_cross_entropy", "bce"}, {"binary_cross_entropy", "bce"},
    {"binary_cross_entropy_with_logits", "bce"}, {"MSELoss", "mse"}, {"mse_loss", "mse"}, {"squared_error", "mse"},
    {"L1Loss", "mae"}, {"l1_loss", "mae"}, {"absolute_error", "mae"}, {"HuberLoss", "huber"}, {"huber_loss", "huber"},
    {"SmoothL1Loss", "huber"}, {"smooth_l1_loss", "huber"}, {"KLDivLoss", "kl"}, {"kl_div", "kl"},
    {"kl_divergence", "kl"}, {"hinge_loss", "hinge"}, {"rope", "rotary"},
    {"xavier_uniform", "glorot_uniform"}, {"xavier_normal", "glorot_normal"}, {"kaiming_uniform", "he_uniform"},
    {"kaiming_normal", "he_normal"},
    {"clip_grad_norm", "clip_by_global_norm"}, {"clip_grad_norm_", "clip_by_global_norm"},
    {"clip", "clip_by_value"}, {"cosine_decay_schedule", "cosine"}, {"warmup_cosine_decay_schedule", "cosine"},
    {"CosineAnnealingLR", "cosine"}, {"linear_schedule", "linear"}, {"exponential_decay", "exponential"},
    {"ExponentialLR", "exponential"}, {"polynomial_schedule", "polynomial"},
    {"piecewise_constant_schedule", "steps"}, {"MultiStepLR", "steps"}, {"StepLR", "exponential"},
    {"join_schedules", "join"}, {"constant_schedule", "constant"}, {"MultiSteps", "accumulate"},
    {"scale_by_learning_rate", "scale_by_rate"}, {"scale_by_schedule", "scale_by_rate"},
    {"incremental_update", "moving_average"}, {"CSVLogger", "csv"}, {"SummaryWriter", "tensorboard"},
    {"EarlyStopping", "early_stop"}, {"fit", "loop"},
};

template <std::size_t N> std::string_view found(const Known (&table)[N], std::string_view name) {
  for (const Known& k : table)
    if (k.name == name) return k.here;
  return {};
}

}  // namespace

std::string_view name_here(std::string_view name) { return found(kNames, name); }
std::string_view way_here(std::string_view name) { return found(kWays, name); }

bool gives_only(std::string_view builtin) { return builtin == "append" || builtin == "sort"; }

std::string_view member_here(std::string_view name, const std::vector<std::string>& fields) {
  const std::string_view here = found(kMembers, name);
  return std::find(fields.begin(), fields.end(), here) != fields.end() ? here : std::string_view();
}

std::optional<std::string> parameter_near(std::string_view name, const std::vector<std::string>& parameters) {
  const auto has = [&](std::string_view p) { return std::find(parameters.begin(), parameters.end(), p) != parameters.end(); };
  if (auto near = grammar::near_miss(name, parameters)) return near;
  for (const Known& k : kParameters)
    if (k.name == name && has(k.here)) return std::string(k.here);
  for (const std::string& p : parameters) {              // batch_size -> batch
    const bool begins = name.size() > p.size() && name.substr(0, p.size()) == p && name[p.size()] == '_';
    const bool within = p.size() > name.size() && p.substr(0, name.size()) == name && p[name.size()] == '_';
    const bool ends = name.size() > p.size() && name.ends_with(p) && name[name.size() - p.size() - 1] == '_';
    if (p.size() > 1 && (begins || within || ends)) return p;   // label_smoothing -> smoothing
  }
  return std::nullopt;
}

}  // namespace shard::lang
