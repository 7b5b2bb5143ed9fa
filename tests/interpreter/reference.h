// A slow, plain evaluator of global graphs: one whole array a value, one node after another, through the rows' own
// kernels (codes one element at a time, in double). An oracle for passes: what a pass makes must compute what its input
// does. Layouts are not looked at.
#pragma once
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "interpreter/ir/builder.h"

namespace shard::testing {

using ir::Graph;
using ir::Node;
using ir::Type;
using ir::Var;
using runtime::DType;

struct Array {
  DType dtype = DType::F32;
  runtime::Shape shape;
  std::vector<char> bytes;
  Array() = default;
  Array(DType d, runtime::Shape s)
      : dtype(d), shape(std::move(s)), bytes(static_cast<std::size_t>(runtime::numel(shape)) * runtime::size_of(d)) {}
  Array(runtime::Shape s, const std::vector<double>& values, DType d = DType::F32) : Array(d, std::move(s)) {
    for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }
  std::size_t size() const { return static_cast<std::size_t>(runtime::numel(shape)); }
  template <class T>
  T load(std::size_t i) const {
    T v;
    std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
    return v;
  }
  template <class T>
  void store(std::size_t i, T v) {
    std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
  }
  double get(std::size_t i) const {
    switch (dtype) {
      case DType::F32: return load<float>(i);
      case DType::F64: return load<double>(i);
      case DType::I32: return load<std::int32_t>(i);
      case DType::I64: return static_cast<double>(load<std::int64_t>(i));
      case DType::U32: return load<std::uint32_t>(i);
      case DType::Bool: return load<std::uint8_t>(i);
      default: throw std::logic_error("reference: element type " + std::string(runtime::name(dtype)));
    }
  }
  void set(std::size_t i, double v) {
    switch (dtype) {
      case DType::F32: return store(i, static_cast<float>(v));
      case DType::F64: return store(i, v);
      case DType::I32: return store(i, static_cast<std::int32_t>(v));
      case DType::I64: return store(i, static_cast<std::int64_t>(v));
      case DType::U32: return store(i, static_cast<std::uint32_t>(static_cast<std::int64_t>(v)));
      case DType::Bool: return store(i, static_cast<std::uint8_t>(v != 0));
      default: throw std::logic_error("reference: element type " + std::string(runtime::name(dtype)));
    }
  }
  std::vector<double> values() const {
    std::vector<double> out(size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = get(i);
    return out;
  }
};
using Arrays = std::vector<Array>;

class Reference {
 public:
  int effects = 0;              // how many effects have acted
  std::vector<double> printed;  // their operands' elements, in order

  Arrays run(const Graph& g, const Arrays& args) {
    if (args.size() != g.params.size()) throw std::logic_error("reference: arguments");
    std::vector<Array> now(g.types.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i].shape != g.type(g.params[i]).shape || args[i].dtype != g.type(g.params[i]).dtype)
        throw std::logic_error("reference: argument " + std::to_string(i) + " is not " +
                               runtime::to_string(g.type(g.params[i])));
      now[at(g.params[i])] = args[i];
    }
    for (const Node& n : g.nodes) {
      Arrays in, out;
      for (Var v : n.inputs) in.push_back(now[at(v)]);
      std::vector<Type> types;
      for (Var v : n.outputs) types.push_back(g.type(v));
      out = node(n, in, types);
      for (std::size_t k = 0; k < n.outputs.size(); ++k) {
        if (out.at(k).shape != types[k].shape || out[k].dtype != types[k].dtype)
          throw std::logic_error("reference: " + std::string(n.op->name) + " is typed " + runtime::to_string(types[k]));
        now[at(n.outputs[k])] = out[k];
      }
    }
    Arrays results;
    for (Var r : g.results) results.push_back(now[at(r)]);
    return results;
  }

 private:
  static Array row(const Array& x, std::int64_t i) {
    Array r(x.dtype, runtime::Shape(x.shape.begin() + 1, x.shape.end()));
    std::memcpy(r.bytes.data(), x.bytes.data() + static_cast<std::size_t>(i) * r.bytes.size(), r.bytes.size());
    return r;
  }

  Arrays node(const Node& n, const Arrays& in, const std::vector<Type>& types) {
    if (auto* code = std::get_if<runtime::Code>(&n.op->kernel)) return {element(*code, in, types[0])};
    if (auto* view = std::get_if<ir::ViewOf>(&n.op->kernel)) return {shown(*view, n, in[0], types[0])};
    if (auto* kernel = std::get_if<ir::KernelFn>(&n.op->kernel)) return bound(*kernel, n, in, types);
    if (auto* s = ir::structure_of(*n.op)) return structure(*s, n, in, types);
    throw std::logic_error("reference: no kernel for " + std::string(n.op->name));
  }

  static Array framed(const ir::Pairs& frame, const Array& x) {
    Array out(x.dtype, ir::framed(x.shape, frame));
    const runtime::Shape steps = runtime::row_major(out.shape);
    const std::size_t item = runtime::size_of(x.dtype);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::int64_t to = 0, rest = static_cast<std::int64_t>(i);
      for (std::size_t d = x.shape.size(); d-- > 0; rest /= x.shape[d])
        to += (rest % x.shape[d] + frame[d].first) * steps[d];
      std::memcpy(out.bytes.data() + static_cast<std::size_t>(to) * item, x.bytes.data() + i * item, item);
    }
    return out;
  }

  static Array shown(const ir::ViewOf& view, const Node& n, const Array& given, const Type& type) {
    const Array x = view.frame ? framed(view.frame(n.attrs, given.shape.size()), given) : given;
    const auto seen = view.strides({x.shape, runtime::row_major(x.shape), 0}, n.attrs, type.shape);
    Array out(type.dtype, type.shape);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::int64_t from = seen->offset, rest = static_cast<std::int64_t>(i);
      for (std::size_t d = type.shape.size(); d-- > 0; rest /= type.shape[d])
        from += rest % type.shape[d] * seen->strides[d];
      const std::size_t item = runtime::size_of(type.dtype);
      std::memcpy(out.bytes.data() + i * item, x.bytes.data() + static_cast<std::size_t>(from) * item, item);
    }
    return out;
  }

  Arrays bound(const ir::KernelFn& kernel, const Node& n, const Arrays& in, const std::vector<Type>& types) {
    std::vector<runtime::View> iv, ov;
    std::vector<void*> ip, op;
    std::vector<runtime::BufferRef> held;  // kernels count on the alignment of the pool's buffers
    Arrays out;
    auto place = [&](const Array& a, std::vector<runtime::View>& views, std::vector<void*>& pointers) {
      held.push_back(pool_.allocate(a.bytes.size()));
      std::memcpy(held.back()->data(), a.bytes.data(), a.bytes.size());
      views.push_back(runtime::contiguous(a.dtype, a.shape));
      pointers.push_back(held.back()->data());
    };
    for (auto& a : in) place(a, iv, ip);
    for (auto& t : types) out.emplace_back(t.dtype, t.shape), place(out.back(), ov, op);
    kernel(ir::KernelCall{n.attrs, iv, ov, 0, pool_})(ip.data(), op.data());
    for (std::size_t k = 0; k < out.size(); ++k) std::memcpy(out[k].bytes.data(), op[k], out[k].bytes.size());
    return out;
  }

  Arrays structure(ir::Structure s, const Node& n, const Arrays& in, const std::vector<Type>& types) {
    using ir::Structure;
    switch (s) {
      case Structure::Constant: {
        Array a(types[0].dtype, {});
        const ir::AttrValue& v = *n.attrs.find("value");
        a.set(0, std::holds_alternative<bool>(v) ? std::get<bool>(v) : n.attrs.number("value"));
        return {a};
      }
      case Structure::Shard: return in;
      case Structure::Call: return run(*n.regions[0], in);
      case Structure::Branch: return run(*n.regions[in[0].get(0) != 0 ? 0 : 1], Arrays(in.begin() + 1, in.end()));
      case Structure::Effect:
        ++effects;
        for (const Array& a : in)
          for (double x : a.values()) printed.push_back(x);
        return {};
      case Structure::While: {
        auto cc = n.attrs.integer("cond_consts"), bc = n.attrs.integer("body_consts");
        Arrays cond(in.begin(), in.begin() + cc), body(in.begin() + cc, in.begin() + cc + bc),
            carry(in.begin() + cc + bc, in.end());
        auto with = [&](Arrays a) {
          a.insert(a.end(), carry.begin(), carry.end());
          return a;
        };
        for (int turns = 0; run(*n.regions[0], with(cond))[0].get(0) != 0; ++turns) {
          if (turns > 100000) throw std::logic_error("reference: endless loop");
          carry = run(*n.regions[1], with(body));
        }
        return carry;
      }
      case Structure::Scan: return scan(n, in, types);
      default: throw std::logic_error("reference: structure of " + std::string(n.op->name));
    }
  }

  Arrays scan(const Node& n, const Arrays& in, const std::vector<Type>& types) {
    auto nc = static_cast<std::size_t>(n.attrs.integer("consts")),
         nk = static_cast<std::size_t>(n.attrs.integer("carry"));
    std::int64_t length = n.attrs.integer("length");
    Arrays carry(in.begin() + static_cast<std::ptrdiff_t>(nc), in.begin() + static_cast<std::ptrdiff_t>(nc + nk)), out;
    for (const Type& t : types) out.emplace_back(t.dtype, t.shape);
    for (std::int64_t turn = 0; turn < length; ++turn) {
      std::int64_t i = n.attrs.flag("reverse") ? length - 1 - turn : turn;
      Arrays args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(nc));
      args.insert(args.end(), carry.begin(), carry.end());
      for (std::size_t x = nc + nk; x < in.size(); ++x) args.push_back(row(in[x], i));
      Arrays got = run(*n.regions[0], args);
      for (std::size_t k = 0; k < nk; ++k) carry[k] = got[k];
      for (std::size_t k = nk; k < got.size(); ++k)
        std::memcpy(out[k].bytes.data() + static_cast<std::size_t>(i) * got[k].bytes.size(), got[k].bytes.data(),
                    got[k].bytes.size());
    }
    for (std::size_t k = 0; k < nk; ++k) out[k] = carry[k];
    return out;
  }

  static Array element(runtime::Code code, const Arrays& in, const Type& type) {
    Array out(type.dtype, type.shape);
    auto strides = runtime::row_major(type.shape);
    for (std::size_t i = 0; i < out.size(); ++i) {
      double v[3] = {};
      for (std::size_t k = 0; k < in.size(); ++k) {
        auto mine = runtime::row_major(in[k].shape);
        std::size_t skip = type.shape.size() - in[k].shape.size(), where = 0;
        for (std::size_t d = 0; d < in[k].shape.size(); ++d) {
          auto index = static_cast<std::int64_t>(i) / strides[d + skip] % type.shape[d + skip];
          if (in[k].shape[d] != 1) where += static_cast<std::size_t>(index * mine[d]);
        }
        v[k] = in[k].get(where);
      }
      out.set(i, apply(code, v[0], v[1], v[2]));
    }
    return out;
  }

  static double apply(runtime::Code code, double a, double b, double c) {
    using C = runtime::Code;
    switch (code) {
      case C::Neg: return -a;
      case C::Abs: return std::fabs(a);
      case C::Sign: return (a > 0) - (a < 0);
      case C::Exp: return std::exp(a);
      case C::Log: return std::log(a);
      case C::Log1p: return std::log1p(a);
      case C::Sqrt: return std::sqrt(a);
      case C::Rsqrt: return 1 / std::sqrt(a);
      case C::Square: return a * a;
      case C::Sin: return std::sin(a);
      case C::Cos: return std::cos(a);
      case C::Tan: return std::tan(a);
      case C::Sinh: return std::sinh(a);
      case C::Cosh: return std::cosh(a);
      case C::Tanh: return std::tanh(a);
      case C::Expm1: return std::expm1(a);
      case C::Erf: return std::erf(a);
      case C::Floor: return std::floor(a);
      case C::Ceil: return std::ceil(a);
      case C::Round: return std::nearbyint(a);
      case C::Sigmoid: return 1 / (1 + std::exp(-a));
      case C::Reciprocal: return 1 / a;
      case C::Identity:
      case C::Convert: return a;
      case C::Not: return a == 0;
      case C::IsNan: return std::isnan(a);
      case C::IsInf: return std::isinf(a);
      case C::IsFinite: return std::isfinite(a);
      case C::Add: return a + b;
      case C::Sub: return a - b;
      case C::Mul: return a * b;
      case C::Div: return a / b;
      case C::FloorDiv: return std::floor(a / b);
      case C::Mod: return a - std::floor(a / b) * b;
      case C::Pow: return std::pow(a, b);
      case C::Max: return std::fmax(a, b);
      case C::Min: return std::fmin(a, b);
      case C::BitAnd: return static_cast<double>(static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b));
      case C::BitOr: return static_cast<double>(static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b));
      case C::Eq: return a == b;
      case C::Ne: return a != b;
      case C::Lt: return a < b;
      case C::Le: return a <= b;
      case C::Gt: return a > b;
      case C::Ge: return a >= b;
      case C::Select: return a != 0 ? b : c;
      default: throw std::logic_error("reference: code " + std::to_string(static_cast<int>(code)));
    }
  }

  runtime::Pool pool_;
};

}  // namespace shard::testing
