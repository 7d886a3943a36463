/*  tools/bench/reduce/postings.c - 4,096 arrays of 4 KiB that a step posts, beside one of 16 MiB.
 *
 *  Steps post the one and the other in turn: two replicas on two devices of a process, and in two
 *  processes with one replica each.  Processor time of all processes, and wall time, from the first
 *  posting of a process to its `apply`; the ratio is that of medians.  Usage: bench_postings [--smoke | STEPS] */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "tools/bench/flow.h"
#include "tools/bench/reduce/program.h"

enum { SMOKE_PAIRS = 2, POSTINGS = 4096, FLOATS = 1024, WARM = 2 };

static const double goal = 1.2;

/*  What one process takes: milliseconds of many postings, and of one. */
typedef struct {
    bench_pairs_t wall, cpu;
} times_t;

typedef struct {
    float *values[PROGRAM_REPLICAS];
    uint64_t began_ns, took_ns;    /* of the first replica here in the last step */
    double cpu_began, cpu_seconds; /* of the process meanwhile */
    uint32_t first;
    times_t *times;
} bench_step_t;

static tnd_status_t post(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    uint32_t id = tnd_replica_id(replica);
    size_t postings = tnd_replica_step(replica) % 2 ? POSTINGS : 1;
    size_t floats = (size_t)POSTINGS * FLOATS / postings;
    if (id == self->first)
        self->began_ns = tnd_clock_now(), self->cpu_began = bench_cpu_seconds();
    for (size_t p = 0; p < postings; p++)
        if (tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->values[id] + p * floats,
                               floats) != TND_OK)
            return TND_FAILED;
    return TND_OK;
}

static tnd_status_t end(tnd_replica_t *replica, void *user)
{
    bench_step_t *self = user;
    if (tnd_replica_id(replica) == self->first) {
        self->took_ns = tnd_clock_now() - self->began_ns;
        self->cpu_seconds = bench_cpu_seconds() - self->cpu_began;
    }
    return TND_OK;
}

static void note(void *user, uint64_t step)
{
    const bench_step_t *self = user;
    bench_pairs_t *wall = &self->times->wall, *cpu = &self->times->cpu;
    if (step < 2 * WARM)
        return;
    uint64_t pair = step / 2 - WARM;
    *(step % 2 ? &wall->values[pair] : &wall->bounds[pair]) = (double)self->took_ns * 1e-6;
    *(step % 2 ? &cpu->values[pair] : &cpu->bounds[pair]) = self->cpu_seconds * 1e3;
}

/*  `port` 0: one process. */
static void run(unsigned port, bool second, times_t *times, int pairs)
{
    bench_step_t step = {.first = second, .times = times};
    const program_t program = {.feeder = port ? "" : "devices: [\"cpu:0\", \"cpu:1\"]",
                               .port = port,
                               .second = second,
                               .steps = (uint64_t)(pairs + WARM) * 2,
                               .post = post,
                               .end = end,
                               .note = note,
                               .user = &step};
    for (uint32_t r = 0; r < PROGRAM_REPLICAS; r++)
        step.values[r] = tnd_allocate_zeroed((size_t)POSTINGS * FLOATS, sizeof(float));
    program_run(&program);
    for (uint32_t r = 0; r < PROGRAM_REPLICAS; r++)
        free(step.values[r]);
}

/*  Wall time is shown beside processor time. */
static void print(const char *bench, times_t *times, int count)
{
    char name[64];
    double value = bench_median(times->cpu.values, (size_t)count);
    double bound = bench_median(times->cpu.bounds, (size_t)count);
    snprintf(name, sizeof name, "%s_cpu_ms", bench);
    bench_print(name, value, bound, value / bound, goal, value / bound <= goal);
    value = bench_median(times->wall.values, (size_t)count);
    bound = bench_median(times->wall.bounds, (size_t)count);
    snprintf(name, sizeof name, "%s_ms", bench);
    bench_show(name, value, bound, value / bound);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, BENCH_PAIRS_MOST);
    int pairs = wish.smoke ? SMOKE_PAIRS : wish.runs;
    times_t *times =
        mmap(NULL, 3 * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (times == MAP_FAILED)
        return 1;
    unsigned port = bench_free_port();
    pid_t other = fork();
    if (other == 0) {
        run(port, true, &times[1], pairs);
        return 0;
    }
    run(port, false, &times[0], pairs);
    int status;
    if (waitpid(other, &status, 0) != other || status != 0)
        return 1;
    for (int i = 0; i < pairs; i++) {
        times[0].cpu.values[i] += times[1].cpu.values[i];
        times[0].cpu.bounds[i] += times[1].cpu.bounds[i];
    }
    print("postings_between_processes", &times[0], pairs);
    run(0, false, &times[2], pairs);
    print("postings", &times[2], pairs);
    return 0;
}
