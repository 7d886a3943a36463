/*  tools/bench/reduce/begin.c - whether reductions between processes overlap with the steps that post them.
 *
 *  Two processes with a replica each.  A step posts four arrays of 4 MiB, and computes for as long as their
 *  reduction alone takes, a quarter after each; it sleeps meanwhile, as a host does whose device computes.  Steps
 *  take turns: one that only posts, one that computes after it has posted, and one that begins each array as it
 *  is posted.  With `apply: early`, `apply` awaits and updates array after array, for as long again.  From the
 *  start of a step to the end of its `apply`.  Usage: bench_begin [--smoke | STEPS] */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "tools/bench/flow.h"
#include "tools/bench/reduce/program.h"

enum { ARRAYS = 4, FLOATS = 1 << 20, WARM = 2, SMOKE_TURNS = 3, MOST = 60 };

typedef enum { ALONE, AFTER, BESIDE, WAYS } way_t;

/*  Milliseconds of one process, by way, of the turns after the warm ones. */
typedef struct {
    double took[WAYS][MOST];
    double alone_ms; /* the last reduction alone */
} times_t;

typedef struct {
    float *values[ARRAYS];
    uint64_t quarter_ns; /* of a step, and of an update */
    uint64_t began_ns, took_ns;
    bool first, early;
    times_t *times, *of_first;
} bench_step_t;

static way_t way_of(const tnd_replica_t *replica)
{
    return (way_t)(tnd_replica_step(replica) % WAYS);
}

static void compute(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

static tnd_status_t post(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    way_t way = way_of(replica);
    self->began_ns = tnd_clock_now();
    for (int a = 0; a < ARRAYS; a++) {
        if (tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->values[a], FLOATS) !=
                TND_OK ||
            (way == BESIDE && tnd_replica_begin(replica) != TND_OK))
            return TND_FAILED;
        if (way != ALONE)
            compute(self->quarter_ns);
    }
    return TND_OK;
}

static tnd_status_t update(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    for (uint32_t a = 0; a < ARRAYS && self->early; a++) {
        if (tnd_replica_await(replica, a) != TND_OK)
            return TND_FAILED;
        if (way_of(replica) != ALONE)
            compute(self->quarter_ns);
    }
    self->took_ns = tnd_clock_now() - self->began_ns;
    return TND_OK;
}

/*  The first process measures how long reductions take alone; then both compute as long. */
static void note(void *user, uint64_t step)
{
    bench_step_t *self = user;
    double ms = (double)self->took_ns * 1e-6;
    if (step >= WARM * WAYS)
        self->times->took[step % WAYS][step / WAYS - WARM] = ms;
    if (self->first && step % WAYS == ALONE)
        self->times->alone_ms = ms;
    self->quarter_ns = (uint64_t)(self->of_first->alone_ms * 1e6) / ARRAYS;
}

static void run(unsigned port, bool first, bool early, times_t *times, times_t *of_first, int turns)
{
    bench_step_t step = {.first = first, .early = early, .times = times, .of_first = of_first};
    const program_t program = {.feeder = early ? "apply: early" : "",
                               .port = port,
                               .second = !first,
                               .steps = (uint64_t)(turns + WARM) * WAYS,
                               .post = post,
                               .end = update,
                               .note = note,
                               .user = &step};
    for (int a = 0; a < ARRAYS; a++)
        step.values[a] = tnd_allocate_zeroed(FLOATS, sizeof(float));
    program_run(&program);
    for (int a = 0; a < ARRAYS; a++)
        free(step.values[a]);
}

/*  The median of the quotients with the bound of the same turn: the step, which is as long as the reductions
 *  alone, and its update. */
static void print(const char *name, times_t *times, int turns, bool early, double goal)
{
    char bench[64];
    double ratios[WAYS][MOST], took[WAYS], ratio[WAYS];
    for (int way = 0; way < WAYS; way++) {
        for (int t = 0; t < turns; t++)
            ratios[way][t] = times->took[way][t] / (times->took[ALONE][t] * (early ? 2 : 1));
        ratio[way] = bench_median(ratios[way], (size_t)turns);
    }
    for (int way = 0; way < WAYS; way++)
        took[way] = bench_median(times->took[way], (size_t)turns);
    double bound = took[ALONE] * (early ? 2 : 1);
    snprintf(bench, sizeof bench, "begin_%s_ms", name);
    bench_print(bench, took[BESIDE], bound, ratio[BESIDE], goal, ratio[BESIDE] <= goal);
    snprintf(bench, sizeof bench, "begin_%s_not_ms", name);
    bench_show(bench, took[AFTER], bound, ratio[AFTER]);
    fflush(stdout);
}

static bool compare(const char *name, times_t *times, int turns, bool early, double goal)
{
    unsigned port = bench_free_port();
    int status;
    pid_t other = fork();
    if (other == 0) {
        run(port, false, early, &times[1], &times[0], turns);
        _exit(0);
    }
    run(port, true, early, &times[0], &times[0], turns);
    if (waitpid(other, &status, 0) != other || status != 0)
        return false;
    print(name, &times[0], turns, early, goal);
    return true;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, MOST);
    int turns = wish.smoke ? SMOKE_TURNS : wish.runs;
    times_t *times =
        mmap(NULL, 2 * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED)
        return 1;
    return compare("step", times, turns, false, 1.15) &&
                   compare("step_and_update", times, turns, true, 1.3)
               ? 0
               : 1;
}
