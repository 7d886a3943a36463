/*  tools/bench/tcp.c - how fast blocks of 1 MiB pass over tcp on this machine: at least 0.9 of bare
 *  libzmq.  Runs alternate, because the machine's own speed drifts.
 *  Usage: bench_tcp [BLOCKS] */
#include "tools/bench/bench.h"
#include "tools/bench/links.h"

enum { RUNS = 7 };

int main(int argc, char **argv)
{
    bench_link_t link = {.endpoint = "tcp://127.0.0.1:*",
                         .block_bytes = 1024 * 1024,
                         .blocks = argc > 1 ? (uint32_t)atoi(argv[1]) : 1500,
                         .window = 32};
    double hubs[RUNS], bare[RUNS];
    for (int i = 0; i < RUNS; i++) {
        uint64_t copied = 0;
        bare[i] = (double)link.block_bytes / bench_bare(&link);
        hubs[i] = (double)link.block_bytes / bench_hubs(&link, &copied);
    }
    double value = bench_median(hubs, RUNS), bound = bench_median(bare, RUNS);
    bench_print("tcp_block_gbytes_per_s", value, bound, value / bound, 0.9, value >= 0.9 * bound);
    return 0;
}
