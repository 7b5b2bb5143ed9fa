// The table of formats. To add one: its file, and its row here.
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

const Format& format_to_write(const std::string& path) {
  const std::string name = unpacked_name(path);
  const Format* any = nullptr;
  for (const Format& f : formats())
    for (const std::string_view ending : f.endings) {
      if (ending.empty()) any = &f;
      if (!ending.empty() && name.ends_with(ending)) return f;
    }
  return *any;
}

std::string format_names(std::string_view last_word, bool text) {
  std::vector<std::string_view> names;
  for (const Format& f : formats())
    if (text || f.name != formats().back().name) names.push_back(f.name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 < names.size() ? ", " : " " + std::string(last_word) + " ") + std::string(names[i]);
  return out;
}

}  // namespace shard::stdlib
