/*  tests/conformance/device_readers.h - the tests of streams that read a stage, in the conformance suite of
 *  devices. */
#ifndef TND_TESTS_CONFORMANCE_DEVICE_READERS_H
#define TND_TESTS_CONFORMANCE_DEVICE_READERS_H

#include "tests/conformance/device_case.h"

/*  The device's own stream always exists; 0 without streams. */
static void the_own_stream_waits_and_reads(suite_t *self)
{
    tnd_stream_handle_t stream = self->ops->stream(self->device);
    tnd_stage_t stage = make_stage(self, 1000, 1000);
    for (int cycle = 0; cycle < 100; cycle++) {
        fill(self, stage.host, 1000);
        tnd_stage_piece_t piece = piece_at(&stage, 0, 1000);
        upload(self, &stage, &piece, 1);
        SUCCEED(self, self->ops->await(self->device, &stage, stream, &self->error));
        SUCCEED(self, self->ops->mark(self->device, &stage, stream, &self->error));
        settle(self, &stage, self->ops->finished);
        await_upload(self, &stage);
        expect_bytes(self, &stage, 0, stage.host, 1000);
    }
    self->ops->unstage(self->device, &stage);
}

typedef struct {
    _Atomic bool go, done;
    uint8_t found[3000];
} reader_t;

static void await_reader(suite_t *self, tnd_stage_t *stage, reader_t *reader)
{
    uint64_t until = tnd_clock_now() + DEVICE_DEADLINE_NS;
    while (!atomic_load(&reader->done)) {
        EXPECT(self, self->ops->finished(self->device, stage, &self->error) != TND_FAILED);
        EXPECT(self, tnd_clock_now() < until);
        sched_yield();
    }
}

static void streams_wait_for_the_copy(suite_t *self)
{
    const device_hooks_t *hooks = &self->fixture->hooks;
    if (!can(self, TND_DEVICE_STREAMS))
        return;
    tnd_stream_handle_t stream = hooks->open(self->device);
    tnd_stage_t stage = make_stage(self, 3000, 3000);
    for (int cycle = 0; cycle < 50; cycle++) {
        reader_t reader = {.go = false};
        fill(self, stage.host, 3000);
        tnd_stage_piece_t piece = piece_at(&stage, 0, 3000);
        upload(self, &stage, &piece, 1);
        SUCCEED(self, self->ops->await(self->device, &stage, stream, &self->error));
        hooks->read_later(self->device, stream, &stage, 0, reader.found, 3000, &reader.done);
        SUCCEED(self, self->ops->mark(self->device, &stage, stream, &self->error));
        await_reader(self, &stage, &reader);
        EXPECT(self, memcmp(reader.found, stage.host, 3000) == 0);
        await_upload(self, &stage);
        settle(self, &stage, self->ops->finished);
    }
    self->ops->unstage(self->device, &stage);
    hooks->close(self->device, stream);
}

/*  More streams read a stage than a device may have places for. */
enum { READERS = 6 };

static void begin_reader(suite_t *self, tnd_stage_t *stage, tnd_stream_handle_t stream,
                         reader_t *reader)
{
    const device_hooks_t *hooks = &self->fixture->hooks;
    SUCCEED(self, self->ops->await(self->device, stage, stream, &self->error));
    hooks->hold(self->device, stream, &reader->go);
    hooks->read_later(self->device, stream, stage, 0, reader->found, sizeof reader->found,
                      &reader->done);
    SUCCEED(self, self->ops->mark(self->device, stage, stream, &self->error));
}

/*  The readers are let go one after the other, number `last` at the end. */
static void end_readers(suite_t *self, tnd_stage_t *stage, reader_t *readers, int last)
{
    for (int i = 1; i <= READERS; i++) {
        for (int look = 0; look < DEVICE_LOOKS; look++) {
            EXPECT(self, self->ops->uploaded(self->device, stage, &self->error) == TND_AGAIN);
            EXPECT(self, self->ops->finished(self->device, stage, &self->error) == TND_AGAIN);
        }
        atomic_store(&readers[(last + i) % READERS].go, true);
    }
    await_upload(self, stage);
    settle(self, stage, self->ops->finished);
}

/*  A stage is uploaded again while readers wait: they still get the old bytes. */
static void the_next_upload_waits_for_all_readers(suite_t *self)
{
    const device_hooks_t *hooks = &self->fixture->hooks;
    tnd_stream_handle_t streams[READERS];
    if (!can(self, TND_DEVICE_STREAMS))
        return;
    for (int i = 0; i < READERS; i++)
        streams[i] = hooks->open(self->device);
    tnd_stage_t stage = make_stage(self, 3000, 3000), other = make_stage(self, 100, 100);
    uint8_t before[3000];
    for (int last = 0; last < READERS; last++) {
        reader_t readers[READERS] = {{.go = false}};
        tnd_stage_piece_t piece = piece_at(&stage, 0, 3000), beside = piece_at(&other, 0, 100);
        fill(self, before, 3000);
        memcpy(stage.host, before, 3000);
        upload(self, &stage, &piece, 1);
        for (int i = 0; i < READERS; i++)
            begin_reader(self, &stage, streams[i], &readers[i]);
        await_upload(self, &stage);
        fill(self, stage.host, 3000);
        upload(self, &stage, &piece, 1);
        end_readers(self, &stage, readers, last);
        for (int i = 0; i < READERS; i++) {
            await_reader(self, &stage, &readers[i]);
            EXPECT(self, memcmp(readers[i].found, before, 3000) == 0);
        }
        expect_bytes(self, &stage, 0, stage.host, 3000);
        fill(self, other.host, 100);
        upload(self, &other, &beside, 1);
        await_upload(self, &other);
    }
    self->ops->unstage(self->device, &stage);
    self->ops->unstage(self->device, &other);
    for (int i = 0; i < READERS; i++)
        hooks->close(self->device, streams[i]);
}

/*  Readers that end do not end others that were marked after them. */
static void a_stage_is_finished_when_its_last_reader_is(suite_t *self)
{
    const device_hooks_t *hooks = &self->fixture->hooks;
    if (!can(self, TND_DEVICE_STREAMS))
        return;
    reader_t reader = {.go = false};
    tnd_stream_handle_t quick = hooks->open(self->device), slow = hooks->open(self->device);
    tnd_stage_t stage = make_stage(self, 100, 100);
    hooks->hold(self->device, slow, &reader.go);
    SUCCEED(self, self->ops->mark(self->device, &stage, slow, &self->error));
    for (int i = 0; i < DEVICE_LOOKS; i++) {
        SUCCEED(self, self->ops->mark(self->device, &stage, quick, &self->error));
        EXPECT(self, self->ops->finished(self->device, &stage, &self->error) == TND_AGAIN);
    }
    atomic_store(&reader.go, true);
    settle(self, &stage, self->ops->finished);
    self->ops->unstage(self->device, &stage);
    hooks->close(self->device, quick);
    hooks->close(self->device, slow);
}

/*  A stream works on the rows of a stage from its await to the mark; two streams at a time count once. */
static void work_is_timed(suite_t *self)
{
    const device_hooks_t *hooks = &self->fixture->hooks;
    if (!can(self, TND_DEVICE_TIMES))
        return;
    tnd_device_facts_t before, after;
    _Atomic bool go = false;
    tnd_stream_handle_t streams[2] = {hooks->open(self->device), hooks->open(self->device)};
    tnd_stage_t stage = make_stage(self, 100, 100);
    tnd_stage_piece_t piece = piece_at(&stage, 0, 100);
    for (int cycle = 0; cycle < 3; cycle++) {
        self->ops->facts(self->device, &before);
        atomic_store(&go, false);
        upload(self, &stage, &piece, 1);
        await_upload(self, &stage);
        uint64_t begun = tnd_clock_now();
        for (int i = 0; i < 2; i++) {
            SUCCEED(self, self->ops->await(self->device, &stage, streams[i], &self->error));
            hooks->hold(self->device, streams[i], &go);
            SUCCEED(self, self->ops->mark(self->device, &stage, streams[i], &self->error));
        }
        /* Much longer than what is expected: the thread of a stream may have to wait for a processor. */
        while (tnd_clock_now() < begun + 40000000)
            EXPECT(self, self->ops->finished(self->device, &stage, &self->error) == TND_AGAIN);
        atomic_store(&go, true);
        settle(self, &stage, self->ops->finished);
        uint64_t ended = tnd_clock_now();
        self->ops->facts(self->device, &after);
        uint64_t worked = after.work_ns - before.work_ns;
        EXPECT(self, worked >= 4000000 && worked <= ended - begun);
        EXPECT(self, after.worked_until_ns > begun && after.worked_until_ns <= ended);
    }
    self->ops->unstage(self->device, &stage);
    hooks->close(self->device, streams[0]);
    hooks->close(self->device, streams[1]);
}

#endif
