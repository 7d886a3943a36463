/*  actors/chain/chain_probe.h - a hash of what a chain makes of built-in rows.
 *
 *  Machines that compute alike have equal hashes; the run refuses a machine whose hash differs.
 *
 *  Threads: that of the chain. */
#ifndef TND_ACTORS_CHAIN_CHAIN_PROBE_H
#define TND_ACTORS_CHAIN_CHAIN_PROBE_H

#include "actors/chain/chain.h"

/*  Runs the chain over 64 built-in rows, fewer if they are large.  Where an operation refuses or drops
 *  all of them, as a decoder does, the next one gets built-in rows of its own.  Each decoder also gets
 *  a valid record.  Returns 0 only for a chain
 *  without operations. */
uint64_t tnd_chain_probe(tnd_chain_t *self);

#endif
