// The client of PJRT plug-ins, against a real one: SHARD_PJRT_PLUGIN names it (tests/golden/xla_run.py installs one for
// the CPU). Without it, what needs none: the encoding of options, types of blocks, what is said of wrong paths.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>

#include "runtime/pjrt/client.h"
#include "runtime/pjrt/topology.h"

using namespace shard::runtime;
using namespace shard::runtime::pjrt;

namespace {

constexpr int kDevices = 8;

ClientRef client() {  // null, and a sentence, where there is no plug-in
  static const ClientRef one = [] {
    const char* path = std::getenv("SHARD_PJRT_PLUGIN");
    return path && *path ? Client::create(Plugin::load(path), kDevices) : nullptr;
  }();
  if (!one) WARN("skipped: SHARD_PJRT_PLUGIN names no plug-in of PJRT");
  return one;
}

const char* const kAdd = R"(module @add {
  func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }
})";
const char* const kSum = R"(module @sum {
  func.func public @main(%x: tensor<i32>) -> (tensor<i32>, tensor<ui32>) {
    %s = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0,1,2,3,4,5,6,7]]> : tensor<1x8xi64>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %t = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        "stablehlo.return"(%t) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> tensor<i32>
    %r = "stablehlo.replica_id"() : () -> tensor<ui32>
    "func.return"(%s, %r) : (tensor<i32>, tensor<ui32>) -> ()
  }
})";
const BlockType kPair{abi::ElementType::F32, {2}}, kNumber{abi::ElementType::S32, {}};

template <class T>
pjrt::Buffer block(const ClientRef& c, std::size_t device, const BlockType& type, std::vector<T> elements) {
  return pjrt::Buffer::from_host(c, device, type, elements.data());
}
template <class T>
std::vector<T> elements(const pjrt::Buffer& b) {
  std::vector<T> out(bytes_of(b.type()) / sizeof(T));
  b.to_host(out.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace

TEST_CASE("machines that need not be here have a word each") {
  const Gpu kinds[] = {{"a100-80", "NVIDIA A100-SXM4-80GB", 8, 108, 64, 164 * 1024, 1.41e9, 2e12, 8e10, 4e7},
                       {"b200", "NVIDIA B200", 10, 148, 128, 228 * 1024, 1.965e9, 7.7e12, 1.8e11, 1.2e8}};
  const TargetMachine gpus = machine_named("b200x8", kinds), slice = machine_named("v5e:2x4", {}),
                      cpu = machine_named("cpu:3", {});
  CHECK(gpus.platform == "cuda");
  CHECK(gpus.devices == 8);
  CHECK(gpus.options.at(0) == std::pair<std::string, std::string>{"topology", "1x1x8"});
  const std::string& target = gpus.options.at(1).second;
  for (const char* said :
       {"core_count: 148\n", "shared_memory_per_block_optin: 232448\n", "memory_bandwidth: 7700000000000\n",
        "clock_rate_ghz: 1.965000\n", "{ major: 10 minor: 0 }", "device_description_str: \"NVIDIA B200\"\n"})
    CHECK(target.find(said) != std::string::npos);
  CHECK(machine_named("a100x2", kinds).options.at(1).second.find("{ major: 8 minor: 0 }") != std::string::npos);
  CHECK(machine_named("a100-80x2", kinds).devices == 2);
  CHECK(machine_named("b200x16", kinds).options.at(0).second == "1x2x8");  // hosts of eight
  CHECK_THROWS_WITH(machine_named("b200x12", kinds), Catch::Contains("write a multiple, such as b200x16"));
  CHECK(slice.platform == "tpu");
  CHECK(slice.name == "v5e:2x4");
  CHECK(slice.devices == 8);
  CHECK(cpu.devices == 3);
  for (const char* word : {"b200", "b200x0", "b200x", "v5e:", "v5e:2x", "cpu:", "cpu:-1", "b9x2", "x2", ""})
    CHECK_THROWS_WITH(machine_named(word, kinds), Catch::Contains("there is no machine"));
}

TEST_CASE("compile options of PJRT are what protobuf makes of them") {
  // CompileOptionsProto{executable_build_options: {num_replicas: 2, num_partitions: 1, device_assignment:
  // {replica_count: 2, computation_count: 1, computation_devices: {replica_device_ids: [0, 2048]}}}} by hand
  const std::vector<int> ids = {0, 2048};
  const unsigned char wanted[] = {0x1a, 0x11, 0x20, 2, 0x28, 1, 0x4a, 0x0b, 8,   2,
                                  0x10, 1,    0x1a, 5, 0x0a, 3, 0,    0x80, 0x10};
  CHECK(compile_options(ids) == std::string(reinterpret_cast<const char*>(wanted), sizeof wanted));
}

TEST_CASE("types of blocks as StableHLO has them") {
  CHECK(to_string(block_type(DType::BF16, {2, 3})) == "bf16[2,3]");
  CHECK(to_string(block_type(DType::Key, {4})) == "u32[4,2]");
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(bytes_of(block_type(dtype, {3, 5})) == 15 * size_of(dtype));
  }
}

TEST_CASE("what is no plug-in of PJRT") {
  CHECK_THROWS_WITH(choose_plugin("/nowhere/plugin.so"), Catch::Contains("there is no plug-in '/nowhere/plugin.so'"));
  CHECK_THROWS_WITH(Plugin::load("/nowhere/plugin.so"), Catch::Contains("cannot be loaded"));
  CHECK_THROWS_WITH(Plugin::load("libdl.so.2"), Catch::Contains("is no plug-in of PJRT"));
}

TEST_CASE("a plug-in of PJRT says what it is") {
  const ClientRef c = client();
  if (!c) return;
  CHECK(c->plugin().minor() > 0);
  CHECK(!c->plugin().attributes().empty());
  CHECK(c->platform() == "cpu");
  REQUIRE(c->devices().size() == kDevices);
  CHECK(!c->devices()[0].kind.empty());
}

TEST_CASE("two blocks are added on a device of a plug-in") {
  const ClientRef c = client();
  if (!c) return;
  const auto add = Executable::compile(c, kAdd, {3}, std::vector{kPair, kPair});
  REQUIRE(add->results() == std::vector<BlockType>{kPair});
  const pjrt::Buffer a = block<float>(c, 3, kPair, {1, 2}), b = block<float>(c, 3, kPair, {10, 20.5});
  CHECK(elements<float>(add->run({{&a, &b}})[0][0]) == std::vector<float>{11, 22.5});
  CHECK(elements<float>(a) == std::vector<float>{1, 2});  // kept
}

TEST_CASE("eight devices of a plug-in add up what each has") {
  const ClientRef c = client();
  if (!c) return;
  std::vector<std::size_t> devices(kDevices);
  std::iota(devices.rbegin(), devices.rend(), 0);  // replica 0 on the last device
  const auto sum = Executable::compile(c, kSum, devices, std::vector{kNumber});
  std::vector<pjrt::Buffer> in;
  for (int i = 0; i < kDevices; ++i)
    in.push_back(block<std::int32_t>(c, devices[static_cast<std::size_t>(i)], kNumber, {1 << i}));
  std::vector<std::vector<const pjrt::Buffer*>> arguments;
  for (const pjrt::Buffer& b : in) arguments.push_back({&b});
  const auto out = sum->run(arguments);
  for (std::uint32_t i = 0; i < kDevices; ++i) {
    CHECK(elements<std::int32_t>(out[i][0]) == std::vector<std::int32_t>{255});
    CHECK(elements<std::uint32_t>(out[i][1]) == std::vector<std::uint32_t>{i});
    CHECK(out[i][0].device() == devices[i]);
  }
}

TEST_CASE("a text that is wrong is an error that says where") {
  const ClientRef c = client();
  if (!c) return;
  std::string text = kAdd;
  text.replace(text.find("tensor<2xf32>) -> tensor<2xf32>\n"), 13, "tensor<3xf32>");
  CHECK_THROWS_WITH(Executable::compile(c, text, {0}, std::vector{kPair, kPair}),
                    Catch::Contains("compiling") && Catch::Contains("tensor<3xf32>"));
  CHECK_THROWS_WITH(Executable::compile(c, "module {\n  nonsense\n}", {0}, std::nullopt), Catch::Contains("2:3"));
}

TEST_CASE("what is given to a program of a plug-in has its types and its devices") {
  const ClientRef c = client();
  if (!c) return;
  const auto add = Executable::compile(c, kAdd, {0}, std::vector{kPair, kPair});
  const pjrt::Buffer good = block<float>(c, 0, kPair, {1, 2});
  // of the same size: the plug-in would take its bits for floats
  const pjrt::Buffer bits = block<std::int32_t>(c, 0, {abi::ElementType::S32, {2}}, {1, 2});
  const pjrt::Buffer there = block<float>(c, 1, kPair, {1, 2});
  CHECK_THROWS_WITH(add->run({{&good, &bits}}), "parameter 1 is f32[2] on device 0 and was given i32[2] on device 0");
  CHECK_THROWS_WITH(add->run({{&good, &there}}), "parameter 1 is f32[2] on device 0 and was given f32[2] on device 1");
  CHECK_THROWS_WITH(add->run({{&good}}), "a program with 2 parameters was given arguments for 1");
  CHECK_THROWS_WITH(add->run({}), "a program with 1 devices was given arguments for 0");
}

TEST_CASE("an argument that is given away is gone, one that is kept is not") {
  const ClientRef c = client();
  if (!c) return;
  std::string text = kAdd;
  text.replace(text.find("%a: tensor<2xf32>"), 17, "%a: tensor<2xf32> {tf.aliasing_output = 0 : i32}");
  const auto add = Executable::compile(c, text, {0}, std::vector{kPair, kPair});
  const pjrt::Buffer a = block<float>(c, 0, kPair, {1, 2}), b = block<float>(c, 0, kPair, {3, 4});
  const std::vector<std::int64_t> kept = {0};
  CHECK(elements<float>(add->run({{&a, &b}}, kept)[0][0]) == std::vector<float>{4, 6});
  CHECK(elements<float>(a) == std::vector<float>{1, 2});
  CHECK(elements<float>(add->run({{&a, &b}})[0][0]) == std::vector<float>{4, 6});
  CHECK_THROWS_AS(elements<float>(a), RuntimeError);
}
