/*  tools/bench/plain_fashion.c - how fast can this machine train the network of the main job?
 *
 *  What a C programmer would write with no framework at all: the same mlp.c, four replicas on two
 *  threads, all images in memory, the batch gathered inline, gradients averaged over a fixed tree
 *  in place by both threads between two barriers.  It is the bound that the main job is held to.
 *
 *  Usage: plain_fashion DATA [EPOCHS [SEED]], where DATA holds the four .gz files.  Prints one line
 *  of JSON; the seconds run from before the first step to after the last, those of the phases are
 *  the first thread's. */
#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zlib.h>

#include "examples/fashion/mlp.h"

enum {
    THREADS = 2,
    REPLICAS = 4,
    EACH = REPLICAS / THREADS,
    BATCH = 128,
    SLICE = BATCH / REPLICAS
};
enum { CACHE_LINE = 64, SPIN_NS = 50000 };

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- a barrier of two threads: the other one is late by microseconds, rarely by more ---- */

typedef struct {
    _Alignas(CACHE_LINE) atomic_uint arrived;
    _Alignas(CACHE_LINE) atomic_uint round;
    pthread_mutex_t lock;
    pthread_cond_t moved;
} barrier_t;

static void barrier_wait(barrier_t *self)
{
    unsigned round = atomic_load_explicit(&self->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&self->arrived, 1, memory_order_acq_rel) == THREADS - 1) {
        atomic_store_explicit(&self->arrived, 0, memory_order_relaxed);
        pthread_mutex_lock(&self->lock);
        atomic_store_explicit(&self->round, round + 1, memory_order_release);
        pthread_cond_broadcast(&self->moved);
        pthread_mutex_unlock(&self->lock);
        return;
    }
    int64_t give_up = now_ns() + SPIN_NS;
    while (atomic_load_explicit(&self->round, memory_order_acquire) == round)
        if (now_ns() > give_up) {
            pthread_mutex_lock(&self->lock);
            while (atomic_load_explicit(&self->round, memory_order_acquire) == round)
                pthread_cond_wait(&self->moved, &self->lock);
            pthread_mutex_unlock(&self->lock);
        }
}

/* ---- the data ---- */

typedef struct {
    uint8_t *images, *labels;
    size_t rows;
} data_t;

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void refuse(const char *file, const char *what)
{
    fprintf(stderr, "plain_fashion: %s: %s\n", file, what);
    exit(1);
}

/*  The payload of an idx file of `rank` dimensions; rows of row_bytes. */
static uint8_t *read_idx(const char *folder, const char *name, uint8_t rank, size_t row_bytes,
                         size_t *rows_p)
{
    char file[4096];
    uint8_t header[16];
    snprintf(file, sizeof file, "%s/%s-ubyte.gz", folder, name);
    gzFile in = gzopen(file, "rb");
    if (in == NULL)
        refuse(file, "cannot be opened; give the folder of the data set");
    int header_bytes = 4 + 4 * rank;
    if (gzread(in, header, (unsigned)header_bytes) != header_bytes ||
        big_endian(header) != 0x800u + rank)
        refuse(file, "is not an idx file of bytes with the expected dimensions");
    size_t rows = big_endian(header + 4), bytes = rows * row_bytes;
    uint8_t *payload = malloc(bytes);
    if (payload == NULL)
        abort();
    if (gzread(in, payload, (unsigned)bytes) != (int)bytes)
        refuse(file, "ends too early");
    gzclose(in);
    *rows_p = rows;
    return payload;
}

static data_t read_data(const char *folder, const char *images, const char *labels)
{
    data_t data;
    size_t label_rows;
    data.images = read_idx(folder, images, 3, MLP_INPUTS, &data.rows);
    data.labels = read_idx(folder, labels, 1, 1, &label_rows);
    if (label_rows != data.rows)
        refuse(folder, "images and labels differ in number");
    return data;
}

/*  x / 255, correctly rounded for every byte (main checks it) without a division: 1/255 in two
 *  parts, of which the product with the first is exact. */
static inline float pixel(uint8_t x)
{
    return (float)x * 0x1.01p-8f + (float)x * 0x1.010101p-24f;
}

static void gather(const data_t *data, const uint32_t *order, size_t rows, float *restrict images,
                   uint8_t *restrict labels)
{
    for (size_t i = 0; i < rows; i++) {
        const uint8_t *restrict from = data->images + (size_t)order[i] * MLP_INPUTS;
        for (size_t k = 0; k < MLP_INPUTS; k++)
            images[i * MLP_INPUTS + k] = pixel(from[k]);
        labels[i] = data->labels[order[i]];
    }
}

/*  A fair order of each epoch, the same on every thread. */
static void shuffle(uint32_t *order, size_t rows, uint64_t seed)
{
    for (size_t i = 0; i < rows; i++)
        order[i] = (uint32_t)i;
    for (size_t i = rows - 1; i > 0; i--) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        size_t j = (size_t)(((z ^ z >> 31) >> 32) * (i + 1) >> 32);
        uint32_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

/* ---- the mean over replicas ---- */

/*  The tree ((0 1) (2 3)) over `count` elements, written back to all four leaves. */
static void mean_of_all(float *restrict a, float *restrict b, float *restrict c, float *restrict d,
                        const float weights[REPLICAS], float total, size_t count)
{
    float wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = c[i] = d[i] = ((wa * a[i] + wb * b[i]) + (wc * c[i] + wd * d[i])) / total;
}

/*  The same tree where leaves may be empty: those are left out, not multiplied by 0. */
static void mean_of_some(float *const leaves[REPLICAS], const float weights[REPLICAS], float total,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float sum = 0.0f;
        for (size_t pair = 0; pair < REPLICAS; pair += 2) {
            float half = weights[pair] > 0.0f ? weights[pair] * leaves[pair][i] : 0.0f;
            if (weights[pair + 1] > 0.0f)
                half += weights[pair + 1] * leaves[pair + 1][i];
            sum += half;
        }
        for (size_t r = 0; r < REPLICAS; r++)
            leaves[r][i] = sum / total;
    }
}

/* ---- training ---- */

typedef enum { GATHER, BACKWARD, WAIT, REDUCE, MOMENTUM, PHASES } phase_t;

typedef struct {
    const data_t *data;
    mlp_t *models[REPLICAS];
    barrier_t barrier;
    size_t epochs;
    uint64_t seed;
    double losses[REPLICAS]; /* summed over the rows of the last epoch */
} job_t;

typedef struct {
    job_t *job;
    size_t index;
    int64_t phases_ns[PHASES];
} worker_t;

static void reduce(job_t *job, size_t thread, size_t rows)
{
    float weights[REPLICAS], total = (float)rows;
    for (size_t r = 0; r < REPLICAS; r++) {
        size_t left = rows > r * SLICE ? rows - r * SLICE : 0;
        weights[r] = (float)(left < SLICE ? left : SLICE);
    }
    size_t middle = MLP_PARAMS / 2 / CACHE_LINE * CACHE_LINE;
    size_t first = thread == 0 ? 0 : middle, count = thread == 0 ? middle : MLP_PARAMS - middle;
    float *leaves[REPLICAS];
    for (size_t r = 0; r < REPLICAS; r++)
        leaves[r] = job->models[r]->grad + first;
    if (weights[REPLICAS - 1] > 0.0f)
        mean_of_all(leaves[0], leaves[1], leaves[2], leaves[3], weights, total, count);
    else
        mean_of_some(leaves, weights, total, count);
}

/*  Adds the time since `since` to a phase and returns now. */
static int64_t lap(worker_t *self, phase_t phase, int64_t since)
{
    int64_t now = now_ns();
    self->phases_ns[phase] += now - since;
    return now;
}

static void train_step(worker_t *self, const uint32_t *order, size_t rows, size_t epoch,
                       float *images, uint8_t *labels)
{
    job_t *job = self->job;
    fenv_t flushing;
    int64_t time = now_ns();
    for (size_t r = self->index * EACH; r < (self->index + 1) * EACH; r++) {
        size_t left = rows > r * SLICE ? rows - r * SLICE : 0, count = left < SLICE ? left : SLICE;
        gather(job->data, order + r * SLICE, count, images, labels);
        time = lap(self, GATHER, time);
        float loss = mlp_backward(job->models[r], images, labels, count);
        if (epoch + 1 == job->epochs)
            job->losses[r] += (double)loss * (double)count;
        time = lap(self, BACKWARD, time);
    }
    barrier_wait(&job->barrier);
    time = lap(self, WAIT, time);
    fegetenv(&flushing); /* a mean keeps denormals, as the reducer does */
    fesetenv(FE_DFL_ENV);
    reduce(job, self->index, rows);
    fesetenv(&flushing);
    time = lap(self, REDUCE, time);
    barrier_wait(&job->barrier);
    time = lap(self, WAIT, time);
    for (size_t r = self->index * EACH; r < (self->index + 1) * EACH; r++)
        mlp_momentum(job->models[r], mlp_rate(epoch), 0.9f);
    lap(self, MOMENTUM, time);
}

static void *train(void *argument)
{
    worker_t *self = argument;
    const job_t *job = self->job;
    size_t rows = job->data->rows;
    uint32_t *order = malloc(rows * sizeof *order);
    float *images = aligned_alloc(CACHE_LINE, SLICE * MLP_INPUTS * sizeof *images);
    uint8_t labels[SLICE];
    if (order == NULL || images == NULL)
        abort();
    mlp_flush_denormals();
    for (size_t epoch = 0; epoch < job->epochs; epoch++) {
        shuffle(order, rows, job->seed << 16 ^ epoch);
        for (size_t done = 0; done < rows; done += BATCH)
            train_step(self, order + done, rows - done < BATCH ? rows - done : BATCH, epoch, images,
                       labels);
    }
    free(order);
    free(images);
    return NULL;
}

static float accuracy(mlp_t *model, const data_t *test)
{
    float images[SLICE * MLP_INPUTS], loss;
    uint8_t labels[SLICE];
    uint32_t order[SLICE];
    size_t correct = 0;
    for (size_t done = 0, count; done < test->rows; done += count) {
        size_t right;
        count = test->rows - done < SLICE ? test->rows - done : SLICE;
        for (size_t i = 0; i < count; i++)
            order[i] = (uint32_t)(done + i);
        gather(test, order, count, images, labels);
        mlp_evaluate(model, images, labels, count, &right, &loss);
        correct += right;
    }
    return (float)correct / (float)test->rows;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fputs("usage: plain_fashion DATA [EPOCHS [SEED]]\n", stderr);
        return 2;
    }
    for (unsigned x = 0; x < 256; x++)
        assert(pixel((uint8_t)x) == (float)x / 255.0f);
    data_t data = read_data(argv[1], "train-images-idx3", "train-labels-idx1");
    data_t test = read_data(argv[1], "t10k-images-idx3", "t10k-labels-idx1");

    job_t job = {.data = &data, .barrier = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    pthread_cond_init(&job.barrier.moved, NULL);
    job.epochs = argc > 2 ? strtoul(argv[2], NULL, 10) : 5;
    job.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
    for (size_t r = 0; r < REPLICAS; r++)
        job.models[r] = mlp_new(job.seed);

    worker_t workers[THREADS] = {{.job = &job}, {.job = &job, .index = 1}};
    pthread_t thread;
    int64_t start = now_ns();
    if (pthread_create(&thread, NULL, train, &workers[1]) != 0)
        abort();
    fenv_t normal;
    fegetenv(&normal);
    train(&workers[0]);
    fesetenv(&normal);
    pthread_join(thread, NULL);
    double seconds = (double)(now_ns() - start) * 1e-9;

    for (size_t r = 1; r < REPLICAS; r++)
        assert(memcmp(job.models[0]->weights, job.models[r]->weights, MLP_PARAMS * sizeof(float)) ==
               0);
    double loss =
        (job.losses[0] + job.losses[1] + job.losses[2] + job.losses[3]) / (double)data.rows;
    printf("{\"seconds\": %.6f, \"steps\": %zu, \"loss\": %.17g, \"accuracy\": %.4f, "
           "\"isa\": \"%s\", \"gather\": %.4f, \"backward\": %.4f, \"wait\": %.4f, "
           "\"reduce\": %.4f, \"momentum\": %.4f}\n",
           seconds, job.epochs * ((data.rows + BATCH - 1) / BATCH), loss,
           (double)accuracy(job.models[0], &test), mlp_isa(job.models[0]),
           (double)workers[0].phases_ns[GATHER] * 1e-9,
           (double)workers[0].phases_ns[BACKWARD] * 1e-9, (double)workers[0].phases_ns[WAIT] * 1e-9,
           (double)workers[0].phases_ns[REDUCE] * 1e-9,
           (double)workers[0].phases_ns[MOMENTUM] * 1e-9);
    for (size_t r = 0; r < REPLICAS; r++)
        mlp_destroy(&job.models[r]);
    free(data.images);
    free(data.labels);
    free(test.images);
    free(test.labels);
    return 0;
}
