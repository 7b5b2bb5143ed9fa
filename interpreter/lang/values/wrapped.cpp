#include "interpreter/lang/values/wrapped.h"

#include "interpreter/lang/values/closure.h"

namespace shard::lang {
namespace {

using Run = std::function<Value(Interpreter& in, std::vector<CallArg> args, grammar::Span span)>;

class Transformed final : public Wrapped {
 public:
  Transformed(std::string word, std::string doc, Value function, Run run)
      : Wrapped(Kind::Transform, std::move(word), std::move(function)), doc_(std::move(doc)), run_(std::move(run)) {}
  Value call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const override {
    return run_(in, args, span);
  }
  std::string doc() const override { return doc_; }

 private:
  std::string doc_;
  Run run_;
};

}  // namespace

Value transformed(std::string word, std::string doc, Value function, Run run) {
  return Value(std::shared_ptr<const Wrapped>(
      std::make_shared<Transformed>(std::move(word), std::move(doc), std::move(function), std::move(run))));
}

const Closure* written_function(const Value& f) {
  const Value* inner = &f;
  while (auto* w = inner->get<std::shared_ptr<const Wrapped>>()) inner = &(*w)->function;
  auto* closure = inner->get<std::shared_ptr<const Closure>>();
  return closure ? closure->get() : nullptr;
}

std::string called(const Value& f) {
  if (auto* c = f.get<std::shared_ptr<const Closure>>())
    return (*c)->function->name.empty() ? "fn" : (*c)->function->name;
  if (auto* n = f.get<std::shared_ptr<const Native>>()) return (*n)->name;
  if (auto* op = f.get<const ir::OpDef*>()) return std::string((*op)->name);
  if (auto* t = f.get<runtime::DType>()) return std::string(runtime::name(*t));
  auto* w = f.get<std::shared_ptr<const Wrapped>>();
  if (!w) return "a function";
  const std::string inner = called((*w)->function);
  // What only says how the function is run leaves it its name, where it was written with it: `jit fn f`.
  return (*w)->kind == Wrapped::Kind::Transform || (*w)->word == "shard_map" ? (*w)->word + "(" + inner + ")" : inner;
}

// ---- ranges of a run (native.h)

bool only_a_run_knows(const Value& v) {
  const trace::Tensor* t = v.get<trace::Tensor>();
  return t && t->traced() && !t->known() && t->type().shape.empty() && runtime::is_integer(t->type().dtype);
}

std::optional<Value> TracedRange::next(Interpreter&) {
  throw runtime::RuntimeError("traced",
                              "how long this range is, only a run knows: `for` goes through it, and nothing else");
}

}  // namespace shard::lang
