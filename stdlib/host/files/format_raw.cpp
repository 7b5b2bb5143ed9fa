// Raw numbers, little-endian, with nothing around them: token files. What they are, the script says (`dtype:`), so this
// is no row of the table.
#include "stdlib/host/files/format.h"

namespace shard::stdlib {
namespace {

std::uint64_t whole_size(Source& file) {  // of a packed one it is found by unpacking
  char c = 0;
  if (!file.size()) file.read_some(file.most(), &c, 1);
  if (!file.size()) refuse_file("its size cannot be found");
  return *file.size();
}

class RawNumbers : public Contents {
 public:
  RawNumbers(Source& file, runtime::DType dtype) : file_(file) {
    const std::uint64_t bytes = whole_size(file), item = runtime::size_of(dtype);
    if (bytes % item != 0)
      refuse_file("its " + std::to_string(bytes) + " bytes are no whole number of " +
                  std::string(runtime::name(dtype)) + ", which takes " + std::to_string(item));
    arrays.push_back({"", dtype, {static_cast<std::int64_t>(bytes / item)}, 0});
  }
  void read(std::size_t, const ArrayPart& block) override { read_stored(file_, {}, arrays[0], block); }
  bool in_parts() const override { return file_.anywhere(); }
  lang::Value tree(lang::Interpreter&, std::vector<lang::Value> values) override { return std::move(values[0]); }

 private:
  Source& file_;
};

}  // namespace

std::unique_ptr<Contents> raw_contents(Source& file, runtime::DType dtype) {
  return std::make_unique<RawNumbers>(file, dtype);
}

}  // namespace shard::stdlib
