/*  Covers tools/remote/page_mirror.h and runtime/looks/page_changes.h: a copy follows its file. */
#include "tools/remote/page_mirror.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/random.h"

enum { ACTORS = 40, HOSTS = 3 };

#define SECOND UINT64_C(1000000000)
#define THERE (100 * SECOND)
#define HERE (500 * SECOND)

static tnd_pages_t *pages;
static tnd_page_changes_t *changes;
static tnd_page_mirror_t *mirror;
static uint64_t clock_ns; /* since the start of a test */

static void begin(void)
{
    static char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_error_t error;
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    tnd_pages_shape_t shape = {.actors = ACTORS, .hosts = HOSTS, .histories = ACTORS, .rings = 1};
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "b", 7, shape, &error), TND_OK, "%s", error.text);
    changes = tnd_page_changes_new(pages, HOSTS, 11);
    mirror = tnd_page_mirror_new();
}

static void end(void)
{
    tnd_page_mirror_free(mirror);
    tnd_page_changes_free(changes);
    tnd_pages_destroy(&pages);
}

TestSuite(page_mirror, .init = begin, .fini = end);

/*  Asks once, 100 ms after the last time.  Returns the size of the answer. */
static size_t ask(void)
{
    uint64_t bytes[TND_LOOK_BYTES / sizeof(uint64_t)];
    tnd_error_t error = {.text = ""};
    tnd_look_question_t question = tnd_page_mirror_question(mirror);
    clock_ns += SECOND / 10;
    size_t size = tnd_page_changes_answer(changes, &question, THERE + clock_ns, (uint8_t *)bytes);
    cr_assert_leq(size, TND_LOOK_BYTES);
    cr_assert_eq(tnd_page_mirror_apply(mirror, bytes, size, HERE + clock_ns, &error), TND_OK, "%s",
                 error.text);
    return size;
}

static size_t sweep(void)
{
    size_t size = 0;
    do
        size += ask();
    while (!tnd_page_mirror_is_whole(mirror));
    return size;
}

/*  The caller frees it. */
static tnd_inspected_t shown(void)
{
    tnd_inspected_t process;
    tnd_error_t error = {.text = ""};
    cr_assert_eq(tnd_page_mirror_process(mirror, TND_LOOK_HISTORIES, &process, &error), TND_OK,
                 "%s", error.text);
    return process;
}

static void release(tnd_inspected_t *process)
{
    free(process->actors);
    free(process->record_memory);
}

Test(page_mirror, a_process_arrives_with_the_times_of_this_machine)
{
    tnd_statistics_t *page = tnd_pages_at(pages, 1);
    strcpy(page->actor, "prep.0");
    page->rows_out = 77;
    page->begun_ns = THERE - 3 * SECOND;
    tnd_pages_record(pages)->page->host = 1;
    (void)sweep();
    tnd_inspected_t process = shown();
    cr_assert_str_eq(process.run, "fashion");
    cr_assert_str_eq(process.host, "b");
    cr_assert(process.session == 7 && process.process == getpid());
    cr_assert_eq(process.count, 1);
    cr_assert_str_eq(process.actors[0].actor, "prep.0");
    cr_assert_eq(process.actors[0].rows_out, 77);
    cr_assert_eq(process.actors[0].begun_ns, HERE - 3 * SECOND);
    cr_assert_eq(process.record.page->host, 1);
    cr_assert_eq(tnd_page_mirror_hosts(mirror), HOSTS);
    release(&process);
}

/*  Clocks run at slightly different rates: the last answer counts, as it is the nearest. */
Test(page_mirror, times_are_converted_by_the_last_answer)
{
    tnd_error_t error = {.text = ""};
    tnd_pages_at(pages, 0)->begun_ns = THERE - 3 * SECOND;
    strcpy(tnd_pages_at(pages, 0)->actor, "a");
    (void)sweep();
    uint64_t bytes[TND_LOOK_BYTES / sizeof(uint64_t)];
    tnd_look_question_t question = tnd_page_mirror_question(mirror);
    size_t size = tnd_page_changes_answer(changes, &question, THERE + 8 * SECOND, (uint8_t *)bytes);
    cr_assert_eq(tnd_page_mirror_apply(mirror, bytes, size, HERE + 9 * SECOND, &error), TND_OK);
    tnd_inspected_t process = shown();
    cr_assert_eq(process.actors[0].begun_ns, HERE - 2 * SECOND);
    release(&process);
}

Test(page_mirror, only_changes_are_sent)
{
    for (uint32_t a = 0; a < ACTORS; a++)
        memset(tnd_pages_at(pages, a), 1, TND_PAGE_BYTES);
    size_t all = sweep(), header = sizeof(tnd_look_answer_t);
    cr_assert(all > ACTORS * (size_t)TND_PAGE_BYTES, "%zu bytes", all);
    cr_assert_eq(sweep(), header);
    tnd_pages_at(pages, 3)->rows_out = 5;
    size_t few = sweep();
    cr_assert(few > header && few <= header + 72, "%zu bytes", few);
    cr_assert_eq(sweep(), header);
    /* A word that becomes zero is a change too. */
    tnd_pages_at(pages, 3)->rows_out = 0;
    strcpy(tnd_pages_at(pages, 3)->actor, "x");
    (void)sweep();
    tnd_inspected_t process = shown();
    cr_assert_eq(process.actors[3].rows_out, 0);
    release(&process);
}

/*  Words change at random, also during a sweep; after one without changes the copy is equal. */
Test(page_mirror, the_copy_follows_its_file)
{
    tnd_random_t random;
    tnd_random_init(&random, 5, 0, 0, 0);
    for (uint32_t a = 0; a < ACTORS; a++)
        strcpy(tnd_pages_at(pages, a)->actor, "a");
    for (uint32_t round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < 300; i++) {
            uint32_t word = (uint32_t)tnd_random_below(&random, TND_WAIT_REASONS);
            tnd_pages_at(pages, tnd_random_below(&random, ACTORS))->wait_ns[word] =
                tnd_random_below(&random, 3) == 0 ? 0 : tnd_random_u64(&random);
        }
        (void)ask();
    }
    (void)sweep();
    (void)sweep();
    tnd_inspected_t process = shown();
    cr_assert_eq(process.count, ACTORS);
    for (uint32_t a = 0; a < ACTORS; a++)
        cr_assert_eq(memcmp((void *)process.actors[a].wait_ns,
                            (void *)tnd_pages_at(pages, a)->wait_ns,
                            sizeof process.actors[a].wait_ns),
                     0, "actor %u", a);
    release(&process);
}

Test(page_mirror, another_life_begins_anew)
{
    strcpy(tnd_pages_at(pages, 0)->actor, "old");
    (void)sweep();
    tnd_page_changes_free(changes);
    changes = tnd_page_changes_new(pages, HOSTS, 12);
    strcpy(tnd_pages_at(pages, 0)->actor, "new");
    (void)sweep();
    tnd_inspected_t process = shown();
    cr_assert_str_eq(process.actors[0].actor, "new");
    release(&process);
}

static void is_refused(tnd_look_answer_t answer, size_t size, const char *why)
{
    uint64_t bytes[64] = {0};
    tnd_error_t error = {.text = ""};
    memcpy(bytes, &answer, sizeof answer);
    cr_assert_eq(tnd_page_mirror_apply(mirror, bytes, size, HERE, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, why), "%s", error.text);
}

Test(page_mirror, answers_that_cannot_be_are_refused)
{
    const tnd_look_answer_t good = {
        .version = TND_PAGES_VERSION, .life = 1, .to = 100, .blocks = 100, .hosts = 1};
    size_t size = sizeof good;
    tnd_look_answer_t bad = good;
    is_refused(good, size - 1, "damaged");
    is_refused(good, 8, "damaged");
    bad.version = TND_PAGES_VERSION - 1;
    is_refused(bad, size, "install the same version");
    bad = good, bad.blocks = 0, bad.to = 0;
    is_refused(bad, size, "could not be created");
    bad = good, bad.blocks = bad.to = 1 << 30;
    is_refused(bad, size, "larger than");
    bad = good, bad.to = 101;
    is_refused(bad, size, "damaged");
    /* One block, number 0, with words that are missing. */
    uint64_t bytes[sizeof good / 8 + 1] = {[sizeof good / 8] = 0xff};
    tnd_error_t error;
    memcpy(bytes, &good, sizeof good);
    cr_assert_eq(tnd_page_mirror_apply(mirror, bytes, sizeof bytes, HERE, &error), TND_FAILED);
    cr_assert_eq(tnd_page_mirror_swept(mirror), 0);
}
