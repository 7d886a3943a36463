/*  tools/bench/inproc.c - what a block of 128 KiB costs inside a process: at most 2 us, and no byte
 *  copied.  The bound is bare libzmq passing a header and the pointer.  Usage: bench_inproc
 *  [BLOCKS] */
#include "tools/bench/bench.h"
#include "tools/bench/links.h"

enum { RUNS = 5 };

int main(int argc, char **argv)
{
    bench_link_t link = {.endpoint = "inproc://bench",
                         .block_bytes = 128 * 1024,
                         .blocks = argc > 1 ? (uint32_t)atoi(argv[1]) : 300000,
                         .window = 256};
    double hubs[RUNS], bare[RUNS];
    uint64_t copied = 0;
    for (int i = 0; i < RUNS; i++) {
        uint64_t more = 0;
        bare[i] = bench_bare(&link) / 1000;
        hubs[i] = bench_hubs(&link, &more) / 1000;
        copied += more;
    }
    double value = bench_median(hubs, RUNS), bound = bench_median(bare, RUNS);
    bench_print("inproc_block_us", value, bound, value / bound, 2, value <= 2);
    bench_print("inproc_bytes_copied", (double)copied, 0, copied == 0 ? 1 : 0, 0, copied == 0);
    return 0;
}
