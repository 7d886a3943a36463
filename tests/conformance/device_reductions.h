/*  tests/conformance/device_reductions.h - the tests of runtime/interface/device_reduction.h, in the conformance
 *  suite of devices. */
#ifndef TND_TESTS_CONFORMANCE_DEVICE_REDUCTIONS_H
#define TND_TESTS_CONFORMANCE_DEVICE_REDUCTIONS_H

#include "tests/conformance/device_case.h"

typedef struct {
    const tnd_device_reduction_t *ops;
    tnd_device_queue_t queue;
    tnd_device_area_t area;
} reductions_t;

static reductions_t open_reductions(suite_t *self, size_t scratch, size_t bytes)
{
    reductions_t made = {.ops = self->ops->reduction};
    SUCCEED(self, made.ops->open(self->device, scratch, &made.queue, &self->error));
    SUCCEED(self, made.ops->allocate(self->device, bytes, bytes, &made.area, &self->error));
    EXPECT(self, made.area.host != NULL && made.area.device != NULL);
    EXPECT(self, made.area.host_bytes >= bytes && made.area.device_bytes >= bytes);
    EXPECT(self, can(self, TND_DEVICE_STREAMS) == (made.queue.stream != 0));
    return made;
}

static void close_reductions(suite_t *self, reductions_t *made)
{
    made->ops->close(self->device, &made->queue);
    made->ops->release(self->device, &made->area);
}

static void put_mark(suite_t *self, const reductions_t *made, uint32_t number)
{
    SUCCEED(self, made->ops->mark(self->device, &made->queue, number, &self->error));
}

static void await_mark(suite_t *self, const reductions_t *made, uint32_t number)
{
    tnd_status_t status;
    uint64_t until = tnd_clock_now() + DEVICE_DEADLINE_NS;
    while ((status = made->ops->reached(self->device, &made->queue, number, &self->error)) ==
           TND_AGAIN) {
        EXPECT(self, tnd_clock_now() < until);
        sched_yield();
    }
    expect(self, status == TND_OK, "the mark is reached", __LINE__, &self->error);
}

/*  Copies of the host's side into the device's, or back; in the queue. */
static void copy_in(suite_t *self, const reductions_t *made, size_t at, size_t bytes)
{
    SUCCEED(self, made->ops->copy_in(self->device, &made->queue, (char *)made->area.device + at,
                                     (const char *)made->area.host + at, bytes, &self->error));
}

static void copy_out(suite_t *self, const reductions_t *made, size_t at, size_t bytes)
{
    SUCCEED(self, made->ops->copy_out(self->device, &made->queue, (char *)made->area.host + at,
                                      (const char *)made->area.device + at, bytes, &self->error));
}

/*  With several parts under way, as many as there are marks. */
static void values_are_copied_out_and_in(suite_t *self)
{
    enum { PART = 3000, PARTS = 40 };
    if (!can(self, TND_DEVICE_REDUCES))
        return;
    reductions_t made = open_reductions(self, 0, TND_QUEUE_MARKS * PART);
    uint8_t expected[TND_QUEUE_MARKS][PART];
    for (uint32_t n = 0; n < PARTS + TND_QUEUE_MARKS; n++) {
        uint32_t place = n % TND_QUEUE_MARKS;
        uint8_t *host = (uint8_t *)made.area.host + place * PART;
        if (n >= TND_QUEUE_MARKS) {
            await_mark(self, &made, place);
            copy_out(self, &made, place * PART, PART);
            put_mark(self, &made, place);
            await_mark(self, &made, place);
            EXPECT(self, memcmp(host, expected[place], PART) == 0);
        }
        if (n >= PARTS)
            continue;
        fill(self, host, PART);
        memcpy(expected[place], host, PART);
        copy_in(self, &made, place * PART, PART);
        put_mark(self, &made, place);
    }
    close_reductions(self, &made);
}

/* --- nodes of the tree ------------------------------------------------------------------------ */

enum { REDUCED_LEAVES = 40, REDUCED_ELEMENTS = 300, REDUCED_BYTES = 2432 /* of each leaf */ };

/*  Numbers of similar size. */
static void fill_values(suite_t *self, void *to, tnd_dtype_t dtype, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double number = (double)(next_random(self) >> 40) / 65536 - 100;
        float single = (float)number;
        uint64_t bits = next_random(self);
        if (dtype == TND_F64)
            memcpy(&bits, &number, sizeof bits);
        else if (dtype == TND_F32)
            memcpy(&bits, &single, sizeof single);
        else if (dtype == TND_F16 || dtype == TND_BF16)
            bits = (bits & 0x83ff) | (0x3c00 + (bits >> 20 & 0xc00));
        memcpy((char *)to + i * tnd_dtype_size(dtype), &bits, tnd_dtype_size(dtype));
    }
}

/*  A job over so many leaves, whose values are in the area, one after the other, and also in `host`. */
static tnd_reduction_tree_job_t make_job(suite_t *self, const reductions_t *made,
                                         tnd_reduce_t reduce, tnd_dtype_t dtype, uint32_t leaves,
                                         tnd_reduction_tree_input_t *inputs)
{
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        inputs[leaf] = (tnd_reduction_tree_input_t){
            .node = {leaf, 1},
            .data = (const char *)made->area.device + leaf * REDUCED_BYTES,
            .rows = leaf == 1 ? 0 : 1 + next_random(self) % 5,
            .weight = leaf == 1 ? 0 : 0.25 * (double)(1 + leaf)};
        fill_values(self, (char *)made->area.host + leaf * REDUCED_BYTES, dtype, REDUCED_ELEMENTS);
    }
    copy_in(self, made, 0, leaves * REDUCED_BYTES);
    return (tnd_reduction_tree_job_t){.reduce = reduce,
                                      .dtype = dtype,
                                      .node = {0, leaves},
                                      .inputs = inputs,
                                      .input_count = leaves,
                                      .weighted = reduce == TND_MEAN && leaves % 2 == 0};
}

/*  What the host makes of the same values, which are still in the area's other side. */
static void expect_node(suite_t *self, const reductions_t *made,
                        const tnd_reduction_tree_job_t *job, const char *values, bool root,
                        size_t begin, size_t count, const void *found)
{
    _Alignas(64) char expected[REDUCED_BYTES];
    tnd_reduction_tree_input_t inputs[REDUCED_LEAVES];
    tnd_reduction_tree_job_t there = *job;
    tnd_dtype_t dtype = root ? job->dtype : tnd_reduction_tree_partial_dtype(job->dtype);
    for (uint32_t i = 0; i < job->input_count; i++) {
        inputs[i] = job->inputs[i];
        inputs[i].data =
            values + ((const char *)job->inputs[i].data - (const char *)made->area.device);
    }
    there.inputs = inputs;
    (root ? tnd_reduction_tree_root : tnd_reduction_tree_partial)(&there, begin, begin + count,
                                                                  expected);
    EXPECT(self, memcmp(found, expected + begin * tnd_dtype_size(dtype),
                        count * tnd_dtype_size(dtype)) == 0);
}

static void check_node(suite_t *self, const reductions_t *made, tnd_reduce_t reduce,
                       tnd_dtype_t dtype, uint32_t leaves, bool root, size_t out)
{
    tnd_reduction_tree_input_t inputs[REDUCED_LEAVES];
    tnd_reduction_tree_job_t job = make_job(self, made, reduce, dtype, leaves, inputs);
    static char values[REDUCED_LEAVES * REDUCED_BYTES];
    size_t begin = next_random(self) % 20, count = 1 + next_random(self) % (REDUCED_ELEMENTS - 20);
    size_t at = out * REDUCED_BYTES;
    memcpy(values, made->area.host, sizeof values);
    SUCCEED(self, made->ops->reduce(self->device, &made->queue, &job, root, begin, count,
                                    (char *)made->area.device + at + (out == 0 ? begin * 8 : 0),
                                    &self->error));
    at += out == 0 ? begin * 8 : 0;
    copy_out(self, made, at, count * 8 < REDUCED_BYTES ? count * 8 : REDUCED_BYTES);
    put_mark(self, made, 0);
    await_mark(self, made, 0);
    expect_node(self, made, &job, values, root, begin, count, (const char *)made->area.host + at);
}

static void nodes_have_the_bits_of_the_host(suite_t *self)
{
    static const tnd_dtype_t types[] = {TND_F16, TND_BF16, TND_F32, TND_F64, TND_I32, TND_I64};
    static const uint32_t leaves[] = {2, 3, 8, 15, 16, 17, REDUCED_LEAVES};
    if (!can(self, TND_DEVICE_REDUCES))
        return;
    reductions_t made =
        open_reductions(self, TND_DEVICE_SCRATCH, (REDUCED_LEAVES + 1) * REDUCED_BYTES);
    for (size_t i = 0; i < 6 * 4 * 7 * 2; i++)
        if (tnd_reduction_tree_reduces((tnd_reduce_t)(i / 6 % 4), types[i % 6]))
            check_node(self, &made, (tnd_reduce_t)(i / 6 % 4), types[i % 6], leaves[i / 24 % 7],
                       i / 168 == 0, REDUCED_LEAVES);
    close_reductions(self, &made);
}

/*  The first leaf, of a type of 8 bytes. */
static void a_result_may_take_the_place_of_an_input(suite_t *self)
{
    if (!can(self, TND_DEVICE_REDUCES))
        return;
    reductions_t made = open_reductions(self, 0, (REDUCED_LEAVES + 1) * REDUCED_BYTES);
    for (uint32_t leaves = 2; leaves <= 16; leaves++)
        check_node(self, &made, TND_SUM, TND_I64, leaves, true, 0);
    close_reductions(self, &made);
}

/* --- order ------------------------------------------------------------------------------------ */

/*  A held stream, a queue after it, another stream after that, and a second queue after this one. */
static void queues_and_streams_wait_for_each_other(suite_t *self)
{
    const device_hooks_t *hooks = &self->fixture->hooks;
    if (!can(self, TND_DEVICE_REDUCES) || !can(self, TND_DEVICE_STREAMS))
        return;
    tnd_stream_handle_t first = hooks->open(self->device), second = hooks->open(self->device);
    reductions_t one = open_reductions(self, 0, 100), other = open_reductions(self, 0, 100);
    for (int cycle = 0; cycle < 20; cycle++) {
        _Atomic bool go = false;
        hooks->hold(self->device, first, &go);
        SUCCEED(self, one.ops->follow(self->device, &one.queue, first, &self->error));
        copy_in(self, &one, 0, 100);
        put_mark(self, &one, 1);
        SUCCEED(self, one.ops->precede(self->device, &one.queue, second, &self->error));
        SUCCEED(self, other.ops->follow(self->device, &other.queue, second, &self->error));
        put_mark(self, &other, 3);
        for (int look = 0; look < DEVICE_LOOKS; look++) {
            EXPECT(self, one.ops->reached(self->device, &one.queue, 1, &self->error) == TND_AGAIN);
            EXPECT(self,
                   other.ops->reached(self->device, &other.queue, 3, &self->error) == TND_AGAIN);
        }
        atomic_store(&go, true);
        await_mark(self, &other, 3);
        await_mark(self, &one, 1);
    }
    close_reductions(self, &other);
    close_reductions(self, &one);
    hooks->close(self->device, first);
    hooks->close(self->device, second);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void memory_that_is_not_the_devices_is_refused(suite_t *self)
{
    if (!can(self, TND_DEVICE_REDUCES))
        return;
    reductions_t made = open_reductions(self, 0, 1000);
    const char *inside = made.area.device;
    SUCCEED(self, made.ops->holds(self->device, inside, 1000, &self->error));
    SUCCEED(self, made.ops->holds(self->device, inside + 999, 1, &self->error));
    SUCCEED(self, made.ops->holds(self->device, NULL, 0, &self->error));
    if (self->fixture->hooks.read != NULL) { /* else its memory is the host's */
        EXPECT(self,
               made.ops->holds(self->device, inside, (size_t)1 << 40, &self->error) == TND_FAILED);
        EXPECT(self, made.ops->holds(self->device, made.area.host, 1, &self->error) == TND_FAILED);
        EXPECT(self, made.ops->holds(self->device, self, 1, &self->error) == TND_FAILED);
        EXPECT(self, made.ops->holds(self->device, NULL, 1, &self->error) == TND_FAILED);
    }
    close_reductions(self, &made);
}

static void areas_and_queues_that_come_and_go_leave_nothing(suite_t *self)
{
    enum { TIMES = 100, BYTES = 65536 };
    tnd_device_facts_t before, after;
    if (!can(self, TND_DEVICE_REDUCES))
        return;
    self->ops->facts(self->device, &before);
    for (int time = 0; time < TIMES; time++) {
        reductions_t made =
            open_reductions(self, time % 2 == 0 ? TND_DEVICE_SCRATCH / 2 : 0, BYTES);
        copy_in(self, &made, 0, BYTES);
        close_reductions(self, &made);
        EXPECT(self, made.area.host == NULL && made.area.device == NULL);
    }
    self->ops->facts(self->device, &after);
    EXPECT(self, after.memory_free + TIMES * BYTES / 2 >= before.memory_free);
}

#endif
