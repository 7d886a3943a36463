/*  tools/bench/example.c - tf.Example records of 264 bytes, from a mapped TFRecord file: three
 *  numbers, a list of 0 to 12 numbers and a string, to columns, shuffled, in batches of 256, with both
 *  checksums.  At least 0.6 of two threads that check, scan and copy the same records in such an
 *  order, the median of pairs.  Usage: bench_example [--smoke | PAIRS] */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actors/stored/tfrecord_frames.h"
#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum {
    PAIRS = 7,
    DATA_BYTES = 264,
    FRAME_BYTES = DATA_BYTES + 16,
    BATCH = 256,
    TOKENS = 12,
    EPOCHS = 3,
    THREADS = 2
};

static const size_t file_bytes = 512 << 20, file_bytes_smoke = 2 << 20;

/* --- records ---------------------------------------------------------------------------------- */

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t used = 0;
    for (; value > 127; value >>= 7)
        to[used++] = (uint8_t)(value | 128);
    to[used++] = (uint8_t)value;
    return used;
}

/*  A tag and a length. */
static size_t put_head(uint8_t *to, uint32_t tag, size_t length)
{
    to[0] = (uint8_t)tag;
    return 1 + put_varint(to + 1, length);
}

static size_t with_head(size_t length)
{
    return length + (length < 128 ? 2 : 3);
}

/*  An entry of the map: a key, and a feature with a list of `kind` (1 bytes, 2 floats, 3 integers),
 *  given by its bytes. */
static size_t put_entry(uint8_t *to, const char *key, uint32_t kind, const void *list, size_t size)
{
    const size_t name = strlen(key), feature = with_head(with_head(size));
    size_t used = put_head(to, 10, with_head(name) + with_head(feature));
    used += put_head(to + used, 10, name);
    memcpy(to + used, key, name);
    used += name;
    used += put_head(to + used, 18, feature);
    used += put_head(to + used, 8 * kind + 2, with_head(size));
    used += put_head(to + used, 10, size);
    memcpy(to + used, list, size);
    return used + size;
}

/*  The string fills what the others leave; its lengths take two bytes. */
static void write_example(uint8_t *to, uint64_t number)
{
    const float weight = (float)number;
    uint8_t list[DATA_BYTES];
    size_t used = 3, size = 0, around = 14 + strlen("text");
    (void)put_head(to, 10, DATA_BYTES - used);
    used += put_entry(to + used, "label", 3, list, put_varint(list, number % 1000));
    used += put_entry(to + used, "time", 3, list, put_varint(list, number * 1000003));
    used += put_entry(to + used, "weight", 2, &weight, sizeof weight);
    for (uint64_t i = 0; i < number % (TOKENS + 1); i++)
        size += put_varint(list + size, (number + i * 7919) % 30000);
    used += put_entry(to + used, "tokens", 3, list, size);
    size = DATA_BYTES - used - around;
    memset(list, 'a' + (int)(number % 26), size);
    used += put_entry(to + used, "text", 1, list, size);
    if (used != DATA_BYTES)
        exit(1);
}

static void write_records(const bench_file_t *file)
{
    int number = open(file->path, O_RDWR | O_CLOEXEC);
    size_t size = file->count * FRAME_BYTES;
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
    if (number < 0 || bytes == MAP_FAILED)
        exit(1);
    for (size_t i = 0; i < file->count; i++) {
        write_example(bytes + i * FRAME_BYTES + 12, i);
        bench_frame(bytes + i * FRAME_BYTES, DATA_BYTES);
    }
    munmap(bytes, size);
    close(number);
}

/* --- the bound -------------------------------------------------------------------------------- */

typedef struct {
    int64_t label[BATCH], time[BATCH], tokens[BATCH][TOKENS];
    float weight[BATCH];
    uint8_t text[BATCH][DATA_BYTES];
    uint64_t lengths[2][BATCH];
} batch_t;

typedef struct {
    const bench_file_t *file;
    const uint32_t *order;
    uint32_t number;
    pthread_t thread;
} scanner_t;

static uint64_t varint(const uint8_t **at_p)
{
    uint64_t value = 0, byte = 128;
    for (uint32_t shift = 0; byte >= 128; shift += 7) {
        byte = *(*at_p)++;
        value |= (byte & 127) << shift;
    }
    return value;
}

/*  The bytes of a field with this tag; what is not so ends the program. */
static const uint8_t *field(const uint8_t **at_p, uint8_t tag, uint64_t *size_p)
{
    if (*(*at_p)++ != tag)
        exit(1);
    *size_p = varint(at_p);
    *at_p += *size_p;
    return *at_p - *size_p;
}

static bool is(const uint8_t *key, uint64_t size, const char *name)
{
    return size == strlen(name) && memcmp(key, name, size) == 0;
}

static void scan_entry(const uint8_t *at, batch_t *batch, size_t row)
{
    uint64_t name, size;
    const uint8_t *key = field(&at, 10, &name), *list = field(&at, 18, &size);
    const uint8_t kind = *list;
    list = field(&list, kind, &size);
    const uint8_t *values = field(&list, 10, &size), *end = values + size;
    if (kind == 26 && is(key, name, "label")) {
        batch->label[row] = (int64_t)varint(&values);
    } else if (kind == 26 && is(key, name, "time")) {
        batch->time[row] = (int64_t)varint(&values);
    } else if (kind == 18 && is(key, name, "weight")) {
        memcpy(&batch->weight[row], values, sizeof batch->weight[row]);
    } else if (kind == 26 && is(key, name, "tokens")) {
        uint64_t count = 0;
        while (values < end && count < TOKENS)
            batch->tokens[row][count++] = (int64_t)varint(&values);
        batch->lengths[0][row] = count;
    } else if (kind == 10 && is(key, name, "text")) {
        memcpy(batch->text[row], values, size);
        batch->lengths[1][row] = size;
    }
}

static void *scan(void *context)
{
    const scanner_t *self = context;
    batch_t *batch = tnd_allocate_zeroed(1, sizeof *batch);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (size_t i = self->number; i < self->file->count; i += THREADS) {
            const uint8_t *frame = self->file->rows + (size_t)self->order[i] * FRAME_BYTES;
            const uint8_t *at = frame + 12;
            uint64_t length, size;
            if (!tnd_tfrecord_length(frame, &length) || !tnd_tfrecord_data_matches(at, length))
                exit(1);
            const uint8_t *features = field(&at, 10, &size), *end = features + size;
            while (features < end)
                scan_entry(field(&features, 10, &size), batch, i / THREADS % BATCH);
        }
    free(batch);
    return NULL;
}

/* --- both ------------------------------------------------------------------------------------- */

static bench_took_t bare(const bench_file_t *file, const uint32_t *order)
{
    scanner_t scanners[THREADS];
    uint64_t began = tnd_clock_now();
    double cpu = bench_cpu_seconds();
    for (uint32_t i = 0; i < THREADS; i++) {
        scanners[i] = (scanner_t){.file = file, .order = order, .number = i};
        if (pthread_create(&scanners[i].thread, NULL, scan, &scanners[i]) != 0)
            exit(1);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(scanners[i].thread, NULL);
    return (bench_took_t){.seconds = (double)(tnd_clock_now() - began) * 1e-9,
                          .cpu_seconds = bench_cpu_seconds() - cpu,
                          .rows = (double)file->count * EPOCHS};
}

static bench_took_t ours(const bench_file_t *file)
{
    char reader[512], batcher[64];
    /* The first epoch is not counted. */
    snprintf(reader, sizeof reader,
             "source: {tfrecord: {files: \"%s\", index: beside}}, shuffle: global, epochs: %d",
             file->path, EPOCHS + 1);
    snprintf(batcher, sizeof batcher, "size: %d", BATCH);
    bench_graph_t graph = {
        .reader = reader,
        .preprocessor = "ops: [{parse_example: {features: {label: i64, time: i64, weight: f32, "
                        "tokens: {dtype: i64, ragged: true, max: 12}, text: bytes}}}]",
        .batcher = batcher,
        .feeder = "digest: false"};
    return bench_flow(&graph);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bench_file_t file =
        bench_file_raw("x.tfrecord", FRAME_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    write_records(&file);
    uint32_t *order = bench_shuffled(file.count);
    double rates[2][PAIRS], cpu[2][PAIRS], ratios[PAIRS], costs[PAIRS];
    for (int i = 0; i < wish.runs; i++) {
        bench_took_t took[2];
        bench_file_touch(&file);
        if (i % 2 == 0)
            took[1] = bare(&file, order);
        took[0] = ours(&file);
        if (i % 2 != 0)
            took[1] = bare(&file, order);
        for (int k = 0; k < 2; k++) {
            rates[k][i] = took[k].rows / took[k].seconds * 1e-6;
            cpu[k][i] = took[k].cpu_seconds / took[k].rows * 1e6;
        }
        ratios[i] = rates[0][i] / rates[1][i];
        costs[i] = cpu[0][i] / cpu[1][i];
    }
    const size_t runs = (size_t)wish.runs;
    double ratio = bench_median(ratios, runs);
    bench_print("example_mrows_per_s", bench_median(rates[0], runs), bench_median(rates[1], runs),
                ratio, 0.6, ratio >= 0.6);
    bench_show("example_cpu_s_per_mrow", bench_median(cpu[0], runs), bench_median(cpu[1], runs),
               bench_median(costs, runs));
    free(order);
    return 0;
}
