// Documentation of the builtins: every function has an entry, every example prints what its comments say, and the page
// that is kept in the repository is the one that the program makes.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "grammar/parse.h"
#include "stdlib/host/help/help.h"
#include "tests/stdlib/script.h"

using namespace shard;

namespace {

std::string squeezed(const std::string& text) {
  std::string out;
  for (char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

// What the comments behind the lines of an example say.
std::string promised(const std::string& code) {
  std::istringstream in(code);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (auto at = line.find("   # "); at != std::string::npos) out += line.substr(at + 5);
  return out;
}

}  // namespace

TEST_CASE("every builtin has an example, every example a builtin") {
  test::Script s;
  std::set<std::string> documented;
  for (const stdlib::Example& e : stdlib::examples()) {
    INFO(e.name);
    CHECK(documented.insert(e.name).second);
    CHECK(!e.code.empty());
    if (!e.what.empty()) documented.erase(e.name);
  }
  for (std::string_view word : grammar::all_keywords()) {
    INFO(word << " has no entry in stdlib/examples.txt");
    CHECK(test::run("help(\"" + std::string(word) + "\")").find("example:") != std::string::npos);
  }
  const auto all = stdlib::builtin_functions(s.in());
  for (const std::string& name : all) {
    INFO(name << " has no entry in stdlib/examples.txt");
    CHECK(documented.erase(name) == 1);
  }
  for (const std::string& name : documented) FAIL_CHECK("no builtin is called " << name);
  CHECK(all.size() > 180);
}

TEST_CASE("examples of builtins print what they say") {
  lang::Options options;
  options.devices = 8;
  const auto here = std::filesystem::current_path(),
             folder = std::filesystem::temp_directory_path() / ("shard_examples_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);  // some of them write files
  std::filesystem::current_path(folder);
  for (const stdlib::Example& e : stdlib::examples()) {
    if (e.name == "help") continue;  // prints another entry
    INFO(e.name);
    CHECK(squeezed(test::run(e.code, options)) == squeezed(promised(e.code)));
  }
  std::filesystem::current_path(here);
  std::filesystem::remove_all(folder);
}

TEST_CASE("help tells shapes, gradient and layout of every builtin") {
  test::Script s;
  for (const std::string& name : stdlib::builtin_functions(s.in())) {
    INFO(name);
    const std::string text = test::run("help(" + name + ")");
    CHECK(text.find("shapes:") != std::string::npos);
    CHECK(text.find("gradient:") != std::string::npos);
    CHECK(text.find("layout:") != std::string::npos);
    CHECK(text.find("example:") != std::string::npos);
  }
  const std::string matmul = test::run("help(matmul)");
  CHECK(matmul.find("(f32[4@X,6], f32[6,2]) -> f32[4@X,2]") != std::string::npos);
  CHECK(test::run("help(floor)").find("gradient: zero") != std::string::npos);
  CHECK(test::run("help(argmax)").find("gradient: none") != std::string::npos);
}

TEST_CASE("help knows words, names in modules and what speaks of something") {
  CHECK(test::run("help(\"adam\")").starts_with("in the module optim: `import optim`, then optim.adam\n"));
  CHECK(test::run("help(\"optim.adam\")").find("adam(") != std::string::npos);
  CHECK(test::run("help(\"average over devices\")").starts_with("pmean\n"));
  CHECK(test::run("help(\"read a file\")").find("load\n") != std::string::npos);
  CHECK(test::error("help(\"zyxwv\")").find("nothing is called \"zyxwv\"") != std::string::npos);
}

TEST_CASE("help leads from a subject to a lesson and the functions that it uses") {
  struct Case {
    const char *asked, *lesson, *function;
  };
  const Case cases[] = {
      {"fsdp", "scripts/fully_sharded.shard", "value_and_grad"},
      {"data parallel", "scripts/data_parallel.shard", "value_and_grad"},
      {"tensor parallel", "scripts/tensor_parallel.shard", "relu"},
      {"sequence parallel", "scripts/by_hand/tensor_parallel.shard", "psum_scatter"},
      {"pipeline", "scripts/by_hand/pipeline.shard", "ppermute"},
      {"mixed precision", "scripts/training/mixed_precision.shard", "nn.cross_entropy"},
      {"gradient clipping", "scripts/training/transformer_text.shard", "optim.clip_by_global_norm"},
      {"accumulation", "scripts/training/accumulation.shard", "scan"},
      {"flash attention", "scripts/by_hand/attention.shard", "einsum"},
      {"mixture of experts", "scripts/training/experts.shard", "value_and_grad"},
      {"load data", "scripts/train_digits.shard", "load"},
      {"dataloader", "scripts/training/input_pipeline.shard", "loader"},
      {"progress bar", "scripts/session/pictures.shard", "progress"},
      {"checkpoint", "scripts/training/resume.shard", "train.checkpoints"},
      {"resume", "scripts/training/resume.shard", "train.loop"},
      {"Data-Parallel", "scripts/data_parallel.shard", "tree_map"},  // however it is written
      {"all_reduce", "scripts/by_hand/collectives.shard", "psum"},
      {"all reduce", "scripts/by_hand/collectives.shard", "psum"},
      {"train on several machines", "scripts/clusters.md", ""},
      {"several machines", "scripts/clusters.md", ""},
      {"gpu", "README.md", ""},
      {"slurm", "scripts/clusters.md", ""},
      {"c++", "interpreter/embed/README.md", ""},
  };
  for (const Case& c : cases) {
    INFO(c.asked);
    const std::string text = test::run("help(\"" + std::string(c.asked) + "\")");
    CHECK(text.find("in " + std::string(c.lesson) + ":\n") != std::string::npos);
    CHECK(std::filesystem::exists(c.lesson));
    const std::size_t uses = text.find("  uses: ");
    if (*c.function) CHECK(text.substr(uses, text.find('\n', uses) - uses).find(c.function) != std::string::npos);
  }
}

TEST_CASE("what lessons are said to use can be asked for") {
  test::Script s;
  CHECK(stdlib::recipes().size() > 60);
  for (const stdlib::Recipe& r : stdlib::recipes()) {
    INFO(r.where << ": " << r.subjects[0]);
    CHECK(std::filesystem::exists(r.where));
    CHECK(!r.title.empty());
    CHECK(!r.code.empty());
    for (const std::string& function : stdlib::functions_used(s.in(), r.code))
      CHECK(!stdlib::help_named(s.in(), function).empty());
    for (const std::string& subject : r.subjects)
      CHECK(stdlib::help_on(s.in(), subject).find(r.where) != std::string::npos);
  }
}

TEST_CASE("help takes the names of other libraries with their prefixes") {
  const std::pair<const char*, const char*> cases[] = {
      {"jax.lax.psum", "psum(x, along"},
      {"torch.cat", "concat(xs: arrays"},
      {"F.cross_entropy", "fn cross_entropy(logits"},
      {"jnp.einsum", "einsum(spec"},
      {"np.concatenate", "concat(xs: arrays"},
      {"optax.adam", "fn adam(lr"},
      {"torch.nn.Linear", "`nn.linear`"},
      {"jax.sharding.Mesh", "Devices in a grid"},
      {"tf.function", "jit(f"},
      {"jax.checkpoint", "remat(f"},
      {"gradient checkpointing", "remat(f"},
      {"seed", "key("},
      {"tensorboard", "fn tensorboard(folder)"},
      {"print in jit", "print(xs"},
      {"fp8", "cast("},
      {"lora", "fn lora("},
  };
  for (const auto& [asked, told] : cases) {
    INFO(asked);
    CHECK(test::run("help(\"" + std::string(asked) + "\")").find(told) != std::string::npos);
  }
}

TEST_CASE("help alone lists subjects, a misspelt one is put right") {
  const std::string all = test::run("help()");
  for (const char* subject : {"fully sharded", "tensor parallel", "several machines", "gpu", "dataloader"}) {
    INFO(subject);
    CHECK(all.find(subject) != std::string::npos);
  }
  CHECK(test::error("help(\"fdsp\")").find("did you mean `shard help fsdp`?") != std::string::npos);
  CHECK(test::error("help(\"tensor paralel\")").find("did you mean `shard help tensor parallel`?") !=
        std::string::npos);
  CHECK(test::error("help(\"zyxwv\")").find("`shard help` lists subjects") != std::string::npos);
}

TEST_CASE("help of chips is a table of their records, help of optim a loop that runs") {
  const std::string chips = test::run("help(\"chips\")");
  CHECK(chips.find("h100      84.93      989       67       67       3352   450       50    55         8") !=
        std::string::npos);
  CHECK(chips.find("TFLOP/s") != std::string::npos);
  CHECK(chips.find("tile_rows") == std::string::npos);
  const std::string optim = test::run("help(\"optim\")");
  for (const char* part : {"opt.init(p)", "opt.update(g, s, p)", "opt.step(p, g, s)", "clip_by_global_norm(limit)"})
    CHECK(optim.find(part) != std::string::npos);
}

TEST_CASE("the page of builtins is up to date") {
  test::Script s;
  std::ifstream file("stdlib/reference.md");
  std::istringstream made(stdlib::reference_page(s.in()));
  INFO("shard help --all > stdlib/reference.md");
  std::string kept, wanted;
  while (std::getline(made, wanted)) {
    REQUIRE(std::getline(file, kept));
    REQUIRE(kept == wanted);
  }
  CHECK(!std::getline(file, kept));
}
