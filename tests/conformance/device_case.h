/*  tests/conformance/device_case.h - what the tests of the conformance suite of devices share.
 *
 *  Each wait is for an event, with a deadline. */
#ifndef TND_TESTS_CONFORMANCE_DEVICE_CASE_H
#define TND_TESTS_CONFORMANCE_DEVICE_CASE_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tests/conformance/device_fixture.h"

static const uint64_t DEVICE_DEADLINE_NS = 20000000000;

/*  How often the suite asks for what must not be complete. */
enum { DEVICE_LOOKS = 200 };

typedef struct {
    const device_fixture_t *fixture;
    const char *test;
    tnd_device_t *device;
    const tnd_device_ops_t *ops;
    uint64_t random;
    tnd_error_t error;
} suite_t;

#define EXPECT(self, condition) expect(self, condition, #condition, __LINE__, NULL)
#define SUCCEED(self, call) expect(self, (call) == TND_OK, #call, __LINE__, &(self)->error)

static void expect(const suite_t *self, bool condition, const char *text, int line,
                   const tnd_error_t *error)
{
    if (condition)
        return;
    fprintf(stderr, "%s: %s: line %d: false: %s%s%s\n", self->fixture->name, self->test, line, text,
            error != NULL ? ": " : "", error != NULL ? error->text : "");
    exit(1);
}

static bool can(const suite_t *self, uint32_t what)
{
    return (self->ops->can & what) != 0;
}

static uint64_t next_random(suite_t *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

static void fill(suite_t *self, void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)(next_random(self) >> 32);
}

static tnd_stage_t make_stage(suite_t *self, size_t host_bytes, size_t device_bytes)
{
    tnd_stage_t stage;
    if (!can(self, TND_DEVICE_OWN_MEMORY) && host_bytes < device_bytes)
        host_bytes = device_bytes;
    if (!can(self, TND_DEVICE_OWN_MEMORY))
        device_bytes = host_bytes;
    SUCCEED(self, self->ops->stage(self->device, host_bytes, device_bytes, host_bytes, &stage,
                                   &self->error));
    return stage;
}

static void upload(suite_t *self, tnd_stage_t *stage, const tnd_stage_piece_t *pieces, size_t count)
{
    SUCCEED(self, self->ops->upload(self->device, stage, pieces, count, &self->error));
}

/*  Asks until the answer is not TND_AGAIN. */
static void settle(suite_t *self, tnd_stage_t *stage,
                   tnd_status_t (*ask)(tnd_device_t *, tnd_stage_t *, tnd_error_t *))
{
    tnd_status_t status;
    uint64_t until = tnd_clock_now() + DEVICE_DEADLINE_NS;
    while ((status = ask(self->device, stage, &self->error)) == TND_AGAIN) {
        EXPECT(self, tnd_clock_now() < until);
        sched_yield();
    }
    expect(self, status == TND_OK, "it succeeds", __LINE__, &self->error);
}

static void await_upload(suite_t *self, tnd_stage_t *stage)
{
    settle(self, stage, self->ops->uploaded);
}

/*  What the device has from `to` on, where a piece was uploaded to. */
static void read_back(suite_t *self, const tnd_stage_t *stage, size_t to, void *out, size_t bytes)
{
    if (self->fixture->hooks.read != NULL) {
        self->fixture->hooks.read(self->device, stage, to, out, bytes);
        return;
    }
    const void *from = self->ops->address != NULL ? self->ops->address(self->device, stage, to)
                                                  : (const uint8_t *)stage->device + to;
    EXPECT(self, from != NULL);
    memcpy(out, from, bytes);
}

static void expect_bytes(suite_t *self, const tnd_stage_t *stage, size_t to, const void *expected,
                         size_t bytes)
{
    uint8_t *found = malloc(bytes + 1);
    read_back(self, stage, to, found, bytes);
    EXPECT(self, memcmp(found, expected, bytes) == 0);
    free(found);
}

/*  Bytes of the host's side, to the same place of the device's. */
static tnd_stage_piece_t piece_at(const tnd_stage_t *stage, size_t to, size_t bytes)
{
    return (tnd_stage_piece_t){
        .from = (const uint8_t *)stage->host + to, .to = to, .rows = 1, .row_bytes = bytes};
}

static void is_open(suite_t *self,
                    tnd_status_t (*call)(tnd_device_t *, tnd_stage_t *, tnd_error_t *),
                    tnd_stage_t *stage)
{
    SUCCEED(self, call(self->device, stage, &self->error));
}

#endif
