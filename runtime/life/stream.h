/*  runtime/life/stream.h - what is known of a chain's stream once its sources are open.
 *
 *  The hosts that have the files say what is in them (facts); from that and the graph every host
 *  derives the same schemas along the chain, so that actors begin with all they need to know.
 *
 *  Threads: const once made; any.
 */
#ifndef TND_RUNTIME_LIFE_STREAM_H
#define TND_RUNTIME_LIFE_STREAM_H

#include <stdio.h>

#include "runtime/core/position.h"
#include "runtime/data/schema.h"

typedef struct tnd_stream {
    uint32_t chain;
    uint32_t lanes;
    uint64_t seed;
    uint64_t graph[2]; /* fingerprint */
    uint64_t data;     /* identity of the data set: over all lanes */
    uint64_t numeric;  /* hash of the operations over built-in rows; 0: there are none */
    uint64_t count;    /* rows of the source, over all lanes; TND_UNKNOWN */
    uint32_t epochs;   /* TND_ENDLESS */
    uint32_t rows_max; /* rows that one position may become */
    tnd_schema_t read; /* rows as they leave the reader */
    tnd_schema_t fed;  /* rows as they enter batches */
} tnd_stream_t;

/*  Positions of an epoch in `lane`: positions p of the whole with p mod lanes == lane. */
uint64_t tnd_stream_lane_count(const tnd_stream_t *self, uint32_t lane);

/*  The facts (chain, count, identity, the schema as read) as lines of a note. */
void tnd_stream_write(const tnd_stream_t *self, FILE *out);
/*  Takes one such line: "stream ..." begins, each "column ..." adds one. */
tnd_status_t tnd_stream_read(tnd_stream_t *self, const char *line, tnd_error_t *error) TND_CHECKED;
/*  TND_OK if two hosts see the same data; else the text says how it differs. */
tnd_status_t tnd_stream_agree(const tnd_stream_t *self, const char *self_host,
                              const tnd_stream_t *other, const char *other_host,
                              tnd_error_t *error) TND_CHECKED;

#endif
