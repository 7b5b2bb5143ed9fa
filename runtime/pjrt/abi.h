// Made by abi.py from the header of PJRT 0.81 (PyPI: xla-cpu-pjrt 0.0.1): of its C API what Shard calls.
// The table of functions in the struct that a plug-in gives keeps their places; each function takes a struct, what it
// gives last. A struct grows at its end only, and says its size; so does the table.
#pragma once
#include <cstddef>
#include <cstdint>

// clang-format off
namespace shard::runtime::pjrt::abi {

// Only the plug-in knows what they are.
struct Error; struct Event; struct Client; struct Device; struct DeviceDescription; struct Topology;
  struct Executable; struct LoadedExecutable; struct Buffer;
struct Head { std::size_t size; void* extensions; };  // each struct begins so

// Places in Api::functions, of which there are as many as its size says.
enum Call : std::size_t { kErrorDestroy = 0, kErrorMessage = 1, kErrorCode = 2, kPluginInitialize = 3,
  kPluginAttributes = 4, kEventDestroy = 5, kEventAwait = 8, kEventWhenReady = 9, kClientCreate = 10,
  kClientDestroy = 11, kClientPlatformName = 12, kClientPlatformVersion = 14, kClientProcess = 13,
  kClientDevices = 15, kClientAddressableDevices = 16, kClientCompile = 20, kClientBufferFromHost = 22,
  kDescriptionId = 23, kDescriptionProcess = 24, kDescriptionKind = 26, kDeviceDescription = 29, kDeviceMemory = 34,
  kExecutableDestroy = 40, kLoadedDestroy = 50, kLoadedExecutable = 51, kLoadedExecute = 55, kBufferDestroy = 58,
  kBufferToHost = 70, kTopologyCreate = 82, kTopologyDestroy = 83, kTopologyDescriptions = 86, kCompile = 89,
  kExecutableOutputTypes = 90, kExecutableOutputDims = 91, kExecutableMemory = 96 };
struct Api { Head head, version_head; int major, minor; Error* (*functions[1])(void* arguments); };

enum class ElementType : std::int32_t { Pred = 1, S8 = 2, S16 = 3, S32 = 4, S64 = 5, U8 = 6, U16 = 7, U32 = 8,
  U64 = 9, F16 = 10, F32 = 11, F64 = 12, BF16 = 13, C64 = 14, C128 = 15, F8E5M2 = 16, F8E4M3 = 17, S4 = 21 };
struct NamedValue {  // an attribute, or an option
  enum Kind : std::int32_t { String, Int64, Int64List, Float, Bool };
  Head head; const char* name; std::size_t name_size; Kind kind;
  union { const char* text; std::int64_t number; const std::int64_t* numbers; float real; bool truth; };
  std::size_t value_size;  // of texts and lists; else 1
};
using Fail = Error* (*)(std::int32_t code, const char* message, std::size_t size);  // makes an error of the plug-in's
using Drop = void (*)(char* value);                                              // lets go of a value
using Over = void (*)(Error* error, void* argument);                        // the error is the caller's to free
struct Plain { Head head; const void* object; };
struct Text { Head head; const void* object; const char* text; std::size_t size; };
struct Number { Head head; const void* object; int number; };
struct WhenReady { Head head; Event* event; Over over; void* argument; };
struct Object { Head head; const void* object; void* result; };
struct Objects { Head head; const void* object; void* const* results; std::size_t count; };
struct Attributes { Head head; const NamedValue* values; std::size_t count; };
struct KeyGet { Head head; const char* key; std::size_t key_size; int timeout; Fail* fail; void* argument;
  char* value; std::size_t value_size; Drop drop; };
struct KeyTryGet { Head head; const char* key; std::size_t key_size; Fail* fail; void* argument; char* value;
  std::size_t value_size; Drop drop; };
struct KeyPut { Head head; const char* key; std::size_t key_size; const char* value; std::size_t value_size;
  Fail* fail; void* argument; };
struct ClientCreate { Head head; const NamedValue* options; std::size_t count; void* get; void* get_argument;
  void* put; void* put_argument; Client* client; void* try_get; void* try_get_argument; };
struct Program { Head head; const char* code; std::size_t code_size; const char* format; std::size_t format_size; };
struct ClientCompile { Head head; Client* client; const Program* program; const char* options;
  std::size_t options_size; LoadedExecutable* executable; };
struct TopologyCreate { Head head; const char* name; std::size_t name_size; const NamedValue* options;
  std::size_t count; Topology* topology; };
struct Compile { Head head; const Topology* topology; const Program* program; const char* options;
  std::size_t options_size; Client* client; Executable* executable; };
struct Memory { Head head; Executable* executable; std::int64_t code; std::int64_t arguments; std::int64_t results;
  std::int64_t aliased; std::int64_t temporaries; std::int64_t host_code; std::int64_t host_arguments;
  std::int64_t host_results; std::int64_t host_aliased; std::int64_t host_temporaries; std::int64_t peak; };
struct DeviceMemory { Head head; Device* device; std::int64_t in_use; std::int64_t peak; bool peak_known;
  std::int64_t allocations; bool allocations_known; std::int64_t largest; bool largest_known; std::int64_t limit;
  bool limit_known; std::int64_t reserved; bool reserved_known; std::int64_t peak_reserved; bool peak_reserved_known;
  std::int64_t reservable; bool reservable_known; std::int64_t largest_free; bool largest_free_known;
  std::int64_t pool; bool pool_known; std::int64_t peak_pool; bool peak_pool_known; };
struct OutputTypes { Head head; Executable* executable; const ElementType* types; std::size_t count; };
struct OutputDims { Head head; Executable* executable; std::size_t count; const std::int64_t* dims;
  const std::size_t* ranks; };
struct Tiled { Head head; const std::int64_t* minor_to_major; std::size_t rank; const std::int64_t* tiles;
  const std::size_t* tile_ranks; std::size_t tile_count; };
struct Layout { Head head; Tiled tiled; std::int32_t kind; };
struct BufferFromHost { Head head; Client* client; const void* data; ElementType type; const std::int64_t* dims;
  std::size_t rank; const std::int64_t* strides; std::size_t stride_count; std::int32_t semantics; Device* device;
  void* memory; Layout* layout; Event* done; Buffer* buffer; };
struct BufferToHost { Head head; Buffer* buffer; Layout* layout; void* to; std::size_t size; Event* done; };
struct ExecuteOptions { Head head; void* sends; void* receives; std::size_t send_count; std::size_t receive_count;
  int launch; const std::int64_t* kept; std::size_t kept_count; void* context; const char* place; std::size_t tasks;
  const void* task_ids; const void* incarnations; };
struct Execute { Head head; LoadedExecutable* executable; ExecuteOptions* options; Buffer* const* const* arguments;
  std::size_t devices; std::size_t count; Buffer** const* results; Event** done; Device* device; };

}  // namespace shard::runtime::pjrt::abi
// clang-format on
