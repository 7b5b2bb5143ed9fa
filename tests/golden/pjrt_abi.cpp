// Compares runtime/pjrt/abi.h, which Shard wrote down itself, with the header that a plug-in's package brings: places
// of functions, and of each struct the size and the places of what comes last. xla_run.py compiles it (and runs
// nothing) where it finds such a header.
#include "pjrt_c_api.h"
#include "runtime/pjrt/abi.h"

namespace abi = shard::runtime::pjrt::abi;

#define CALL(ours, theirs) \
  static_assert(offsetof(PJRT_Api, theirs) == offsetof(abi::Api, functions) + abi::ours * sizeof(void*), #theirs)
#define LAST(ours, our_field, theirs, their_field)                                                          \
  static_assert(offsetof(abi::ours, our_field) == offsetof(theirs, their_field), #theirs "." #their_field); \
  static_assert(sizeof(abi::ours::our_field) == sizeof(theirs::their_field), #theirs "." #their_field)
#define SAME(ours, our_field, theirs, their_field) \
  LAST(ours, our_field, theirs, their_field);      \
  static_assert(sizeof(abi::ours) == sizeof(theirs), #theirs)

CALL(kErrorDestroy, PJRT_Error_Destroy);
CALL(kErrorMessage, PJRT_Error_Message);
CALL(kPluginInitialize, PJRT_Plugin_Initialize);
CALL(kPluginAttributes, PJRT_Plugin_Attributes);
CALL(kEventDestroy, PJRT_Event_Destroy);
CALL(kEventAwait, PJRT_Event_Await);
CALL(kEventWhenReady, PJRT_Event_OnReady);
CALL(kClientCreate, PJRT_Client_Create);
CALL(kClientDestroy, PJRT_Client_Destroy);
CALL(kClientPlatformName, PJRT_Client_PlatformName);
CALL(kClientPlatformVersion, PJRT_Client_PlatformVersion);
CALL(kClientProcess, PJRT_Client_ProcessIndex);
CALL(kClientDevices, PJRT_Client_Devices);
CALL(kClientAddressableDevices, PJRT_Client_AddressableDevices);
CALL(kClientCompile, PJRT_Client_Compile);
CALL(kClientBufferFromHost, PJRT_Client_BufferFromHostBuffer);
CALL(kDescriptionId, PJRT_DeviceDescription_Id);
CALL(kDescriptionProcess, PJRT_DeviceDescription_ProcessIndex);
CALL(kDescriptionKind, PJRT_DeviceDescription_Kind);
CALL(kDeviceDescription, PJRT_Device_GetDescription);
CALL(kDeviceMemory, PJRT_Device_MemoryStats);
CALL(kExecutableDestroy, PJRT_Executable_Destroy);
CALL(kLoadedDestroy, PJRT_LoadedExecutable_Destroy);
CALL(kLoadedExecutable, PJRT_LoadedExecutable_GetExecutable);
CALL(kLoadedExecute, PJRT_LoadedExecutable_Execute);
CALL(kBufferDestroy, PJRT_Buffer_Destroy);
CALL(kBufferToHost, PJRT_Buffer_ToHostBuffer);
CALL(kTopologyCreate, PJRT_TopologyDescription_Create);
CALL(kTopologyDestroy, PJRT_TopologyDescription_Destroy);
CALL(kTopologyDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions);
CALL(kCompile, PJRT_Compile);
CALL(kExecutableOutputTypes, PJRT_Executable_OutputElementTypes);
CALL(kExecutableOutputDims, PJRT_Executable_OutputDimensions);
CALL(kExecutableMemory, PJRT_Executable_GetCompiledMemoryStats);

LAST(Api, major, PJRT_Api, pjrt_api_version.major_version);
SAME(NamedValue, value_size, PJRT_NamedValue, value_size);
SAME(Plain, object, PJRT_Error_Destroy_Args, error);
SAME(Plain, object, PJRT_Event_Await_Args, event);
SAME(Plain, object, PJRT_Buffer_Destroy_Args, buffer);
SAME(Text, size, PJRT_Error_Message_Args, message_size);
SAME(Text, size, PJRT_Client_PlatformName_Args, platform_name_size);
SAME(Text, size, PJRT_DeviceDescription_Kind_Args, device_kind_size);
SAME(Number, number, PJRT_DeviceDescription_Id_Args, id);
SAME(Number, number, PJRT_DeviceDescription_ProcessIndex_Args, process_index);
SAME(Number, number, PJRT_Client_ProcessIndex_Args, process_index);
SAME(WhenReady, argument, PJRT_Event_OnReady_Args, user_arg);
SAME(Object, result, PJRT_Device_GetDescription_Args, device_description);
SAME(Object, result, PJRT_LoadedExecutable_GetExecutable_Args, executable);
SAME(Objects, count, PJRT_Client_Devices_Args, num_devices);
SAME(Objects, count, PJRT_Client_AddressableDevices_Args, num_addressable_devices);
SAME(Attributes, count, PJRT_Plugin_Attributes_Args, num_attributes);
SAME(KeyGet, drop, PJRT_KeyValueGetCallback_Args, value_deleter_callback);
SAME(KeyTryGet, drop, PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);
SAME(KeyPut, argument, PJRT_KeyValuePutCallback_Args, user_arg);
LAST(ClientCreate, client, PJRT_Client_Create_Args, client);
SAME(ClientCreate, try_get_argument, PJRT_Client_Create_Args, kv_try_get_user_arg);
SAME(Program, format_size, PJRT_Program, format_size);
SAME(ClientCompile, executable, PJRT_Client_Compile_Args, executable);
SAME(Memory, peak, PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes);
LAST(DeviceMemory, limit_known, PJRT_Device_MemoryStats_Args, bytes_limit_is_set);
SAME(DeviceMemory, peak_pool_known, PJRT_Device_MemoryStats_Args, peak_pool_bytes_is_set);
SAME(TopologyCreate, topology, PJRT_TopologyDescription_Create_Args, topology);
SAME(Compile, executable, PJRT_Compile_Args, executable);
SAME(Objects, count, PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions);
SAME(OutputTypes, count, PJRT_Executable_OutputElementTypes_Args, num_output_types);
SAME(OutputDims, ranks, PJRT_Executable_OutputDimensions_Args, dim_sizes);
SAME(Tiled, tile_count, PJRT_Buffer_MemoryLayout_Tiled, num_tiles);
SAME(Layout, kind, PJRT_Buffer_MemoryLayout, type);
LAST(BufferFromHost, semantics, PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics);
SAME(BufferFromHost, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
SAME(BufferToHost, done, PJRT_Buffer_ToHostBuffer_Args, event);
LAST(ExecuteOptions, kept_count, PJRT_ExecuteOptions, num_non_donatable_input_indices);
SAME(ExecuteOptions, incarnations, PJRT_ExecuteOptions, incarnation_ids);
SAME(Execute, device, PJRT_LoadedExecutable_Execute_Args, execute_device);

static_assert(static_cast<int>(abi::ElementType::S32) == PJRT_Buffer_Type_S32);
static_assert(static_cast<int>(abi::ElementType::U64) == PJRT_Buffer_Type_U64);
static_assert(static_cast<int>(abi::ElementType::F16) == PJRT_Buffer_Type_F16);
static_assert(static_cast<int>(abi::ElementType::BF16) == PJRT_Buffer_Type_BF16);
static_assert(PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes == 1);
static_assert(PJRT_Buffer_MemoryLayout_Type_Tiled == 0);
