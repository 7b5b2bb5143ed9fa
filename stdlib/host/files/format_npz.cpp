// NumPy's npz: a zip file of npy arrays, packed or not. Source: the zip application note, section 4.3. Members are read
// where they lie, packed ones as they are unpacked; each is held against its checksum when all of it was read.
#include <zlib.h>

#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/tree_json.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

std::uint64_t number_at(std::string_view b, std::size_t at, std::size_t n) {
  if (at + n > b.size() || at + n < at) refuse_file("it ends too early");
  return little(b.substr(at, n));
}

std::uint32_t crc_of(std::uint32_t before, std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// A member's bytes, unpacked. What is read from front to back is summed up.
class Member : public Source {
 public:
  Member(std::string name, std::unique_ptr<Source> bytes, std::uint64_t size, std::uint32_t checksum)
      : name_(std::move(name)), bytes_(std::move(bytes)), size_(size), checksum_(checksum) {}
  std::optional<std::uint64_t> size() const override { return size_; }
  std::uint64_t most() const override { return bytes_->most(); }
  std::size_t read_some(std::uint64_t offset, void* to, std::size_t n) override {
    const std::size_t got = bytes_->read_some(offset, to, n);
    if (offset <= summed_ && offset + got > summed_) {
      const auto known = static_cast<std::size_t>(summed_ - offset);
      sum_ = crc_of(sum_, {static_cast<const char*>(to) + known, got - known});
      summed_ = offset + got;
    }
    return got;
  }
  void check_whole() {
    char more = 0;
    if (summed_ != size_ || sum_ != checksum_ || bytes_->read_some(size_, &more, 1) != 0) damaged();
  }
  [[noreturn]] void damaged() const { refuse_file("its member " + name_ + " is damaged: the checksum does not fit"); }

 private:
  std::string name_;
  std::unique_ptr<Source> bytes_;
  std::uint64_t size_, summed_ = 0;
  std::uint32_t checksum_, sum_ = 0;
};

class Npz : public Contents {
 public:
  explicit Npz(Source& file) : file_(file) {
    read_directory();
    std::vector<Entry*> order;
    for (Entry& e : entries_) order.push_back(&e);
    stable_sort(order, [](const Entry* a, const Entry* b) { return a->local < b->local; });
    std::uint64_t at = 0;
    for (Entry* e : order) {
      open_member(*e, at);
      at = e->begin + e->packed;
    }
    std::erase_if(entries_, [&](const Entry& e) {
      if (e.npy.text) left_out.push_back("its member " + e.name + " holds text, which is not loaded");
      return e.npy.text;
    });
    for (Entry& e : entries_) {
      e.npy.header.name = e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
      e.npy.header.place = e.begin;
      for (const ArrayHeader& other : arrays)
        if (other.name == e.npy.header.name) refuse_file("it has two members called " + other.name);
      arrays.push_back(e.npy.header);
    }
  }

  void read(std::size_t i, const ArrayPart& block) override {
    read_stored(*entries_[i].bytes, entries_[i].npy.stored, arrays[i], block);
    // Only what was read from front to back can be held against the checksum.
    if (block.to.shape == arrays[i].shape) entries_[i].bytes->check_whole();
  }

 private:
  struct Entry {
    std::string name;
    std::uint64_t method, packed, size, local, begin = 0;
    std::uint32_t checksum;
    std::unique_ptr<Member> bytes = nullptr;
    Npy npy = {};
  };

  void read_directory() {
    const std::uint64_t whole = whole_size(file_), from = whole - std::min<std::uint64_t>(whole, 65557);
    const std::string tail = file_.text(from, static_cast<std::size_t>(whole - from));
    const std::size_t end = tail.rfind(std::string_view("PK\x05\x06", 4));
    if (end == std::string::npos) refuse_file("it is a zip file without its directory");
    const std::uint64_t count = number_at(tail, end + 10, 2), length = number_at(tail, end + 12, 4);
    const std::uint64_t at = number_at(tail, end + 16, 4);
    if (end + 22 + number_at(tail, end + 20, 2) != tail.size()) refuse_file("bytes follow its zip directory");
    if (at > from + end || length > from + end - at) refuse_file("its zip directory is damaged");
    const std::string directory = file_.text(at, static_cast<std::size_t>(length));
    std::size_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) next = read_entry(directory, next);
  }

  std::size_t read_entry(std::string_view b, std::size_t at) {
    if (number_at(b, at, 4) != 0x02014b50) refuse_file("its zip directory is damaged");
    const std::uint64_t name_size = number_at(b, at + 28, 2), extra = number_at(b, at + 30, 2),
                        comment = number_at(b, at + 32, 2);
    if (at + 46 + name_size > b.size()) refuse_file("its zip directory is damaged");
    Entry e{std::string(b.substr(at + 46, name_size)),
            number_at(b, at + 10, 2),
            number_at(b, at + 20, 4),
            number_at(b, at + 24, 4),
            number_at(b, at + 42, 4),
            0,
            static_cast<std::uint32_t>(number_at(b, at + 16, 4))};
    if (e.packed == 0xffffffff || e.size == 0xffffffff || e.local == 0xffffffff)
      refuse_file("zip files with members of 4 GiB and more are not read here");
    if (e.method != 0 && e.method != 8)
      refuse_file("its member " + e.name + " is packed in a way that is not read here");
    entries_.push_back(std::move(e));
    return at + 46 + name_size + extra + comment;
  }

  // Members lie one behind the other: none may begin before the end of the last, which would unpack its bytes twice.
  void open_member(Entry& e, std::uint64_t free) {
    const std::string head = file_.text(e.local, 30);
    e.begin = e.local + 30 + number_at(head, 26, 2) + number_at(head, 28, 2);
    if (const auto n = file_.size(); e.packed > *n || e.begin > *n - e.packed)
      refuse_file("its member " + e.name + " ends beyond the file");
    if (e.local < free) refuse_file("its member " + e.name + " overlaps another one");
    if (e.method == 0 && e.packed != e.size) refuse_file("its zip directory is damaged");
    e.bytes = std::make_unique<Member>(
        e.name, e.method == 8 ? inflated(file_, e.begin, e.packed, e.size) : part_of(file_, e.begin, e.size), e.size,
        e.checksum);
    if (!is_npy(e.bytes->text(0, 6))) {
      e.bytes->rest(0);
      e.bytes->check_whole();
      refuse_file("its member " + e.name + " is no npy array");
    }
    e.npy = read_npy_header(*e.bytes, true);
  }

  Source& file_;
  std::vector<Entry> entries_;
};

// A number is an array of rank 0, in 64 bits as the host has it.
ArrayRef npz_member(Interpreter& in, const Value& v) {
  if (v.is_tensor()) return array_to_write(in, v);
  return array_of(in, v, v.is<bool>() ? DType::Bool : v.is<double>() ? DType::F64 : DType::I64, {}).array();
}

void write_npz(Interpreter& in, const Value& tree, Sink& file) {
  if (!tree.items() && !tree.fields())
    refuse_file("an npz file holds a record or list of arrays, this is " + lang::kind_name(tree));
  const std::vector<std::string> names = names_in_files(tree);
  std::vector<Value> leaves = lang::leaves(tree);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].is_tensor() && !leaves[i].is_host_number() && !leaves[i].is<bool>())
      refuse_file("an npz file holds arrays and numbers, `" + names[i] + "` is " + lang::kind_name(leaves[i]) +
                  ": leave it out, or save with the ending .safetensors");
    if (names[i].size() > 0xfff0) refuse_file("a name of more than 64 KiB has no place in a zip file");
  }
  std::string directory;
  std::uint64_t at = 0;
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    const ArrayRef a = npz_member(in, leaves[n]);
    const std::string name = names[n] + ".npy", head = npy_header(a->type, names[n]);
    const std::uint64_t size = head.size() + stored_bytes(a->type.dtype, a->type.shape);
    if (at + size > 0xf0000000)
      refuse_file("npz files of 4 GiB and more are not written here; another ending saves them");
    std::uint32_t crc = crc_of(0, head);
    each_piece(in, a, [&](std::string_view piece) { crc = crc_of(crc, piece); });
    // What a member's head and its entry in the directory share: version 2.0, names in UTF-8, not packed, a time that
    // does not depend on time (1980-01-01), no extra field.
    const std::string common = little(20, 2) + little(0x800, 2) + little(0, 2) + little(0, 2) + little(0x21, 2) +
                               little(crc, 4) + little(size, 4) + little(size, 4) + little(name.size(), 2) +
                               little(0, 2);
    // No comment, the first disk, no attributes.
    directory += little(0x02014b50, 4) + little(20, 2) + common + little(0, 10) + little(at, 4) + name;
    const std::string out = little(0x04034b50, 4) + common + name + head;
    file.write(out);
    write_pieces(in, a, file);
    at += out.size() - head.size() + size;
  }
  const std::size_t count = names.size();
  file.write(directory + little(0x06054b50, 4) + little(0, 4) + little(count, 2) + little(count, 2) +
             little(directory.size(), 4) + little(at, 4) + little(0, 2));
}

}  // namespace

Format npz_format() {
  const auto recognises = [](std::string_view head, std::string_view) {
    return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");
  };
  return {"npz", {".npz"}, "a tree of arrays and numbers", recognises, opened<Npz>, write_npz};
}

}  // namespace shard::stdlib
