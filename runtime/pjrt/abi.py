#!/usr/bin/env python3
"""Writes runtime/pjrt/abi.h: of the PJRT C API what Shard calls, under its own names, from the header that packages of plug-ins bring.

    abi.py .../site-packages/xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h 'xla-cpu-pjrt 0.0.1' > abi.h

`./dev format` leaves the result as it is. tests/golden/pjrt_abi.cpp lets the compiler compare it with a plug-in's header.
"""
import re
import sys
import textwrap

# Ours: theirs. The place of a function in the table never changes.
CALLS = '''ErrorDestroy Error_Destroy; ErrorMessage Error_Message; ErrorCode Error_GetCode; PluginInitialize Plugin_Initialize; PluginAttributes Plugin_Attributes;
EventDestroy Event_Destroy; EventAwait Event_Await; EventWhenReady Event_OnReady; ClientCreate Client_Create; ClientDestroy Client_Destroy;
ClientPlatformName Client_PlatformName; ClientPlatformVersion Client_PlatformVersion; ClientProcess Client_ProcessIndex;
ClientDevices Client_Devices; ClientAddressableDevices Client_AddressableDevices;
ClientCompile Client_Compile; ClientBufferFromHost Client_BufferFromHostBuffer; DescriptionId DeviceDescription_Id;
DescriptionProcess DeviceDescription_ProcessIndex; DescriptionKind DeviceDescription_Kind; DeviceDescription Device_GetDescription; DeviceMemory Device_MemoryStats; ExecutableDestroy Executable_Destroy;
LoadedDestroy LoadedExecutable_Destroy; LoadedExecutable LoadedExecutable_GetExecutable; LoadedExecute LoadedExecutable_Execute;
BufferDestroy Buffer_Destroy; BufferToHost Buffer_ToHostBuffer; TopologyCreate TopologyDescription_Create;
TopologyDestroy TopologyDescription_Destroy; TopologyDescriptions TopologyDescription_GetDeviceDescriptions; Compile Compile;
ExecutableOutputTypes Executable_OutputElementTypes; ExecutableOutputDims Executable_OutputDimensions;
ExecutableMemory Executable_GetCompiledMemoryStats'''
ELEMENTS = 'Pred S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 BF16 C64 C128 F8E5M2 F8E4M3:F8E4M3FN S4'
OBJECTS = 'Error Event Client Device DeviceDescription Topology:TopologyDescription Executable LoadedExecutable Buffer'

# A struct of ours, theirs, its fields behind the head in their order; `name:TYPE` where the type is not theirs, as several calls share
# the struct or what it is of is never used. `?`: kept and of no use.
STRUCTS = '''
Plain Error_Destroy_Args object:const_void*
Text Error_Message_Args object:const_void* text size
Number DeviceDescription_Id_Args object:const_void* number
WhenReady Event_OnReady_Args event over:Over argument
Object Device_GetDescription_Args object:const_void* result:void*
Objects Client_AddressableDevices_Args object:const_void* results:void*_const* count
Attributes Plugin_Attributes_Args values count
KeyGet KeyValueGetCallback_Args key key_size timeout fail:Fail* argument value value_size drop:Drop
KeyTryGet KeyValueTryGetCallback_Args key key_size fail:Fail* argument value value_size drop:Drop
KeyPut KeyValuePutCallback_Args key key_size value value_size fail:Fail* argument
ClientCreate Client_Create_Args options count get:void* get_argument put:void* put_argument client try_get:void* try_get_argument
Program Program code:const_char* code_size format format_size
ClientCompile Client_Compile_Args client program options options_size executable
TopologyCreate TopologyDescription_Create_Args name name_size options count topology
Compile Compile_Args topology program options options_size client executable
Memory Executable_GetCompiledMemoryStats_Args executable code arguments results aliased temporaries host_code host_arguments host_results host_aliased host_temporaries peak
DeviceMemory Device_MemoryStats_Args device in_use peak peak_known allocations allocations_known largest largest_known limit limit_known reserved reserved_known peak_reserved peak_reserved_known reservable reservable_known largest_free largest_free_known pool pool_known peak_pool peak_pool_known
OutputTypes Executable_OutputElementTypes_Args executable types:const_ElementType* count
OutputDims Executable_OutputDimensions_Args executable count dims ranks
Tiled Buffer_MemoryLayout_Tiled minor_to_major rank tiles tile_ranks tile_count
Layout Buffer_MemoryLayout tiled:Tiled kind:std::int32_t
BufferFromHost Client_BufferFromHostBuffer_Args client data type dims rank strides stride_count semantics:std::int32_t device memory:void* layout done buffer
BufferToHost Buffer_ToHostBuffer_Args buffer layout to size done
ExecuteOptions ExecuteOptions sends:void* receives:void* send_count receive_count launch kept kept_count context:void* place tasks task_ids:const_void* incarnations:const_void*
Execute LoadedExecutable_Execute_Args executable options arguments devices count results done device
'''.strip().splitlines()
TYPES = {'size_t': 'std::size_t', 'int64_t': 'std::int64_t', 'PJRT_Buffer_Type': 'ElementType', 'PJRT_Buffer_MemoryLayout': 'Layout'}
TYPES |= {'PJRT_' + o.split(':')[-1]: o.split(':')[0] for o in OBJECTS.split()}


def main(header, source):
    with open(header, encoding='utf-8') as f: text = re.sub(r'//[^\n]*', '', f.read())
    version = '.'.join(re.search(rf'#define PJRT_API_{which} (\d+)', text).group(1) for which in ('MAJOR', 'MINOR'))
    table = re.findall(r'_PJRT_API_STRUCT_FIELD\(PJRT_(\w+)\)', text)
    elements = re.findall(r'PJRT_Buffer_Type_(\w+)', re.search(r'enum \{([^}]*)\} PJRT_Buffer_Type;', text).group(1))

    def fields(name):
        body = re.search(rf'struct PJRT_{name} \{{(.*?)\n\}}', text, re.S).group(1)
        body = re.sub(r'union \{(.*?);.*?\};', r'\1;', body, flags=re.S)   # its first
        lines = [' '.join(line.split()) for line in body.split(';') if line.strip()]
        return [line.rsplit(' ', 1)[0] for line in lines][2:]   # behind size and extensions

    def ours(theirs):
        return re.sub(r'\w+', lambda m: TYPES.get(m.group(0), m.group(0).removeprefix('PJRT_')), theirs)

    def wrapped(first, parts, last, by=' '):
        """On one line or several, broken between the parts."""
        text = by.join(part.replace(' ', '\0') for part in parts)
        print(textwrap.fill(first + text + last, 118, subsequent_indent='  ', break_long_words=False, break_on_hyphens=False).replace('\0', ' '))

    print(f'''// Made by abi.py from the header of PJRT {version} (PyPI: {source}): of its C API what Shard calls.
// The table of functions in the struct that a plug-in gives keeps their places; each function takes a struct, what it
// gives last. A struct grows at its end only, and says its size; so does the table.
#pragma once
#include <cstddef>
#include <cstdint>

// clang-format off
namespace shard::runtime::pjrt::abi {{
''')
    print('// Only the plug-in knows what they are.')
    wrapped('', [f'struct {o.split(":")[0]};' for o in OBJECTS.split()], '')
    print('struct Head { std::size_t size; void* extensions; };  // each struct begins so\n')
    calls = [pair.split() for pair in CALLS.replace('\n', ' ').split(';')]
    print('// Places in Api::functions, of which there are as many as its size says.')
    wrapped('enum Call : std::size_t { ', [f'k{mine} = {table.index(theirs)}' for mine, theirs in calls], ' };', ', ')
    print('struct Api { Head head, version_head; int major, minor; Error* (*functions[1])(void* arguments); };\n')
    wrapped('enum class ElementType : std::int32_t { ',
            [f'{e.split(":")[0]} = {[x.upper() for x in elements].index(e.split(":")[-1].upper())}' for e in ELEMENTS.split()], ' };', ', ')
    print('struct NamedValue {  // an attribute, or an option\n  enum Kind : std::int32_t { String, Int64, Int64List, Float, Bool };')
    print('  Head head; const char* name; std::size_t name_size; Kind kind;')
    print('  union { const char* text; std::int64_t number; const std::int64_t* numbers; float real; bool truth; };')
    print('  std::size_t value_size;  // of texts and lists; else 1\n};')
    print('using Fail = Error* (*)(std::int32_t code, const char* message, std::size_t size);  // makes an error of the plug-in\'s')
    print('using Drop = void (*)(char* value);                                              // lets go of a value')
    print('using Over = void (*)(Error* error, void* argument);                        // the error is the caller\'s to free')
    for line in STRUCTS:
        mine, theirs, *names = line.split()
        types = fields(theirs)
        if len(types) != len(names): sys.exit(f'PJRT_{theirs} has {len(types)} fields, and {len(names)} are named')
        pairs = [(n.split(':', 1)[0], n.split(':', 1)[1].replace('_', ' ') if ':' in n and '_t' not in n.split(':', 1)[1] else n.split(':', 1)[1] if ':' in n else ours(t))
                 for n, t in zip(names, types)]
        wrapped(f'struct {mine} {{ ', ['Head head;'] + [f'{t} {n};' for n, t in pairs], ' };')
    print('\n}  // namespace shard::runtime::pjrt::abi\n// clang-format on')


main(*sys.argv[1:3])
