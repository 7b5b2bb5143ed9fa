// The table of formats. To add one: its file, its declaration in format.h, and its row here.
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/paths.h"

namespace shard::stdlib {

std::span<const Format> formats() {
  static const Format kFormats[] = {npz_format(), npy_format(), safetensors_format(),
                                    csv_format(), idx_format(), text_format()};
  return kFormats;
}

namespace {

std::string unpacked_name(const std::string& path) {
  std::string name = lower(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name;
}

}  // namespace

const Format* format_of(Source& file, const std::string& path) {
  const std::string head = file.text(0, 4096), name = unpacked_name(path);
  for (const Format& f : formats())
    if (f.recognises(head, name)) return &f;
  return nullptr;
}

std::string ending_of(const std::string& path) {
  const std::string whole = unpacked_name(path), name = whole.substr(whole.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || name.find_first_not_of("0123456789", dot + 1) == std::string::npos)
    return "";
  return name.substr(dot);
}

const Format* format_to_write(const std::string& path) {
  const std::string ending = ending_of(path);
  for (const Format& f : formats())
    for (const std::string_view one : f.endings)
      if (one == ending) return &f;
  return nullptr;
}

std::vector<std::string> endings_written() {
  std::vector<std::string> out;
  for (const Format& f : formats())
    for (const std::string_view ending : f.endings)
      if (!ending.empty()) out.emplace_back(ending);
  return out;
}

std::string format_names(std::string_view last_word, bool (*of)(const Format&)) {
  std::vector<std::string_view> names;
  for (const Format& f : formats())
    if (!of || of(f)) names.push_back(f.name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 < names.size() ? ", " : " " + std::string(last_word) + " ") + std::string(names[i]);
  return out;
}

}  // namespace shard::stdlib
