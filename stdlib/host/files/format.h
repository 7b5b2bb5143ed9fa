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

#include "interpreter/lang/eval/interpreter.h"
#include "runtime/array/crc32c.h"
#include "runtime/array/view.h"
#include "runtime/mesh/array_reader.h"
#include "stdlib/host/files/byte_source.h"
#include "stdlib/host/files/sink.h"

namespace shard::stdlib {

struct ArrayHeader {
  std::string name;
  runtime::DType dtype;
  runtime::Shape shape;
  std::uint64_t place = 0;  // arrays are read cheapest in this order
};

// Part of an array: the elements from `origin` on that fill `to`, whose sizes say how many and whose strides where.
struct ArrayPart {
  runtime::Shape origin;
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
  // What `load` gives, of what stands for the arrays in their order.
  virtual lang::Value tree(lang::Interpreter& in, std::vector<lang::Value> arrays) = 0;
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
  void (*writes)(lang::Interpreter& in, const lang::Value& tree, Sink& file);
};

std::span<const Format> formats();
const Format* format_of(Source& file, const std::string& path);  // null where none says yes
// Of a file's name, in small letters and without ".gz": ".npz"; "" where there is none or only a number ("run_0.5").
std::string ending_of(const std::string& path);
const Format* format_to_write(const std::string& path);  // by its ending; null where no row has it
std::vector<std::string> endings_written();
std::string format_names(std::string_view last_word,
                         bool text);  // "npz, npy and csv"; without text where that is false

// ---- the rows
Format npy_format();
Format npz_format();
Format safetensors_format();
Format csv_format();
Format idx_format();
Format text_format();
std::unique_ptr<Contents> raw_contents(Source& file, runtime::DType dtype);  // numbers and nothing else: token files

// ---- what rows share
// A table whose first line names its columns, as a record of columns.
lang::Value read_csv_columns(lang::Interpreter& in, Source& file);
// The array behind a value, for writing.
runtime::ArrayRef array_to_write(lang::Interpreter& in, const lang::Value& v);
// The one array that such a file holds ("an npy"), or an error.
runtime::ArrayRef only_array(lang::Interpreter& in, const lang::Value& v, std::string_view file);
void write_pieces(lang::Interpreter& in, const runtime::ArrayRef& a, Sink& file);

// Elements that lie in a file one after the other, with dimensions in row-major order or (`fortran`) the other way
// round.
struct Stored {
  std::uint64_t at = 0;
  bool big_endian = false, fortran = false;
  runtime::PartialSum* sum = nullptr;  // told every run of bytes; null, or the elements lie in row-major order
};
void read_stored(Source& file, const Stored& stored, const ArrayHeader& header, const ArrayPart& block);

}  // namespace shard::stdlib
