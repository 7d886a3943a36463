/*  tools/bench/looks.c - what a look at a run of 204 actors costs: at most 1 ms.  The bound is
 *  reading the same bytes from the same file.  Usage: bench_looks [--smoke | RUNS] */
#include <fcntl.h>
#include <unistd.h>

#include "runtime/observe/inspection.h"
#include "runtime/observe/pages.h"
#include "tools/bench/bench.h"

enum { RUNS = 9, LOOKS = 200, SMOKE_LOOKS = 2, ACTORS = 204 };

static const tnd_pages_shape_t shape = {.actors = ACTORS,
                                        .hosts = 3,
                                        .edges = 2 * ACTORS,
                                        .histories = ACTORS,
                                        .details = ACTORS,
                                        .timings = ACTORS + 4,
                                        .rings = ACTORS + 4};

/*  Pages of actors that have run for more than a minute, in a folder of its own. */
static tnd_pages_t *make_run(const char *folder)
{
    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    if (tnd_pages_new(&pages, "looks", "a", 1, shape, &error) != TND_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    const tnd_run_record_t *record = tnd_pages_record(pages);
    for (uint32_t i = 0; i < ACTORS; i++) {
        tnd_statistics_t *page = tnd_pages_at(pages, i);
        snprintf(page->actor, sizeof page->actor, "prep.%u", (unsigned)i);
        page->instance = i;
        tnd_statistics_state(page, TND_STATE_WAITING, 1, tnd_clock_now());
        record->instances[i].history = record->instances[i].ring = i;
        record->instances[i].ring_count = 1;
        for (unsigned s = 0; s < TND_HISTORY_SECONDS; s++)
            record->histories[i].seconds[s].rows = 1;
        tnd_histogram_add(&record->timings[i].parts[TND_TIMING_SERVICE], 1000 * i);
    }
    return pages;
}

static double look(tnd_look_t what, uint64_t count)
{
    double began = bench_cpu_seconds();
    for (uint64_t i = 0; i < count; i++) {
        tnd_inspection_t *made = tnd_inspection_new(what);
        if (!tnd_inspection_has(made, "looks", false))
            exit(1);
        tnd_inspection_destroy(&made);
    }
    return (bench_cpu_seconds() - began) / (double)count * 1e6;
}

/*  As many bytes as such a look reads. */
static double copy(const char *path, tnd_look_t what, uint64_t count)
{
    tnd_pages_shape_t wanted = shape;
    wanted.rings = 0;
    if (what < TND_LOOK_DETAILS)
        wanted.details = wanted.timings = 0;
    if (what < TND_LOOK_HISTORIES)
        wanted.histories = 0;
    size_t size = TND_PAGE_BYTES + ACTORS * offsetof(tnd_statistics_t, devices) +
                  tnd_run_record_bytes(&wanted);
    double began = bench_cpu_seconds();
    for (uint64_t i = 0; i < count; i++) {
        char *bytes = malloc(size);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (bytes == NULL || pread(file, bytes, size, 0) != (ssize_t)size)
            exit(1);
        close(file);
        free(bytes);
    }
    return (bench_cpu_seconds() - began) / (double)count * 1e6;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"look_204_us", "look_204_history_us",
                                        "look_204_details_us"};
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    uint64_t count = wish.smoke ? SMOKE_LOOKS : LOOKS;
    char folder[] = "/tmp/bench_looks_XXXXXX";
    if (mkdtemp(folder) == NULL)
        return 1;
    tnd_pages_t *pages = make_run(folder);
    char path[sizeof((tnd_inspected_t *)NULL)->path] = "";
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < made->count; p++)
        if (strcmp(made->processes[p].run, "looks") == 0)
            memcpy(path, made->processes[p].path, sizeof path);
    tnd_inspection_destroy(&made);
    for (tnd_look_t what = TND_LOOK_NOW; what <= TND_LOOK_DETAILS; what++) {
        double looks[RUNS], copies[RUNS];
        for (int i = 0; i < wish.runs; i++) {
            looks[i] = look(what, count);
            copies[i] = copy(path, what, count);
        }
        double value = bench_median(looks, (size_t)wish.runs);
        double bound = bench_median(copies, (size_t)wish.runs);
        if (what == TND_LOOK_NOW)
            bench_print(names[what], value, bound, value / bound, 1000, value <= 1000);
        else
            bench_show(names[what], value, bound, value / bound);
    }
    tnd_pages_destroy(&pages);
    rmdir(folder);
    return 0;
}
