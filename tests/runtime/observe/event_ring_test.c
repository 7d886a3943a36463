/*  Covers runtime/observe/event_ring.h and event_reader.h: the last events of a thread are read back
 *  as they were written, also while they are written, after `kill -9`, and from garbage. */
#include "runtime/observe/event_reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/observe/pages.h"

static tnd_event_ring_t ring;
static tnd_event_t events[TND_RING_EVENTS];

/*  Every field follows from the number, so that a mixture of two events is recognised. */
static tnd_event_t event_of(uint64_t number)
{
    uint64_t hash = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (tnd_event_t){
        .end_ns = (number + 1) << 41,
        .first = hash,
        .duration_ns = hash >> 24,
        .count = (uint32_t)(hash >> 8 & 0xffffff),
        .peer = (uint16_t)(hash >> 16),
        .lane = (uint16_t)(hash >> 32),
        .epoch = (uint16_t)(hash >> 48),
        .attempt = (uint8_t)hash,
        .kind = (uint8_t)(1 + hash % (TND_EVENT_KINDS - 1)),
    };
}

static bool is_equal(const tnd_event_t *a, const tnd_event_t *b)
{
    return a->end_ns == b->end_ns && a->first == b->first && a->duration_ns == b->duration_ns &&
           a->count == b->count && a->peer == b->peer && a->lane == b->lane &&
           a->epoch == b->epoch && a->attempt == b->attempt && a->kind == b->kind;
}

static void add(uint64_t first, uint64_t count)
{
    for (uint64_t number = first; number < first + count; number++) {
        tnd_event_t event = event_of(number);
        tnd_event_ring_add(&ring, &event);
    }
}

Test(event_ring, events_are_read_once_in_order)
{
    uint64_t from = 0, missed = 0;
    add(0, 3);
    cr_assert_eq(tnd_event_ring_take(&ring, ring.next, &from, events, &missed), 3);
    for (uint64_t number = 0; number < 3; number++) {
        tnd_event_t expected = event_of(number);
        cr_assert(is_equal(&events[number], &expected), "event %d", (int)number);
    }
    cr_assert_eq(tnd_event_ring_take(&ring, ring.next, &from, events, &missed), 0);
    add(3, 1);
    cr_assert_eq(tnd_event_ring_take(&ring, ring.next, &from, events, &missed), 1);
    cr_assert_eq(missed, 0);
}

Test(event_ring, replaced_events_are_counted)
{
    uint64_t from = 2, missed = 0;
    add(0, 1000);
    size_t count = tnd_event_ring_take(&ring, ring.next, &from, events, &missed);
    cr_assert_eq(count, TND_RING_EVENTS - 1, "the oldest slot may be in use by the writer");
    cr_assert_eq(count + missed, 998);
    cr_assert_eq(events[count - 1].end_ns, event_of(999).end_ns);
}

Test(event_ring, values_that_are_too_large_are_cut)
{
    tnd_event_t event = {.kind = TND_EVENT_WAIT, .end_ns = UINT64_MAX, .count = UINT32_MAX};
    event.duration_ns = UINT64_MAX;
    uint64_t from = 0, missed = 0;
    tnd_event_ring_add(&ring, &event);
    cr_assert_eq(tnd_event_ring_take(&ring, ring.next, &from, events, &missed), 1);
    cr_assert_eq(events[0].count, (1u << 24) - 1);
    cr_assert_eq(events[0].duration_ns, (UINT64_C(1) << 40) - 1);
    cr_assert_eq(events[0].kind, TND_EVENT_WAIT);
}

Test(event_ring, garbage_yields_valid_kinds_or_nothing)
{
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        uint64_t *word = (uint64_t *)(void *)&ring;
        for (size_t w = 0; w < sizeof ring / sizeof *word; w++)
            word[w] = seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t from = round % 2 == 0 ? 0 : seed, missed = 0;
        size_t count = tnd_event_ring_take(&ring, ring.next, &from, events, &missed);
        cr_assert_lt(count, TND_RING_EVENTS);
        for (size_t e = 0; e < count; e++)
            cr_assert(events[e].kind > TND_EVENT_NONE && events[e].kind < TND_EVENT_KINDS);
    }
}

enum { WRITTEN = 2000000 };

static void *write_all(void *context)
{
    (void)context;
    add(0, WRITTEN);
    return NULL;
}

Test(event_ring, no_event_is_torn_while_the_writer_runs)
{
    pthread_t writer;
    tnd_event_ring_t copy;
    uint64_t from = 0, missed = 0, seen = 0, last = 0;
    cr_assert_eq(pthread_create(&writer, NULL, write_all, NULL), 0);
    while (from < WRITTEN) {
        copy.next = atomic_load_explicit(&ring.next, memory_order_acquire);
        for (size_t s = 0; s < TND_RING_EVENTS; s++)
            for (size_t w = 0; w < 4; w++)
                copy.slots[s].words[w] =
                    atomic_load_explicit(&ring.slots[s].words[w], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        uint64_t after = atomic_load_explicit(&ring.next, memory_order_relaxed);
        size_t count = tnd_event_ring_take(&copy, after, &from, events, &missed);
        for (size_t e = 0; e < count; e++) {
            uint64_t number = (events[e].end_ns >> 41) - 1;
            tnd_event_t expected = event_of(number);
            cr_assert(is_equal(&events[e], &expected), "event %d", (int)number);
            cr_assert(seen == 0 || number > last);
            last = number;
            seen++;
        }
    }
    pthread_join(writer, NULL);
    cr_assert_eq(seen + missed, WRITTEN);
}

static const tnd_inspected_t *only(const tnd_inspection_t *made, const char *folder)
{
    const tnd_inspected_t *found = NULL;
    for (uint32_t p = 0; p < made->count; p++)
        if (strncmp(made->processes[p].path, folder, strlen(folder)) == 0)
            found = &made->processes[p];
    return found;
}

Test(event_ring, the_rings_of_a_killed_process_are_read)
{
    char folder[] = "/tmp/tundish-test-XXXXXX";
    int ready[2];
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        tnd_pages_t *pages = NULL;
        tnd_error_t error;
        tnd_pages_shape_t shape = {.actors = 2, .hosts = 1, .histories = 1, .rings = 3};
        if (tnd_pages_new(&pages, "fashion", "a", 1, shape, &error) != TND_OK)
            _exit(1);
        strcpy(tnd_pages_at(pages, 0)->actor, "read.0");
        for (uint64_t number = 0; number < 700; number++) {
            tnd_event_t event = event_of(number);
            tnd_event_ring_add(&tnd_pages_record(pages)->rings[2], &event);
        }
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    char byte;
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);

    uint64_t missed = 0;
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    const tnd_inspected_t *process = only(made, folder);
    cr_assert_not_null(process);
    tnd_event_reader_t *reader = tnd_event_reader_new(process);
    cr_assert_not_null(reader);
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    size_t count = tnd_event_reader_read(reader, 2, events, &missed);
    cr_assert_eq(count, TND_RING_EVENTS - 1);
    cr_assert_eq(count + missed, 700);
    tnd_event_t expected = event_of(699);
    cr_assert(is_equal(&events[count - 1], &expected));
    cr_assert_eq(tnd_event_reader_read(reader, 0, events, &missed), 0, "nothing happened there");
    cr_assert_eq(tnd_event_reader_read(reader, 3, events, &missed), 0,
                 "such a ring does not exist");
    tnd_event_reader_destroy(&reader);
    unlink(process->path);
    tnd_inspection_destroy(&made);
    rmdir(folder);
}
