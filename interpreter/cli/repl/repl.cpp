#include "interpreter/cli/repl/repl.h"

#include <algorithm>
#include <cctype>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "grammar/walk.h"
#include "interpreter/cli/repl/completion.h"
#include "interpreter/cli/signals.h"
#include "interpreter/cli/terminal.h"
#include "stdlib/stdlib.h"

namespace shard::cli {
namespace {

// `?name`, `name?` and `help some words`: what help is asked for, or nothing.
std::optional<std::string> question(const std::string& entry) {
  if (entry.starts_with("help ") && std::isalpha(static_cast<unsigned char>(entry[5]))) return entry.substr(5);
  if (entry.size() > 1 && entry.front() == '?') return std::string(grammar::trimmed(entry.substr(1)));
  if (entry.size() > 1 && entry.back() == '?' && entry.find_first_of(" (\"") == std::string::npos)
    return entry.substr(0, entry.size() - 1);
  return std::nullopt;
}

}  // namespace

Loop::Loop(lang::Interpreter& in, std::string greeting)
    : in_(in),
      greeting_(std::move(greeting)),
      processes_(in.context().processes().get()),
      editor_(make_editor([this](const std::string& before) { return complete(before); })) {}

void Loop::say(const std::string& text) {
  write_out(text);
  flush_out();
}

int Loop::go() {
  if (editor_->interactive()) write_out(greeting_);
  bool failed = false;
  while (!terminated() && !apart_) {
    std::optional<std::string> read_entry;
    try {
      read_entry = next();
    } catch (const Abandoned&) {
      write_out("\n");
      heard();
      continue;
    }
    if (!read_entry) break;
    const std::string entry(grammar::trimmed(*read_entry));
    if (entry.empty()) continue;
    editor_->remember(*read_entry);
    if (entry[0] == ':') {
      command(entry);
      if (left_) break;
      continue;
    }
    if ((entry == "exit" || entry == "quit" || entry == "exit()" || entry == "quit()") &&
        !in().global(entry.substr(0, 4)))
      break;
    if (entry == "help" && !in().global(entry)) {
      say(fitted(stdlib::help_subjects()) + ":help explains this session, :quit leaves it.\n");
      continue;
    }
    if (const auto topic = question(entry)) {
      help(*topic);
      continue;
    }
    last_entry_ = *read_entry;
    const bool good = evaluate(*read_entry);
    if (good) kept_.push_back(*read_entry);
    failed = !good || failed;
  }
  if (editor_->interactive()) write_out("\n");
  flush_out();
  if (terminated()) return 143;
  if (apart_) return 130;
  return failed && !editor_->interactive() ? 1 : 0;
}

std::optional<std::string> Loop::line(const std::string& prompt) {
  auto text = editor_->line(prompt);
  if (text)
    lines_ += 1 + static_cast<int>(std::count(text->begin(), text->end(), '\n'));  // one of the history may have many
  return text;
}

// The first letter says whether there was one, then where it began.
std::optional<std::string> Loop::next() {
  if (!processes_) return read();
  std::string told;
  if (processes_->index() == 0) {
    const auto entry = read();
    told = entry ? "+" + std::to_string(first_line_) + " " + *entry : "-";
  }
  try {
    processes_->hand_round(told);
  } catch (const runtime::RuntimeError& e) {
    tell({e.code, {}, e.what(), {}, {}, {}}, in().sources());
    return std::nullopt;
  }
  if (told[0] != '+') return std::nullopt;
  const std::size_t blank = told.find(' ');
  first_line_ = std::stoi(told.substr(1, blank));
  std::string entry = told.substr(blank + 1);
  if (processes_->index() > 0 && entry.find_first_not_of(" \t") != std::string::npos) unfinished(entry);  // its names
  return entry;
}

bool Loop::alone(const char* what) {
  if (processes_) write_out(std::string(what) + " is for one process\n");
  return !processes_;
}

std::optional<std::string> Loop::read() {
  first_line_ = lines_ + 1;
  auto first = line("shard> ");
  if (!first) return std::nullopt;
  std::string entry = *first;
  const std::size_t start = entry.find_first_not_of(" \t");
  if (start != std::string::npos && (entry[start] == ':' || entry[start] == '?')) return entry;
  while (unfinished(entry) || goes_on(entry)) {
    auto more = line("  ...> ");
    if (!more) break;  // the error of the unfinished entry says what is missing
    entry += "\n" + *more;
  }
  return entry;
}

// Where lines are there already (a pipe, a paste), one that begins with `.f()`, `|>` or `else` belongs to those above.
bool Loop::goes_on(const std::string& entry) {
  const auto peeked = grammar::trimmed(entry).empty() ? std::nullopt : editor_->peek();
  if (!peeked) return false;
  const std::string next(grammar::trimmed(*peeked));
  return (next.size() > 1 && next[0] == '.' && next[1] != '.') || next.starts_with("|>") || next.starts_with("else ") ||
         next.starts_with("else{");
}

bool Loop::unfinished(const std::string& entry) {
  grammar::SourceMap sources;
  const grammar::ParseResult parsed = grammar::parse(sources, sources.add("entry", entry));
  if (!parsed.module) return parsed.incomplete;
  for (const auto& s : parsed.module->body)
    grammar::each_declared(*s, [&](const std::string& name, grammar::Span) { names_.insert(name); });
  return false;
}

// Ctrl-C was meant for this loop, not for the script that stands still around it.
void Loop::heard() {
  clear_interrupt();
  if (!terminated()) in().context().pool().stop().forget();
}

bool Loop::guarded_run(const std::function<void()>& body) {
  heard();
  const int status = guarded(in(), body);
  apart_ = processes_ && stopped(status);
  if (apart_) write_out("the processes were stopped each where it was, and cannot go on together\n");
  heard();
  flush_out();
  return status == 0;
}

bool Loop::evaluate(const std::string& entry) {
  return guarded_run([&] {
    const lang::Value v = in().enter(entry, first_line_);
    if (v.is_none()) return;
    in().set_global("_", v);
    write_out(shown(in(), v) + "\n");
  });
}

std::vector<std::string> Loop::complete(const std::string& before) {
  if (last_word(before).starts_with(':')) {
    std::vector<std::string> out;
    for (const Colon& c : colons()) out.emplace_back(c.names[0]);
    return out;
  }
  return completions(in(), names_, before);
}

Command repl_command() {
  return {"repl",
          "Read entries one by one and show their values",
          {kEngine, kTimeout, kFault},
          true,
          [](const Arguments& a) {
            lang::Options options;
            options.breakpoint = stand_still;
            const auto settings = process_settings(a);
            if (!settings) return 2;
            options.processes = joined_processes(*settings);
            const int many = options.processes ? options.processes->count() : 1;
            const auto machine = make_machine(*settings, std::move(options));
            lang::Interpreter& in = machine->interpreter();
            return Loop(in, "Shard " SHARD_VERSION ", " + std::to_string(in.context().devices()) + " devices" +
                                (many > 1 ? " of " + std::to_string(many) + " processes" : "") +
                                ". :help shows more, :quit or Ctrl-D leaves.\n")
                .go();
          }};
}

void stand_still(lang::Interpreter& in, const std::vector<std::pair<std::string, lang::Value>>& variables,
                 grammar::Span span) {
  std::string names;
  for (const auto& [name, value] : variables) names += " " + name;
  std::string place = "breakpoint";
  if (in.sources().has(span.source)) {
    const grammar::Source& source = in.sources().at(span.source);
    place += " at " + source.name() + ":" + std::to_string(source.position(span.begin).line);
  }
  const lang::Interpreter::OwnScope scope(in, variables);
  Loop(in, place + (names.empty() ? "" : "; variables:" + names) + ". :continue or Ctrl-D goes on.\n").go();
}

}  // namespace shard::cli
