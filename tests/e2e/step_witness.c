/*  tests/e2e/step_witness.c - a step that records what it was fed and what was reduced.
 *
 *  Column `y` (i64) names the rows.  Each replica writes a line a step to $WITNESS/REPLICA.txt,
 *
 *      STEP EPOCH LAST PADDED : Y...
 *
 *  and reduces several tensors of several types a step.  What comes back is folded into a hash,
 *  which `save` writes: equal hashes are equal bits of every reduction of the run.  With the option
 *  `large: COUNT` it also reduces an array of so many elements, most of which are zeros.  With `again: 1` it
 *  posts once more in `apply`, with `start: 1` before the first step.  The rows of all replicas are gathered too; replica 0 writes them to
 *  $WITNESS/gathered, a line a step. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tundish/tundish.h>
#include <unistd.h>

enum { SUM_COUNT = 700, FEW = 3, LARGE_STRIDE = 61 };

typedef struct {
    FILE *out, *gathered;
    uint64_t hash, sleep_us, fail_step, fail_replica;
    float sum[SUM_COUNT];
    double mean[FEW], weighted;
    int64_t most[FEW];
    double least[FEW];
    int32_t total[FEW];
    uint16_t half[FEW]; /* bits of f16 */
    float *large;       /* `large` elements, reduced once more */
    size_t large_count;
    uint64_t again; /* whether `apply` posts ... */
    bool posted;    /* ... and has */
    uint64_t start; /* whether `start` posts ... */
    bool started;   /* ... and has */
    float norm[3];  /* a sum, a mean, and what replica 1 has */
} witness_t;

static uint64_t option(const char *options, const char *name, uint64_t otherwise)
{
    const char *at = strstr(options, name);
    at = at != NULL ? strpbrk(at, "0123456789") : NULL;
    return at != NULL ? strtoull(at, NULL, 10) : otherwise;
}

static tnd_status_t witness_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    const char *folder = getenv("WITNESS");
    char path[4096];
    witness_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        return TND_FAILED;
    self->hash = 14695981039346656037u;
    self->sleep_us = option(options, "sleep_us", 0);
    self->fail_step = option(options, "fail_step", UINT64_MAX);
    self->fail_replica = option(options, "fail_replica", 0);
    /* A model that is another one each time, as that of a careless step. */
    self->hash += option(options, "unsteady", 0) * (uint64_t)getpid();
    self->large_count = option(options, "large", 0);
    self->again = option(options, "again", 0);
    self->start = option(options, "start", 0);
    self->large = calloc(self->large_count + 1, sizeof *self->large);
    if (self->large == NULL) {
        free(self);
        return TND_FAILED;
    }
    if (folder != NULL) {
        snprintf(path, sizeof path, "%s/%" PRIu32 ".txt", folder, tnd_replica_id(replica));
        self->out = fopen(path, "we");
        if (self->out == NULL) {
            free(self->large);
            free(self);
            return TND_FAILED;
        }
        snprintf(path, sizeof path, "%s/gathered", folder);
        if (tnd_replica_id(replica) == 0)
            self->gathered = fopen(path, "we");
    }
    *model_p = self;
    return TND_OK;
}

static void write_down(witness_t *self, tnd_replica_t *replica, const int64_t *names, size_t rows)
{
    if (self->out == NULL)
        return;
    fprintf(self->out, "%" PRIu64 " %" PRIu64 " %d %zu :", tnd_replica_step(replica),
            tnd_replica_epoch(replica), tnd_replica_last(replica), tnd_replica_padded(replica));
    for (size_t i = 0; i < rows; i++)
        fprintf(self->out, " %" PRId64, names[i]);
    fputc('\n', self->out);
}

static void fold(witness_t *self, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        self->hash = (self->hash ^ bytes[i]) * 1099511628211u;
}

/*  Every replica counts as one row, whatever the first step has. */
static tnd_status_t witness_start(void *model, tnd_replica_t *replica)
{
    witness_t *self = model;
    if (self->start == 0)
        return TND_OK;
    self->started = true;
    self->norm[0] = 0.1f;
    self->norm[1] = 3.0f;
    self->norm[2] = 7.5f;
    if (tnd_replica_rows(replica) > 0 || tnd_replica_column(replica, "y") != NULL ||
        tnd_replica_weight(replica, "mean") != 1 ||
        tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, &self->norm[0], 1) != TND_OK ||
        tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, &self->norm[1], 1) != TND_OK ||
        tnd_replica_broadcast(replica, "mean", 1, &self->norm[2], sizeof self->norm[2]) != TND_OK ||
        tnd_replica_same(replica, "mean", "start", &self->norm[1], sizeof self->norm[1]) != TND_OK)
        return TND_FAILED;
    return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, NULL, 0);
}

/*  The results are there before the first step; one that resumes has them in its hash. */
static tnd_status_t end_start(witness_t *self, tnd_replica_t *replica)
{
    self->started = false;
    if (self->norm[0] < 0.15f || self->norm[1] != 3.0f || self->norm[2] != 7.5f) {
        tnd_replica_error(replica, "what was posted before the first step is not reduced");
        return TND_FAILED;
    }
    if (tnd_replica_step(replica) == 0)
        fold(self, self->norm, sizeof self->norm);
    return TND_OK;
}

static tnd_status_t witness_step(void *model, tnd_replica_t *replica)
{
    static const int64_t none[1];
    witness_t *self = model;
    if (self->start > 0 && self->started && end_start(self, replica) != TND_OK)
        return TND_FAILED;
    size_t rows = tnd_replica_rows(replica);
    const int64_t *names = rows > 0 ? tnd_replica_column(replica, "y") : none;
    if (names == NULL)
        return TND_FAILED;
    if (self->sleep_us > 0)
        nanosleep(&(struct timespec){.tv_sec = (time_t)(self->sleep_us / 1000000),
                                     .tv_nsec = (long)(self->sleep_us % 1000000) * 1000},
                  NULL);
    if (tnd_replica_step(replica) == self->fail_step &&
        tnd_replica_id(replica) == self->fail_replica) {
        tnd_replica_error(replica, "the witness fails as it was told");
        return TND_FAILED;
    }
    write_down(self, replica, names, rows);
    int64_t sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += names[i];
    for (int i = 0; i < SUM_COUNT; i++)
        self->sum[i] = 1.0f / (float)(sum + i + 1) + (float)tnd_replica_id(replica);
    for (int i = 0; i < FEW; i++) {
        self->mean[i] = 1.0 / (double)(sum + i + 3);
        self->most[i] = sum + i;
        self->least[i] = (double)sum / 7.0 - i;
        self->total[i] = (int32_t)sum * 65537;
        self->half[i] = (uint16_t)(0x3c00 + (sum + i) % 0x1000);
    }
    self->weighted = (double)sum;
    for (size_t i = 0; i < self->large_count; i += LARGE_STRIDE)
        self->large[i] = (float)((size_t)sum + i % 1021) + 0.1f;
    tnd_replica_report(replica, "sum", (double)sum, 1);
    struct {
        tnd_reduce_t reduce;
        tnd_dtype_t dtype;
        void *data;
        size_t count;
    } posts[] = {
        {TND_SUM, TND_F32, self->sum, SUM_COUNT}, {TND_MEAN, TND_F64, self->mean, FEW},
        {TND_MAX, TND_I64, self->most, FEW},      {TND_MIN, TND_F64, self->least, FEW},
        {TND_SUM, TND_I32, self->total, FEW},     {TND_SUM, TND_F16, self->half, FEW},
    };
    tnd_status_t status = TND_OK;
    for (size_t i = 0; i < sizeof posts / sizeof *posts && status == TND_OK; i++)
        status = tnd_replica_reduce(replica, "mean", posts[i].reduce, posts[i].dtype, posts[i].data,
                                    posts[i].count);
    if (status == TND_OK && self->large_count > 0)
        status =
            tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->large, self->large_count);
    if (status == TND_OK)
        status =
            tnd_replica_mean(replica, "mean", TND_F64, &self->weighted, 1, 0.1 * (double)(sum % 7));
    return status == TND_OK ? tnd_replica_gather(replica, "mean", TND_I64, names, rows) : status;
}

/*  What a replica posts in `apply` is what it knows of the step. */
static tnd_status_t post_again(witness_t *self, tnd_replica_t *replica)
{
    self->posted = true;
    self->norm[0] = self->sum[3];
    self->norm[1] = 1.0f / (float)(1 + self->most[0] % 1000);
    self->norm[2] = (float)self->hash;
    if (tnd_replica_reduce(replica, "mean", TND_SUM, TND_F32, &self->norm[0], 1) != TND_OK ||
        tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, &self->norm[1], 1) != TND_OK ||
        tnd_replica_broadcast(replica, "mean", 1, &self->norm[2], sizeof self->norm[2]) != TND_OK ||
        tnd_replica_same(replica, "mean", "hash", &self->hash, sizeof self->hash) != TND_OK)
        return TND_FAILED;
    return tnd_replica_gather(replica, "mean", TND_F32, self->sum, 2);
}

/*  What it posted then has come back. */
static tnd_status_t apply_again(witness_t *self, tnd_replica_t *replica)
{
    size_t count;
    if (tnd_replica_await(replica, 4) != TND_OK)
        return TND_FAILED;
    const float *all = tnd_replica_gathered(replica, 0, TND_ALL_REPLICAS, &count);
    self->posted = false;
    fold(self, self->norm, sizeof self->norm);
    if (all != NULL)
        fold(self, all, count * sizeof *all);
    tnd_replica_report(replica, "norm", self->norm[0], 1);
    return all != NULL ? TND_OK : TND_FAILED;
}

static tnd_status_t witness_apply(void *model, tnd_replica_t *replica)
{
    witness_t *self = model;
    if (self->posted)
        return apply_again(self, replica);
    struct {
        const void *data;
        size_t size;
    } results[] = {{self->sum, sizeof self->sum},     {self->mean, sizeof self->mean},
                   {self->most, sizeof self->most},   {self->least, sizeof self->least},
                   {self->total, sizeof self->total}, {self->half, sizeof self->half}};
    uint32_t posted = 0;
    for (; posted < sizeof results / sizeof *results; posted++) {
        if (tnd_replica_await(replica, posted) != TND_OK)
            return TND_FAILED;
        fold(self, results[posted].data, results[posted].size);
    }
    posted += self->large_count > 0;
    if (tnd_replica_await(replica, posted) != TND_OK)
        return TND_FAILED;
    fold(self, &self->weighted, sizeof self->weighted);
    for (size_t i = 0; i < self->large_count; i += LARGE_STRIDE)
        self->hash = (self->hash ^ (uint64_t)self->large[i]) * 1099511628211u;
    size_t count;
    if (tnd_replica_await(replica, posted + 1) != TND_OK)
        return TND_FAILED;
    const int64_t *all = tnd_replica_gathered(replica, 0, TND_ALL_REPLICAS, &count);
    if (all == NULL)
        return TND_FAILED;
    fold(self, all, count * sizeof *all);
    for (size_t i = 0; i < count && self->gathered != NULL; i++)
        fprintf(self->gathered, "%" PRId64 "%c", all[i], i + 1 < count ? ' ' : '\n');
    return self->again > 0 ? post_again(self, replica) : TND_OK;
}

static tnd_status_t witness_evaluate(void *model, tnd_replica_t *replica)
{
    witness_t *self = model;
    tnd_replica_report(replica, "rows", (double)tnd_replica_rows(replica), 1);
    tnd_replica_report(replica, "hash", (double)(uint32_t)self->hash, 1);
    return TND_OK;
}

static tnd_status_t witness_save(void *model, const char *file)
{
    const witness_t *self = model;
    FILE *out = fopen(file, "we");
    if (out == NULL)
        return TND_FAILED;
    fprintf(out, "%016" PRIx64 "\n", self->hash);
    return fclose(out) == 0 ? TND_OK : TND_FAILED;
}

static tnd_status_t witness_load(void *model, const char *file)
{
    witness_t *self = model;
    FILE *in = fopen(file, "re");
    bool good = in != NULL && fscanf(in, "%" SCNx64, &self->hash) == 1;
    if (in != NULL)
        (void)fclose(in);
    return good ? TND_OK : TND_FAILED;
}

static void witness_close(void *model)
{
    witness_t *self = model;
    if (self->out != NULL)
        (void)fclose(self->out);
    if (self->gathered != NULL)
        (void)fclose(self->gathered);
    free(self->large);
    free(self);
}

TND_API extern const tnd_step_ops_t tnd_step_witness;
const tnd_step_ops_t tnd_step_witness = {
    .abi = TND_ABI,
    .name = "witness",
    .open = witness_open,
    .start = witness_start,
    .step = witness_step,
    .apply = witness_apply,
    .evaluate = witness_evaluate,
    .save = witness_save,
    .load = witness_load,
    .close = witness_close,
};
