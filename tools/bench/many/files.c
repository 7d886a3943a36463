/*  tools/bench/many/files.c - shuffled rows of any source into batches of 256, without the digest: the rate
 *  of the epochs after the first one, as a line of JSON for `many_files`.
 *  Usage: bench_files EPOCHS SOURCE, with SOURCE as in a topology file: "{npy: {x: x.npy}}". */
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/flow.h"

enum { READER_BYTES = 1024 };

int main(int argc, char **argv)
{
    char reader[READER_BYTES];
    int epochs = argc == 3 ? atoi(argv[1]) : 0;
    if (epochs < 1) {
        fputs("usage: bench_files EPOCHS SOURCE\n", stderr);
        return 2;
    }
    snprintf(reader, sizeof reader, "source: %s, shuffle: global, epochs: %d", argv[2], epochs + 1);
    bench_graph_t graph = {.reader = reader, .batcher = "size: 256", .feeder = "digest: false"};
    bench_took_t took = bench_flow(&graph);
    printf("{\"rows_per_s\":%.6g,\"cpu_us\":%.6g,\"rows\":%.0f}\n", took.rows / took.seconds,
           took.cpu_seconds * 1e6 / took.rows, took.rows);
    return 0;
}
