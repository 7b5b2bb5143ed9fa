// help chips: the records of the module, a line each, in the units of data sheets.
#include "stdlib/host/help/help_chips.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace shard::stdlib {
namespace {

using lang::Record;
using lang::Value;

double number_in(const Record& record, std::string_view field) {
  const Value* v = record.find(std::string(field));
  if (!v) return -1;
  return v->is<std::int64_t>() ? static_cast<double>(*v->get<std::int64_t>())
         : v->is<double>()     ? *v->get<double>()
                               : -1;
}

std::string in_units(double x, double unit) {
  if (x < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x / unit);
  return text;
}

std::string domain_of(const Record& chip) {
  const Value* domain = chip.find("domain");
  if (!domain || !domain->items()) return in_units(number_in(chip, "domain"), 1);
  std::string out;
  for (const Value& size : *domain->items())
    out += (out.empty() ? "" : "x") + std::to_string(size.is<std::int64_t>() ? *size.get<std::int64_t>() : 0);
  return out;
}

}  // namespace

std::string chips_table(const Record& module) {
  constexpr double kTera = 1e12, kGiga = 1e9;
  std::vector<std::vector<std::string>> rows{
      {"chip", "memory", "bf16", "f32", "f64", "bandwidth", "link", "network", "host", "domain"},
      {"", "GB", "TFLOP/s", "TFLOP/s", "TFLOP/s", "GB/s", "GB/s", "GB/s", "GB/s", "chips"}};
  for (const auto& [field, v] : module.fields) {
    const Record* chip = v.fields();
    const Value* name = chip ? chip->find("name") : nullptr;
    const Value* flops = chip ? chip->find("flops") : nullptr;
    if (!name || !name->is_string() || !flops || !flops->fields()) continue;
    std::vector<std::string> row{name->str(), in_units(number_in(*chip, "memory"), kGiga)};
    for (const char* type : {"bf16", "f32", "f64"}) row.push_back(in_units(number_in(*flops->fields(), type), kTera));
    for (const char* way : {"bandwidth", "link", "network", "host"})
      row.push_back(in_units(number_in(*chip, way), kGiga));
    row.push_back(domain_of(*chip));
    rows.push_back(std::move(row));
  }
  if (rows.size() == 2) return {};
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[i].size());
      const std::string gap(width - row[i].size(), ' ');
      line += (i ? "  " : "") + (i ? gap + row[i] : row[i] + gap);
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace shard::stdlib
