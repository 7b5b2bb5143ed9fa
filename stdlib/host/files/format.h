// The formats of files, a row each: `load`, `save`, their messages and their help read the table (formats.cpp). A
// format reads from a Source and writes to a Sink in pieces: no array and no file is held in memory beside the value
// itself. Every size in a file is checked against the bytes that are there before memory is taken; errors are
// RuntimeError("io") and say what is wrong with the file, the caller adds its path.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/array/crc32c.h"
#include "runtime/array/view.h"
#include "runtime/mesh/array_reader.h"
#include "stdlib/host/files/byte_source.h"
#include "stdlib/host/files/sink.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {

std::uint64_t stored_bytes(DType dtype, const Shape& shape);  // an error where no array can be so large

struct ArrayHeader {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t place = 0;  // arrays are read cheapest in this order
  std::uint64_t bytes() const { return stored_bytes(dtype, shape); }
};

// Part of an array: the elements from `origin` on that fill `to`, whose sizes say how many and whose strides where.
struct ArrayPart {
  Shape origin;
  runtime::View to;
};

// A file whose header was read, and nothing more.
class Contents {
 public:
  virtual ~Contents() = default;
  std::vector<ArrayHeader> arrays;
  std::vector<std::string> left_out;  // what it holds beside them: a warning each
  virtual void read(std::size_t array, const ArrayPart& block) = 0;
  virtual void check_end() {}  // once all of every array was read: what shows only then
  // What `load` gives, of what stands for the arrays in their order: a record of them by their names.
  virtual Value tree(std::vector<Value> arrays);
  // Whether the names are all that is known of a tree: a foreign file's "layers.0.w" stands for a path.
  virtual bool flat() const { return true; }
  // Whether any block is read at the cost of its own bytes: then arrays may stay in the file (`map: true`).
  virtual bool in_parts() const { return false; }
};

struct Format {
  std::string_view name;
  std::vector<std::string_view> endings;  // what `save` writes so; "": a name without an ending
  std::string_view holds;                 // "one array": for help
  // By the first bytes, or by the path in small letters without ".gz". The first row that says yes reads it.
  bool (*recognises)(std::string_view head, std::string_view path);
  std::unique_ptr<Contents> (*reads)(Source& file);  // the source outlives it
  void (*writes)(Interpreter& in, const Value& tree, Sink& file);
  bool in_parts = false;  // of a file that is not packed, Contents::in_parts
};

std::span<const Format> formats();
const Format* format_of(Source& file, const std::string& path);  // null where none says yes
// Of a file's name, in small letters and without ".gz": ".npz"; "" where there is none or only a number ("run_0.5").
std::string ending_of(const std::string& path);
const Format* format_to_write(const std::string& path);  // by its ending; null where no row has it
std::vector<std::string> endings_written();
// "npz, npy and csv": of all, or of those that are asked for.
std::string format_names(std::string_view last_word, bool (*of)(const Format&) = nullptr);

// ---- the rows
template <class File>
std::unique_ptr<Contents> opened(Source& file) {
  return std::make_unique<File>(file);
}
Format npy_format();
Format npz_format();
Format safetensors_format();
Format csv_format();
Format idx_format();
Format text_format();
std::unique_ptr<Contents> raw_contents(Source& file, DType dtype);  // numbers and nothing else: token files

// ---- what rows share
// A table whose first line names its columns, as a record of columns.
Value read_csv_columns(Interpreter& in, Source& file);
// The array behind a value, for writing.
ArrayRef array_to_write(Interpreter& in, const Value& v);
// The one array that such a file holds ("an npy"), or an error.
ArrayRef only_array(Interpreter& in, const Value& v, std::string_view file);
// Its elements in row-major order, piece by piece.
template <class F>
void each_piece(Interpreter& in, const ArrayRef& a, F f) {
  runtime::Pieces pieces(in.context().pool(), a);
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) f(piece);
}
void write_pieces(Interpreter& in, const ArrayRef& a, Sink& file);
std::uint64_t whole_size(Source& file);  // of a packed one it is found by unpacking
// Whole numbers as formats have them, the lowest byte first.
std::uint64_t little(std::string_view bytes);
std::string little(std::uint64_t x, std::size_t bytes);

// Elements that lie in a file one after the other, with dimensions in row-major order or (`fortran`) the other way
// round.
struct Stored {
  std::uint64_t at = 0;
  bool big_endian = false, fortran = false;
  runtime::PartialSum* sum = nullptr;  // told every run of bytes; null, or the elements lie in row-major order
};
void read_stored(Source& file, const Stored& stored, const ArrayHeader& header, const ArrayPart& block);

// A file that holds one array, without a name. Who makes it adds its header and says where the elements lie.
class OneArray : public Contents {
 public:
  explicit OneArray(Source& file) : file_(file) {}
  void read(std::size_t, const ArrayPart& block) override { read_stored(file_, stored_, arrays[0], block); }
  void check_end() override { file_.check_end(); }
  bool in_parts() const override { return file_.anywhere(); }
  Value tree(std::vector<Value> values) override { return std::move(values[0]); }

 protected:
  Source& file_;
  Stored stored_;
};

// ---- an array in NumPy's form, alone in a file or as a member of an npz
struct Npy {
  ArrayHeader header;
  Stored stored;
  bool text = false;  // of letters, not numbers: its elements are not read
};
bool is_npy(std::string_view head);
// The file holds the array and nothing else. Text is an error unless the caller leaves it out.
Npy read_npy_header(Source& file, bool or_text = false);
std::string npy_header(const Type& t, std::string_view name = {});  // name: for an error, of one of several

}  // namespace shard::stdlib
