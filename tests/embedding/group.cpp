// One of several processes that a launcher starts: `shard launch -n 2 ./group`, `mpirun -n 2 ./group`.
#include <iostream>
#include <shard.h>

int main() {
  try {
    shard::Engine engine({.devices = 4, .processes = shard::Processes{}});
    engine.run("mesh m = (@X: 4)\nlet x = shard arange(8) as P(@X)\nlet total = int(sum(x * x))");
    const auto count = engine.call("process_count", {}).as_integer();
    std::cout << "140 = " << *engine.get("total").as_integer() << ", by " << *count
              << (*count == 1 ? " process" : " processes") << std::endl;
  } catch (const shard::Error& e) {
    std::cerr << e.diagnostics[0].rendered;
    return 1;
  }
}
