// Keys and random bits: Threefry-2x32 with counters by global index, so that every device makes its own part of an
// array, with no communication and the same bits in every layout (JAX's partitionable mode). Distributions are in
// sample.cpp.
#include "runtime/kernels/kernels.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

// ---- StableHLO
// Keys and random bits as StableHLO: Threefry-2x32 written out in words of 32 bits, so that the bits are the kernels'
// on every engine (an engine's own generator counts as it likes).

// The words of keys, spread over `shape`, whose first dimensions are those of the keys.
Words words_of(const hlo::Value& key, const Shape& shape, std::span<const std::int64_t> dims) {
  Shape wide = key.shape;
  wide.push_back(2);
  const hlo::Value words = hlo::bitcast(key, DType::U32, wide);
  const auto word = [&](std::int64_t i) {
    return hlo::spread(hlo::reshape(hlo::part(words, words.rank() - 1, i, i + 1), key.shape), shape, dims);
  };
  return {word(0), word(1)};
}

Words threefry(const Words& key, Words x) {
  constexpr int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const auto xored = [](const hlo::Value& a, const hlo::Value& b) { return hlo::binary("xor", a, b); };
  const hlo::Value k[3] = {key.first, key.second, xored(xored(key.first, key.second), key.first.number(0x1BD11BDA))};
  x = {x.first + k[0], x.second + k[1]};
  for (int i = 1; i <= 5; ++i) {
    for (int r : turns[(i + 1) % 2]) {
      x.first = x.first + x.second;
      const hlo::Value up = hlo::binary("shift_left", x.second, x.second.number(r)),
                       down = hlo::binary("shift_right_logical", x.second, x.second.number(32 - r));
      x.second = xored(hlo::either(up, down), x.first);
    }
    x = {x.first + k[i % 3], x.second + k[(i + 1) % 3] + i};
  }
  return x;
}

namespace {

hlo::Value key_of(const Words& words) {
  Shape wide = words.first.shape;
  wide.push_back(1);
  const hlo::Values both{hlo::reshape(words.first, wide), hlo::reshape(words.second, wide)};
  return hlo::bitcast(hlo::concatenate(both, static_cast<int>(wide.size()) - 1), DType::Key, words.first.shape);
}

// The counter of an element is its place in the whole array.
hlo::Values bits_hlo(const hlo::Use& u) {
  const Shape &whole = u.attrs.ints("whole"), &shape = u.out[0].shape;
  const auto keys = static_cast<std::int64_t>(shape.size() - whole.size());
  const bool wide = runtime::numel(whole) > (std::int64_t{1} << 32);
  const DType counted = wide ? DType::U64 : DType::U32;
  hlo::Value counter = u.to.constant(counted, shape, 0);
  std::int64_t stride = 1;
  for (std::size_t d = whole.size(); d-- > 0; stride *= whole[d]) {
    hlo::Value at = hlo::iota(u.to, counted, shape, static_cast<int>(keys) + static_cast<int>(d));
    if (u.in.size() > 1) at = at + hlo::broadcast(hlo::convert(u.in[1 + d], counted), shape);
    counter = counter + at * u.to.integer(counted, shape, stride);
  }
  Words x{counter.number(0), counter};
  if (wide)
    x = {hlo::convert(hlo::binary("shift_right_logical", counter, counter.number(32)), DType::U32),
         hlo::convert(hlo::binary("and", counter, counter.number(0xFFFFFFFF)), DType::U32)};
  x = threefry(words_of(u.in[0], shape, leading(keys)), x);
  const DType dtype = u.out[0].dtype;
  if (dtype != DType::U64) return {hlo::convert(hlo::binary("xor", x.first, x.second), dtype)};
  const hlo::Value high = hlo::convert(x.first, dtype);
  return {hlo::either(hlo::binary("shift_left", high, high.number(32)), hlo::convert(x.second, dtype))};
}

hlo::Values split_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  hlo::Value counter = hlo::iota(u.to, DType::U32, shape, static_cast<int>(shape.size()) - 1);
  if (u.in.size() > 1) counter = counter + hlo::broadcast(hlo::convert(u.in[1], DType::U32), shape);
  return {key_of(threefry(words_of(u.in[0], shape, leading(u.in[0].rank())), {counter.number(0), counter}))};
}

hlo::Values fold_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const hlo::Value key = hlo::broadcast(u.in[0], shape), data = hlo::broadcast(u.in[1], shape);
  return {key_of(threefry(words_of(key, shape, leading(key.rank())), {data.number(0), data}))};
}

hlo::Values make_key_hlo(const hlo::Use& u) {
  const hlo::Value seed = hlo::bitcast(u.in[0], DType::U32, u.in[0].shape);
  return {key_of({seed.number(0), seed})};
}

// ---- rows

void need_keys(const OpCall& call, std::string_view op) {
  if (call.in[0].dtype != DType::Key)
    fail("type", std::string(op == "bits" ? "a random function" : op) + " takes a key (`key(0)`), got " +
                     runtime::to_string(call.in[0]));
}

ir::KindFn kind_of_bits(std::string_view op) {
  return [op](const OpCall& call) {
    need_keys(call, op);
    return std::vector<Kind>{{call.attrs.dtype("dtype"), false}};
  };
}

ir::KindFn keys(std::string_view op) {
  return [op](const OpCall& call) {
    need_keys(call, op);
    return std::vector<Kind>{{DType::Key, false}};
  };
}

// A mapped key draws for each of its new first dimension.
std::vector<Mapped> batch_keys(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  Shape shape = call.attrs.ints("shape");
  shape.insert(shape.begin(), size);
  Attrs attrs = with_mapped_out(b, call.attrs, in);
  attrs.set("shape", shape);
  return {{b.emit1(call.op, {in[0].var}, attrs), true}};
}

// The view as one dimension.
MergedView line_of(const View& v) { return {v, std::array{v.rank()}}; }

// ---- random_bits: key [keys...], then a start for each drawn dimension (none: all 0) -> [keys..., shape...]

std::size_t drawn(const OpCall& call) { return call.attrs.ints("whole").size(); }

FactorRule bits_factors(const OpCall& call) {
  RuleBuilder r;
  const Shape& shape = call.attrs.ints("shape");
  auto out = r.dims(shape_of(shape, "bits"));
  std::size_t rank = drawn(call);
  if (shape.size() != rank + call.in[0].shape.size())
    fail("shape", "bits: a shape for each key is drawn, got " + runtime::to_string(shape) + " for " +
                      runtime::to_string(call.in[0]));
  return r.made(call, {{out.begin(), out.end() - static_cast<std::ptrdiff_t>(rank)}}, out);
}

BoundKernel bind_bits(const KernelCall& c) {
  const Shape whole = c.attrs.ints("whole");
  auto lead = static_cast<std::size_t>(c.batch), rank = whole.size();
  View out = c.out[0], key = c.in[0];
  std::size_t keys_rank = out.shape.size() - rank;
  Shape block(out.shape.begin() + static_cast<std::ptrdiff_t>(keys_rank), out.shape.end()),
      blocks(out.shape.begin(), out.shape.begin() + c.batch);
  std::int64_t count = runtime::numel(block), many = 1;
  for (std::size_t d = lead; d < keys_rank; ++d) many *= out.shape[d];
  View some_keys{key.dtype,
                 {key.shape.begin() + c.batch, key.shape.end()},
                 {key.strides.begin() + c.batch, key.strides.end()},
                 nullptr};
  MergedView line = line_of(some_keys);
  std::vector<runtime::Strides> strides = {{key.strides.begin(), key.strides.begin() + c.batch},
                                           {out.strides.begin(), out.strides.begin() + c.batch}};
  std::vector<View> starts(c.in.begin() + 1, c.in.end());
  for (auto& s : starts) strides.push_back(s.strides);
  if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
  runtime::Pool& pool = c.pool;
  return [=, &pool](void* const* in, void* const* o) mutable {
    for_each_block(blocks, strides, [&](const std::vector<std::int64_t>& offset) {
      std::vector<std::int64_t> start(rank, 0);
      for (std::size_t d = 0; d < starts.size(); ++d)
        start[d] = static_cast<const std::int32_t*>(in[1 + d])[offset[2 + d]];
      runtime::BufferRef held;
      View first = at(some_keys, in[0], offset[0]);
      View ks = at(line.view, line.data(pool, first.data, held));
      View to{out.dtype, {many, count}, {count, 1}, nullptr};
      runtime::random_bits(ks, whole, start, block, at(to, o[0], offset[1]), &pool.stop());
    });
  };
}

Vars bits_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  std::size_t rank = drawn(c.call), keys_rank = c.rule.results[0].size() - rank;
  const Shape& local = c.attrs.ints("shape");
  Vars operands = {in[0]};
  for (std::size_t d = 0; d < rank; ++d) {
    auto& axes = c.axes[static_cast<std::size_t>(c.rule.results[0][keys_rank + d][0])];
    operands.push_back(ir::mul(b, device_position(b, axes), scalar_i32(b, local[keys_rank + d])));
  }
  Attrs attrs = c.attrs;
  attrs.erase("out");
  return b.emit(c.call.op, operands, attrs);
}

void register_random_bits(OpTable& t) {
  OpDef row =
      internal_row("random_bits(key, starts: arrays, shape: ints, whole: ints, dtype: dtype, out: spec? = none)",
                   "Random bits for each key: the block at `starts` of an array of shape `whole`.");
  row.factors = bits_factors;
  row.dtype.result = kind_of_bits("bits");
  row.derivative = ir::Zero{};
  row.hlo = bits_hlo;
  row.kernel = ir::KernelFn(bind_bits);
  row.partition = bits_locally;
  row.batch = batch_keys;
  row.flops = 40;
  row.samples =
      "key shape=[8] whole=[8] dtype=u32; key shape=[4, 6] whole=[4, 6] dtype=u32; "
      "key[2] shape=[2, 4] whole=[4] dtype=u64; key shape=[] whole=[] dtype=u8; "
      "key shape=[4] whole=[4] dtype=u16";
  t.add(std::move(row));
}

// ---- keys

// split_keys: key [keys...], start (none: 0) -> [keys..., n]
void register_split_keys(OpTable& t) {
  OpDef split = internal_row("split_keys(key, starts: arrays, shape: ints)",
                             "New keys from each key: those of counters start, start + 1, ...");
  split.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto out = r.dims(shape_of(call.attrs.ints("shape"), "split"));
    if (out.size() != call.in[0].shape.size() + 1) fail("shape", "split: one new dimension of keys");
    return r.made(call, {{out.begin(), out.end() - 1}}, out);
  };
  split.dtype.result = keys("split");
  split.derivative = ir::Zero{};
  split.hlo = split_hlo;
  split.kernel = [](const KernelCall& c) -> BoundKernel {
    View key = c.in[0], out = c.out[0];
    Shape outer(out.shape.begin(), out.shape.end() - 1);
    std::vector<runtime::Strides> strides = {key.strides, {out.strides.begin(), out.strides.end() - 1}};
    bool started = c.in.size() > 1;
    if (started) {
      strides.push_back(c.in[1].strides);
      strides.back().resize(outer.size(), 0);
    }
    std::int64_t n = out.shape.back();
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    return [=](void* const* in, void* const* o) {
      for_each_block(outer, strides, [&](const std::vector<std::int64_t>& offset) {
        std::int64_t start = started ? static_cast<const std::int32_t*>(in[1])[offset[2]] : 0;
        View one{DType::Key, {1}, {1}, in[0]}, to{DType::Key, {1, n}, {n, 1}, o[0]};
        runtime::split_keys(shifted(one, offset[0]), start, shifted(to, offset[1]));
      });
    };
  };
  split.partition = [](Builder& b, const ir::LocalCall& c, std::span<const Var> in) -> Vars {
    auto& axes = c.axes[static_cast<std::size_t>(c.rule.results[0].back()[0])];
    Var start = ir::mul(b, device_position(b, axes), scalar_i32(b, c.attrs.ints("shape").back()));
    return b.emit(c.call.op, {in[0], start}, c.attrs);
  };
  split.batch = batch_keys;
  split.flops = 40;
  split.samples = "key shape=[4]; key[2] shape=[2, 4]";
  t.add(std::move(split));
}

void register_fold_keys(OpTable& t) {
  OpDef fold = internal_row("fold_keys(key, data)", "A new key from each key and a number (u32).");
  fold.factors = broadcast_factors;
  fold.dtype.result = keys("fold_in");
  fold.derivative = ir::Zero{};
  fold.hlo = fold_hlo;
  fold.kernel = [](const KernelCall& c) -> BoundKernel {
    View key = c.in[0], data = c.in[1], out = c.out[0];
    MergedView ks = line_of(over_result(key, c)), ds = line_of(over_result(data, c)), os = line_of(out);
    runtime::Pool& pool = c.pool;
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    return [=, &pool](void* const* in, void* const* o) mutable {
      runtime::BufferRef held_k, held_d;
      runtime::fold_in(at(ks.view, ks.data(pool, in[0], held_k)), at(ds.view, ds.data(pool, in[1], held_d)),
                       at(os.view, o[0]));
    };
  };
  fold.flops = 40;
  fold.samples = "key u32[]; key[4] u32[4]; key u32[4]";
  t.add(std::move(fold));
}

void register_key_words(OpTable& t) {
  OpDef words = row_of("key_data(key)", "The two words of each key, in a new last dimension (u32).");
  words.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto dims = r.dims(call.in[0].shape), out = dims;
    out.push_back({r.factor(2, FactorKind::Whole)});
    return r.made({dims}, {out});
  };
  words.dtype = {Operands::AsIs, [](const OpCall& call) {
                   need_keys(call, "key_data");
                   return std::vector<Kind>{{DType::U32, false}};
                 }};
  words.derivative = ir::Zero{};
  words.hlo = [](const hlo::Use& u) -> hlo::Values { return {hlo::bitcast(u.in[0], DType::U32, u.out[0].shape)}; };
  words.kernel = [](const KernelCall& c) -> BoundKernel {
    View key = c.in[0];
    View out = runtime::contiguous(DType::Key, key.shape);  // the same memory: k0 lies before k1
    return [=](void* const* in, void* const* o) mutable { runtime::copy(at(key, in[0]), at(out, o[0])); };
  };
  words.flops = 0;
  words.samples = "key[4]; key";
  t.add(std::move(words));

  OpDef made = internal_row("make_key(seed)", "A key from a traced seed: the words 0 and the seed.");
  made.factors = broadcast_factors;
  made.dtype.result = [](const OpCall& call) {
    if (call.in[0].dtype != DType::I32 && call.in[0].dtype != DType::U32)
      fail("type", "key takes an i32 or u32 seed, got " + runtime::to_string(call.in[0]));
    return std::vector<Kind>{{DType::Key, false}};
  };
  made.derivative = ir::Zero{};
  made.hlo = make_key_hlo;
  made.kernel = [](const KernelCall& c) -> BoundKernel {
    View seed = c.in[0], out = c.out[0];
    View low = out, high = out;  // the words as u32, every second one
    low.dtype = high.dtype = seed.dtype;
    for (auto& s : low.strides) s *= 2;
    high.strides = low.strides;
    return [=](void* const* in, void* const* o) mutable {
      runtime::fill(at(high, o[0]), 0, 0);
      runtime::copy(at(seed, in[0]), at(low, o[0], 1));
    };
  };
  made.flops = 0;
  made.samples = "i32[] 0..100; i32[4] 0..100";
  t.add(std::move(made));
}

}  // namespace

void register_random(OpTable& t) {
  register_random_bits(t);
  register_split_keys(t);
  register_fold_keys(t);
  register_key_words(t);
  add_composite(t, "split_key(key, n: ints = 2)", "New keys from a key: an array of n.", "key n=[4]; key",
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  Shape n = shape_of(ints_if(attrs, "n").value_or(Ints{2}), "split"), shape = b.type(in[0]).shape,
                        full = shape;
                  shape.push_back(runtime::numel(n));
                  full.insert(full.end(), n.begin(), n.end());
                  return {expand(b, b.call("split_keys", {in[0]}, {{"shape", shape}}), full)};
                });
  add_composite(t, "fold_in(key, data)", "A new key from a key and a number.", "key i32[] 0..100",
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  return {b.call("fold_keys", {in[0], ir::convert(b, in[1], DType::U32)})};
                });
  add_composite(
      t, "bits(key, shape: ints = [], dtype: dtype = u32, out: spec? = none)", "Random bits: u8, u16, u32 or u64.",
      "key shape=[4, 6]; key dtype=u8 shape=[4]",
      placed_last([](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
        Shape shape = shape_of(ints_if(attrs, "shape").value_or(Ints{}), "bits"), full = b.type(in[0]).shape;
        DType dtype = dtype_if(attrs, "dtype").value_or(DType::U32);
        if (!runtime::is_integer(dtype) || runtime::is_signed(dtype))
          fail("type", "bits are of type u8, u16, u32 or u64");
        full.insert(full.end(), shape.begin(), shape.end());
        return {b.call("random_bits", {in[0]}, with_out({{"shape", full}, {"whole", shape}, {"dtype", dtype}}, attrs))};
      }));
}

}  // namespace shard::stdlib
