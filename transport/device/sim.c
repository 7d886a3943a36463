/*  transport/device/sim.c - a simulated device: memory, a link and streams with a model of their time.
 *
 *  Rows are really copied, at the last moment that the model allows, and on the clock of the run.
 *  It has no thread: each call first does what was due by now.
 *
 *  A copy takes `link_latency_ns` and its bytes at `link_bytes_per_s`, one at a time.  The work of a
 *  step takes `step_ns`: it is put into the device's own stream when that is marked as a reader.
 *
 *  What is wrong with the device, if anything, is in sim_faults.h. */
#include "transport/device/sim.h"
#include "runtime/base/bounds.h"
#include "transport/device/sim_faults.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"

/*  By default the link of a PCIe 5 x16 slot. */
static const uint64_t default_link = 55000000000, default_latency_ns = 8000;

enum { WORK_MAX = 1024, COPIES_MAX = 4096 };

typedef struct {
    tnd_row_cast_t cast; /* `to` is TND_DTYPE_COUNT: bytes */
    const void *from;
    void *to;
    uint64_t rows;
    size_t bytes;
} move_t;

typedef struct {
    uint64_t put, done;              /* uploads */
    uint64_t done_ns;                /* when the last one was */
    uint64_t marks[TND_SIM_STREAMS]; /* by stream: of its work, what reads the stage */
    move_t moves[TND_STAGE_PIECES];
    size_t move_count;
} sim_stage_t;

typedef struct {
    sim_stage_t *stage;
    uint64_t put_ns, ns; /* how long it takes */
    size_t bytes;
    uint64_t readers[TND_SIM_STREAMS]; /* by stream: of its work, what must be done before */
} copy_t;

typedef enum { WAIT, BUSY, HOLD, READ, CALL, FOLLOW } what_t;

typedef struct {
    what_t what;
    uint64_t put_ns, ns;
    const sim_stage_t *stage; /* WAIT: for its upload number `upload` */
    uint64_t upload;          /* FOLLOW: of other work */
    const _Atomic bool *go;
    const void *from;
    void *out;
    size_t bytes;
    _Atomic bool *done;
    void (*call)(void *context);
    void *context;
    const struct stream *other; /* FOLLOW: its work before number `upload` */
} work_t;

/*  Work is counted from 0: what was put and what is done. */
typedef struct stream {
    bool open;
    uint64_t put, done, free_ns;
    work_t work[WORK_MAX]; /* by number % WORK_MAX */
} stream_t;

typedef struct {
    tnd_device_t base;
    tnd_device_config_t config;
    char *fault_file;     /* NULL: nothing is ever wrong */
    pthread_mutex_t lock; /* guards the rest */
    tnd_sim_faults_t faults;
    uint64_t used, bytes_moved, link_ns, calls[TND_DEVICE_CALL_KINDS];
    uint64_t work_ns, worked_until_ns; /* of all streams together */
    uint64_t put, done, free_ns;       /* of the link */
    bool moving;                       /* a thread copies without the lock */
    copy_t copies[COPIES_MAX];         /* by number % COPIES_MAX */
    stream_t streams[TND_SIM_STREAMS];
} sim_t;

extern const tnd_device_ops_t tnd_device_sim;

/* --- time passes ------------------------------------------------------------------------------ */

static void move(const sim_stage_t *stage)
{
    for (size_t i = 0; i < stage->move_count; i++) {
        const move_t *one = &stage->moves[i];
        if (one->cast.to == TND_DTYPE_COUNT)
            memcpy(one->to, one->from, one->bytes);
        else
            tnd_row_cast(&one->cast, one->rows, one->to, one->from);
    }
}

/*  Does the first copy of the link if it is due. */
static bool advance_link(sim_t *self, uint64_t now)
{
    const copy_t *copy = &self->copies[self->done % COPIES_MAX];
    uint64_t begin = tnd_most(self->free_ns, copy->put_ns);
    if (self->moving || self->done == self->put || self->faults.hang)
        return false;
    for (size_t i = 0; i < TND_SIM_STREAMS; i++) {
        if (self->streams[i].done < copy->readers[i])
            return false;
        if (copy->readers[i] > 0)
            begin = tnd_most(begin, self->streams[i].free_ns);
    }
    if (now < begin + copy->ns)
        return false;
    self->moving = true;
    pthread_mutex_unlock(&self->lock);
    move(copy->stage);
    pthread_mutex_lock(&self->lock);
    self->moving = false;
    self->free_ns = begin + copy->ns;
    self->link_ns += copy->ns;
    self->bytes_moved += copy->bytes;
    copy->stage->done++;
    copy->stage->done_ns = self->free_ns;
    self->done++;
    return true;
}

/*  Counts time in which a stream worked; another one may have worked, too. */
static void count_work(sim_t *self, uint64_t begin, uint64_t end)
{
    begin = tnd_most(begin, self->worked_until_ns);
    if (end <= begin)
        return;
    self->work_ns += end - begin;
    self->worked_until_ns = end;
}

/*  Does the first work of a stream if it is due. */
static bool advance_stream(sim_t *self, stream_t *stream, uint64_t now)
{
    const work_t *work = &stream->work[stream->done % WORK_MAX];
    uint64_t begin = tnd_most(stream->free_ns, work->put_ns), end = begin;
    if (stream->done == stream->put)
        return false;
    switch (work->what) {
    case WAIT:
        if (work->stage->done < work->upload)
            return false;
        end = tnd_most(end, work->stage->done_ns);
        break;
    case BUSY:
        end += work->ns;
        break;
    case HOLD:
        if (!atomic_load(work->go))
            return false;
        end = tnd_most(end, now);
        break;
    case CALL:
        end += work->ns;
        break;
    case FOLLOW:
        if (work->other->done < work->upload)
            return false;
        end = tnd_most(end, work->other->free_ns);
        break;
    case READ:
        break;
    }
    if (now < end)
        return false;
    if (work->what == CALL) {
        work->call(work->context);
        free(work->context);
    }
    if (work->what == READ) {
        memcpy(work->out, work->from, work->bytes);
        atomic_store(work->done, true);
    }
    if (work->what == BUSY || work->what == HOLD)
        count_work(self, begin, end);
    stream->free_ns = end;
    stream->done++;
    return true;
}

static void lock(sim_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t now = tnd_clock_now();
    if (self->fault_file != NULL)
        tnd_sim_faults_look(&self->faults, self->fault_file, now);
    bool any = !self->faults.lost;
    while (any) {
        any = advance_link(self, now);
        for (size_t i = self->faults.stall; i < TND_SIM_STREAMS; i++)
            any = advance_stream(self, &self->streams[i], now) || any;
    }
}

static void unlock(sim_t *self)
{
    pthread_mutex_unlock(&self->lock);
}

/*  The answer to a call, under the lock: a device that was lost fails them all. */
static tnd_status_t answer(const sim_t *self, tnd_status_t status, tnd_error_t *error)
{
    if (!self->faults.lost)
        return status;
    return tnd_fail(error, "sim:%" PRIu32 ": the device was lost, as %.300s says",
                    self->base.ordinal, self->fault_file);
}

static void pause_briefly(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void put(sim_t *self, tnd_stream_handle_t stream, work_t work)
{
    stream_t *to = (stream_t *)stream;
    lock(self);
    while (to->put - to->done == WORK_MAX) {
        unlock(self);
        pause_briefly();
        lock(self);
    }
    work.put_ns = tnd_clock_now();
    to->work[to->put++ % WORK_MAX] = work;
    unlock(self);
}

tnd_stream_handle_t tnd_sim_stream_open(tnd_device_t *device)
{
    sim_t *self = (sim_t *)device;
    stream_t *found = NULL;
    lock(self);
    for (size_t i = 0; i < TND_SIM_STREAMS && found == NULL; i++)
        if (!self->streams[i].open)
            found = &self->streams[i];
    assert(found != NULL);
    found->open = true;
    self->calls[TND_DEVICE_CALL_ALLOCATE]++;
    unlock(self);
    return (tnd_stream_handle_t)found;
}

void tnd_sim_stream_close(tnd_device_t *device, tnd_stream_handle_t stream)
{
    sim_t *self = (sim_t *)device;
    stream_t *closed = (stream_t *)stream;
    lock(self);
    assert(closed->put == closed->done || self->faults.lost);
    for (; closed->done < closed->put; closed->done++)
        free(closed->work[closed->done % WORK_MAX].context);
    closed->open = false;
    self->calls[TND_DEVICE_CALL_FREE]++;
    unlock(self);
}

void tnd_sim_work(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t ns)
{
    put((sim_t *)device, stream, (work_t){.what = BUSY, .ns = ns});
}

void tnd_sim_hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go)
{
    put((sim_t *)device, stream, (work_t){.what = HOLD, .go = go});
}

void tnd_sim_read(tnd_device_t *device, tnd_stream_handle_t stream, const void *from, void *out,
                  size_t bytes, _Atomic bool *done)
{
    put((sim_t *)device, stream,
        (work_t){.what = READ, .from = from, .out = out, .bytes = bytes, .done = done});
}

void tnd_sim_call(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t ns,
                  void (*call)(void *context), void *context)
{
    put((sim_t *)device, stream,
        (work_t){.what = CALL, .ns = ns, .call = call, .context = context});
}

uint64_t tnd_sim_link_ns(tnd_device_t *device, size_t bytes)
{
    const tnd_device_config_t *config = &((sim_t *)device)->config;
    return config->link_latency_ns +
           (uint64_t)((double)bytes * 1e9 / (double)config->link_bytes_per_s);
}

void tnd_sim_follow(tnd_device_t *device, tnd_stream_handle_t stream, tnd_stream_handle_t other)
{
    put((sim_t *)device, stream,
        (work_t){.what = FOLLOW,
                 .other = (const stream_t *)other,
                 .upload = tnd_sim_put(device, other)});
}

uint64_t tnd_sim_put(tnd_device_t *device, tnd_stream_handle_t stream)
{
    sim_t *self = (sim_t *)device;
    lock(self);
    uint64_t work = ((const stream_t *)stream)->put;
    unlock(self);
    return work;
}

tnd_status_t tnd_sim_done(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t work,
                          tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    lock(self);
    tnd_status_t status =
        answer(self, ((const stream_t *)stream)->done >= work ? TND_OK : TND_AGAIN, error);
    self->calls[TND_DEVICE_CALL_EVENT]++;
    unlock(self);
    return status;
}

void tnd_sim_drain(tnd_device_t *device, tnd_stream_handle_t stream)
{
    uint64_t work = tnd_sim_put(device, stream);
    tnd_error_t error;
    while (tnd_sim_done(device, stream, work, &error) == TND_AGAIN)
        pause_briefly();
}

tnd_status_t tnd_sim_take(tnd_device_t *device, uint64_t bytes, const char *what,
                          tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    lock(self);
    uint64_t left = self->config.memory_bytes - self->used;
    bool fits = bytes <= left;
    if (fits)
        self->used += bytes;
    self->calls[TND_DEVICE_CALL_ALLOCATE]++;
    unlock(self);
    if (fits)
        return TND_OK;
    return tnd_fail(error,
                    "sim:%" PRIu32 ": cannot allocate %" PRIu64 " bytes for %s: %" PRIu64
                    " of its %" PRIu64 " bytes of memory are free",
                    device->ordinal, bytes, what, left, self->config.memory_bytes);
}

void tnd_sim_give(tnd_device_t *device, uint64_t bytes)
{
    sim_t *self = (sim_t *)device;
    lock(self);
    self->used -= bytes;
    self->calls[TND_DEVICE_CALL_FREE]++;
    unlock(self);
}

/* --- the device ------------------------------------------------------------------------------- */

static uint32_t sim_count(char *why, size_t room)
{
    (void)why;
    (void)room;
    return TND_DEVICES_ANY;
}

static tnd_status_t sim_open(tnd_device_t **self_p, uint32_t ordinal,
                             const tnd_device_config_t *config, tnd_error_t *error)
{
    (void)error;
    sim_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->base = (tnd_device_t){.ops = &tnd_device_sim, .ordinal = ordinal};
    self->config = *config;
    if (self->config.link_bytes_per_s == 0)
        self->config.link_bytes_per_s = default_link;
    if (self->config.link_latency_ns == 0)
        self->config.link_latency_ns = default_latency_ns;
    if (self->config.memory_bytes == 0)
        self->config.memory_bytes = UINT64_C(141000000000);
    if (config->fault_file != NULL)
        self->fault_file = tnd_copy_string(config->fault_file);
    tnd_sim_faults_init(&self->faults);
    pthread_mutex_init(&self->lock, NULL);
    self->streams[0].open = true;
    *self_p = &self->base;
    return TND_OK;
}

static void sim_close(tnd_device_t **self_p)
{
    sim_t *self = (sim_t *)*self_p;
    pthread_mutex_destroy(&self->lock);
    free(self->fault_file);
    free(self);
    *self_p = NULL;
}

static tnd_status_t sim_prepare(tnd_device_t *self, const tnd_row_cast_t *cast, tnd_error_t *error)
{
    if (tnd_row_cast_takes(cast->from, cast->to))
        return TND_OK;
    return tnd_fail(error, "sim:%" PRIu32 ": cannot cast from %s to %s", self->ordinal,
                    tnd_dtype_name(cast->from), tnd_dtype_name(cast->to));
}

static void *map_zeros(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static tnd_status_t sim_stage(tnd_device_t *device, size_t host_bytes, size_t device_bytes,
                              size_t warm, tnd_stage_t *stage, tnd_error_t *error)
{
    TND_TRY(tnd_sim_take(device, device_bytes, "a batch", error));
    *stage = (tnd_stage_t){.host = map_zeros(host_bytes),
                           .device = map_zeros(device_bytes),
                           .host_bytes = host_bytes,
                           .device_bytes = device_bytes,
                           .own = tnd_allocate_zeroed(1, sizeof(sim_stage_t))};
    if (stage->host != NULL && stage->device != NULL) {
        memset(stage->host, 0, warm < host_bytes ? warm : host_bytes);
        return TND_OK;
    }
    device->ops->unstage(device, stage);
    return tnd_fail(error, "sim:%" PRIu32 ": cannot allocate %zu and %zu bytes for a batch",
                    device->ordinal, host_bytes, device_bytes);
}

static bool is_finished(const sim_t *self, const sim_stage_t *stage)
{
    for (size_t i = 0; i < TND_SIM_STREAMS; i++)
        if (self->streams[i].done < stage->marks[i])
            return false;
    return true;
}

/*  Whether no work that was put into a stream waits for an upload of the stage. */
static bool is_forgotten(const sim_t *self, const sim_stage_t *stage)
{
    for (size_t i = 0; i < TND_SIM_STREAMS; i++)
        for (uint64_t n = self->streams[i].done; n < self->streams[i].put; n++)
            if (self->streams[i].work[n % WORK_MAX].stage == stage)
                return false;
    return true;
}

static void sim_unstage(tnd_device_t *device, tnd_stage_t *stage)
{
    sim_t *self = (sim_t *)device;
    sim_stage_t *own = stage->own;
    lock(self);
    while (!self->faults.lost &&
           (own->done < own->put || !is_finished(self, own) || !is_forgotten(self, own))) {
        unlock(self);
        pause_briefly();
        lock(self);
    }
    unlock(self);
    tnd_sim_give(device, stage->device_bytes);
    if (stage->host != NULL)
        munmap(stage->host, stage->host_bytes);
    if (stage->device != NULL)
        munmap(stage->device, stage->device_bytes);
    free(own);
    *stage = (tnd_stage_t){0};
}

static void add_move(const tnd_stage_t *stage, const tnd_stage_piece_t *piece)
{
    sim_stage_t *own = stage->own;
    size_t bytes = piece->rows * piece->row_bytes, made = bytes;
    assert(own->move_count < TND_STAGE_PIECES);
    move_t *one = &own->moves[own->move_count++];
    *one = (move_t){.from = piece->from,
                    .to = (uint8_t *)stage->device + piece->to,
                    .rows = piece->rows,
                    .bytes = bytes,
                    .cast = {.to = TND_DTYPE_COUNT}};
    if (piece->cast != NULL) {
        one->cast = *piece->cast;
        made = piece->rows * piece->cast->elements * tnd_dtype_size(piece->cast->to);
    }
    assert(piece->to <= stage->device_bytes && made <= stage->device_bytes - piece->to);
}

static tnd_status_t sim_upload(tnd_device_t *device, tnd_stage_t *stage,
                               const tnd_stage_piece_t *pieces, size_t count, tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    sim_stage_t *own = stage->own;
    lock(self);
    assert(own->done == own->put && self->put - self->done < COPIES_MAX);
    copy_t copy = {.stage = own, .put_ns = tnd_clock_now()};
    own->move_count = 0;
    for (size_t i = 0; i < count; i++) {
        add_move(stage, &pieces[i]);
        copy.bytes += pieces[i].rows * pieces[i].row_bytes;
        self->calls[pieces[i].cast != NULL ? TND_DEVICE_CALL_LAUNCH : TND_DEVICE_CALL_COPY]++;
    }
    copy.ns = tnd_sim_link_ns(device, copy.bytes);
    copy.ns = copy.ns * self->faults.slow + self->faults.late_ns;
    for (size_t i = 0; i < TND_SIM_STREAMS; i++)
        copy.readers[i] = self->streams[i].done < own->marks[i] ? own->marks[i] : 0;
    self->copies[self->put++ % COPIES_MAX] = copy;
    own->put++;
    tnd_status_t status = answer(self, TND_OK, error);
    unlock(self);
    return status;
}

static tnd_status_t sim_uploaded(tnd_device_t *device, tnd_stage_t *stage, tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    const sim_stage_t *own = stage->own;
    lock(self);
    tnd_status_t status = answer(self, own->done == own->put ? TND_OK : TND_AGAIN, error);
    self->calls[TND_DEVICE_CALL_EVENT]++;
    unlock(self);
    return status;
}

static tnd_stream_handle_t sim_stream(tnd_device_t *device)
{
    return (tnd_stream_handle_t) & ((sim_t *)device)->streams[0];
}

static tnd_status_t sim_await(tnd_device_t *device, tnd_stage_t *stage, tnd_stream_handle_t stream,
                              tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    const sim_stage_t *own = stage->own;
    lock(self);
    uint64_t upload = own->put;
    tnd_status_t status = answer(self, TND_OK, error);
    self->calls[TND_DEVICE_CALL_EVENT]++;
    unlock(self);
    TND_TRY(status);
    put(self, stream, (work_t){.what = WAIT, .stage = own, .upload = upload});
    return TND_OK;
}

static tnd_status_t sim_mark(tnd_device_t *device, tnd_stage_t *stage, tnd_stream_handle_t stream,
                             tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    sim_stage_t *own = stage->own;
    const stream_t *marked = (const stream_t *)stream;
    if (marked == &self->streams[0])
        tnd_sim_work(device, stream, self->config.step_ns);
    lock(self);
    own->marks[marked - self->streams] = marked->put;
    tnd_status_t status = answer(self, TND_OK, error);
    self->calls[TND_DEVICE_CALL_EVENT]++;
    unlock(self);
    return status;
}

static tnd_status_t sim_finished(tnd_device_t *device, tnd_stage_t *stage, tnd_error_t *error)
{
    sim_t *self = (sim_t *)device;
    lock(self);
    tnd_status_t status = answer(self, is_finished(self, stage->own) ? TND_OK : TND_AGAIN, error);
    self->calls[TND_DEVICE_CALL_EVENT]++;
    unlock(self);
    return status;
}

static void sim_facts(tnd_device_t *device, tnd_device_facts_t *facts)
{
    sim_t *self = (sim_t *)device;
    lock(self);
    *facts = (tnd_device_facts_t){.name = "simulated device",
                                  .memory = self->config.memory_bytes,
                                  .memory_free = self->config.memory_bytes - self->used,
                                  .numa_node = -1,
                                  .bytes_moved = self->bytes_moved,
                                  .link_ns = self->link_ns,
                                  .work_ns = self->work_ns,
                                  .worked_until_ns = self->worked_until_ns};
    memcpy(facts->calls, self->calls, sizeof facts->calls);
    unlock(self);
}

const tnd_device_ops_t tnd_device_sim = {
    .name = "sim",
    .can = TND_DEVICE_OWN_MEMORY | TND_DEVICE_CASTS | TND_DEVICE_POINTERS | TND_DEVICE_STREAMS |
           TND_DEVICE_ANY_THREAD | TND_DEVICE_TIMES | TND_DEVICE_REDUCES,
    .dlpack_type = 1, /* kDLCPU: its memory is the host's */
    .count = sim_count,
    .open = sim_open,
    .close = sim_close,
    .prepare = sim_prepare,
    .stage = sim_stage,
    .unstage = sim_unstage,
    .upload = sim_upload,
    .uploaded = sim_uploaded,
    .stream = sim_stream,
    .await = sim_await,
    .mark = sim_mark,
    .finished = sim_finished,
    .facts = sim_facts,
    .reduction = &tnd_sim_reduction,
};
