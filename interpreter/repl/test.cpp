// shard test: scripts together with their `test` blocks, in order; a failure does not end it.
#include <cstdio>

#include "interpreter/repl/command.h"

namespace shard::repl {
namespace {

int test_files(const Arguments& a) {
  int passed = 0, failed = 0, status = 0;
  for (const std::string& path : a.words) {
    std::string text;
    if (!read_script(path, text)) {
      status = 1;
      continue;
    }
    lang::Options options;
    embed::Machine* engine = nullptr;
    bool stop = false;
    options.test = [&](const std::string& name, grammar::Span, const std::function<void()>& body) {
      const int result = guarded(engine->interpreter(), body);
      if (result == 130) stop = true;
      (result == 0 ? passed : failed)++;
      write_out(std::string(result == 0 ? "ok   " : "FAIL ") + path + ": " + name + "\n");
      if (stop) throw grammar::Error("interrupt", {}, "interrupted");
    };
    const auto machine = make_machine(a.settings, std::move(options));
    engine = machine.get();
    const int result = guarded(machine->interpreter(), [&] { machine->interpreter().run(path, std::move(text)); });
    if (result == 130) return 130;
    if (result != 0) {
      write_out("FAIL " + path + ": an error outside of its tests\n");
      ++failed;
    }
  }
  write_out(std::to_string(passed) + " passed, " + std::to_string(failed) + " failed\n");
  flush_out();
  return failed || status ? 1 : 0;
}

}  // namespace

Command test_command() {
  return {"test",
          "Run scripts together with their `test` blocks",
          {{"files", "Scripts", Option::Words, true}},
          true,
          test_files};
}

}  // namespace shard::repl
