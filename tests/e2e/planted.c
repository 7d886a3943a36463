/*  tests/e2e/planted.c - a source, an operation and a step that are slow, spin or hang on request.
 *
 *  The file $PLANTED is a mapped array of switches, which a test changes during the run: for each
 *  of source, operation, step, save, opening, and `open` of the operation and of the step, and apply, how long one
 *  row (or step, or save) takes in microseconds, whether that time is slept (0), spun (1) or endless while
 *  the switch is 2, or whether a mutex deadlocks (3), and how often this was obeyed, which is written here.
 *  They obey only in the process whose number is in the switch after them, unless that is 0; the operation
 *  only at the row whose number is in the last switch, counted from 1, unless that is 0. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <tundish/tundish.h>
#include <unistd.h>

enum { SOURCE, OPERATION, STEP, SAVE, OPEN, READY, MODEL, APPLY, PARTS };

typedef struct {
    _Atomic uint64_t us, how, obeyed; /* how: 0 sleep, 1 spin, 2 hang, 3 deadlock */
} part_t;

typedef struct {
    part_t parts[PARTS];
    _Atomic uint64_t only, row;
} switches_t;

typedef struct {
    uint64_t rows;
    bool reduces; /* by `mean` */
    float sum;
} planted_t;

static switches_t *switches;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void map_switches(void)
{
    const char *path = getenv("PLANTED");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory = file >= 0
                       ? mmap(NULL, sizeof *switches, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED)
        abort();
    close(file);
    switches = memory;
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void obey(int which)
{
    pthread_once(&once, map_switches);
    part_t *part = &switches->parts[which];
    const struct timespec moment = {.tv_nsec = 1000000};
    if (switches->only != 0 && switches->only != (uint64_t)getpid())
        return;
    part->obeyed++;
    if (part->how == 3) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    while (part->how == 2)
        nanosleep(&moment, NULL);
    uint64_t us = part->us, until = now_us() + us;
    const struct timespec time = {.tv_sec = (time_t)(us / 1000000),
                                  .tv_nsec = (long)(us % 1000000 * 1000)};
    if (us > 0 && part->how == 0)
        nanosleep(&time, NULL);
    while (us > 0 && part->how == 1 && now_us() < until)
        continue;
}

/* --- the source ------------------------------------------------------------------------------- */

static tnd_status_t planted_source_open(void *state, void *shared, const char *options,
                                        const tnd_source_context_t *context,
                                        tnd_source_data_t *data, tnd_error_t *error)
{
    (void)state, (void)shared;
    uint64_t wide = 1;
    if (tnd_option_only(options, "wide", error) != TND_OK ||
        tnd_option_u64(options, "wide", &wide, error) != TND_OK)
        return TND_FAILED;
    context->progress(context->reporter, 3, 16, "files");
    obey(OPEN);
    data->count = 1000;
    data->identity = 1;
    return tnd_schema_add(&data->schema, "x", TND_F32, 1, &wide, error);
}

static tnd_status_t planted_source_read(void *state, const uint64_t *index, size_t count,
                                        tnd_rows_t *rows, tnd_error_t *error)
{
    (void)state, (void)error;
    for (rows->count = 0; rows->count < count; rows->count++) {
        obey(SOURCE);
        *(float *)tnd_rows_at(rows, 0, rows->count) = (float)index[rows->count];
    }
    return TND_OK;
}

extern TND_API const tnd_source_ops_t tnd_source_planted;
const tnd_source_ops_t tnd_source_planted = {
    .abi = TND_ABI,
    .name = "planted",
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
    .state_bytes = sizeof(planted_t),
    .open = planted_source_open,
    .read = planted_source_read,
};

/* --- the operation ---------------------------------------------------------------------------- */

static tnd_status_t planted_op_open(void *state, void *shared, const char *options,
                                    const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                                    tnd_error_t *error)
{
    (void)state, (void)shared, (void)in, (void)out, (void)most_p;
    obey(READY);
    return tnd_option_only(options, "", error);
}

static tnd_status_t planted_op_apply(void *state, const tnd_rows_t *in, size_t row,
                                     tnd_random_t *random, tnd_rows_t *out, tnd_error_t *error)
{
    (void)state, (void)random, (void)error;
    pthread_once(&once, map_switches);
    uint64_t number = (uint64_t) * (const float *)tnd_rows_at(in, 0, row) + 1;
    if (switches->row == 0 || switches->row == number)
        obey(OPERATION);
    out->count = 1;
    return TND_OK;
}

extern TND_API const tnd_op_ops_t tnd_op_planted;
const tnd_op_ops_t tnd_op_planted = {
    .abi = TND_ABI,
    .name = "planted",
    .state_bytes = sizeof(planted_t),
    .open = planted_op_open,
    .apply = planted_op_apply,
};

/* --- the step --------------------------------------------------------------------------------- */

static tnd_status_t planted_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    (void)replica;
    planted_t *self = calloc(1, sizeof *self);
    *model_p = self;
    if (self == NULL)
        return TND_FAILED;
    self->reduces = strstr(options, "reduces") != NULL;
    obey(MODEL);
    return TND_OK;
}

static tnd_status_t planted_step(void *model, tnd_replica_t *replica)
{
    planted_t *self = model;
    obey(STEP);
    self->rows += tnd_replica_rows(replica);
    self->sum = 1;
    return self->reduces ? tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, &self->sum, 1)
                         : TND_OK;
}

static tnd_status_t planted_apply(void *model, tnd_replica_t *replica)
{
    (void)model, (void)replica;
    obey(APPLY);
    return TND_OK;
}

static tnd_status_t planted_evaluate(void *model, tnd_replica_t *replica)
{
    (void)model, (void)replica;
    return TND_OK;
}

static tnd_status_t planted_save(void *model, const char *path)
{
    const planted_t *self = model;
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return TND_FAILED;
    obey(SAVE);
    fprintf(out, "%llu\n", (unsigned long long)self->rows);
    return fclose(out) == 0 ? TND_OK : TND_FAILED;
}

TND_API extern const tnd_step_ops_t tnd_step_planted;
const tnd_step_ops_t tnd_step_planted = {
    .abi = TND_ABI,
    .name = "planted",
    .open = planted_open,
    .step = planted_step,
    .apply = planted_apply,
    .evaluate = planted_evaluate,
    .save = planted_save,
    .close = free,
};
