// A host program that trains from C++: the script holds the model, the program feeds it and reads the loss.
#include <cstdio>
#include <vector>

#include <shard.h>

int main() {
  shard::Engine engine({.devices = 4});
  engine.run(R"(
    mesh m = (@data: 4)
    fn loss(w, x, y) = mean((x @ w - y) ** 2)
    jit fn step(w, x: P(@data), y: P(@data)) {
      let (l, g) = value_and_grad(loss)(w, x, y)
      (w - 0.1 * g, l)
    })",
             "model");
  std::vector<float> xs(64 * 2), ys(64), zero(2);
  for (int i = 0; i < 64; ++i) ys[i] = 3 * (xs[2 * i] = float(i % 8) / 8) - 2 * (xs[2 * i + 1] = float(i / 8) / 8);
  auto x = shard::Value::array<float>(shard::Type::f32, {64, 2}, xs),
       y = shard::Value::array<float>(shard::Type::f32, {64}, ys);
  auto w = shard::Value::array<float>(shard::Type::f32, {2}, zero);
  double loss = 0;
  for (int i = 0; i < 400; ++i) {
    auto result = engine.call("step", {w, x, y}).items();
    w = result[0];
    loss = *result[1].as_number();
  }
  auto found = w.elements<float>();
  std::printf("loss %.6f, w %.3f %.3f\n", loss, found[0], found[1]);
  return loss < 1e-3 ? 0 : 1;
}
