// Array files, from bytes to values and back. Every size in a file is checked against the bytes that are there before
// memory is taken; errors are RuntimeError("io") and say what is wrong with the file, the caller adds its path.
#pragma once
#include <string>
#include <string_view>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

bool is_idx(std::string_view bytes);
lang::Value read_idx(lang::Interpreter& in, std::string_view bytes);  // MNIST's format

std::string write_idx(const runtime::DeviceArray& host);

// Comma separated (or tab, or semicolon) numbers as one array of rank 2: i32 where all are integers, else f32. A first
// line of names is passed over. `columns`: a record with an array for each named column, or a list of strings where it
// is no number.
lang::Value read_csv_array(lang::Interpreter& in, std::string_view text);
lang::Value read_csv_columns(lang::Interpreter& in, std::string_view text);
std::string write_csv(lang::Interpreter& in,
                      const lang::Value& table);  // an array of rank 1 or 2, or a record of columns

bool is_npy(std::string_view bytes);
lang::Value read_npy(lang::Interpreter& in, std::string_view bytes);
std::string write_npy(const runtime::DeviceArray& host);
bool is_zip(std::string_view bytes);
lang::Value read_npz(lang::Interpreter& in, std::string_view bytes);  // a record of arrays
std::string write_npz(lang::Interpreter& in, const lang::Value& record);

bool is_safetensors(std::string_view bytes);
lang::Value read_safetensors(lang::Interpreter& in,
                             std::string_view bytes);  // the tree that was saved, or a record of arrays
std::string write_safetensors(lang::Interpreter& in, const lang::Value& tree);

}  // namespace shard::stdlib
