/*  transport/device/pjrt.c - a device of a PJRT plugin, such as those of XLA for processors, GPUs
 *  and TPUs.
 *
 *  PJRT has no call that copies into a buffer: each upload makes new buffers, from the memory that
 *  the client has reserved, and releases those that it replaces.  The plugin calls back when a copy is
 *  complete, which times the link.  Nor has it streams: a step starts when its upload is complete, and
 *  has finished reading when it returns.
 *
 *  A cast is a program of StableHLO.  XLA may fuse a product with a sum, or not, and flushes
 *  denormals to zero on processors; stablehlo_cast.c computes so that neither matters.  `prepare`
 *  compares what it gives with the cast of the host; if a plugin gives other bits or cannot compile
 *  it, the host casts.  Programs have a fixed number of rows: one is compiled when a number is
 *  uploaded for the second time in a row; the host casts the others. */
#include "runtime/interface/device.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "transport/device/pjrt_arrivals.h"
#include "transport/device/pjrt_plugin.h"
#include "transport/device/stablehlo_cast.h"

extern const tnd_device_ops_t tnd_device_pjrt;

#define CALL_KIND(name, place, kind) [place] = TND_DEVICE_CALL_##kind,
static const uint8_t call_kinds[] = {CALLS(CALL_KIND)};
#undef CALL_KIND

static int type_of(tnd_dtype_t dtype)
{
    switch (dtype) {
    case TND_I16:
        return TYPE_I16;
    case TND_U16:
        return TYPE_U16;
    case TND_F32:
        return TYPE_F32;
    default:
        return TYPE_U8;
    }
}

/* --- a device ---------------------------------------------------------------------------------- */

enum { PROGRAM_SHAPES = 4, TRIAL_CHANNELS = 16, TRIAL_PIXELS = 65536 };

/*  A cast, and its programs for the row counts that recur. */
typedef struct program {
    struct program *next;
    tnd_row_cast_t cast;
    void *scale, *bias; /* f64, by channel, on the device */
    uint64_t rows[PROGRAM_SHAPES], last_rows;
    void *executables[PROGRAM_SHAPES];
    uint32_t count;
    bool on_host; /* the plugin gives other bits, or cannot compile it */
} program_t;

typedef struct {
    tnd_device_t base;
    tnd_device_ops_t ops;
    const tnd_pjrt_plugin_t *plugin;
    void *device;
    tnd_device_facts_t facts; /* what the plugin said when it was opened */
    program_t *programs;
    tnd_error_t failure;      /* the first of an upload; text "" before */
    uint64_t linked_until_ns; /* up to which `link_ns` is counted */
    _Atomic uint64_t link_ns, bytes_moved, calls[TND_DEVICE_CALL_KINDS];
    enum { UNTRIED, SAME_BITS, OTHER_BITS } trials[TND_DTYPE_COUNT][TND_DTYPE_COUNT];
    _Atomic bool casts_on_host;
} pjrt_t;

/*  What was uploaded to one place of a stage. */
typedef struct {
    size_t to;
    void *buffer, *done, *ready; /* events are NULL after they were complete */
    const void *address;
} part_t;

typedef struct {
    part_t *parts;
    size_t count, room;
    part_t zeros;                 /* what a stage contains before its first upload */
    tnd_pjrt_arrivals_t arrivals; /* of the last upload */
    void *scratch;
    size_t host_mapped, scratch_mapped;
    bool pinned, under_way;
} memory_t;

static tnd_status_t fail(const pjrt_t *self, const char *what, const char *why, tnd_error_t *error)
{
    return tnd_fail(error, "pjrt:%" PRIu32 ": %s: %s", self->base.ordinal, what, why);
}

static tnd_status_t call(pjrt_t *self, unsigned place, void *args, const char *what,
                         tnd_error_t *error)
{
    char why[384];
    atomic_fetch_add_explicit(&self->calls[call_kinds[place]], 1, memory_order_relaxed);
    return tnd_pjrt_call(place, args, why, sizeof why) ? TND_OK : fail(self, what, why, error);
}

/*  Destroys an event, buffer or executable, and sets *thing_p to NULL. */
static void destroy(pjrt_t *self, unsigned place, void **thing_p)
{
    one_args_t args = {.size = sizeof args, .thing = *thing_p};
    if (*thing_p != NULL)
        (void)call(self, place, &args, "cannot release", NULL);
    *thing_p = NULL;
}

static tnd_status_t await_event(pjrt_t *self, void **event_p, tnd_error_t *error)
{
    one_args_t args = {.size = sizeof args, .thing = *event_p};
    tnd_status_t status =
        *event_p != NULL ? call(self, CALL_Event_Await, &args, "a copy failed", error) : TND_OK;
    destroy(self, CALL_Event_Destroy, event_p);
    return status;
}

/*  Starts to copy an array; `done_p` is complete when the host may change `data`. */
static tnd_status_t make_buffer(pjrt_t *self, const void *data, int type, const int64_t *sizes,
                                size_t rank, void **buffer_p, void **done_p, tnd_error_t *error)
{
    upload_args_t args = {.size = sizeof args,
                          .client = self->plugin->client,
                          .data = data,
                          .type = type,
                          .sizes = sizes,
                          .rank = rank,
                          .lends = 1,
                          .device = self->device};
    TND_TRY(call(self, CALL_Client_BufferFromHostBuffer, &args, "cannot copy to it", error));
    *buffer_p = args.buffer;
    *done_p = args.done;
    return TND_OK;
}

static tnd_status_t make_ready_event(pjrt_t *self, part_t *part, tnd_error_t *error)
{
    of_args_t args = {.size = sizeof args, .thing = part->buffer};
    TND_TRY(call(self, CALL_Buffer_ReadyEvent, &args, "cannot wait for a copy", error));
    part->ready = args.result;
    return TND_OK;
}

/*  Adds an event to those that complete an upload. */
static tnd_status_t expect(pjrt_t *self, tnd_pjrt_arrivals_t *arrivals, void *event,
                           tnd_error_t *error)
{
    on_ready_args_t args = {.size = sizeof args,
                            .event = event,
                            .callback = tnd_pjrt_arrivals_take,
                            .context = arrivals};
    if (event == NULL)
        return TND_OK;
    tnd_pjrt_arrivals_add(arrivals);
    tnd_status_t status = call(self, CALL_Event_OnReady, &args, "cannot wait for a copy", error);
    if (status != TND_OK)
        tnd_pjrt_arrivals_remove(arrivals);
    return status;
}

static tnd_status_t upload_bytes(pjrt_t *self, part_t *part, const void *from, size_t bytes,
                                 tnd_error_t *error)
{
    const int64_t size = (int64_t)bytes;
    TND_TRY(make_buffer(self, from, TYPE_U8, &size, 1, &part->buffer, &part->done, error));
    return make_ready_event(self, part, error);
}

/*  NULL if the plugin does not tell. */
static void find_address(pjrt_t *self, part_t *part)
{
    of_args_t args = {.size = sizeof args, .thing = part->buffer};
    if (part->buffer != NULL && part->address == NULL &&
        call(self, CALL_Buffer_UnsafePointer, &args, "", NULL) == TND_OK)
        part->address = args.result;
}

/*  Waits until the host may change the memory that the part was copied from. */
static void drop_part(pjrt_t *self, part_t *part)
{
    (void)await_event(self, &part->done, NULL);
    (void)await_event(self, &part->ready, NULL);
    destroy(self, CALL_Buffer_Destroy, &part->buffer);
    part->address = NULL;
}

/* --- stages ------------------------------------------------------------------------------------ */

/*  Zeros, which take memory when they are written; NULL if there is none. */
static void *map_zeros(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/*  Lets the device read it directly, if the plugin can do that. */
static bool pin(pjrt_t *self, void *host, size_t bytes)
{
    map_args_t args = {
        .size = sizeof args, .client = self->plugin->client, .data = host, .bytes = bytes};
    return tnd_pjrt_has(CALL_Client_DmaMap) &&
           call(self, CALL_Client_DmaMap, &args, "", NULL) == TND_OK;
}

static void unpin(pjrt_t *self, void *host)
{
    map_args_t args = {
        .size = offsetof(map_args_t, bytes), .client = self->plugin->client, .data = host};
    if (tnd_pjrt_has(CALL_Client_DmaUnmap))
        (void)call(self, CALL_Client_DmaUnmap, &args, "", NULL);
}

static void pjrt_unstage(tnd_device_t *base, tnd_stage_t *stage)
{
    pjrt_t *self = (pjrt_t *)base;
    memory_t *memory = stage->own;
    drop_part(self, &memory->zeros);
    for (size_t i = 0; i < memory->count; i++)
        drop_part(self, &memory->parts[i]);
    tnd_pjrt_arrivals_await(&memory->arrivals);
    if (memory->pinned)
        unpin(self, stage->host);
    if (stage->host != NULL)
        munmap(stage->host, memory->host_mapped);
    if (memory->scratch != NULL)
        munmap(memory->scratch, memory->scratch_mapped);
    free(memory->parts);
    free(memory);
    *stage = (tnd_stage_t){0};
}

/*  Takes the memory of the device's side by copying zeros, so that a lack of it is noticed now. */
static tnd_status_t upload_zeros(pjrt_t *self, memory_t *memory, size_t bytes, tnd_error_t *error)
{
    part_t *zeros = &memory->zeros;
    TND_TRY(upload_bytes(self, zeros, memory->scratch, bytes, error));
    TND_TRY(await_event(self, &zeros->done, error));
    TND_TRY(await_event(self, &zeros->ready, error));
    find_address(self, zeros);
    return TND_OK;
}

static tnd_status_t pjrt_stage(tnd_device_t *base, size_t host_bytes, size_t device_bytes,
                               size_t warm, tnd_stage_t *stage, tnd_error_t *error)
{
    pjrt_t *self = (pjrt_t *)base;
    memory_t *memory = tnd_allocate_zeroed(1, sizeof *memory);
    memory->host_mapped = host_bytes + TND_STAGE_ALIGN;
    memory->scratch_mapped = device_bytes + TND_STAGE_ALIGN;
    memory->scratch = map_zeros(memory->scratch_mapped);
    tnd_stage_t made = {.host = map_zeros(memory->host_mapped),
                        .host_bytes = host_bytes,
                        .device_bytes = device_bytes,
                        .own = memory};
    tnd_status_t status = TND_OK;
    if (made.host == NULL || memory->scratch == NULL)
        status = tnd_fail(error, "pjrt:%" PRIu32 ": cannot allocate %zu bytes for a batch",
                          base->ordinal, host_bytes + device_bytes);
    else if (device_bytes > 0)
        status = upload_zeros(self, memory, device_bytes, error);
    if (status != TND_OK) {
        pjrt_unstage(base, &made);
        return status;
    }
    memset(made.host, 0, warm);
    memory->pinned = pin(self, made.host, memory->host_mapped);
    *stage = made;
    return TND_OK;
}

/* --- casts ------------------------------------------------------------------------------------- */

/*  Compiles for one device, whichever: portable, one replica, one partition. */
static tnd_status_t compile(pjrt_t *self, const tnd_row_cast_t *cast, uint64_t rows,
                            void **executable_p, tnd_error_t *error)
{
    static const char options[] = {0x1a, 4, 0x20, 1, 0x28, 1, 0x20, 1}; /* CompileOptionsProto */
    program_args_t program = {.size = sizeof program, .format = "mlir", .format_length = 4};
    program.code = tnd_stablehlo_cast(cast, rows, &program.code_length);
    compile_args_t args = {.size = sizeof args,
                           .client = self->plugin->client,
                           .program = &program,
                           .options = options,
                           .options_length = sizeof options};
    tnd_status_t status = call(self, CALL_Client_Compile, &args, "cannot compile a cast", error);
    free(program.code);
    if (status == TND_OK)
        *executable_p = args.executable;
    return status;
}

/*  Starts to copy the rows and to cast them to a new buffer of the part. */
static tnd_status_t execute(pjrt_t *self, const program_t *program, void *executable, uint64_t rows,
                            const void *from, part_t *part, tnd_error_t *error)
{
    const tnd_row_cast_t *cast = &program->cast;
    const int64_t sizes[] = {(int64_t)rows, (int64_t)(cast->elements / cast->channels),
                             cast->channels};
    void *raw = NULL, *output = NULL;
    TND_TRY(make_buffer(self, from, type_of(cast->from), sizes, 3, &raw, &part->done, error));
    void *const inputs[] = {raw, program->scale, program->bias}, *const *input = inputs;
    void **outputs = &output;
    execute_options_t options = {.size = sizeof options};
    execute_args_t args = {.size = sizeof args,
                           .executable = executable,
                           .options = &options,
                           .inputs = &input,
                           .devices = 1,
                           .input_count = 3,
                           .outputs = &outputs,
                           .device = self->device};
    tnd_status_t status = call(self, CALL_LoadedExecutable_Execute, &args, "cannot cast", error);
    destroy(self, CALL_Buffer_Destroy, &raw); /* the plugin keeps it while it is read */
    TND_TRY(status);
    part->buffer = output;
    return make_ready_event(self, part, error);
}

/*  What XLA could get wrong does not depend on the shape: one trial is made for each two types. */
static void fill_trial(const tnd_row_cast_t *cast, void *in, float *scale, float *bias)
{
    static const uint32_t hard[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000,
                                    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00001,
                                    0xffa00000, 0x3f800001, 0x33000000, 0x38800000, 0x477ff000};
    static const float scales[] = {1,          0x1.010102p-8f, 0x1p-140f,
                                   0x1.2p127f, -0x1.1894p-6f,  0x1p-25f};
    static const float biases[] = {0, -0x1.0f2eb2p1f, 0x1p-149f, -0.0f, 0x1.000002p0f};
    uint32_t random = 1;
    for (uint32_t c = 0; c < TRIAL_CHANNELS; c++) {
        scale[c] = scales[c % (sizeof scales / sizeof scales[0])];
        bias[c] = biases[c % (sizeof biases / sizeof biases[0])];
    }
    for (uint64_t i = 0; i < (uint64_t)TRIAL_PIXELS * TRIAL_CHANNELS; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t pixel = (uint32_t)(i / TRIAL_CHANNELS);
        if (cast->from == TND_U8)
            ((uint8_t *)in)[i] = (uint8_t)pixel;
        else if (cast->from != TND_F32)
            ((uint16_t *)in)[i] = (uint16_t)pixel;
        else
            ((uint32_t *)in)[i] = pixel < sizeof hard / sizeof hard[0] ? hard[pixel] : random;
    }
}

static tnd_status_t upload_channels(pjrt_t *self, const float *values, uint32_t count,
                                    void **buffer_p, tnd_error_t *error)
{
    double *wide = tnd_allocate(count, sizeof *wide);
    const int64_t size = count;
    void *done = NULL;
    for (uint32_t i = 0; i < count; i++)
        wide[i] = values[i];
    tnd_status_t status = make_buffer(self, wide, TYPE_F64, &size, 1, buffer_p, &done, error);
    if (status == TND_OK)
        status = await_event(self, &done, error);
    free(wide);
    return status;
}

static tnd_status_t download(pjrt_t *self, void *buffer, void *into, size_t bytes,
                             tnd_error_t *error)
{
    download_args_t args = {.size = sizeof args, .buffer = buffer, .into = into, .bytes = bytes};
    TND_TRY(call(self, CALL_Buffer_ToHostBuffer, &args, "cannot copy from it", error));
    return await_event(self, &args.event, error);
}

static void drop_program(pjrt_t *self, program_t *program)
{
    for (uint32_t i = 0; i < program->count; i++)
        destroy(self, CALL_LoadedExecutable_Destroy, &program->executables[i]);
    destroy(self, CALL_Buffer_Destroy, &program->scale);
    destroy(self, CALL_Buffer_Destroy, &program->bias);
}

static tnd_status_t run_trial(pjrt_t *self, program_t *program, const void *in, void *out,
                              size_t bytes)
{
    const tnd_row_cast_t *cast = &program->cast;
    part_t part = {0};
    TND_TRY(upload_channels(self, cast->scale, cast->channels, &program->scale, NULL));
    TND_TRY(upload_channels(self, cast->bias, cast->channels, &program->bias, NULL));
    TND_TRY(compile(self, cast, 1, &program->executables[0], NULL));
    program->count = 1;
    tnd_status_t status = execute(self, program, program->executables[0], 1, in, &part, NULL);
    if (status == TND_OK)
        status = download(self, part.buffer, out, bytes, NULL);
    drop_part(self, &part);
    return status;
}

/*  Whether the plugin computes the bits of the host. */
static bool gives_same_bits(pjrt_t *self, tnd_dtype_t from, tnd_dtype_t to)
{
    float scale[TRIAL_CHANNELS], bias[TRIAL_CHANNELS];
    size_t elements = (size_t)TRIAL_PIXELS * TRIAL_CHANNELS, bytes = elements * tnd_dtype_size(to);
    program_t program = {.cast = {.from = from,
                                  .to = to,
                                  .elements = elements,
                                  .channels = TRIAL_CHANNELS,
                                  .scale = scale,
                                  .bias = bias}};
    void *in = tnd_allocate(elements, tnd_dtype_size(from));
    void *expected = tnd_allocate(1, bytes), *got = tnd_allocate_zeroed(1, bytes);
    fill_trial(&program.cast, in, scale, bias);
    tnd_row_cast(&program.cast, 1, expected, in);
    bool same =
        run_trial(self, &program, in, got, bytes) == TND_OK && memcmp(got, expected, bytes) == 0;
    drop_program(self, &program);
    free(in);
    free(expected);
    free(got);
    return same;
}

static program_t *find_program(pjrt_t *self, const tnd_row_cast_t *cast)
{
    program_t *program = self->programs;
    while (program != NULL &&
           (program->cast.from != cast->from || program->cast.to != cast->to ||
            program->cast.elements != cast->elements || program->cast.channels != cast->channels ||
            program->cast.channels_first != cast->channels_first ||
            program->cast.scale != cast->scale || program->cast.bias != cast->bias))
        program = program->next;
    return program;
}

static tnd_status_t pjrt_prepare(tnd_device_t *base, const tnd_row_cast_t *cast, tnd_error_t *error)
{
    pjrt_t *self = (pjrt_t *)base;
    if (self->trials[cast->from][cast->to] == UNTRIED)
        self->trials[cast->from][cast->to] =
            gives_same_bits(self, cast->from, cast->to) ? SAME_BITS : OTHER_BITS;
    if (find_program(self, cast) != NULL)
        return TND_OK;
    program_t *program = tnd_allocate_zeroed(1, sizeof *program);
    *program = (program_t){.next = self->programs,
                           .cast = *cast,
                           .on_host = self->trials[cast->from][cast->to] == OTHER_BITS};
    self->programs = program;
    if (program->on_host)
        atomic_store(&self->casts_on_host, true);
    TND_TRY(upload_channels(self, cast->scale, cast->channels, &program->scale, error));
    return upload_channels(self, cast->bias, cast->channels, &program->bias, error);
}

/*  NULL: the host casts these rows. */
static void *executable_for(pjrt_t *self, program_t *program, uint64_t rows)
{
    if (program == NULL || program->on_host)
        return NULL;
    for (uint32_t i = 0; i < program->count; i++)
        if (program->rows[i] == rows)
            return program->executables[i];
    bool again = program->last_rows == rows;
    program->last_rows = rows;
    if (!again || program->count == PROGRAM_SHAPES)
        return NULL;
    void **executable_p = &program->executables[program->count];
    if (compile(self, &program->cast, rows, executable_p, NULL) != TND_OK) {
        program->on_host = true;
        atomic_store(&self->casts_on_host, true);
        return NULL;
    }
    program->rows[program->count++] = rows;
    return *executable_p;
}

/* --- uploads ----------------------------------------------------------------------------------- */

/*  What is at that place, emptied. */
static part_t *empty_part(pjrt_t *self, memory_t *memory, size_t to)
{
    size_t i = 0;
    while (i < memory->count && memory->parts[i].to != to)
        i++;
    if (i == memory->count) {
        memory->parts =
            tnd_grow(memory->parts, memory->count, &memory->room, sizeof *memory->parts);
        memory->parts[memory->count++] = (part_t){.to = to};
    }
    drop_part(self, &memory->parts[i]);
    return &memory->parts[i];
}

static tnd_status_t start_piece(pjrt_t *self, const memory_t *memory,
                                const tnd_stage_piece_t *piece, part_t *part, tnd_error_t *error)
{
    size_t bytes = piece->rows * piece->row_bytes;
    const void *from = piece->from;
    if (piece->cast != NULL) {
        program_t *program = find_program(self, piece->cast);
        void *executable = executable_for(self, program, piece->rows);
        if (executable != NULL) {
            atomic_fetch_add_explicit(&self->bytes_moved, bytes, memory_order_relaxed);
            return execute(self, program, executable, piece->rows, from, part, error);
        }
        void *scratch = (uint8_t *)memory->scratch + piece->to;
        tnd_row_cast(piece->cast, piece->rows, scratch, from);
        bytes = piece->rows * piece->cast->elements * tnd_dtype_size(piece->cast->to);
        from = scratch;
    }
    atomic_fetch_add_explicit(&self->bytes_moved, bytes, memory_order_relaxed);
    return upload_bytes(self, part, from, bytes, error);
}

static tnd_status_t upload_piece(pjrt_t *self, memory_t *memory, const tnd_stage_piece_t *piece,
                                 tnd_error_t *error)
{
    part_t *part = empty_part(self, memory, piece->to);
    TND_TRY(start_piece(self, memory, piece, part, error));
    TND_TRY(expect(self, &memory->arrivals, part->done, error));
    return expect(self, &memory->arrivals, part->ready, error);
}

/*  After a failure every call repeats it. */
static tnd_status_t has_failed(pjrt_t *self, tnd_error_t *error)
{
    return self->failure.text[0] != '\0' ? tnd_fail(error, "%s", self->failure.text) : TND_OK;
}

static tnd_status_t pjrt_upload(tnd_device_t *base, tnd_stage_t *stage,
                                const tnd_stage_piece_t *pieces, size_t count, tnd_error_t *error)
{
    pjrt_t *self = (pjrt_t *)base;
    memory_t *memory = stage->own;
    TND_TRY(has_failed(self, error));
    tnd_pjrt_arrivals_begin(&memory->arrivals, tnd_clock_now());
    memory->under_way = true;
    drop_part(self, &memory->zeros);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].rows > 0 && pieces[i].row_bytes > 0 &&
            upload_piece(self, memory, &pieces[i], &self->failure) != TND_OK)
            return has_failed(self, error);
    return TND_OK;
}

/*  Uploads may be under way at the same time. */
static void count_link(pjrt_t *self, const tnd_pjrt_arrivals_t *arrivals)
{
    uint64_t ended = atomic_load_explicit(&arrivals->ended_ns, memory_order_relaxed);
    uint64_t begun =
        arrivals->begun_ns > self->linked_until_ns ? arrivals->begun_ns : self->linked_until_ns;
    if (ended <= begun)
        return;
    atomic_fetch_add_explicit(&self->link_ns, ended - begun, memory_order_relaxed);
    self->linked_until_ns = ended;
}

/*  All copies have arrived. */
static tnd_status_t end_upload(pjrt_t *self, memory_t *memory)
{
    memory->under_way = false;
    count_link(self, &memory->arrivals);
    for (size_t i = 0; i < memory->count; i++) {
        part_t *part = &memory->parts[i];
        destroy(self, CALL_Event_Destroy, &part->done);
        destroy(self, CALL_Event_Destroy, &part->ready);
        find_address(self, part);
    }
    return atomic_load(&memory->arrivals.failed)
               ? fail(self, "a copy failed", memory->arrivals.why, &self->failure)
               : TND_OK;
}

static tnd_status_t pjrt_uploaded(tnd_device_t *base, tnd_stage_t *stage, tnd_error_t *error)
{
    pjrt_t *self = (pjrt_t *)base;
    memory_t *memory = stage->own;
    TND_TRY(has_failed(self, error));
    if (!memory->under_way)
        return TND_OK;
    if (!tnd_pjrt_arrivals_complete(&memory->arrivals))
        return TND_AGAIN;
    return end_upload(self, memory) == TND_OK ? TND_OK : has_failed(self, error);
}

static const void *pjrt_address(tnd_device_t *base, const tnd_stage_t *stage, size_t to)
{
    const memory_t *memory = stage->own;
    (void)base;
    for (size_t i = 0; i < memory->count; i++)
        if (memory->parts[i].to == to)
            return memory->parts[i].address;
    return memory->zeros.address != NULL ? (const uint8_t *)memory->zeros.address + to : NULL;
}

static tnd_stream_handle_t pjrt_stream(tnd_device_t *base)
{
    (void)base;
    return 0;
}

static tnd_status_t pjrt_order(tnd_device_t *base, tnd_stage_t *stage, tnd_stream_handle_t stream,
                               tnd_error_t *error)
{
    (void)base;
    (void)stage;
    (void)stream;
    (void)error;
    return TND_OK;
}

static tnd_status_t pjrt_finished(tnd_device_t *base, tnd_stage_t *stage, tnd_error_t *error)
{
    (void)base;
    (void)stage;
    (void)error;
    return TND_OK;
}

/*  What the plugin says of the device. */
static void ask_facts(pjrt_t *self)
{
    of_args_t description = {.size = sizeof description, .thing = self->device};
    text_args_t kind = {.size = sizeof kind};
    memory_args_t memory = {.size = sizeof memory, .device = self->device};
    tnd_device_facts_t *facts = &self->facts;
    facts->numa_node = -1;
    if (call(self, CALL_Device_GetDescription, &description, "", NULL) == TND_OK) {
        kind.thing = description.result;
        if (call(self, CALL_DeviceDescription_Kind, &kind, "", NULL) == TND_OK)
            snprintf(facts->name, sizeof facts->name, "%.*s",
                     (int)(kind.length < 40 ? kind.length : 40), kind.text);
    }
    if (call(self, CALL_Device_MemoryStats, &memory, "", NULL) == TND_OK && memory.limit.set) {
        facts->memory = (uint64_t)memory.limit.value;
        facts->memory_free = (uint64_t)(memory.limit.value - memory.used);
    }
}

/*  Called after each step: the plugin was asked when the device was opened. */
static void pjrt_facts(tnd_device_t *base, tnd_device_facts_t *facts)
{
    pjrt_t *self = (pjrt_t *)base;
    *facts = self->facts;
    if (facts->name[0] != '\0' && atomic_load(&self->casts_on_host))
        strcat(facts->name, ", casts on the host");
    facts->bytes_moved = atomic_load_explicit(&self->bytes_moved, memory_order_relaxed);
    facts->link_ns = atomic_load_explicit(&self->link_ns, memory_order_relaxed);
    for (size_t i = 0; i < TND_DEVICE_CALL_KINDS; i++)
        facts->calls[i] = atomic_load_explicit(&self->calls[i], memory_order_relaxed);
}

static uint32_t pjrt_count(char *why, size_t room)
{
    const tnd_pjrt_plugin_t *plugin = tnd_pjrt_plugin(why, room);
    return plugin != NULL ? plugin->count : 0;
}

static tnd_status_t pjrt_open(tnd_device_t **self_p, uint32_t ordinal,
                              const tnd_device_config_t *config, tnd_error_t *error)
{
    char why[448];
    const tnd_pjrt_plugin_t *plugin = tnd_pjrt_plugin(why, sizeof why);
    (void)config;
    if (plugin == NULL || ordinal >= plugin->count)
        return tnd_fail(error, "pjrt:%" PRIu32 ": %s", ordinal,
                        plugin == NULL ? why : "the plugin has fewer devices");
    pjrt_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->plugin = plugin;
    self->ops = tnd_device_pjrt;
    if (self->plugin->on_host)
        self->ops.can |= TND_DEVICE_POINTERS;
    self->base = (tnd_device_t){.ops = &self->ops, .ordinal = ordinal};
    self->device = self->plugin->devices[ordinal];
    ask_facts(self);
    *self_p = &self->base;
    return TND_OK;
}

static void pjrt_close(tnd_device_t **self_p)
{
    pjrt_t *self = (pjrt_t *)*self_p;
    for (program_t *program = self->programs, *next; program != NULL; program = next) {
        next = program->next;
        drop_program(self, program);
        free(program);
    }
    free(self);
    *self_p = NULL;
}

const tnd_device_ops_t tnd_device_pjrt = {
    .name = "pjrt",
    .meant = "tpu",
    .can = TND_DEVICE_OWN_MEMORY | TND_DEVICE_CASTS | TND_DEVICE_ANY_THREAD,
    .dlpack_type = 1, /* kDLCPU; only a client of processors lets others read its memory */
    .count = pjrt_count,
    .open = pjrt_open,
    .close = pjrt_close,
    .prepare = pjrt_prepare,
    .stage = pjrt_stage,
    .unstage = pjrt_unstage,
    .upload = pjrt_upload,
    .uploaded = pjrt_uploaded,
    .address = pjrt_address,
    .stream = pjrt_stream,
    .await = pjrt_order,
    .mark = pjrt_order,
    .finished = pjrt_finished,
    .facts = pjrt_facts,
};
