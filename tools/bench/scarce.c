/*  tools/bench/scarce.c - data that are not in memory: shuffled rows of 4 KiB of a file of 1.5 GiB
 *  inside a memory cgroup of 400 MB, beside 32 threads of pread in the same cgroup; and a cold
 *  epoch of the same file where it fits, beside a sequential read of it.  The bounds hash the same
 *  bytes.  Usage: bench_scarce [--smoke | PAIRS] */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"
#include "tools/bench/flow.h"
#include "tools/bench/gather_loop.h"
#include "tools/bench/sample_file.h"

enum { PAIRS = 5, ROW_BYTES = 4096, THREADS = 32, GROUP_STEPS = 4000, PIECE_BYTES = 1 << 20 };

static const size_t file_bytes = 1536 << 20, file_bytes_smoke = 12 << 20;
static const char *const group_limit = "400000000";

/* --- the cgroup ------------------------------------------------------------------------------- */

static char group[512], parent[512];

static bool put(const char *folder, const char *name, const char *text)
{
    char path[768];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return done;
}

/*  The cgroup of this process, in the usual mount point of version 1 or 2. */
static bool find_parent(bool unified)
{
    char line[512];
    bool found = false;
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *at = strstr(line, unified ? "::" : ":memory:");
        found = at != NULL && (!unified || at == line + 1);
        if (found)
            snprintf(parent, sizeof parent, "/sys/fs/cgroup%s%.400s", unified ? "" : "/memory",
                     strrchr(at, ':') + 1);
    }
    if (in != NULL)
        fclose(in);
    return found;
}

static void leave_group(void)
{
    (void)put(parent, "cgroup.procs", "0");
    (void)rmdir(group);
    group[0] = '\0';
}

/*  False: it cannot be created here; a message is printed. */
static bool enter_group(void)
{
    for (int unified = 0; unified < 2; unified++) {
        if (!find_parent(unified))
            continue;
        if (unified)
            (void)put(parent, "cgroup.subtree_control", "+memory");
        snprintf(group, sizeof group, "%.480s/tundish-%ld", parent, (long)getpid());
        if (mkdir(group, 0755) != 0)
            continue;
        if (put(group, unified ? "memory.max" : "memory.limit_in_bytes", group_limit) &&
            put(group, "cgroup.procs", "0"))
            return true;
        (void)rmdir(group);
    }
    group[0] = '\0';
    fputs("bench: no memory cgroup can be made here, which takes root: data larger than memory are "
          "not measured\n",
          stderr);
    return false;
}

/* --- the bounds ------------------------------------------------------------------------------- */

typedef struct {
    const bench_file_t *file;
    atomic_uint_fast64_t next, sum;
    const uint32_t *order;
    uint64_t rows; /* that are read in all */
} bare_t;

static void *read_rows(void *context)
{
    bare_t *bare = context;
    char row[ROW_BYTES];
    int file = open(bare->file->path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        abort();
    for (uint64_t i, sum = 0;; sum += XXH3_64bits(row, sizeof row)) {
        i = atomic_fetch_add(&bare->next, 1);
        if (i >= bare->rows) {
            atomic_fetch_add(&bare->sum, sum);
            break;
        }
        off_t at = (off_t)bare->order[i] * ROW_BYTES;
        if (pread(file, row, sizeof row, at) != (ssize_t)sizeof row)
            abort();
    }
    close(file);
    return NULL;
}

static double pread_krows(const bench_file_t *file, uint64_t rows)
{
    pthread_t threads[THREADS];
    uint32_t *order = bench_shuffled(file->count);
    bare_t bare = {.file = file, .order = order, .rows = rows};
    bench_file_evict(file);
    uint64_t began = tnd_clock_now();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, read_rows, &bare) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    double rate = (double)rows / (double)(tnd_clock_now() - began) * 1e6;
    free(order);
    return rate;
}

static double sequential_mbytes(const bench_file_t *sample)
{
    char *piece = tnd_allocate(1, PIECE_BYTES);
    uint64_t bytes = 0, sum = 0;
    bench_file_evict(sample);
    uint64_t began = tnd_clock_now();
    int file = open(sample->path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        abort();
    for (ssize_t got; (got = read(file, piece, PIECE_BYTES)) > 0; bytes += (uint64_t)got)
        sum += XXH3_64bits(piece, (size_t)got);
    double rate = (double)bytes / (double)(tnd_clock_now() - began) * 1e3;
    close(file);
    free(piece);
    return sum != 0 ? rate : 0;
}

/* --- ours ------------------------------------------------------------------------------------- */

/*  Rows per second of some steps from the start, with an empty page cache. */
static double ours(const bench_file_t *file, const char *more, uint32_t batch, uint64_t steps)
{
    char reader[512], batcher[64];
    snprintf(reader, sizeof reader,
             "source: {raw: {files: \"%s\", columns: {x: \"u8[%d]\"}}}, epochs: 1%s", file->path,
             ROW_BYTES, more);
    snprintf(batcher, sizeof batcher, "size: %u", batch);
    bench_graph_t graph = {
        .reader = reader, .batcher = batcher, .feeder = "digest: true", .steps = steps};
    bench_file_evict(file);
    bench_took_t took = bench_flow(&graph);
    return took.rows / took.seconds;
}

static void scarce(const bench_file_t *file, const char *bench, const char *more, double goal,
                   int pairs)
{
    bench_pairs_t both;
    uint64_t steps = GROUP_STEPS < file->count / 64 ? GROUP_STEPS : file->count / 64;
    for (int i = 0; i < pairs; i++)
        BENCH_PAIR(&both, i, ours(file, more, 64, steps) * 1e-3, pread_krows(file, steps * 64));
    bench_print_pairs(bench, &both, pairs, goal);
}

static void cold(const bench_file_t *file, const char *bench, const char *more, int pairs)
{
    bench_pairs_t both;
    uint64_t steps = (file->count + 255) / 256;
    for (int i = 0; i < pairs; i++)
        BENCH_PAIR(&both, i, ours(file, more, 256, steps) * ROW_BYTES * 1e-6,
                   sequential_mbytes(file));
    bench_print_pairs(bench, &both, pairs, 0.9);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    bench_file_t file =
        bench_file_raw("x.bin", ROW_BYTES, wish.smoke ? file_bytes_smoke : file_bytes);
    bench_file_unmap(&file);
    if (wish.smoke) {
        scarce(&file, "scarce_4k_krows_per_s", ", shuffle: global, access: read", 0.8, 1);
    } else if (enter_group()) {
        scarce(&file, "scarce_4k_krows_per_s", ", shuffle: global", 0.8, wish.runs);
        scarce(&file, "scarce_mapped_4k_krows_per_s", ", shuffle: global, access: map", 0,
               wish.runs);
        leave_group();
    }
    cold(&file, "cold_epoch_mbytes_per_s", "", wish.runs);
    cold(&file, "cold_epoch_shuffled_mbytes_per_s", ", shuffle: global", wish.runs);
    return 0;
}
