// The PJRT C API as far as Shard calls it, written down from its description: a table of functions whose place in the
// struct that a plug-in gives never changes, and a struct of arguments for each. A struct grows at its end only, and
// says its size; so does the table. Checked against the header of a plug-in by tests/golden/pjrt_abi.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace shard::runtime::pjrt::abi {

// What a plug-in makes; only it knows what they are.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Topology;
struct Executable;        // compiled
struct LoadedExecutable;  // on devices
struct Buffer;

struct Head {  // each struct begins so
  std::size_t size;
  void* extensions;
};

enum Call : std::size_t {  // places in Api::functions
  kErrorDestroy = 0,
  kErrorMessage = 1,
  kPluginInitialize = 3,
  kPluginAttributes = 4,
  kEventDestroy = 5,
  kEventAwait = 8,
  kClientCreate = 10,
  kClientDestroy = 11,
  kClientPlatformName = 12,
  kClientPlatformVersion = 14,
  kClientAddressableDevices = 16,
  kClientCompile = 20,
  kClientBufferFromHost = 22,
  kDescriptionId = 23,
  kDescriptionKind = 26,
  kDeviceDescription = 29,
  kExecutableDestroy = 40,
  kExecutableNumOutputs = 44,
  kLoadedDestroy = 50,
  kLoadedExecutable = 51,
  kLoadedExecute = 55,
  kBufferDestroy = 58,
  kBufferToHost = 70,
  kTopologyCreate = 82,
  kTopologyDestroy = 83,
  kTopologyDescriptions = 86,
  kCompile = 89,
  kExecutableOutputTypes = 90,
  kExecutableOutputDims = 91,
  kExecutableMemory = 96,
};

struct Api {
  Head head;
  Head version_head;
  int major, minor;
  Error* (*functions[1])(void* arguments);  // as many as head.size says
};

enum class ElementType : std::int32_t {
  Pred = 1,
  S8,
  S16,
  S32,
  S64,
  U8,
  U16,
  U32,
  U64,
  F16,
  F32,
  F64,
  BF16,
  C64,
  C128,
  F8E5M2,
  F8E4M3,
  S4 = 21
};

struct NamedValue {  // an attribute, or an option
  enum Kind : std::int32_t { String, Int64, Int64List, Float, Bool };
  Head head;
  const char* name;
  std::size_t name_size;
  Kind kind;
  union {
    const char* text;
    std::int64_t number;
    const std::int64_t* numbers;
    float real;
    bool truth;
  };
  std::size_t value_size;  // of texts and lists; else 1
};

// ---- arguments; what a call gives comes last

struct Plain {  // of calls that take one object, or nothing
  Head head;
  const void* object;
};
struct Text {  // one object, and a text of it
  Head head;
  const void* object;
  const char* text;
  std::size_t size;
};
struct Number {
  Head head;
  const void* object;
  int number;
};
struct Count {
  Head head;
  const void* object;
  std::size_t count;
};
struct Object {  // one object of another
  Head head;
  const void* object;
  void* result;
};
struct Objects {
  Head head;
  const void* object;
  void* const* results;
  std::size_t count;
};
struct Attributes {
  Head head;
  const NamedValue* values;
  std::size_t count;
};
struct ClientCreate {
  Head head;
  const NamedValue* options;
  std::size_t count;
  void *get, *get_argument, *put, *put_argument;  // of several processes
  Client* client;
  void *try_get, *try_get_argument;
};
struct Program {
  Head head;
  const char* code;
  std::size_t code_size;
  const char* format;
  std::size_t format_size;
};
struct ClientCompile {
  Head head;
  Client* client;
  const Program* program;
  const char* options;
  std::size_t options_size;
  LoadedExecutable* executable;
};
struct TopologyCreate {
  Head head;
  const char* name;
  std::size_t name_size;
  const NamedValue* options;
  std::size_t count;
  Topology* topology;
};
struct Compile {
  Head head;
  const Topology* topology;
  const Program* program;
  const char* options;
  std::size_t options_size;
  Client* client;
  Executable* executable;
};
struct Memory {
  Head head;
  Executable* executable;
  std::int64_t code, arguments, results, aliased, temporaries;  // of a device, in bytes
  std::int64_t host_code, host_arguments, host_results, host_aliased, host_temporaries;
  std::int64_t peak;  // 0: not said
};
struct OutputTypes {
  Head head;
  Executable* executable;
  const ElementType* types;
  std::size_t count;
};
struct OutputDims {
  Head head;
  Executable* executable;
  std::size_t count;
  const std::int64_t* dims;  // of all, one after another
  const std::size_t* ranks;
};
struct Tiled {
  Head head;
  const std::int64_t* minor_to_major;
  std::size_t rank;
  const std::int64_t* tiles;
  const std::size_t* tile_ranks;
  std::size_t tile_count;
};
struct Layout {
  Head head;
  Tiled tiled;
  std::int32_t kind;  // 0: tiled
};
struct BufferFromHost {
  Head head;
  Client* client;
  const void* data;
  ElementType type;
  const std::int64_t* dims;
  std::size_t rank;
  const std::int64_t* strides;
  std::size_t stride_count;
  std::int32_t semantics;  // 1: the data stay until the event
  Device* device;
  void* memory;
  Layout* layout;
  Event* done;
  Buffer* buffer;
};
struct BufferToHost {
  Head head;
  Buffer* buffer;
  Layout* layout;  // of `to`
  void* to;        // null: asks for the size
  std::size_t size;
  Event* done;
};
struct ExecuteOptions {
  Head head;
  void *sends, *receives;
  std::size_t send_count, receive_count;
  int launch;
  const std::int64_t* kept;  // arguments that are not given away though the module says that they may be
  std::size_t kept_count;
  void* context;
  const char* place;
  std::size_t tasks;
  const void *task_ids, *incarnations;
};
struct Execute {
  Head head;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* arguments;  // [device][argument]
  std::size_t devices, count;
  Buffer** const* results;  // [device][result], filled
  Event** done;             // one a device, filled
  Device* device;
};

}  // namespace shard::runtime::pjrt::abi
