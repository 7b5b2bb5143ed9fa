// Paths that scripts name: whether the host allows them, what may be meant by one that does not exist, endings.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stdlib/host/host.h"

namespace shard::stdlib {

void check_may_read(Interpreter& in, const std::string& path,
                    grammar::Span span);                                             // an error where it may not be
void check_may_write(Interpreter& in, const std::string& path, grammar::Span span);  // the same
// Whether a program that is checked or explained writes nothing here; whoever wants to know is told the path.
bool writes_nothing(Interpreter& in, const std::string& path);
// Whether the path, what holds it or what it holds was to be written so far.
bool not_written(Interpreter& in, const std::string& path);
// Does what reads a file, or several of a folder; what is wrong is told with the path.
Value reading_from(Interpreter& in, const std::string& path, grammar::Span span, const std::function<Value()>& read);
// The same of what writes one; the host is asked first.
void writing_to(Interpreter& in, const std::string& path, grammar::Span span, const std::function<void()>& write);
std::vector<std::string> near_files(const std::string& path);      // notes where there is no such file
std::vector<std::string> missing_folder(const std::string& path);  // notes where there is no folder to write into
std::string folder_of(const std::string& path);                    // "." where the path names none
std::string without_slashes(std::string path);                     // at its end
// The names in a folder, in any order; nothing where it cannot be opened, and errno says why.
std::optional<std::vector<std::string>> names_in(const std::string& folder);
std::string lower(std::string path);
bool ends_with_lower(const std::string& path, std::string_view ending);  // "X.CSV.GZ": ".csv" too

}  // namespace shard::stdlib
