/*  transport/device/cuda.c - NVIDIA's devices, through the driver of the machine.
 *
 *  A device has three streams.  Rows are copied in one, and cast in the second, so that the next
 *  copy does not wait for a kernel; the third is that of the steps.  A row that is cast is copied to
 *  a raw area of its stage first.
 *
 *  Every call makes the device's primary context current and restores the one before, because
 *  frameworks have contexts of their own on the same threads. */
#include "transport/device/cuda_driver.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/text/quantity.h"
#include "transport/device/cuda_image.h"
#include "transport/device/cuda_kernels.h"

extern const tnd_device_ops_t tnd_device_cuda;

enum {
    READERS = 4,           /* streams that read a stage at the same time; more wait for each other */
    THREADS = 256,         /* of a block of a kernel */
    AT_ONCE = 4 * THREADS, /* elements that a block makes */
    NODES = 1024           /* of memory, at most */
};

/*  Elements of a launch: indices in kernels have 32 bits. */
static const uint64_t launch_most = UINT64_C(1) << 31;

/*  How long `unstage` waits for work that does not end before it gives the memory up. */
static const uint64_t patience_ns = 10000000000;

typedef struct {
    tnd_row_cast_t cast; /* with arrays of its own */
    CUfunction kernel;
    CUdeviceptr constants; /* the scales, then the biases */
} ready_cast_t;

typedef struct {
    tnd_device_t device;
    char who[24]; /* "cuda:0" */
    const tnd_cuda_driver_t *driver;
    CUdevice handle;
    CUcontext context;
    CUstream copies, casts, steps;
    CUmodule kernels;
    ready_cast_t *ready;
    size_t ready_count, ready_room;
    tnd_device_facts_t facts;   /* what never changes */
    uint32_t uploads;           /* under way */
    uint64_t uploads_since;     /* since when there is one */
    bool leaks;                 /* work did not end: nothing more is freed */
    pthread_mutex_t lock;       /* the readers of stages; `failure` until it is complete */
    _Atomic bool failed;        /* `failure` is complete */
    tnd_error_t failure;
    _Atomic uint64_t bytes_moved, link_ns, calls[TND_DEVICE_CALL_KINDS + 1];
} cuda_t;

typedef struct {
    CUstream stream;
    CUevent event;
    bool reads; /* the event was recorded and was not seen to be complete */
} reader_t;

typedef struct {
    CUdeviceptr raw; /* `host_bytes`, if anything is cast */
    CUevent landed;  /* all bytes are on the device */
    CUevent done;    /* and cast */
    bool under_way;
    reader_t readers[READERS];
} cuda_stage_t;

/* --- calls ------------------------------------------------------------------------------------ */

/*  Errors that are about one call.  After all others the context cannot be used any more. */
static bool is_passing(CUresult result)
{
    return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE ||
           result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_IMAGE ||
           result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
           result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_NOT_FOUND;
}

static void keep_failure(cuda_t *self, const char *text)
{
    pthread_mutex_lock(&self->lock);
    if (!atomic_load(&self->failed))
        (void)tnd_fail(&self->failure, "%s", text);
    atomic_store(&self->failed, true);
    pthread_mutex_unlock(&self->lock);
}

/*  Counts a call that was made, and reports its failure. */
static tnd_status_t judge(cuda_t *self, tnd_cuda_call_t call, CUresult result, tnd_error_t *error)
{
    char text[256];
    tnd_error_t why;
    atomic_fetch_add_explicit(&self->calls[tnd_cuda_call_kind(call)], 1, memory_order_relaxed);
    if (result == CUDA_SUCCESS)
        return TND_OK;
    if (result == CUDA_ERROR_NOT_READY &&
        (call == TND_CUDA_cuEventQuery || call == TND_CUDA_cuStreamQuery))
        return TND_AGAIN;
    (void)tnd_fail(&why, "%s: %s", self->who,
                   tnd_cuda_failure(self->driver, call, result, text, sizeof text));
    if (!is_passing(result))
        keep_failure(self, why.text);
    return tnd_fail(error, "%s", why.text);
}

/*  Makes a call of the driver with the arguments after its name. */
#define CUDA(self, error, name, ...)                                                               \
    judge(self, TND_CUDA_##name, (self)->driver->name(__VA_ARGS__), error)

/*  Makes the context current, unless the device failed before. */
static tnd_status_t enter(cuda_t *self, tnd_error_t *error)
{
    if (atomic_load(&self->failed))
        return tnd_fail(error, "%s", self->failure.text);
    return CUDA(self, error, cuCtxPushCurrent_v2, self->context);
}

/*  Restores the context before; `status` is that of the work since `enter`. */
static tnd_status_t leave(cuda_t *self, tnd_status_t status, tnd_error_t *error)
{
    CUcontext popped;
    tnd_error_t why;
    tnd_status_t left = CUDA(self, &why, cuCtxPopCurrent_v2, &popped);
    if (left != TND_OK && status != TND_FAILED)
        return tnd_fail(error, "%s", why.text);
    return status;
}

static cuda_t *of(tnd_device_t *device)
{
    return (cuda_t *)device;
}

/* --- which devices there are -------------------------------------------------------------------- */

/*  "GPU-5a1f0c9e-..." as the driver's own tools write it. */
static void write_uuid(const CUuuid *uuid, char text[48])
{
    char *at = text + sprintf(text, "GPU");
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        at += sprintf(at, i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                      uuid->bytes[i]);
}

static tnd_status_t judge_alone(const tnd_cuda_driver_t *driver, tnd_cuda_call_t call,
                                CUresult result, tnd_error_t *error)
{
    char text[256];
    return result == CUDA_SUCCESS
               ? TND_OK
               : tnd_fail(error, "%s", tnd_cuda_failure(driver, call, result, text, sizeof text));
}

static tnd_status_t count_devices(const tnd_cuda_driver_t **driver_p, int *count_p,
                                  tnd_error_t *error)
{
    TND_TRY(tnd_cuda_driver(driver_p, error));
    TND_TRY(judge_alone(*driver_p, TND_CUDA_cuDeviceGetCount,
                        (*driver_p)->cuDeviceGetCount(count_p), error));
    if (*count_p <= 0)
        return tnd_fail(error, "the CUDA driver has no device");
    return TND_OK;
}

static uint32_t cuda_count(char *why, size_t room)
{
    const tnd_cuda_driver_t *driver;
    tnd_error_t error;
    int count = 0;
    if (count_devices(&driver, &count, &error) == TND_OK)
        return (uint32_t)count;
    snprintf(why, room, "%s", error.text);
    return 0;
}

static tnd_status_t name_of(const tnd_cuda_driver_t *driver, int ordinal, char text[48],
                            tnd_error_t *error)
{
    CUdevice handle;
    CUuuid uuid;
    TND_TRY(judge_alone(driver, TND_CUDA_cuDeviceGet, driver->cuDeviceGet(&handle, ordinal),
                        error));
    TND_TRY(judge_alone(driver, TND_CUDA_cuDeviceGetUuid_v2,
                        driver->cuDeviceGetUuid_v2(&uuid, handle), error));
    write_uuid(&uuid, text);
    return TND_OK;
}

static tnd_status_t cuda_find(const char *name, uint32_t *ordinal_p, tnd_error_t *error)
{
    const tnd_cuda_driver_t *driver;
    char known[48], all[256] = "";
    int count = 0;
    TND_TRY(count_devices(&driver, &count, error));
    for (int i = 0; i < count; i++) {
        TND_TRY(name_of(driver, i, known, error));
        if (strcasecmp(known, name) == 0) {
            *ordinal_p = (uint32_t)i;
            return TND_OK;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", known);
    }
    return tnd_fail(error, "this machine has no device %s; it has %s", name, all);
}

/* --- open and close --------------------------------------------------------------------------- */

/*  The memory node of a device on a PCI bus; -1 if the kernel does not know it. */
static int32_t node_of(const char *bus)
{
    char path[96], lower[sizeof((tnd_device_facts_t *)0)->bus];
    int node = -1;
    for (size_t i = 0; i < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)bus[i]);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", lower);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fscanf(file, "%d", &node) != 1 || node < -1 || node >= NODES)
        node = -1;
    fclose(file);
    return node;
}

static tnd_status_t describe(cuda_t *self, tnd_error_t *error)
{
    tnd_device_facts_t *facts = &self->facts;
    CUuuid uuid;
    size_t bytes;
    TND_TRY(CUDA(self, error, cuDeviceGet, &self->handle, (int)self->device.ordinal));
    TND_TRY(CUDA(self, error, cuDeviceGetName, facts->name, sizeof facts->name, self->handle));
    TND_TRY(CUDA(self, error, cuDeviceGetPCIBusId, facts->bus, sizeof facts->bus, self->handle));
    TND_TRY(CUDA(self, error, cuDeviceGetUuid_v2, &uuid, self->handle));
    TND_TRY(CUDA(self, error, cuDeviceTotalMem_v2, &bytes, self->handle));
    write_uuid(&uuid, facts->uuid);
    facts->memory = bytes;
    facts->numa_node = node_of(facts->bus);
    return TND_OK;
}

static tnd_status_t make_streams(cuda_t *self, tnd_error_t *error)
{
    CUstream *const streams[] = {&self->copies, &self->casts, &self->steps};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        TND_TRY(CUDA(self, error, cuStreamCreateWithPriority, streams[i], CU_STREAM_NON_BLOCKING, 0));
    return TND_OK;
}

/*  Whatever fails here is lost already. */
static void free_streams(cuda_t *self)
{
    CUstream const streams[] = {self->copies, self->casts, self->steps};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        if (streams[i] != NULL)
            (void)CUDA(self, NULL, cuStreamDestroy_v2, streams[i]);
    for (size_t i = 0; i < self->ready_count; i++)
        (void)CUDA(self, NULL, cuMemFree_v2, self->ready[i].constants);
    if (self->kernels != NULL)
        (void)CUDA(self, NULL, cuModuleUnload, self->kernels);
}

static void cuda_close(tnd_device_t **self_p)
{
    cuda_t *self = of(*self_p);
    if (!self->leaks && self->context != NULL) {
        bool current = CUDA(self, NULL, cuCtxPushCurrent_v2, self->context) == TND_OK;
        free_streams(self);
        if (current)
            (void)leave(self, TND_OK, NULL);
        (void)CUDA(self, NULL, cuDevicePrimaryCtxRelease_v2, self->handle);
    }
    for (size_t i = 0; i < self->ready_count; i++)
        free((void *)(uintptr_t)self->ready[i].cast.scale);
    free(self->ready);
    pthread_mutex_destroy(&self->lock);
    free(self);
    *self_p = NULL;
}

static tnd_status_t start(cuda_t *self, tnd_error_t *error)
{
    TND_TRY(describe(self, error));
    TND_TRY(CUDA(self, error, cuDevicePrimaryCtxRetain, &self->context, self->handle));
    TND_TRY(enter(self, error));
    return leave(self, make_streams(self, error), error);
}

static tnd_status_t cuda_open(tnd_device_t **self_p, uint32_t ordinal,
                              const tnd_device_config_t *config, tnd_error_t *error)
{
    const tnd_cuda_driver_t *driver;
    (void)config;
    TND_TRY(tnd_cuda_driver(&driver, error));
    cuda_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->device = (tnd_device_t){.ops = &tnd_device_cuda, .ordinal = ordinal};
    self->driver = driver;
    snprintf(self->who, sizeof self->who, "cuda:%" PRIu32, ordinal);
    pthread_mutex_init(&self->lock, NULL);
    *self_p = &self->device;
    tnd_status_t status = start(self, error);
    if (status != TND_OK)
        cuda_close(self_p);
    return status;
}

/* --- casts ------------------------------------------------------------------------------------ */

static bool has_kernels(void)
{
    return tnd_cuda_image_end > tnd_cuda_image;
}

/*  A fatbin says in its header how long it is; the driver would read beyond a shorter one. */
static tnd_status_t check_image(const cuda_t *self, tnd_error_t *error)
{
    size_t bytes = (size_t)(tnd_cuda_image_end - tnd_cuda_image);
    uint32_t magic = 0;
    uint16_t header = 0;
    uint64_t body = 0;
    if (bytes >= 16) {
        memcpy(&magic, tnd_cuda_image, sizeof magic);
        memcpy(&header, tnd_cuda_image + 6, sizeof header);
        memcpy(&body, tnd_cuda_image + 8, sizeof body);
    }
    if (magic == 0xba55ed50 && header + body > bytes)
        return tnd_fail(error, "%s: the kernels of this program are damaged (%zu of %" PRIu64
                               " bytes): build it again", self->who, bytes, header + body);
    return TND_OK;
}

static tnd_status_t load_kernels(cuda_t *self, tnd_error_t *error)
{
    int major = 0, minor = 0;
    tnd_error_t why;
    if (self->kernels != NULL)
        return TND_OK;
    TND_TRY(check_image(self, error));
    TND_TRY(CUDA(self, error, cuDeviceGetAttribute, &major,
                 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self->handle));
    TND_TRY(CUDA(self, error, cuDeviceGetAttribute, &minor,
                 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self->handle));
    if (CUDA(self, &why, cuModuleLoadData, &self->kernels, tnd_cuda_image) != TND_OK)
        return tnd_fail(error,
                        "%s (the kernels of casts, for compute capability 7.5 and later; this device "
                        "has %d.%d; a newer driver may be needed)",
                        why.text, major, minor);
    return TND_OK;
}

static bool is_same_cast(const tnd_row_cast_t *a, const tnd_row_cast_t *b)
{
    size_t bytes = a->channels * sizeof(float);
    return a->from == b->from && a->to == b->to && a->elements == b->elements &&
           a->channels == b->channels && a->channels_first == b->channels_first &&
           memcmp(a->scale, b->scale, bytes) == 0 && memcmp(a->bias, b->bias, bytes) == 0;
}

static const ready_cast_t *find_cast(const cuda_t *self, const tnd_row_cast_t *cast)
{
    for (size_t i = 0; i < self->ready_count; i++)
        if (is_same_cast(&self->ready[i].cast, cast))
            return &self->ready[i];
    return NULL;
}

/*  The elements of a launch lie in whole rows. */
static tnd_status_t launch(cuda_t *self, const ready_cast_t *ready, CUdeviceptr out, CUdeviceptr in,
                           uint64_t rows, tnd_error_t *error)
{
    uint64_t count = rows * ready->cast.elements;
    tnd_cuda_cast_t cast = {.in = (const void *)(uintptr_t)in,
                            .out = (void *)(uintptr_t)out,
                            .scale = (const float *)(uintptr_t)ready->constants,
                            .bias = (const float *)(uintptr_t)ready->constants + ready->cast.channels,
                            .count = (unsigned)count,
                            .elements = (unsigned)ready->cast.elements,
                            .channels = ready->cast.channels,
                            .pixels = (unsigned)(ready->cast.elements / ready->cast.channels),
                            .channels_first = ready->cast.channels_first};
    unsigned blocks = count > 0 ? (unsigned)((count + AT_ONCE - 1) / AT_ONCE) : 1;
    return CUDA(self, error, cuLaunchKernel, ready->kernel, blocks, 1, 1, THREADS, 1, 1, 0,
                self->casts, (void *[]){&cast}, NULL);
}

static tnd_status_t load_constants(cuda_t *self, ready_cast_t *ready, tnd_error_t *error)
{
    size_t bytes = 2 * ready->cast.channels * sizeof(float);
    TND_TRY(CUDA(self, error, cuMemcpyHtoDAsync_v2, ready->constants, ready->cast.scale, bytes,
                 self->casts));
    /* The first launch loads the kernel: not later, while rows are fed. */
    tnd_status_t status = launch(self, ready, 0, 0, 0, error);
    tnd_error_t why;
    tnd_status_t waited = CUDA(self, &why, cuStreamSynchronize, self->casts);
    if (status == TND_OK && waited != TND_OK)
        return tnd_fail(error, "%s", why.text);
    return status;
}

static tnd_status_t add_cast(cuda_t *self, const tnd_row_cast_t *cast, tnd_error_t *error)
{
    char name[32];
    ready_cast_t ready = {.cast = *cast};
    size_t bytes = cast->channels * sizeof(float);
    snprintf(name, sizeof name, "tnd_cast_%s_%s", tnd_dtype_name(cast->from),
             tnd_dtype_name(cast->to));
    TND_TRY(load_kernels(self, error));
    TND_TRY(CUDA(self, error, cuModuleGetFunction, &ready.kernel, self->kernels, name));
    TND_TRY(CUDA(self, error, cuMemAlloc_v2, &ready.constants, 2 * bytes));
    float *constants = tnd_allocate(2, bytes);
    memcpy(constants, cast->scale, bytes);
    memcpy(constants + cast->channels, cast->bias, bytes);
    ready.cast.scale = constants;
    ready.cast.bias = constants + cast->channels;
    self->ready = tnd_grow(self->ready, self->ready_count, &self->ready_room, sizeof ready);
    self->ready[self->ready_count++] = ready;
    return load_constants(self, &self->ready[self->ready_count - 1], error);
}

static tnd_status_t cuda_prepare(tnd_device_t *device, const tnd_row_cast_t *cast,
                                 tnd_error_t *error)
{
    cuda_t *self = of(device);
    if (cast->elements >= launch_most)
        return tnd_fail(error, "%s: rows of %" PRIu64 " elements are too large to cast", self->who,
                        cast->elements);
    if (find_cast(self, cast) != NULL)
        return TND_OK;
    TND_TRY(enter(self, error));
    return leave(self, add_cast(self, cast, error), error);
}

/* --- stages ----------------------------------------------------------------------------------- */

typedef struct {
    int mode;
    unsigned long nodes[NODES / (8 * sizeof(unsigned long))];
} memory_policy_t;

/*  Page-locked memory is taken from the node that the calling thread prefers.  Where the system
 *  forbids to choose one, the memory is only slower. */
static bool prefer_node(int32_t node, memory_policy_t *before)
{
    const unsigned long bits = 8 * sizeof(unsigned long);
    memory_policy_t wanted = {.nodes = {0}};
    if (node < 0 || syscall(SYS_get_mempolicy, &before->mode, before->nodes, NODES, NULL, 0) != 0)
        return false;
    wanted.nodes[(unsigned long)node / bits] = 1ul << (unsigned long)node % bits;
    return syscall(SYS_set_mempolicy, MPOL_PREFERRED, wanted.nodes, NODES) == 0;
}

static tnd_status_t allocate_host(cuda_t *self, size_t bytes, void **memory_p, tnd_error_t *error)
{
    memory_policy_t before;
    bool changed = prefer_node(self->facts.numa_node, &before);
    tnd_status_t status =
        CUDA(self, error, cuMemHostAlloc, memory_p, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (changed)
        syscall(SYS_set_mempolicy, before.mode, before.nodes, NODES);
    return status;
}

static tnd_status_t make_events(cuda_t *self, cuda_stage_t *own, tnd_error_t *error)
{
    TND_TRY(CUDA(self, error, cuEventCreate, &own->landed, CU_EVENT_DISABLE_TIMING));
    TND_TRY(CUDA(self, error, cuEventCreate, &own->done, CU_EVENT_DISABLE_TIMING));
    for (size_t i = 0; i < READERS; i++)
        TND_TRY(CUDA(self, error, cuEventCreate, &own->readers[i].event, CU_EVENT_DISABLE_TIMING));
    return TND_OK;
}

static CUdeviceptr side_of(const tnd_stage_t *stage)
{
    return (CUdeviceptr)(uintptr_t)stage->device;
}

static tnd_status_t fill_stage(cuda_t *self, tnd_stage_t *stage, tnd_error_t *error)
{
    cuda_stage_t *own = stage->own;
    CUdeviceptr side;
    size_t host_bytes = stage->host_bytes > 0 ? stage->host_bytes : 1;
    size_t device_bytes = stage->device_bytes > 0 ? stage->device_bytes : 1;
    TND_TRY(allocate_host(self, host_bytes, &stage->host, error));
    TND_TRY(CUDA(self, error, cuMemAlloc_v2, &side, device_bytes));
    stage->device = (void *)(uintptr_t)side;
    if (self->ready_count > 0)
        TND_TRY(CUDA(self, error, cuMemAlloc_v2, &own->raw, host_bytes));
    TND_TRY(make_events(self, own, error));
    memset(stage->host, 0, host_bytes);
    TND_TRY(CUDA(self, error, cuMemsetD8Async, side, 0, device_bytes, self->copies));
    return CUDA(self, error, cuStreamSynchronize, self->copies);
}

static void free_stage(cuda_t *self, tnd_stage_t *stage)
{
    cuda_stage_t *own = stage->own;
    for (size_t i = 0; i < READERS; i++)
        if (own->readers[i].event != NULL)
            (void)CUDA(self, NULL, cuEventDestroy_v2, own->readers[i].event);
    if (own->done != NULL)
        (void)CUDA(self, NULL, cuEventDestroy_v2, own->done);
    if (own->landed != NULL)
        (void)CUDA(self, NULL, cuEventDestroy_v2, own->landed);
    if (own->raw != 0)
        (void)CUDA(self, NULL, cuMemFree_v2, own->raw);
    if (stage->device != NULL)
        (void)CUDA(self, NULL, cuMemFree_v2, side_of(stage));
    if (stage->host != NULL)
        (void)CUDA(self, NULL, cuMemFreeHost, stage->host);
    free(own);
}

static tnd_status_t ask_stream(cuda_t *self, void *stream)
{
    return CUDA(self, NULL, cuStreamQuery, stream);
}

static tnd_status_t ask_event(cuda_t *self, void *event)
{
    return CUDA(self, NULL, cuEventQuery, event);
}

/*  Asks until there is nothing left to wait for, or the deadline.  After an error there is not: the
 *  device does nothing any more. */
static bool ends(cuda_t *self, tnd_status_t (*ask)(cuda_t *, void *), void *what, uint64_t deadline)
{
    while (ask(self, what) == TND_AGAIN) {
        if (tnd_clock_now() > deadline)
            return false;
        usleep(100);
    }
    return true;
}

/*  Waits for all work on a stage; for all copies and casts if it is not known which are of it. */
static bool becomes_idle(cuda_t *self, const cuda_stage_t *own, bool whole_streams)
{
    uint64_t deadline = tnd_clock_now() + patience_ns;
    for (size_t i = 0; i < READERS; i++)
        if (own->readers[i].reads && !ends(self, ask_event, own->readers[i].event, deadline))
            return false;
    if (own->under_way && !ends(self, ask_event, own->done, deadline))
        return false;
    return !whole_streams || (ends(self, ask_stream, self->copies, deadline) &&
                              ends(self, ask_stream, self->casts, deadline));
}

/*  Memory that the device may still read or write is not given back. */
static void end_stage(cuda_t *self, tnd_stage_t *stage, bool whole_streams)
{
    bool current = CUDA(self, NULL, cuCtxPushCurrent_v2, self->context) == TND_OK;
    if (!self->leaks && becomes_idle(self, stage->own, whole_streams))
        free_stage(self, stage);
    else
        self->leaks = true;
    if (current)
        (void)leave(self, TND_OK, NULL);
    *stage = (tnd_stage_t){0};
}

static tnd_status_t explain_room(const cuda_t *self, const tnd_stage_t *stage, tnd_error_t *error)
{
    char host[TND_QUANTITY_SIZE], side[TND_QUANTITY_SIZE];
    tnd_error_t why = *error;
    (void)self;
    return tnd_fail(error, "%s (for a batch: %s of page-locked memory, %s on the device)", why.text,
                    tnd_quantity_size(stage->host_bytes, host),
                    tnd_quantity_size(stage->device_bytes, side));
}

static tnd_status_t cuda_stage(tnd_device_t *device, size_t host_bytes, size_t device_bytes,
                               size_t warm, tnd_stage_t *stage, tnd_error_t *error)
{
    cuda_t *self = of(device);
    tnd_stage_t made = {.host_bytes = host_bytes, .device_bytes = device_bytes};
    (void)warm; /* all pages are present */
    TND_TRY(enter(self, error));
    made.own = tnd_allocate_zeroed(1, sizeof(cuda_stage_t));
    tnd_status_t status = leave(self, fill_stage(self, &made, error), error);
    if (status == TND_OK) {
        *stage = made;
        return TND_OK;
    }
    (void)explain_room(self, &made, error);
    end_stage(self, &made, true);
    return status;
}

static void cuda_unstage(tnd_device_t *device, tnd_stage_t *stage)
{
    cuda_t *self = of(device);
    end_stage(self, stage, atomic_load(&self->failed) || ((cuda_stage_t *)stage->own)->broken);
}

/* --- uploads ---------------------------------------------------------------------------------- */

/*  The link counts as used while an upload is under way. */
static void begin_upload(cuda_t *self, cuda_stage_t *own)
{
    own->under_way = true;
    if (self->uploads++ == 0)
        self->uploads_since = tnd_clock_now();
}

static void end_upload(cuda_t *self, cuda_stage_t *own)
{
    own->under_way = false;
    if (--self->uploads == 0)
        atomic_fetch_add_explicit(&self->link_ns, tnd_clock_now() - self->uploads_since,
                                  memory_order_relaxed);
}

static uint64_t bytes_of(const tnd_stage_piece_t *piece)
{
    return piece->rows * piece->row_bytes;
}

/*  Whether a piece follows another on both sides, with nothing but the alignment between them. */
static bool follows(const tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                    const tnd_stage_piece_t *next)
{
    const char *host = stage->host, *from = piece->from, *after = next->from;
    size_t end = piece->to + bytes_of(piece);
    return next->cast == NULL && from >= host && from < host + stage->host_bytes &&
           after >= host && after < host + stage->host_bytes && next->to >= end &&
           next->to - end < TND_STAGE_ALIGN && after - from == (ptrdiff_t)(next->to - piece->to);
}

/*  Columns that are beside each other are copied together: a copy costs some microseconds. */
static tnd_status_t copy_plain(cuda_t *self, const tnd_stage_t *stage,
                               const tnd_stage_piece_t *pieces, size_t count, tnd_error_t *error)
{
    for (size_t i = 0; i < count;) {
        size_t first = i++;
        if (pieces[first].cast != NULL || bytes_of(&pieces[first]) == 0)
            continue;
        while (i < count && follows(stage, &pieces[i - 1], &pieces[i]))
            i++;
        size_t bytes = pieces[i - 1].to + bytes_of(&pieces[i - 1]) - pieces[first].to;
        assert(pieces[first].to + bytes <= stage->device_bytes);
        TND_TRY(CUDA(self, error, cuMemcpyHtoDAsync_v2, side_of(stage) + pieces[first].to,
                     pieces[first].from, bytes, self->copies));
    }
    return TND_OK;
}

typedef tnd_status_t (*visit_t)(cuda_t *self, const tnd_stage_t *stage,
                                const tnd_stage_piece_t *piece, CUdeviceptr raw,
                                tnd_error_t *error);

/*  Visits the pieces that are cast, each with its place in the raw area.  The largest elements come
 *  first, so that all are aligned and pieces as large as the host's side fit. */
static tnd_status_t each_cast(cuda_t *self, const tnd_stage_t *stage,
                              const tnd_stage_piece_t *pieces, size_t count, visit_t visit,
                              tnd_error_t *error)
{
    CUdeviceptr raw = ((cuda_stage_t *)stage->own)->raw, end = raw + stage->host_bytes;
    for (size_t size = 4; size >= 1; size /= 2)
        for (size_t i = 0; i < count; i++) {
            const tnd_stage_piece_t *piece = &pieces[i];
            if (piece->cast == NULL || piece->rows == 0 ||
                tnd_dtype_size(piece->cast->from) != size)
                continue;
            assert(raw != 0 && raw + bytes_of(piece) <= end);
            TND_TRY(visit(self, stage, piece, raw, error));
            raw += bytes_of(piece);
        }
    return TND_OK;
}

static tnd_status_t copy_raw(cuda_t *self, const tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                             CUdeviceptr raw, tnd_error_t *error)
{
    (void)stage;
    return CUDA(self, error, cuMemcpyHtoDAsync_v2, raw, piece->from, bytes_of(piece), self->copies);
}

static tnd_status_t cast_raw(cuda_t *self, const tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                             CUdeviceptr raw, tnd_error_t *error)
{
    const ready_cast_t *ready = find_cast(self, piece->cast);
    assert(ready != NULL);
    uint64_t at_once = (launch_most - 1) / piece->cast->elements;
    uint64_t made = piece->cast->elements * tnd_dtype_size(piece->cast->to);
    assert(piece->to + piece->rows * made <= stage->device_bytes);
    for (uint64_t row = 0; row < piece->rows; row += at_once) {
        uint64_t rows = piece->rows - row < at_once ? piece->rows - row : at_once;
        TND_TRY(launch(self, ready, side_of(stage) + piece->to + row * made,
                       raw + row * piece->row_bytes, rows, error));
    }
    return TND_OK;
}

static tnd_status_t wait_for_readers(cuda_t *self, cuda_stage_t *own, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < READERS && status == TND_OK; i++)
        if (own->readers[i].reads)
            status = self->driver->cuStreamWaitEvent(self->copies, own->readers[i].event, 0);
    pthread_mutex_unlock(&self->lock);
    return status;
}
