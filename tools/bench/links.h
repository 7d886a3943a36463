/*  tools/bench/links.h - blocks over a link of two hubs in two threads, and frames over bare
 *  libzmq, as fast as they go.
 *
 *  Both sides of the comparison make the same frames from the same pool and touch no row. */
#ifndef TND_TOOLS_BENCH_LINKS_H
#define TND_TOOLS_BENCH_LINKS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *endpoint; /* to bind */
    size_t block_bytes;
    uint32_t blocks;
    uint32_t window; /* blocks in flight */
} bench_link_t;

/*  Nanoseconds per block, from first to last receipt; *copied_p: bytes that the hubs copied. */
double bench_hubs(const bench_link_t *link, uint64_t *copied_p);

/*  The same over PUSH and PULL: a header of 64 bytes and the block, without a copy. */
double bench_bare(const bench_link_t *link);

#endif
