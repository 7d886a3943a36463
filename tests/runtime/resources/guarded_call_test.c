/*  Covers runtime/resources/guarded_call.h: a call that hangs is named and abandoned, a call that
 *  progresses is not, and the results are handed over. */
#include "runtime/resources/guarded_call.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/base/clock.h"
#include "runtime/core/host/hang_watch.h"

static const uint64_t hour_ns = 3600000000000u;

/*  A call that takes its next step on request. */
typedef struct {
    sem_t next, done;
    /* 'a': calls an operation, 'o': opens data, 'r': reads, 'l': has left it; 0: ends */
    _Atomic char what;
    tnd_guarded_work_t *opens;
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics;
    tnd_guarded_call_t *call;
    uint64_t begun_ns, now;
} world_t;

static const tnd_instance_t instance = {.actor = "prep"};

static void work(void *context, tnd_guarded_call_t *call, tnd_diagnostics_t *found)
{
    world_t *world = context;
    tnd_guarded_call_enter(call, &instance, TND_T062_OPERATION);
    for (int number = 1;; number++) {
        sem_wait(&world->next);
        char what = atomic_load(&world->what);
        static char bytes[64 << 10];
        if (what == 'a')
            tnd_guarded_call_at(call, NULL, "operation %d, `drag`,", number);
        if (what == 'o')
            world->opens = tnd_guarded_call_opens(call, NULL, "source `x`");
        if (what == 'l')
            tnd_guarded_call_leave(call);
        if (what == 'r') {
            int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
            cr_assert_eq(read(file, bytes, sizeof bytes), sizeof bytes);
            close(file);
        }
        if (what == 0) {
            tnd_diagnostics_add(found, TND_T061_SOURCE, (tnd_mark_t){0}, "the file is empty");
            tnd_diagnostics_help(found, "fill it");
            return;
        }
        sem_post(&world->done);
    }
}

static void tell(world_t *world, char what)
{
    atomic_store(&world->what, what);
    sem_post(&world->next);
    if (what != 0)
        sem_wait(&world->done);
}

static void begin(world_t *world)
{
    *world = (world_t){.arena = tnd_arena_new()};
    world->diagnostics = tnd_diagnostics_new(world->arena);
    sem_init(&world->next, 0, 0);
    sem_init(&world->done, 0, 0);
    tnd_error_t error;
    cr_assert(tnd_guarded_call_begin(&world->call, work, NULL, world, &error) == TND_OK);
    world->begun_ns = world->now = tnd_clock_now();
}

static void end(world_t *world)
{
    tell(world, 0);
    cr_assert(tnd_guarded_call_end(&world->call, hour_ns, NULL));
    tnd_arena_destroy(&world->arena);
}

/*  Simulates that time passes until this many hours, with a look at each interval. */
static bool hangs(world_t *world, double hours)
{
    uint64_t until = world->begun_ns + (uint64_t)(hours * 3.6e12);
    bool is = false;
    for (; world->now < until && !is; world->now += tnd_hang_watch_every(hour_ns))
        is = tnd_guarded_call_hangs(world->call, hour_ns, world->now, world->diagnostics);
    return is;
}

Test(guarded_call, names_a_call_that_hangs_and_abandons_it)
{
    world_t world;
    begin(&world);
    tell(&world, 'a');
    cr_assert_not(hangs(&world, 0.6));
    cr_assert(hangs(&world, 1.2));
    const char *said = tnd_diagnostics_sentence(world.diagnostics);
    cr_assert(strstr(said, "error[T062]: prep: operation 1, `drag`, hangs: tried before the start, "
                           "it takes longer than 3600000 ms (hung_after): thread "),
              "%s", said);
    cr_assert_not(tnd_guarded_call_end(&world.call, 0, NULL));
    cr_assert_not_null(world.call);
    end(&world);
}

Test(guarded_call, tolerates_a_slow_call_with_progress)
{
    world_t world;
    begin(&world);
    cr_assert_not(hangs(&world, 0.6));
    tell(&world, 'a');
    cr_assert_not(hangs(&world, 0.6));
    tell(&world, 'a');
    cr_assert_not(hangs(&world, 1.2), "another call is another matter");
    tell(&world, 'r');
    cr_assert_not(hangs(&world, 1.8), "it has read something");
    tell(&world, 'l');
    cr_assert_not(hangs(&world, 9), "it is at nothing of other people's");
    cr_assert_eq(tnd_diagnostics_count(world.diagnostics, TND_SEVERITY_ERROR), 0);
    end(&world);
}

static uint64_t reports(world_t *world)
{
    return tnd_guarded_call_reports(world->call);
}

/*  Reports come from any thread. */
Test(guarded_call, counts_what_is_reported_and_read_while_data_is_opened)
{
    world_t world;
    begin(&world);
    tell(&world, 'r');
    uint64_t before = reports(&world);
    tell(&world, 'o');
    cr_assert_eq(reports(&world), before, "to begin does not count, nor what was read before");
    tnd_guarded_work_doing(world.opens, "indexing", "data/x.rec");
    cr_assert_eq(reports(&world), before, "nor does a name");
    tnd_guarded_work_count(world.opens, 3, 16, "files");
    cr_assert_eq(reports(&world), before + 1);
    tell(&world, 'r');
    cr_assert_eq(reports(&world), before + 2);
    cr_assert_not(hangs(&world, 0.6));
    tnd_guarded_work_count(world.opens, 3, 16, "files");
    cr_assert_not(hangs(&world, 1.2), "it has reported since");
    cr_assert(hangs(&world, 1.8));
    const char *said = tnd_diagnostics_sentence(world.diagnostics);
    cr_assert(strstr(said, "source `x` hangs while it opens data/x.rec (3 of 16 files): "), "%s",
              said);
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    tnd_guarded_call_write(world.call, out);
    fclose(out);
    cr_assert_str_eq(line, "prep indexing files 3 16 0 0 data/x.rec\n");
    free(line);
    end(&world);
}

Test(guarded_call, returns_the_problems_that_it_found)
{
    world_t world;
    begin(&world);
    tell(&world, 0);
    cr_assert(tnd_guarded_call_end(&world.call, hour_ns, world.diagnostics));
    cr_assert_null(world.call);
    cr_assert_eq(tnd_diagnostics_count(world.diagnostics, TND_SEVERITY_ERROR), 1);
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);
    tnd_diagnostics_print(world.diagnostics, out);
    fclose(out);
    cr_assert(strstr(said, "error[T061]: the file is empty") && strstr(said, "help: fill it"), "%s",
              said);
    free(said);
    tnd_arena_destroy(&world.arena);
}
