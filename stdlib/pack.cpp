// Run while building: the texts that the program holds (modules, examples), each packed by zlib, as a source file with
// the function that gives them (packed_text.h).
//   pack OUT.cpp FUNCTION FILE... [--lessons ROOT PAGE...]
// A text is named after its file, without the ending. The text "lessons" is what pages and scripts below ROOT say of
// themselves: the lines behind `# subjects: fsdp, zero` (in Markdown `<!-- subjects: ... -->` and the next box), which
// `shard help fsdp` shows (stdlib/host/help/help_lessons.cpp reads it).
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Text {
  std::string name;
  std::size_t size;
  std::vector<unsigned char> packed;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "pack: %s\n", what.c_str());
  std::exit(1);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

Text packed(std::string name, const std::string& text) {
  uLongf size = compressBound(text.size());
  std::vector<unsigned char> bytes(size);
  if (compress2(bytes.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 9) != Z_OK)
    fail("cannot pack " + name);
  bytes.resize(size);
  return {std::move(name), text.size(), std::move(bytes)};
}

// The first sentence of a script's head comment, the heading of a page.
std::string title_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    if (!line.starts_with("# ")) break;
    out += (out.empty() ? "" : " ") + line.substr(2);
    if (const auto end = (out + " ").find(". "); end != std::string::npos) return out.substr(0, end);
  }
  return out;
}

// "=== PATH", "title: ...", and for each place "subjects: ..." with the lines behind it.
std::string lessons_of(const std::filesystem::path& root, const std::string& page) {
  constexpr std::size_t kMost = 20;
  const bool script = page.ends_with(".shard");
  const std::string opens = script ? "# subjects: " : "<!-- subjects: ";
  std::vector<std::string> lines;
  std::istringstream in(content(root / page));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(opens)) continue;
    std::string subjects = lines[i].substr(opens.size());
    if (!script) subjects = subjects.substr(0, subjects.find(" -->"));
    out += "subjects: " + subjects + "\n";
    bool box = false;
    if (!script) {  // the next box, or what stands directly behind
      while (i + 1 < lines.size() && lines[i + 1].empty()) ++i;
      std::size_t begins = i + 1;
      while (begins < lines.size() && !lines[begins].empty() && !lines[begins].starts_with("```")) ++begins;
      if (begins + 1 < lines.size() && lines[begins].empty() && lines[begins + 1].starts_with("```")) ++begins;
      if (begins < lines.size() && lines[begins].starts_with("```")) box = true, i = begins;
    }
    std::size_t taken = 0;
    while (++i < lines.size() && !(box ? lines[i].starts_with("```") : lines[i].empty())) {
      if (++taken > kMost)
        fail((root / page).string() + ": more than " + std::to_string(kMost) + " lines follow subjects: " + subjects);
      out += "  " + lines[i] + "\n";
    }
    if (!taken) fail((root / page).string() + ": no lines follow subjects: " + subjects);
  }
  return out.empty() ? out : "=== " + page + "\ntitle: " + title_of(lines) + "\n" + out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<Text> texts;
  int i = 3;
  for (; i < argc && std::string(argv[i]) != "--lessons"; ++i)
    texts.push_back(packed(std::filesystem::path(argv[i]).stem().string(), content(argv[i])));
  std::string lessons;
  for (int page = i + 2; page < argc; ++page) lessons += lessons_of(argv[i + 1], argv[page]);
  if (i < argc) texts.push_back(packed("lessons", lessons));
  std::ofstream out(argv[1], std::ios::binary);
  out << "#include \"stdlib/packed_text.h\"\n\nnamespace shard::stdlib {\nnamespace {\n\nconst unsigned char kBytes[] "
         "= {";
  std::size_t column = 0;
  for (const Text& t : texts)
    for (const unsigned char byte : t.packed) out << (column++ % 32 ? "" : "\n") << static_cast<int>(byte) << ',';
  out << "};\n\nconst PackedText kTexts[] = {\n";
  std::size_t at = 0;
  for (const Text& t : texts) {
    out << "    {\"" << t.name << "\", {kBytes + " << at << ", " << t.packed.size() << "}, " << t.size << "},\n";
    at += t.packed.size();
  }
  out << "};\n\n}  // namespace\n\nstd::span<const PackedText> " << argv[2]
      << "() { return kTexts; }\n\n}  // namespace shard::stdlib\n";
  return out.flush() ? 0 : 1;
}
