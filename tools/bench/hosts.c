/*  tools/bench/hosts.c - hosts with a lane each, in threads of this process: what a step costs
 * them.
 *
 *  Prints, for each host and step, microseconds of processor time of all its threads and the tcp
 *  segments that were sent.  The start of the run is not counted.
 *  Usage: bench_hosts ROWS_FILE HOSTS EPOCHS
 */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/flow.h"

enum { BATCH = 1024 };

/*  Segments that this network namespace has sent. */
static uint64_t segments_sent(void)
{
    char line[1024];
    uint64_t sent = 0;
    unsigned long long out;
    FILE *file = fopen("/proc/net/snmp", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %llu", &out) == 1)
            sent = out;
    if (file != NULL)
        fclose(file);
    return sent;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s ROWS_FILE HOSTS EPOCHS\n", argv[0]);
        return 2;
    }
    char reader[600], batcher[64];
    uint32_t hosts = (uint32_t)atoi(argv[2]);
    int epochs = atoi(argv[3]);
    snprintf(reader, sizeof reader,
             "source: {raw: {files: \"%s\", columns: {x: u64}}}, shuffle: global, epochs: %d",
             argv[1], epochs);
    snprintf(batcher, sizeof batcher, "size: %d, replicas: %u", BATCH, hosts);
    bench_graph_t graph = {.reader = reader, .batcher = batcher, .feeder = "", .hosts = hosts};
    uint64_t before = segments_sent();
    bench_took_t took = bench_flow(&graph);
    double steps = took.rows / BATCH * hosts;
    double all = steps * epochs / (epochs - 1);
    printf("{\"hosts\":%u,\"steps\":%.0f,\"cpu_us\":%.3f,\"segments\":%.3f,\"seconds\":%.3f}\n",
           hosts, took.rows / BATCH, took.cpu_seconds * 1e6 / steps,
           (double)(segments_sent() - before) / all, took.seconds);
    return 0;
}
