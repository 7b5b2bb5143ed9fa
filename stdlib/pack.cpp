// Run while building: the texts that the program holds (modules, examples), each packed by zlib, as a source file.
//   pack OUT.cpp FILE...      a text is named after its file, without the ending
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

struct Text {
  std::string name;
  std::size_t size;
  std::vector<unsigned char> packed;
};

Text read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  uLongf size = compressBound(text.size());
  std::vector<unsigned char> packed(size);
  if (!in || compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), 9) != Z_OK) {
    std::fprintf(stderr, "pack: cannot read or pack %s\n", path.c_str());
    std::exit(1);
  }
  packed.resize(size);
  return {path.stem().string(), text.size(), std::move(packed)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<Text> texts;
  for (int i = 2; i < argc; ++i) texts.push_back(read(argv[i]));
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
  out << "};\n\n}  // namespace\n\nstd::span<const PackedText> packed_texts() { return kTexts; }\n\n}  // namespace "
         "shard::stdlib\n";
  return out.flush() ? 0 : 1;
}
