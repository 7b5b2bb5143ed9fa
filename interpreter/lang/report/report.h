// A Diagnostic as people read it (the source line with the span marked, notes, fixes, the calls that led there) and as
// JSON for editors. Pure text in and out; the programs decide where it goes and whether colours are wanted.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "grammar/diagnostic.h"

namespace shard::lang {

struct ReportStyle {
  bool color = false;  // ANSI escapes; only for terminals
  int width = 140;     // characters of source shown of a line; longer lines are cut around the span
};

// Names of the texts that are built in begin so.
inline constexpr std::string_view kLibrary = "<stdlib>/";
// An error inside of a library function, told from the user's side: at the call that led there, the place inside as a
// note.
grammar::Diagnostic for_user(grammar::Diagnostic d, const grammar::SourceMap& sources);

// "FILE:LINE:COLUMN: error: message", source, carets, notes, fixes, calls; ends with a newline.
std::string report(const grammar::Diagnostic& d, const grammar::SourceMap& sources, const ReportStyle& style = {});
// One array of objects {code, severity, message, file, line, column, end_line, end_column, notes, fixes, calls}.
std::string report_json(const std::vector<grammar::Diagnostic>& all, const grammar::SourceMap& sources);
inline int source_line(const grammar::SourceMap& sources, const grammar::Span& span) { return sources.line_of(span); }
std::string json_string(std::string_view text);  // with quotes; broken UTF-8 becomes U+FFFD

// Columns that a character takes in a terminal: 0 for what is drawn over the one before, 2 for wide ones.
int columns_of(std::uint32_t c);

// Names and numbers in sentences.
std::string joined(const std::vector<std::string>& names);  // "a, b, c"; "none" where there is none
std::string listed_fields(std::vector<std::string> names);  // of many (a module has dozens) the first
std::string in_thousands(std::int64_t n);                   // 1,048,576; not below 0

}  // namespace shard::lang
