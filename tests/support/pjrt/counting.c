/*  tests/support/pjrt/counting.c - a PJRT plugin of one device in the memory of the host, which counts what
 *  it has made and was not told to destroy.
 *
 *  It casts u8 to f32 as row_cast.h says, whatever program it is given.  Events call back from a thread of
 *  their own, COUNTING_PJRT_US microseconds after they were asked to, and at once if that is not set.
 *  Threads: one at a time. */
#include "tests/support/pjrt/counting.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "transport/device/pjrt_interface.h"

enum { CALL_COUNT = 120, RANK_MOST = 3 };

enum { BUFFER = 1, EVENT, EXECUTABLE };

typedef struct {
    int what;
    size_t count; /* of a buffer: elements */
    void *data;
} thing_t;

static _Alignas(table_t) char memory[sizeof(table_t) + CALL_COUNT * sizeof(call_t *)];
static counting_pjrt_t now;
static char client, device;
static void *devices[] = {&device};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static counting_pjrt_callbacks_t callbacks; /* under the lock */

counting_pjrt_now_t counting_pjrt_now;
__attribute__((visibility("default"))) counting_pjrt_t counting_pjrt_now(void)
{
    return now;
}

counting_pjrt_called_t counting_pjrt_called;
__attribute__((visibility("default"))) counting_pjrt_callbacks_t counting_pjrt_called(void)
{
    pthread_mutex_lock(&lock);
    counting_pjrt_callbacks_t called = callbacks;
    pthread_mutex_unlock(&lock);
    return called;
}

static unsigned *count_of(int what)
{
    return what == BUFFER ? &now.buffers : what == EVENT ? &now.events : &now.executables;
}

static thing_t *make(int what, size_t count, size_t bytes)
{
    thing_t *self = calloc(1, sizeof *self);
    *self = (thing_t){.what = what, .count = count, .data = malloc(bytes + 1)};
    ++*count_of(what);
    return self;
}

static void *destroy(void *args, int what)
{
    thing_t *self = ((one_args_t *)args)->thing;
    if (self == NULL || self->what != what) {
        now.wrong++;
        return NULL;
    }
    --*count_of(what);
    free(self->data);
    self->what = 0;
    free(self);
    return NULL;
}

static void *nothing(void *args)
{
    (void)args;
    return NULL;
}

static void *create(void *args)
{
    ((create_args_t *)args)->client = &client;
    return NULL;
}

static void *name_platform(void *args)
{
    ((text_args_t *)args)->text = "cpu";
    ((text_args_t *)args)->length = 3;
    return NULL;
}

static void *list(void *args)
{
    ((devices_args_t *)args)->devices = devices;
    ((devices_args_t *)args)->count = 1;
    return NULL;
}

static void *destroy_event(void *args)
{
    return destroy(args, EVENT);
}

static void *destroy_buffer(void *args)
{
    return destroy(args, BUFFER);
}

static void *destroy_executable(void *args)
{
    return destroy(args, EXECUTABLE);
}

static void *call_back(void *context)
{
    const on_ready_args_t *asked = context;
    const char *us = getenv("COUNTING_PJRT_US");
    const long ns = us != NULL ? 1000 * strtol(us, NULL, 10) : 0;
    (void)nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000},
                    NULL);
    asked->callback(NULL, asked->context);
    pthread_mutex_lock(&lock);
    callbacks.count++;
    callbacks.last_ns = tnd_clock_now();
    pthread_mutex_unlock(&lock);
    free(context);
    return NULL;
}

static void *on_ready(void *args)
{
    pthread_t thread;
    on_ready_args_t *asked = malloc(sizeof *asked);
    *asked = *(const on_ready_args_t *)args;
    if (pthread_create(&thread, NULL, call_back, asked) != 0)
        abort();
    pthread_detach(thread);
    return NULL;
}

static void *compile(void *args)
{
    ((compile_args_t *)args)->executable = make(EXECUTABLE, 0, 0);
    return NULL;
}

static void *upload(void *args)
{
    upload_args_t *asked = args;
    size_t size = asked->type == TYPE_U8 ? 1 : asked->type == TYPE_F64 ? 8 : 4, count = 1;
    for (size_t i = 0; i < asked->rank; i++)
        count *= (size_t)asked->sizes[i];
    thing_t *made = make(BUFFER, count, count * size);
    memcpy(made->data, asked->data, count * size);
    asked->buffer = made;
    asked->done = make(EVENT, 0, 0);
    return NULL;
}

static void *execute(void *args)
{
    const execute_args_t *asked = args;
    const thing_t *raw = asked->inputs[0][0], *scale = asked->inputs[0][1],
                  *bias = asked->inputs[0][2];
    thing_t *made = make(BUFFER, raw->count, raw->count * sizeof(float));
    for (size_t i = 0; i < raw->count; i++) {
        size_t channel = i % scale->count;
        float x = ((const uint8_t *)raw->data)[i];
        ((float *)made->data)[i] = fmaf(x, (float)((const double *)scale->data)[channel],
                                        (float)((const double *)bias->data)[channel]);
    }
    asked->outputs[0][0] = made;
    return NULL;
}

static void *download(void *args)
{
    download_args_t *asked = args;
    memcpy(asked->into, ((const thing_t *)asked->buffer)->data, asked->bytes);
    asked->event = make(EVENT, 0, 0);
    return NULL;
}

static void *make_ready_event(void *args)
{
    ((of_args_t *)args)->result = make(EVENT, 0, 0);
    return NULL;
}

static void *show_address(void *args)
{
    of_args_t *asked = args;
    asked->result = ((thing_t *)asked->thing)->data;
    return NULL;
}

static void *describe(void *args)
{
    ((of_args_t *)args)->result = &device;
    return NULL;
}

static void *name_kind(void *args)
{
    ((text_args_t *)args)->text = "counting";
    ((text_args_t *)args)->length = strlen("counting");
    return NULL;
}

static void *map(void *args)
{
    (void)args;
    now.mapped++;
    return NULL;
}

static void *unmap(void *args)
{
    (void)args;
    now.mapped--;
    return NULL;
}

static void fill(call_t **calls)
{
    for (size_t i = 0; i < CALL_COUNT; i++)
        calls[i] = nothing;
    calls[CALL_Client_Create] = create;
    calls[CALL_Client_PlatformName] = name_platform;
    calls[CALL_Client_AddressableDevices] = list;
    calls[CALL_Event_Destroy] = destroy_event;
    calls[CALL_Event_OnReady] = on_ready;
    calls[CALL_Client_Compile] = compile;
    calls[CALL_Client_BufferFromHostBuffer] = upload;
    calls[CALL_DeviceDescription_Kind] = name_kind;
    calls[CALL_Device_GetDescription] = describe;
    calls[CALL_LoadedExecutable_Destroy] = destroy_executable;
    calls[CALL_LoadedExecutable_Execute] = execute;
    calls[CALL_Buffer_Destroy] = destroy_buffer;
    calls[CALL_Buffer_ToHostBuffer] = download;
    calls[CALL_Buffer_ReadyEvent] = make_ready_event;
    calls[CALL_Buffer_UnsafePointer] = show_address;
    calls[CALL_Client_DmaMap] = map;
    calls[CALL_Client_DmaUnmap] = unmap;
}

const table_t *GetPjrtApi(void);
__attribute__((visibility("default"))) const table_t *GetPjrtApi(void)
{
    table_t *table = (table_t *)memory;
    table->size = sizeof memory;
    table->version.minor = 81;
    fill(table->calls);
    return table;
}
