/*  transport/device/pjrt_interface.h - the C interface of PJRT plugins, as far as it is used here.
 *
 *  The structs and the places of the calls are those of version 0.57 and later: since then, calls
 *  have been added at the end only.  `size`, at the start of each struct, tells the other side which
 *  fields it has.  Names are our own.
 *
 *  Threads: plugins may be called on any. */
#ifndef TND_TRANSPORT_DEVICE_PJRT_INTERFACE_H
#define TND_TRANSPORT_DEVICE_PJRT_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  What is called: its place in the table of functions, and how it is counted.  A buffer belongs to
 *  the copy that makes it. */
#define CALLS(X)                                                                                   \
    X(Error_Destroy, 0, EVENT)                                                                     \
    X(Error_Message, 1, EVENT)                                                                     \
    X(Plugin_Initialize, 3, ALLOCATE)                                                              \
    X(Event_Destroy, 5, EVENT)                                                                     \
    X(Event_Await, 8, SYNCHRONIZE)                                                                 \
    X(Event_OnReady, 9, EVENT)                                                                     \
    X(Client_Create, 10, ALLOCATE)                                                                 \
    X(Client_PlatformName, 12, EVENT)                                                              \
    X(Client_AddressableDevices, 16, EVENT)                                                        \
    X(Client_Compile, 20, ALLOCATE)                                                                \
    X(Client_BufferFromHostBuffer, 22, COPY)                                                       \
    X(DeviceDescription_Kind, 26, EVENT)                                                           \
    X(Device_GetDescription, 29, EVENT)                                                            \
    X(Device_MemoryStats, 34, EVENT)                                                               \
    X(LoadedExecutable_Destroy, 50, FREE)                                                          \
    X(LoadedExecutable_Execute, 55, LAUNCH)                                                        \
    X(Buffer_Destroy, 58, COPY)                                                                    \
    X(Buffer_ToHostBuffer, 70, COPY)                                                               \
    X(Buffer_ReadyEvent, 72, EVENT)                                                                \
    X(Buffer_UnsafePointer, 73, EVENT)                                                             \
    X(Client_DmaMap, 110, ALLOCATE)                                                                \
    X(Client_DmaUnmap, 111, FREE)

#define CALL_PLACE(name, place, kind) CALL_##name = (place),
enum { CALLS(CALL_PLACE) };
#undef CALL_PLACE

enum { CALLS_NEEDED = CALL_Buffer_UnsafePointer + 1, OLDEST_MINOR = 57 };

/*  How every struct begins. */
#define HEAD                                                                                       \
    size_t size;                                                                                   \
    void *extension

typedef void *
call_t(void *args); /* returns an error or NULL, which Error_Destroy and _Message do */

typedef struct {
    HEAD;
    struct {
        HEAD;
        int major, minor;
    } version;
    call_t *calls[]; /* to the end of `size` */
} table_t;

/*  Calls that take one thing: an error, event, buffer or executable. */
typedef struct {
    HEAD;
    void *thing;
} one_args_t;

/*  Calls that give the text of one: Error_Message, Client_PlatformName, DeviceDescription_Kind. */
typedef struct {
    HEAD;
    const void *thing;
    const char *text;
    size_t length;
} text_args_t;

/*  Calls that give one for another: Device_GetDescription, Buffer_ReadyEvent, _UnsafePointer. */
typedef struct {
    HEAD;
    void *thing, *result;
} of_args_t;

/*  Is called once, on any thread, also before OnReady returns; owns the error. */
typedef void on_ready_t(void *error, void *context);

typedef struct {
    HEAD;
    void *event;
    on_ready_t *callback;
    void *context;
} on_ready_args_t;

typedef struct {
    HEAD;
    const char *name;
    size_t name_length;
    int type; /* 4: bool */
    union {
        int64_t number;
        bool yes;
    } value;
    size_t values;
} option_t;

typedef struct {
    HEAD;
    const option_t *options;
    size_t option_count;
    void *callbacks[4], *client, *more_callbacks[2];
} create_args_t;

typedef struct {
    HEAD;
    void *client, *const *devices;
    size_t count;
} devices_args_t;

typedef struct {
    HEAD;
    char *code;
    size_t code_length;
    const char *format;
    size_t format_length;
} program_args_t;

typedef struct {
    HEAD;
    void *client;
    const program_args_t *program;
    const char *options;
    size_t options_length;
    void *executable;
} compile_args_t;

typedef struct {
    HEAD;
    void *client;
    const void *data;
    int type;
    const int64_t *sizes;
    size_t rank;
    const int64_t *strides;
    size_t stride_count;
    int lends; /* 1: the data does not change until `done` */
    void *device, *memory, *layout, *done, *buffer;
} upload_args_t;

typedef struct {
    HEAD;
    void *buffer, *layout, *into;
    size_t bytes;
    void *event;
} download_args_t;

typedef struct {
    HEAD;
    void *none[12];
} execute_options_t;

typedef struct {
    HEAD;
    void *executable;
    execute_options_t *options;
    void *const *const *inputs; /* of each device */
    size_t devices, input_count;
    void **const *outputs;
    void **events;
    void *device;
} execute_args_t;

typedef struct {
    HEAD;
    void *client, *data;
    size_t bytes; /* of DmaMap alone */
} map_args_t;

typedef struct {
    HEAD;
    void *device;
    int64_t used;
    struct {
        int64_t value;
        bool set;
    } peak, allocations, largest, limit, others[6];
} memory_args_t;

/*  Types of elements. */
enum { TYPE_I16 = 3, TYPE_U8 = 6, TYPE_U16 = 7, TYPE_F32 = 11, TYPE_F64 = 12 };

#endif
