/*  tools/bench/reduce/step_allreduce.c - a step that does nothing but reduce an array, many times.
 *
 *  Options: bytes, warm, count.  Each replica writes a line of JSON to $ALLREDUCE/REPLICA: seconds,
 *  processor seconds and page faults of its process per reduction, after `warm` of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <tundish/tundish.h>

typedef struct {
    float *values;
    size_t count;
    uint64_t warm, reductions, done;
    double seconds, cpu_seconds;
    long faults;
} model_t;

static uint64_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    at = at != NULL ? strpbrk(at, "0123456789") : NULL;
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static tnd_status_t allreduce_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    model_t *self = calloc(1, sizeof *self);
    (void)replica;
    if (self == NULL)
        return TND_FAILED;
    size_t bytes = option(options, "bytes");
    self->count = bytes / sizeof *self->values;
    self->warm = option(options, "warm");
    self->reductions = option(options, "count");
    self->values = malloc(bytes);
    if (self->values == NULL) {
        free(self);
        return TND_FAILED;
    }
    for (size_t i = 0; i < self->count; i++)
        self->values[i] = 0.0f;
    *model_p = self;
    return TND_OK;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static tnd_status_t post(model_t *self, tnd_replica_t *replica)
{
    return tnd_replica_reduce(replica, "sum", TND_SUM, TND_F32, self->values, self->count);
}

static tnd_status_t allreduce_step(void *model, tnd_replica_t *replica)
{
    return post(model, replica);
}

static tnd_status_t write_down(const model_t *self, uint32_t replica)
{
    char path[4096];
    double reductions = (double)self->reductions;
    snprintf(path, sizeof path, "%s/%" PRIu32, getenv("ALLREDUCE"), replica);
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return TND_FAILED;
    fprintf(out, "{\"seconds\":%.9f,\"cpu_seconds\":%.9f,\"faults\":%.2f}\n",
            self->seconds / reductions, self->cpu_seconds / reductions,
            (double)self->faults / reductions);
    return fclose(out) == 0 ? TND_OK : TND_FAILED;
}

static tnd_status_t allreduce_apply(void *model, tnd_replica_t *replica)
{
    model_t *self = model;
    self->done++;
    if (self->done == self->warm) {
        self->seconds = now(CLOCK_MONOTONIC);
        self->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID);
        self->faults = faults();
    }
    if (self->done < self->warm + self->reductions)
        return post(self, replica);
    self->seconds = now(CLOCK_MONOTONIC) - self->seconds;
    self->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - self->cpu_seconds;
    self->faults = faults() - self->faults;
    return write_down(self, tnd_replica_id(replica));
}

static void allreduce_close(void *model)
{
    model_t *self = model;
    free(self->values);
    free(self);
}

TND_API extern const tnd_step_ops_t tnd_step_allreduce;
const tnd_step_ops_t tnd_step_allreduce = {
    .abi = TND_ABI,
    .name = "allreduce",
    .open = allreduce_open,
    .step = allreduce_step,
    .apply = allreduce_apply,
    .close = allreduce_close,
};
