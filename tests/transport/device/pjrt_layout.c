/*  tests/transport/device/pjrt_layout.c - compares the declarations of transport/device/pjrt_interface.h
 *  with the header of a plugin, when that is installed. */
#include <pjrt_c_api.h>

#include "transport/device/pjrt_interface.h"

#define SAME_PLACE(name, place, kind)                                                              \
    _Static_assert(offsetof(PJRT_Api, PJRT_##name) ==                                              \
                       offsetof(table_t, calls) + (place) * sizeof(call_t *),                      \
                   #name);
CALLS(SAME_PLACE)

#define SAME(theirs, field, ours, own)                                                             \
    _Static_assert(offsetof(PJRT_##theirs, field) == offsetof(ours, own) &&                        \
                       sizeof(((PJRT_##theirs *)0)->field) == sizeof(((ours *)0)->own),            \
                   #theirs "." #field);

SAME(Api, struct_size, table_t, size)
SAME(Api, pjrt_api_version.major_version, table_t, version.major)
SAME(Api, pjrt_api_version.minor_version, table_t, version.minor)
SAME(Error_Destroy_Args, error, one_args_t, thing)
SAME(Event_Destroy_Args, event, one_args_t, thing)
SAME(Event_Await_Args, event, one_args_t, thing)
SAME(Buffer_Destroy_Args, buffer, one_args_t, thing)
SAME(LoadedExecutable_Destroy_Args, executable, one_args_t, thing)
SAME(Error_Message_Args, error, text_args_t, thing)
SAME(Error_Message_Args, message, text_args_t, text)
SAME(Error_Message_Args, message_size, text_args_t, length)
SAME(Client_PlatformName_Args, client, text_args_t, thing)
SAME(Client_PlatformName_Args, platform_name, text_args_t, text)
SAME(Client_PlatformName_Args, platform_name_size, text_args_t, length)
SAME(DeviceDescription_Kind_Args, device_description, text_args_t, thing)
SAME(DeviceDescription_Kind_Args, device_kind, text_args_t, text)
SAME(DeviceDescription_Kind_Args, device_kind_size, text_args_t, length)
SAME(Device_GetDescription_Args, device, of_args_t, thing)
SAME(Device_GetDescription_Args, device_description, of_args_t, result)
SAME(Buffer_ReadyEvent_Args, buffer, of_args_t, thing)
SAME(Buffer_ReadyEvent_Args, event, of_args_t, result)
SAME(Buffer_UnsafePointer_Args, buffer, of_args_t, thing)
SAME(Buffer_UnsafePointer_Args, buffer_pointer, of_args_t, result)
SAME(Event_OnReady_Args, event, on_ready_args_t, event)
SAME(Event_OnReady_Args, callback, on_ready_args_t, callback)
SAME(Event_OnReady_Args, user_arg, on_ready_args_t, context)
SAME(NamedValue, name, option_t, name)
SAME(NamedValue, name_size, option_t, name_length)
SAME(NamedValue, type, option_t, type)
SAME(NamedValue, int64_value, option_t, value.number)
SAME(NamedValue, bool_value, option_t, value.yes)
SAME(NamedValue, value_size, option_t, values)
SAME(Client_Create_Args, create_options, create_args_t, options)
SAME(Client_Create_Args, num_options, create_args_t, option_count)
SAME(Client_Create_Args, client, create_args_t, client)
SAME(Client_Create_Args, kv_try_get_user_arg, create_args_t, more_callbacks[1])
SAME(Client_AddressableDevices_Args, client, devices_args_t, client)
SAME(Client_AddressableDevices_Args, addressable_devices, devices_args_t, devices)
SAME(Client_AddressableDevices_Args, num_addressable_devices, devices_args_t, count)
SAME(Program, code, program_args_t, code)
SAME(Program, code_size, program_args_t, code_length)
SAME(Program, format, program_args_t, format)
SAME(Program, format_size, program_args_t, format_length)
SAME(Client_Compile_Args, client, compile_args_t, client)
SAME(Client_Compile_Args, program, compile_args_t, program)
SAME(Client_Compile_Args, compile_options, compile_args_t, options)
SAME(Client_Compile_Args, compile_options_size, compile_args_t, options_length)
SAME(Client_Compile_Args, executable, compile_args_t, executable)
SAME(Client_BufferFromHostBuffer_Args, client, upload_args_t, client)
SAME(Client_BufferFromHostBuffer_Args, data, upload_args_t, data)
SAME(Client_BufferFromHostBuffer_Args, type, upload_args_t, type)
SAME(Client_BufferFromHostBuffer_Args, dims, upload_args_t, sizes)
SAME(Client_BufferFromHostBuffer_Args, num_dims, upload_args_t, rank)
SAME(Client_BufferFromHostBuffer_Args, byte_strides, upload_args_t, strides)
SAME(Client_BufferFromHostBuffer_Args, num_byte_strides, upload_args_t, stride_count)
SAME(Client_BufferFromHostBuffer_Args, host_buffer_semantics, upload_args_t, lends)
SAME(Client_BufferFromHostBuffer_Args, device, upload_args_t, device)
SAME(Client_BufferFromHostBuffer_Args, memory, upload_args_t, memory)
SAME(Client_BufferFromHostBuffer_Args, device_layout, upload_args_t, layout)
SAME(Client_BufferFromHostBuffer_Args, done_with_host_buffer, upload_args_t, done)
SAME(Client_BufferFromHostBuffer_Args, buffer, upload_args_t, buffer)
SAME(Buffer_ToHostBuffer_Args, src, download_args_t, buffer)
SAME(Buffer_ToHostBuffer_Args, host_layout, download_args_t, layout)
SAME(Buffer_ToHostBuffer_Args, dst, download_args_t, into)
SAME(Buffer_ToHostBuffer_Args, dst_size, download_args_t, bytes)
SAME(Buffer_ToHostBuffer_Args, event, download_args_t, event)
SAME(LoadedExecutable_Execute_Args, executable, execute_args_t, executable)
SAME(LoadedExecutable_Execute_Args, options, execute_args_t, options)
SAME(LoadedExecutable_Execute_Args, argument_lists, execute_args_t, inputs)
SAME(LoadedExecutable_Execute_Args, num_devices, execute_args_t, devices)
SAME(LoadedExecutable_Execute_Args, num_args, execute_args_t, input_count)
SAME(LoadedExecutable_Execute_Args, output_lists, execute_args_t, outputs)
SAME(LoadedExecutable_Execute_Args, device_complete_events, execute_args_t, events)
SAME(LoadedExecutable_Execute_Args, execute_device, execute_args_t, device)
SAME(Client_DmaMap_Args, client, map_args_t, client)
SAME(Client_DmaMap_Args, data, map_args_t, data)
SAME(Client_DmaMap_Args, size, map_args_t, bytes)
SAME(Client_DmaUnmap_Args, client, map_args_t, client)
SAME(Client_DmaUnmap_Args, data, map_args_t, data)
SAME(Device_MemoryStats_Args, device, memory_args_t, device)
SAME(Device_MemoryStats_Args, bytes_in_use, memory_args_t, used)
SAME(Device_MemoryStats_Args, bytes_limit, memory_args_t, limit.value)
SAME(Device_MemoryStats_Args, bytes_limit_is_set, memory_args_t, limit.set)

_Static_assert(sizeof(PJRT_ExecuteOptions) == sizeof(execute_options_t), "PJRT_ExecuteOptions");
_Static_assert(sizeof(PJRT_Device_MemoryStats_Args) == sizeof(memory_args_t), "MemoryStats");
_Static_assert((int)PJRT_NamedValue_kBool == 4, "the type of an option");
_Static_assert((int)PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes == 1, "lends");
_Static_assert((int)PJRT_Buffer_Type_S16 == TYPE_I16 && (int)PJRT_Buffer_Type_U8 == TYPE_U8 &&
                   (int)PJRT_Buffer_Type_U16 == TYPE_U16 && (int)PJRT_Buffer_Type_F32 == TYPE_F32 &&
                   (int)PJRT_Buffer_Type_F64 == TYPE_F64,
               "types of elements");
