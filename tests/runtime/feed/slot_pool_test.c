/*  tests/runtime/feed/slot_pool_test.c - how long devices and the memory of slots live.
 *
 *  The device is one of the test's: it counts what is open and what is allocated. */
#include "runtime/feed/slots/slot_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static _Atomic int open_devices, stages, allocated; /* now; now; ever */
static int fails_at;                                /* this allocation fails; 0: none */
static _Atomic int marks;
static _Atomic uintptr_t marked; /* the last stream */

static uint32_t test_count(char *why, size_t room)
{
    (void)why;
    (void)room;
    return 4;
}

static const tnd_device_ops_t test_device;

static tnd_status_t test_open(tnd_device_t **self_p, uint32_t ordinal,
                              const tnd_device_config_t *config, tnd_error_t *error)
{
    (void)config;
    (void)error;
    tnd_device_t *self = calloc(1, sizeof *self);
    *self = (tnd_device_t){.ops = &test_device, .ordinal = ordinal};
    *self_p = self;
    open_devices++;
    return TND_OK;
}

static void test_close(tnd_device_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
    open_devices--;
}

static tnd_status_t test_stage(tnd_device_t *self, size_t bytes, size_t device_bytes, size_t warm,
                               tnd_stage_t *stage, tnd_error_t *error)
{
    (void)self;
    (void)warm;
    if (++allocated == fails_at)
        return tnd_fail(error, "the device is full");
    *stage =
        (tnd_stage_t){.host = calloc(1, bytes), .host_bytes = bytes, .device_bytes = device_bytes};
    stage->device = stage->host;
    stages++;
    return TND_OK;
}

static void test_unstage(tnd_device_t *self, tnd_stage_t *stage)
{
    cr_assert(self->ordinal < 4, "the device is still open");
    free(stage->host);
    *stage = (tnd_stage_t){0};
    stages--;
}

static tnd_status_t test_mark(tnd_device_t *self, tnd_stage_t *stage, tnd_stream_handle_t stream,
                              tnd_error_t *error)
{
    (void)self;
    (void)error;
    cr_assert(stage->host != NULL, "the stage still exists");
    marks++;
    marked = stream;
    return TND_OK;
}

static const tnd_device_ops_t test_device = {
    .name = "test",
    .count = test_count,
    .open = test_open,
    .close = test_close,
    .stage = test_stage,
    .unstage = test_unstage,
    .mark = test_mark,
};

const tnd_device_ops_t *const *tnd_registry_devices(size_t *count_p)
{
    static const tnd_device_ops_t *const all[] = {&test_device};
    *count_p = 1;
    return all;
}

/*  Three replicas on two devices. */
static tnd_slot_pool_t *new_pool(uint32_t spare)
{
    static const char *const names[] = {"test:1", "test:1", "test:2"};
    tnd_slot_pool_config_t config = {
        .devices = names, .count = 3, .bytes = 64, .warm = 64, .lists = 5, .spare = spare};
    tnd_slot_pool_t *pool;
    tnd_error_t error;
    cr_assert(tnd_slot_pool_new(&pool, &config, NULL, &error) == TND_OK, "%s", error.text);
    return pool;
}

static tnd_slot_memory_t *take(tnd_slot_pool_t *pool)
{
    tnd_slot_memory_t *memory;
    tnd_error_t error;
    cr_assert(tnd_slot_pool_take(pool, &memory, NULL, &error) == TND_OK, "%s", error.text);
    return memory;
}

Test(slot_pool, opens_a_device_once_for_replicas_that_share_it)
{
    tnd_slot_pool_t *pool = new_pool(0);
    cr_assert(eq(int, open_devices, 2));
    cr_assert(eq(ptr, tnd_slot_pool_device(pool, 0), tnd_slot_pool_device(pool, 1)));
    cr_assert(eq(u32, tnd_slot_pool_device(pool, 2)->ordinal, 2));
    tnd_slot_pool_destroy(&pool);
    cr_assert(eq(int, open_devices, 0));
}

Test(slot_pool, keeps_devices_open_until_the_last_reader_has_released_its_memory)
{
    tnd_slot_pool_t *pool = new_pool(2);
    tnd_slot_memory_t *slot = take(pool), *reader = tnd_slot_memory_hold(slot);
    tnd_slot_memory_t *other = take(pool), *second = tnd_slot_memory_hold(other);
    tnd_slot_memory_release(&slot);
    tnd_slot_memory_release(&other);
    tnd_slot_pool_destroy(&pool);
    cr_assert(eq(int, open_devices, 2));
    cr_assert(eq(int, stages, 6));
    tnd_slot_memory_release(&second);
    cr_assert(eq(int, open_devices, 2));
    cr_assert(eq(int, stages, 3), "nothing is kept of a pool that is gone");
    tnd_slot_memory_release(&reader);
    cr_assert(eq(int, open_devices, 0));
    cr_assert(eq(int, stages, 0));
}

Test(slot_pool, allocates_nothing_while_as_many_steps_are_held_as_it_keeps_spares)
{
    enum { STEPS = 50, SPARE = 2 };
    tnd_slot_pool_t *pool = new_pool(SPARE);
    tnd_slot_memory_t *slot = take(pool), *held[SPARE] = {NULL};
    for (int step = 0; step < STEPS; step++) {
        tnd_slot_memory_release(&held[step % SPARE]);
        held[step % SPARE] = tnd_slot_memory_hold(slot);
        cr_assert(tnd_slot_memory_shared(slot));
        tnd_slot_memory_release(&slot);
        slot = take(pool);
    }
    cr_assert(eq(int, allocated, 3 * (SPARE + 1)), "one for the slot, one for each held step");
    for (int i = 0; i < SPARE; i++)
        tnd_slot_memory_release(&held[i]);
    tnd_slot_memory_release(&slot);
    cr_assert(eq(int, stages, 3 * SPARE), "what exceeds the spares is freed");
    tnd_slot_pool_destroy(&pool);
    cr_assert(eq(int, stages, 0));
    cr_assert(eq(int, open_devices, 0));
}

Test(slot_pool, a_spare_still_has_the_lengths_of_its_rows)
{
    tnd_slot_pool_t *pool = new_pool(1);
    tnd_slot_memory_t *memory = take(pool);
    for (uint32_t i = 0; i < 3 * 5; i++)
        cr_assert(eq(u64, memory->lists[i], 0));
    memory->lists[14] = 7;
    ((char *)memory->stages[2].host)[63] = 8;
    tnd_slot_memory_release(&memory);
    memory = take(pool);
    cr_assert(eq(u64, memory->lists[14], 7));
    cr_assert(eq(chr, ((char *)memory->stages[2].host)[63], 8));
    tnd_slot_memory_release(&memory);
    tnd_slot_pool_destroy(&pool);
}

Test(slot_pool, reports_what_a_device_cannot_do)
{
    static const char *const names[] = {"test:1", "test:4"};
    tnd_slot_pool_config_t config = {.devices = names, .count = 2, .bytes = 64};
    tnd_slot_pool_t *pool;
    tnd_slot_memory_t *memory;
    tnd_error_t error;
    uint32_t failed = UINT32_MAX;
    cr_assert(tnd_slot_pool_new(&pool, &config, &failed, &error) == TND_FAILED);
    cr_assert(pool == NULL);
    cr_assert(eq(u32, failed, 1));
    cr_assert(strstr(error.text, "test:4") != NULL, "%s", error.text);
    cr_assert(eq(int, open_devices, 0));
    pool = new_pool(0);
    fails_at = 2;
    failed = UINT32_MAX;
    cr_assert(tnd_slot_pool_take(pool, &memory, &failed, &error) == TND_FAILED);
    cr_assert(eq(u32, failed, 1));
    cr_assert(strcmp(error.text, "the device is full") == 0);
    cr_assert(eq(int, stages, 0));
    tnd_slot_pool_destroy(&pool);
    cr_assert(eq(int, open_devices, 0));
}

static void *release(void *context)
{
    tnd_slot_memory_t *memory = context;
    tnd_slot_memory_release(&memory);
    return NULL;
}

static tnd_slot_reader_t *read_on(tnd_slot_memory_t *memory, tnd_stream_handle_t stream)
{
    tnd_slot_reader_t *reader = malloc(sizeof *reader);
    *reader =
        (tnd_slot_reader_t){.memory = tnd_slot_memory_hold(memory), .replica = 2, .stream = stream};
    return reader;
}

Test(slot_pool, marks_the_stream_of_a_reader_before_its_memory_is_used_again)
{
    tnd_slot_pool_t *pool = new_pool(1);
    tnd_slot_memory_t *memory = take(pool), *first = memory;
    tnd_slot_reader_t *reader = read_on(memory, 7), *other = read_on(memory, 8);
    cr_assert(tnd_slot_memory_shared(memory));
    tnd_slot_memory_return(reader);
    cr_assert(eq(int, marks, 0), "the thread of the reader calls no device");
    cr_assert(tnd_slot_memory_shared(memory));
    cr_assert(eq(int, marks, 1));
    cr_assert(eq(sz, marked, 7));
    tnd_slot_memory_release(&memory);
    tnd_slot_memory_return(other);
    cr_assert(eq(int, marks, 1));
    memory = take(pool);
    cr_assert(eq(int, marks, 2));
    cr_assert(eq(sz, marked, 8));
    cr_assert(eq(ptr, memory, first), "it has become a spare");
    cr_assert(not(tnd_slot_memory_shared(memory)));
    tnd_slot_memory_release(&memory);
    tnd_slot_pool_destroy(&pool);
    cr_assert(eq(int, open_devices, 0));
}

static void *return_reader(void *reader)
{
    tnd_slot_memory_return(reader);
    return NULL;
}

Test(slot_pool, readers_on_streams_that_outlive_the_pool_are_marked_and_freed)
{
    enum { READERS = 8 };
    pthread_t threads[READERS];
    tnd_slot_pool_t *pool = new_pool(1);
    tnd_slot_memory_t *memory = take(pool);
    tnd_slot_reader_t *readers[READERS];
    for (int i = 0; i < READERS; i++)
        readers[i] = read_on(memory, (tnd_stream_handle_t)i + 3);
    for (int i = 0; i < READERS; i++)
        cr_assert(pthread_create(&threads[i], NULL, return_reader, readers[i]) == 0);
    tnd_slot_memory_release(&memory);
    tnd_slot_pool_destroy(&pool);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    cr_assert(eq(int, marks, READERS));
    cr_assert(eq(int, stages, 0));
    cr_assert(eq(int, open_devices, 0));
}

Test(slot_pool, the_last_reader_may_be_on_any_thread)
{
    enum { READERS = 8 };
    pthread_t threads[READERS];
    tnd_slot_pool_t *pool = new_pool(1);
    tnd_slot_memory_t *memory = take(pool);
    for (int i = 0; i < READERS; i++)
        cr_assert(pthread_create(&threads[i], NULL, release, tnd_slot_memory_hold(memory)) == 0);
    tnd_slot_memory_release(&memory);
    tnd_slot_pool_destroy(&pool);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    cr_assert(eq(int, stages, 0));
    cr_assert(eq(int, open_devices, 0));
}
