/*  tools/bench/places.c - the cost of finding the row at a position, for each map of an order.
 *
 *  Epoch 1 of 4 million rows is found in order, 256 positions at a time, as a reader does; its
 *  processor time is shown.  The bound is a loop that writes as many numbers.
 *  Usage: bench_places [--smoke | RUNS] */
#include "runtime/core/places.h"
#include "runtime/base/allocation.h"
#include "tools/bench/bench.h"

enum { RUNS = 5, PIECE = 256, FILES = 1000, RECALL = 4096 };

static const uint64_t all_rows = 4000000, smoke_rows = 40000;
static const double goal_ns = 15;

#define SEEDS                                                                                      \
    {                                                                                              \
        87654321, 7                                                                                \
    }
#define SHUFFLE(slots)                                                                             \
    {                                                                                              \
        .kind = TND_PLACE_SHUFFLE, .shuffle = {                                                    \
            .seeds = SEEDS,                                                                        \
            .reshuffle = true,                                                                     \
            .buffer = (slots)                                                                      \
        }                                                                                          \
    }
#define INTERLEAVE(at_once, rows)                                                                  \
    {                                                                                              \
        .kind = TND_PLACE_INTERLEAVE, .interleave = {.cycle = (at_once), .block = (rows) }         \
    }
#define FILES_IN_ANY_ORDER                                                                         \
    {                                                                                              \
        .kind = TND_PLACE_FILES, .shuffle = {.seeds = SEEDS, .reshuffle = true, .buffer = FILES }  \
    }
#define INDEX_SHUFFLE                                                                              \
    {                                                                                              \
        .kind = TND_PLACE_INDEX_SHUFFLE, .index_shuffle = {.seeds = SEEDS, .reshuffle = true }     \
    }

/*  One order; those with a goal are the maps that it was set for. */
typedef struct {
    const char *name;
    bool has_goal;
    uint32_t lanes;
    tnd_place_list_t list;
} order_t;

static const order_t orders[] = {
    {"shuffle_1000", true, 1, {1, {SHUFFLE(1000)}}},
    {"shuffle_1000_of_4_lanes", true, 4, {1, {SHUFFLE(1000)}}},
    {"shuffle_100000", false, 1, {1, {SHUFFLE(100000)}}},
    {"interleave_4_16", true, 1, {1, {INTERLEAVE(4, 16)}}},
    {"interleave_16_1", true, 1, {1, {INTERLEAVE(16, 1)}}},
    {"interleave_4_16_of_4_lanes", true, 4, {1, {INTERLEAVE(4, 16)}}},
    {"files_shuffle", true, 1, {1, {FILES_IN_ANY_ORDER}}},
    {"files_shuffle_interleave_4_16", true, 1, {2, {FILES_IN_ANY_ORDER, INTERLEAVE(4, 16)}}},
    {"unbatch_8", false, 1, {1, {{.kind = TND_PLACE_UNBATCH, .unbatch = 8}}}},
    {"skip", false, 1, {1, {{.kind = TND_PLACE_SKIP, .skip = 10}}}},
    {"take", false, 1, {1, {{.kind = TND_PLACE_TAKE, .take = 3000000}}}},
    {"repeat_2", false, 1, {1, {{.kind = TND_PLACE_REPEAT, .repeat = {.times = 2}}}}},
    {"shard_2",
     false,
     1,
     {1, {{.kind = TND_PLACE_SHARD, .shard = {.shards = 2, .index = 1, .rows = 1}}}}},
    {"global", false, 1, {1, {{.kind = TND_PLACE_GLOBAL, .global = 7}}}},
    {"index_shuffle", false, 1, {1, {INDEX_SHUFFLE}}},
    {"window_8",
     false,
     1,
     {1, {{.kind = TND_PLACE_WINDOW, .window = {.size = 8, .shift = 8, .stride = 1}}}}},
};

static double since(double began, uint64_t count)
{
    return (bench_cpu_seconds() - began) * 1e9 / (double)count;
}

/*  ns per place. */
static double find_all(const order_t *order, uint64_t rows)
{
    static uint64_t files[FILES], places[PIECE * 8];
    for (uint64_t i = 0; i < FILES; i++)
        files[i] = rows / FILES;
    const tnd_places_config_t config = {.list = &order->list,
                                        .rows = rows,
                                        .files = files,
                                        .file_count = FILES,
                                        .lanes = order->lanes,
                                        .recall = RECALL};
    tnd_places_t *found =
        tnd_places_init(tnd_allocate_zeroed(1, tnd_places_bytes(&config)), &config);
    uint64_t count = tnd_places_count(&order->list, rows) / order->lanes / PIECE * PIECE;
    double began = bench_cpu_seconds();
    for (uint64_t first = 0; first < count; first += PIECE)
        tnd_places_fill(found, 1, first, PIECE, places);
    double ns = since(began, count * tnd_places_width(&order->list));
    free(found);
    return ns;
}

static double write_all(uint64_t rows)
{
    static volatile uint64_t places[PIECE];
    double began = bench_cpu_seconds();
    for (uint64_t first = 0; first < rows; first++)
        places[first % PIECE] = first;
    (void)places[0];
    return since(began, rows);
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, RUNS);
    uint64_t rows = wish.smoke ? smoke_rows : all_rows;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        double values[RUNS], bounds[RUNS];
        char name[64];
        for (int run = 0; run < wish.runs; run++) {
            bounds[run] = write_all(rows);
            values[run] = find_all(&orders[i], rows);
        }
        double value = bench_median(values, (size_t)wish.runs);
        double bound = bench_median(bounds, (size_t)wish.runs);
        snprintf(name, sizeof name, "places_%s_ns", orders[i].name);
        if (orders[i].has_goal)
            bench_print(name, value, bound, value / bound, goal_ns, value <= goal_ns);
        else
            bench_show(name, value, bound, value / bound);
    }
    return 0;
}
