/*  Covers tools/remote/remote_clock.h: every moment of a process is converted to the clock of this
 *  machine, and no other word. */
#include "tools/remote/remote_clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 2, EDGES = 2, HISTORIES = 2, MOMENTS_MOST = 1024 };

#define SECOND UINT64_C(1000000000)

static const tnd_pages_shape_t shape = {
    .actors = 2, .hosts = HOSTS, .edges = EDGES, .histories = HISTORIES, .notes = 1};

/*  The words of a process, all of which are numbers here. */
static tnd_statistics_t actors[2];
static tnd_inspected_t process;
static size_t record_words;

/*  Those that are moments. */
static const _Atomic uint64_t *moments[MOMENTS_MOST];
static size_t moment_count;

static void expect(const _Atomic uint64_t *word)
{
    cr_assert(moment_count < MOMENTS_MOST);
    moments[moment_count++] = word;
}

static void expect_of_actor(const tnd_statistics_t *page)
{
    expect(&page->since_ns);
    expect(&page->begun_ns);
    expect(&page->waiting_ns);
    expect(&page->program_since_ns);
    for (unsigned f = 0; f < TND_PAGE_FED; f++)
        expect(&page->fed_ns[f]);
    for (unsigned d = 0; d < TND_PAGE_DEVICES; d++) {
        expect(&page->devices[d].since_ns);
        expect(&page->devices[d].pending_since_ns);
        expect(&page->devices[d].wait_since_ns);
        expect(&page->devices[d].worked_until_ns);
    }
}

static void expect_of_record(const tnd_run_record_t *record)
{
    expect(&record->page->since_ns);
    expect(&record->page->started_ns);
    expect(&record->page->checkpoint_ns);
    expect(&record->page->control_ns);
    expect(&record->page->written_ns);
    expect(&record->page->metrics_waits_ns);
    expect(&record->page->paused_ns);
    for (unsigned i = 0; i < 2; i++) {
        expect(&record->hosts[i].since_ns);
        expect(&record->edges[i].ends[0].up_ns);
        expect(&record->edges[i].ends[1].up_ns);
    }
    for (unsigned l = 0; l < TND_LOG_RECORDS; l++)
        expect(&record->log[l].at_ns);
    for (unsigned s = 0; s < TND_RUN_NOTES_SUBJECTS; s++)
        expect(&record->notes[0].subjects[s].at_ns);
    for (unsigned s = 0; s < TND_RUN_NOTES_NEWEST; s++)
        expect(&record->notes[0].newest[s].at_ns);
    for (unsigned s = 0; s < TND_HISTORY_SECONDS; s++) {
        expect(&record->histories[0].seconds[s].at_ns);
        expect(&record->histories[1].seconds[s].at_ns);
    }
    for (unsigned s = 0; s < TND_HISTORY_SPANS; s++) {
        expect(&record->histories[0].spans[s].at_ns);
        expect(&record->histories[1].spans[s].at_ns);
    }
}

static bool is_moment(const void *word)
{
    for (size_t m = 0; m < moment_count; m++)
        if ((const void *)moments[m] == word)
            return true;
    return false;
}

/*  Word i of the process was written i ns after `at`. */
static void fill(void *memory, size_t words, uint64_t at)
{
    for (size_t i = 0; i < words; i++)
        ((uint64_t *)memory)[i] = at + i;
}

static void begin(void)
{
    size_t bytes = tnd_run_record_bytes(&shape);
    process = (tnd_inspected_t){.count = 2, .actors = actors};
    process.record_memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    process.record = tnd_run_record_at(process.record_memory, &shape);
    record_words = bytes / sizeof(uint64_t);
    moment_count = 0;
    expect_of_actor(&actors[0]);
    expect_of_actor(&actors[1]);
    expect_of_record(&process.record);
}

static void end(void)
{
    free(process.record_memory);
}

TestSuite(remote_clock, .init = begin, .fini = end);

static void compare(const void *memory, size_t words, uint64_t at, uint64_t wanted,
                    const char *what)
{
    for (size_t i = 0; i < words; i++) {
        const uint64_t *word = (const uint64_t *)memory + i;
        bool moment = is_moment(word);
        cr_expect(*word == (moment ? wanted : at) + i, "word %zu of %s, %s: %llu", i, what,
                  moment ? "a moment" : "no moment", (unsigned long long)*word);
    }
}

/*  `there` and `here`: what the clocks say at the same time. */
static void check(uint64_t there, uint64_t here)
{
    const uint64_t age = 40 * SECOND;
    size_t actor_words = 2 * (sizeof(tnd_statistics_t) / sizeof(uint64_t));
    fill(actors, actor_words, there - age);
    fill(process.record_memory, record_words, there - age);
    process.last_ns = there - age;
    tnd_remote_clock_convert(&process, there, here);
    compare(actors, actor_words, there - age, here - age, "the actors");
    compare(process.record_memory, record_words, there - age, here - age, "the record");
    cr_expect_eq(process.last_ns, here - age);
}

Test(remote_clock, every_moment_of_a_machine_that_was_started_later)
{
    check(100 * SECOND, 500 * SECOND);
}

Test(remote_clock, every_moment_of_a_machine_that_was_started_sooner)
{
    check(700 * SECOND, 500 * SECOND);
}

/*  0 says that there was none. */
Test(remote_clock, moments_that_this_clock_does_not_have)
{
    const uint64_t there = 900 * SECOND, here = 50 * SECOND;
    memset(actors, 0, sizeof actors);
    memset(process.record_memory, 0, record_words * sizeof(uint64_t));
    actors[0].since_ns = there - 50 * SECOND + 1;
    actors[0].begun_ns = there - 50 * SECOND;
    actors[0].waiting_ns = there + SECOND;
    tnd_remote_clock_convert(&process, there, here);
    cr_expect_eq(actors[0].since_ns, 1);
    cr_expect_eq(actors[0].begun_ns, 1, "a moment before the start of this clock is its first");
    cr_expect_eq(actors[0].waiting_ns, here, "a moment is not in the future");
    cr_expect_eq(actors[0].program_since_ns, 0);
    cr_expect_eq(process.record.page->paused_ns, 0);
}
