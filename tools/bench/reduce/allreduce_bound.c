/*  tools/bench/reduce/allreduce_bound.c - four processes that reduce an array, and what it costs. */
#include "tools/bench/reduce/allreduce_bound.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    double seconds, cpu_seconds[BOUND_PROCESSES];
} took_t;

void bound_check(bool worked)
{
    if (!worked)
        exit(1);
}

void *bound_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bound_check(memory != MAP_FAILED);
    return memory;
}

float *bound_allocate(size_t bytes)
{
    float *memory = malloc(bytes + 1);
    bound_check(memory != NULL);
    return memset(memory, 0, bytes);
}

size_t bound_quarter(const bound_member_t *self, int quarter)
{
    return self->count * (size_t)quarter / BOUND_PROCESSES;
}

void bound_add(float *out, const float *const from[BOUND_PROCESSES], size_t count)
{
    const float *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    for (size_t i = 0; i < count; i++)
        out[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

static void measure(const bound_way_t *way, bound_member_t *self, took_t *took, int warm, int count)
{
    if (way->begin != NULL)
        way->begin(self);
    for (int i = 0; i < warm; i++)
        way->reduce(self);
    if (way->meet != NULL)
        way->meet(self);
    double cpu = bench_cpu_seconds();
    uint64_t begin = tnd_clock_now();
    for (int i = 0; i < count; i++)
        way->reduce(self);
    took->cpu_seconds[self->number] = bench_cpu_seconds() - cpu;
    if (way->meet != NULL)
        way->meet(self);
    if (self->number == 0)
        took->seconds = (double)(tnd_clock_now() - begin) * 1e-9;
}

int bound_run(int argc, char **argv, const bound_way_t *way, bound_member_t *self)
{
    if (argc != 4)
        return 2;
    size_t bytes = strtoull(argv[1], NULL, 10);
    int warm = atoi(argv[2]), count = atoi(argv[3]);
    double copy = bench_copy_seconds(bytes), cpu = 0;
    took_t *took = bound_share(sizeof *took);
    self->count = bytes / sizeof *self->own;
    way->open(self);
    for (self->number = 0; self->number < BOUND_PROCESSES; self->number++)
        if (fork() == 0) {
            self->own = bound_allocate(bytes);
            measure(way, self, took, warm, count);
            _exit(0);
        }
    for (int p = 0, status; p < BOUND_PROCESSES; p++)
        bound_check(wait(&status) >= 0 && status == 0);
    for (int p = 0; p < BOUND_PROCESSES; p++)
        cpu += took->cpu_seconds[p];
    printf("{\"seconds\":%.9f,\"cpu_seconds\":%.9f,\"copy_seconds\":%.9f}\n", took->seconds / count,
           cpu / count, copy);
    return 0;
}
