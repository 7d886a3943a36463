/*  tests/transport/device/cuda_consumers.c - a program reads what eight devices of the hostile driver feed.
 *
 *  It reads late, on streams of its own, and holds batches meanwhile.  Each replica gets the bits that
 *  the processor makes of the same graph, and the stream has the same digest.  A violation aborts
 *  the program (tests/support/cuda/README.md).
 *
 *  Usage: with LD_LIBRARY_PATH for the driver.  Each depth from 1 to 4 is tried with a number of
 *  batches that are held, which TND_CUDA_SEED draws; or, with TND_CUDA_STEPS, for so many steps
 *  with each number. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <tundish/tundish.h>

#include "runtime/feed/dlpack.h"
#include "tests/support/cuda/loaded_calls.h"

enum {
    DEVICES = 8,
    ROWS = 1000, /* the last batch of an epoch has rows for five of the replicas */
    BATCH = 64,
    STEPS_PER_EPOCH = (ROWS + BATCH - 1) / BATCH,
    PIXELS = 2 * 3 * 3,
    ROW_BYTES = 4 + 2 * PIXELS, /* an id, and a picture of bf16 */
    ROOM = BATCH / DEVICES * ROW_BYTES,
    SPARE = 3,
    READS = 2 * SPARE /* copies that a replica has under way */
};

static const char *const columns[] = {"id", "image"};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* --- what a replica reads --------------------------------------------------------------------- */

/*  Rows of one step, on their way to the host.  Each column has a stream of its own. */
typedef struct {
    uint64_t step;
    bool used;
    dl_managed_tensor_versioned_t *views[2]; /* NULL: given back */
    uint8_t *to[2];                          /* page-locked; NULL until it is copied */
    size_t bytes[2];
    CUevent copied[2];
} read_t;

typedef struct {
    CUcontext context;
    CUstream streams[2];
    uint8_t *memory; /* ROOM for each read and column */
    read_t reads[READS];
    uint64_t random;
} reader_t;

typedef struct {
    XXH64_hash_t *hashes; /* of the rows of each step and replica */
    char digest[33];
} result_t;

typedef struct {
    reader_t *readers; /* NULL: the rows are in the host's memory */
    unsigned held;     /* batches that are not given back yet */
    result_t *result;
} run_t;

static uint64_t next_random(reader_t *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

static void start_copy(const reader_t *self, read_t *read, unsigned column)
{
    size_t place = (size_t)(read - self->reads) * 2 + column;
    const dl_tensor_t *tensor = &read->views[column]->dl_tensor;
    read->to[column] = self->memory + place * ROOM;
    if (read->bytes[column] > 0)
        TEST_CUDA(cuMemcpyDtoHAsync_v2, read->to[column], (CUdeviceptr)(uintptr_t)tensor->data,
                  read->bytes[column], self->streams[column]);
    TEST_CUDA(cuEventRecord, read->copied[column], self->streams[column]);
}

/*  The copies are put into the streams now at the latest. */
static void give_back(const reader_t *self, read_t *read)
{
    for (unsigned c = 0; c < 2; c++) {
        if (read->views[c] == NULL)
            continue;
        if (read->to[c] == NULL)
            start_copy(self, read, c);
        read->views[c]->deleter(read->views[c]);
        read->views[c] = NULL;
    }
}

static void await_event(CUevent event)
{
    CUresult result;
    while ((result = test_cuda_calls()->cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
        sched_yield();
    test_cuda_succeed(result, "cuEventQuery");
}

/*  Looks at the rows when they have arrived. */
static void finish(const run_t *run, unsigned replica, read_t *read)
{
    XXH64_hash_t hash = 0;
    if (!read->used)
        return;
    give_back(&run->readers[replica], read);
    for (unsigned c = 0; c < 2; c++) {
        await_event(read->copied[c]);
        hash = XXH3_64bits_withSeed(read->to[c], read->bytes[c], hash);
        read->to[c] = NULL;
    }
    run->result->hashes[read->step * DEVICES + replica] = hash;
    read->used = false;
}

static size_t bytes_of(const dl_tensor_t *tensor)
{
    size_t bytes = tensor->dtype.bits / 8;
    for (int32_t d = 0; d < tensor->ndim; d++)
        bytes *= (size_t)tensor->shape[d];
    return bytes;
}

static dl_managed_tensor_versioned_t *share(tnd_replica_t *replica, const char *column,
                                            int64_t stream)
{
    tnd_error_t error = {.text = "no tensor"};
    dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, column);
    void *view = tensor != NULL ? tnd_tensor_share(tensor, true, stream, &error) : NULL;
    if (view == NULL)
        fail("tnd_tensor_share", error.text);
    tensor->deleter(tensor);
    return view;
}

static void read_on_device(const run_t *run, tnd_replica_t *replica)
{
    unsigned id = tnd_replica_id(replica);
    uint64_t step = tnd_replica_step(replica);
    reader_t *self = &run->readers[id];
    read_t *read = &self->reads[step % READS];
    CUcontext popped;
    TEST_CUDA(cuCtxPushCurrent_v2, self->context);
    finish(run, id, read);
    read->used = true;
    read->step = step;
    for (unsigned c = 0; c < 2; c++) {
        read->views[c] = share(replica, columns[c], (int64_t)(intptr_t)self->streams[c]);
        read->bytes[c] = bytes_of(&read->views[c]->dl_tensor);
        if (next_random(self) % 2 == 0)
            start_copy(self, read, c);
    }
    if (step >= run->held)
        give_back(self, &self->reads[(step - run->held) % READS]);
    TEST_CUDA(cuCtxPopCurrent_v2, &popped);
}

static void read_on_host(const run_t *run, tnd_replica_t *replica)
{
    XXH64_hash_t hash = 0;
    for (unsigned c = 0; c < 2; c++) {
        dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, columns[c]);
        if (tensor == NULL)
            fail("tnd_replica_dlpack", columns[c]);
        hash = XXH3_64bits_withSeed(tensor->dl_tensor.data, bytes_of(&tensor->dl_tensor), hash);
        tensor->deleter(tensor);
    }
    run->result->hashes[tnd_replica_step(replica) * DEVICES + tnd_replica_id(replica)] = hash;
}

static tnd_status_t step(tnd_replica_t *replica, void *user)
{
    const run_t *run = user;
    if (run->readers != NULL)
        read_on_device(run, replica);
    else
        read_on_host(run, replica);
    return TND_OK;
}

/* --- a run ------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/tundish-cuda-XXXXXX";

static void write_file(const char *name, const char *type, const char *shape, size_t bytes,
                       uint8_t (*byte)(size_t at))
{
    char path[64], header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used =
        snprintf(header + 10, sizeof header - 10,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %s), }", type, ROWS, shape);
    header[10 + used] = ' ';
    header[sizeof header - 1] = '\n';
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail("cannot write", path);
    fwrite(header, 1, sizeof header, file);
    for (size_t i = 0; i < bytes; i++)
        fputc(byte(i), file);
    fclose(file);
}

static uint8_t byte_of_id(size_t at)
{
    return (uint8_t)(at / 4 >> 8 * (at % 4));
}

static uint8_t byte_of_picture(size_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

static tnd_graph_t *make_graph(const char *device, uint64_t epochs, unsigned depth)
{
    char options[512];
    tnd_graph_t *graph = tnd_graph_new("consumers", 7);
    snprintf(options, sizeof options,
             "source: {npy: {id: %s/id.npy, image: %s/image.npy}}, shuffle: global, epochs: %llu",
             folder, folder, (unsigned long long)epochs);
    tnd_graph_add(graph, "read", "reader", options);
    snprintf(options, sizeof options, "size: %d, replicas: %d", BATCH, DEVICES);
    tnd_graph_add(graph, "batch", "batcher", options);
    snprintf(options, sizeof options,
             "devices: [\"%s\"], depth: %u, spare: %d, cast: {image: {to: bf16, "
             "scale: [0.5, 2, 3], bias: [0, 1, -0.25], layout: channels_first}}",
             device, depth, SPARE);
    tnd_graph_add(graph, "feed", "feeder", options);
    tnd_graph_link(graph, "read -> batch -> feed");
    return graph;
}

/*  Runs until the stream ends.  What is still held then is given back later. */
static void run_graph(const run_t *run, const char *device, uint64_t epochs, unsigned depth)
{
    tnd_session_t *session = NULL;
    tnd_graph_t *graph = make_graph(device, epochs, depth);
    uint64_t steps = 0;
    if (tnd_session_open(&session, graph, NULL) != TND_OK)
        fail(device, tnd_graph_errors(graph));
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    while (feed != NULL && tnd_feed_next(feed) == TND_OK)
        steps += tnd_feed_run(feed, step, NULL, (void *)(uintptr_t)run) == TND_OK;
    if (tnd_session_wait(session) != TND_OK || steps != epochs * STEPS_PER_EPOCH ||
        !tnd_session_digest(session, "feed", run->result->digest))
        fail(device, tnd_session_error(session));
    (void)tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
}

static void open_reader(reader_t *self, int device, uint64_t seed)
{
    void *memory;
    CUcontext popped;
    *self = (reader_t){.random = seed + 1};
    TEST_CUDA(cuDevicePrimaryCtxRetain, &self->context, device);
    TEST_CUDA(cuCtxPushCurrent_v2, self->context);
    TEST_CUDA(cuMemHostAlloc, &memory, READS * 2 * ROOM, CU_MEMHOSTALLOC_PORTABLE);
    self->memory = memory;
    for (unsigned c = 0; c < 2; c++)
        TEST_CUDA(cuStreamCreateWithPriority, &self->streams[c], CU_STREAM_NON_BLOCKING, 0);
    for (unsigned i = 0; i < READS * 2; i++)
        TEST_CUDA(cuEventCreate, &self->reads[i / 2].copied[i % 2], CU_EVENT_DISABLE_TIMING);
    TEST_CUDA(cuCtxPopCurrent_v2, &popped);
}

/*  The device is closed when its last batch has been given back, so the context is empty after this. */
static void close_reader(const run_t *run, int device)
{
    reader_t *self = &run->readers[device];
    CUcontext popped;
    TEST_CUDA(cuCtxPushCurrent_v2, self->context);
    for (unsigned i = 0; i < READS; i++)
        finish(run, (unsigned)device, &self->reads[i]);
    for (unsigned i = 0; i < READS * 2; i++)
        TEST_CUDA(cuEventDestroy_v2, self->reads[i / 2].copied[i % 2]);
    for (unsigned c = 0; c < 2; c++)
        TEST_CUDA(cuStreamDestroy_v2, self->streams[c]);
    TEST_CUDA(cuMemFreeHost, self->memory);
    TEST_CUDA(cuCtxPopCurrent_v2, &popped);
}

/*  Only now: the last batch of any device closes all of them. */
static void release_contexts(void)
{
    for (int device = 0; device < DEVICES; device++)
        TEST_CUDA(cuDevicePrimaryCtxRelease_v2, device);
}

static void run_devices(const result_t *expected, uint64_t epochs, unsigned depth, unsigned held,
                        uint64_t seed)
{
    static reader_t readers[DEVICES];
    uint64_t count = epochs * STEPS_PER_EPOCH * DEVICES;
    result_t result = {.hashes = calloc(count, sizeof *result.hashes)};
    run_t run = {.readers = readers, .held = held, .result = &result};
    for (int i = 0; i < DEVICES; i++)
        open_reader(&readers[i], i, seed + (uint64_t)i);
    run_graph(&run, "cuda:[0-7]", epochs, depth);
    for (int i = 0; i < DEVICES; i++)
        close_reader(&run, i);
    release_contexts();
    if (strcmp(result.digest, expected->digest) != 0)
        fail("the digest is not that of cpu:0", result.digest);
    for (uint64_t i = 0; i < count; i++)
        if (result.hashes[i] != expected->hashes[i])
            fail("the rows of a step are not those of cpu:0", "wrong bits");
    free(result.hashes);
    printf("depth %u, %u held: %llu steps\n", depth, held,
           (unsigned long long)(epochs * STEPS_PER_EPOCH));
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

int main(void)
{
    uint64_t seed = number("TND_CUDA_SEED", 1), steps = number("TND_CUDA_STEPS", 0);
    uint64_t epochs = steps > 0 ? (steps + STEPS_PER_EPOCH - 1) / STEPS_PER_EPOCH : 2;
    char path[64];
    if (mkdtemp(folder) == NULL)
        fail("cannot make a folder", folder);
    write_file("id", "<u4", "", 4 * ROWS, byte_of_id);
    write_file("image", "|u1", "2, 3, 3", PIXELS * ROWS, byte_of_picture);
    result_t expected = {.hashes =
                             calloc(epochs * STEPS_PER_EPOCH * DEVICES, sizeof *expected.hashes)};
    run_graph(&(run_t){.result = &expected}, "cpu:0", epochs, 2);
    for (unsigned depth = 1; depth <= 4; depth++)
        for (unsigned held = 0; held <= SPARE; held++)
            if (steps > 0 || held == (seed + depth) % (SPARE + 1))
                run_devices(&expected, epochs, depth, held, seed);
    free(expected.hashes);
    for (size_t c = 0; c < 2; c++) {
        snprintf(path, sizeof path, "%s/%s.npy", folder, columns[c]);
        unlink(path);
    }
    return rmdir(folder) == 0 ? 0 : 1;
}
