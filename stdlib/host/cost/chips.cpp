#include "stdlib/host/cost/chips.h"

#include <cmath>

#include "grammar/diagnostic.h"
#include "interpreter/lang/report/report.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using cost_model::Chip;
using lang::Interpreter;
using lang::Value;

using Named = std::vector<std::pair<std::string, Value>>;

// The records with a `name` among these fields: chips of the module ("a100-80" is its field a100_80), and its `stacks`.
Named named_records(const lang::Record& fields) {
  Named out;
  for (const auto& field : fields.fields) {
    const lang::Record* record = field.second.fields();
    if (const Value* own = record ? record->find("name") : nullptr; own && own->is_string()) out.push_back(field);
  }
  return out;
}

Named module_chips(Interpreter& in, grammar::Span span) {
  return named_records(*in.load_module("chips", span).fields());
}

Value named(Interpreter& in, const Named& all, const std::string& name, const std::string& what, grammar::Span span) {
  std::vector<std::string> names;
  for (const auto& [field, value] : all) {
    names.push_back(value.fields()->find("name")->str());
    if (names.back() == name || field == name) return value;
  }
  std::vector<std::string> notes{"the module `chips` has " + lang::joined(names)};
  if (auto near = grammar::near_miss(name, names)) notes.push_back("did you mean \"" + *near + "\"?");
  if (what == "chip") notes.emplace_back("a record of your own works as well: `help chips` shows the fields");
  in.fail(what, span, "there is no " + what + " \"" + name + "\"", std::move(notes));
}

Value named_chip(Interpreter& in, const Value& v, grammar::Span span) {
  return v.is_string() ? named(in, module_chips(in, span), v.str(), "chip", span) : v;
}

// The chip's record with what this software reaches of it: `on` of the module.
Value on_stack(Interpreter& in, const Value& chip, const std::string& stack, grammar::Span span) {
  const Value module = in.load_module("chips", span);
  const Value of = named(in, named_records(*module.fields()->find("stacks")->fields()), stack, "stack", span);
  const lang::Record* record = chip.fields();
  if (!record) return chip;
  const Value* domain = record->find("domain");
  const std::string runs_on = of.fields()->find("runs_on")->str();
  const std::string kind = record->find("capability") ? "gpu" : domain && domain->items() ? "tpu" : "other";
  if (runs_on != "all" && runs_on != kind)
    in.fail("stack", span,
            "the stack \"" + stack + "\" runs on " +
                (runs_on == "gpu" ? "GPUs of NVIDIA: chips with the field `capability`"
                                  : "TPUs: chips whose `domain` is a torus"));
  return in.call(*module.fields()->find("on"), std::vector<Value>{chip, of}, span);
}

double positive(Interpreter& in, const Value& v, grammar::Span span, std::string_view what) {
  const double x = in.number(v, span, "`" + std::string(what) + "` of a chip");
  if (!(x >= 0) || x > 1e30)
    in.fail("chip", span, "`" + std::string(what) + "` of a chip is a number from 0 on, and this is " + in.repr(v));
  return x;
}

void read_flops(Interpreter& in, const lang::Record& record, Chip& chip, grammar::Span span) {
  const Value* flops = record.find("flops");
  if (!flops || !flops->fields() || flops->fields()->fields.empty())
    in.fail("chip", span, "a chip needs `flops`: a record with a figure a second for each type of elements",
            {"flops: {f32: 67e12, bf16: 989e12}"});
  for (const auto& [type, rate] : flops->fields()->fields) {
    const auto dtype = runtime::dtype_named(type);
    if (!dtype) in.fail("chip", span, "`flops` of a chip has `" + type + "`, which is no type of elements");
    const double x = positive(in, rate, span, "flops." + type);
    if (x <= 0) in.fail("chip", span, "`flops." + type + "` of a chip is 0");
    chip.flops.emplace_back(*dtype, x);
  }
}

}  // namespace

Chip chip_of(Interpreter& in, const Value& given, grammar::Span span, const std::string& stack) {
  const Value record_given = named_chip(in, given, span);
  const Value v = stack.empty() ? record_given : on_stack(in, record_given, stack, span);
  const lang::Record* record = v.fields();
  if (!record)
    in.fail("chip", span, "a chip is a record or the name of one, and this is " + lang::kind_name(v),
            {"`chip: \"h100\"`, or a record with the fields that `help chips` shows"});
  Chip chip;
  read_flops(in, *record, chip, span);
  for (const auto& [name, value] : record->fields) {
    if (name == "flops") continue;
    if (name == "name" || name == "described" || name == "stack" || name == "basis") {
      (name == "name"    ? chip.name
       : name == "stack" ? chip.stack
       : name == "basis" ? chip.basis
                         : chip.described) = in.text(value, span, "`" + name + "` of a chip");
    } else if (name == "domain") {
      chip.domain.clear();
      const std::vector<Value> one{value};
      for (const Value& n : value.items() ? *value.items() : one) {
        chip.domain.push_back(in.integer(n, span, "`domain` of a chip"));
        if (chip.domain.back() < 1 || chip.domain.back() > (1 << 20))
          in.fail("chip", span, "`domain` of a chip counts chips, and this is " + in.repr(value));
      }
      if (chip.domain.empty() || chip.domain.size() > 4)
        in.fail("chip", span, "`domain` of a chip is a number of chips, or up to four sizes of a torus");
    } else {
      bool known = false;
      for (const cost_model::ChipField& f : cost_model::chip_fields())
        if (f.name == name) chip.*f.value = positive(in, value, span, name), known = true;
      if (!known) {
        std::vector<std::string> names{"flops", "domain", "name", "described", "stack", "basis"};
        for (const cost_model::ChipField& f : cost_model::chip_fields()) names.emplace_back(f.name);
        const auto near = grammar::near_miss(name, names);
        in.fail("chip", span, "a chip has no field `" + name + "`",
                near ? std::vector<std::string>{"did you mean `" + *near + "`?"} : std::vector<std::string>{});
      }
    }
  }
  for (const cost_model::ChipField& f : cost_model::chip_fields()) {
    const double x = chip.*f.value;
    const bool share = f.name.ends_with("_share") || f.name == "units" || f.name.starts_with("tile");
    if ((f.required && !record->find(f.name)) || ((f.required || share) && x <= 0))
      in.fail("chip", span, "a chip needs `" + std::string(f.name) + "`, a number above 0");
  }
  if (chip.simulated > 1 && chip.network <= 0)
    in.fail("chip", span,
            "a machine whose devices lie in " + std::to_string(std::llround(chip.simulated)) +
                " processes needs `network`, the bytes a second between them");
  return chip;
}

std::vector<Chip> all_chips(Interpreter& in) {
  std::vector<Chip> out;
  for (const auto& chip : module_chips(in, in.context().span())) out.push_back(chip_of(in, chip.second, {}));
  return out;
}

std::optional<Chip> take_chip(Interpreter& in, lang::BoundArgs& a) {
  const auto x = take_named(a, "chip"), stack = take_named(a, "stack");
  if (!x) return std::nullopt;
  return chip_of(in, x->value, x->span, stack ? in.text(stack->value, stack->span, "`stack`") : "");
}

}  // namespace shard::stdlib
