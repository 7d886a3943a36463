/*  actors/reader.h - what a topology can say about a reader. */
#ifndef TND_ACTORS_READER_H
#define TND_ACTORS_READER_H

#include <stdint.h>

#include "runtime/core/order/position.h"
#include "runtime/option/option_parse.h"

typedef enum { TND_SHUFFLE_NONE, TND_SHUFFLE_GLOBAL, TND_SHUFFLE_TENSORFLOW } tnd_shuffle_t;

/*  What a checkpoint stores of the bytes of a file. */
typedef enum { TND_VERIFY_QUICK, TND_VERIFY_FULL } tnd_verify_t;

typedef enum { TND_SHARD_INDEX, TND_SHARD_FILE } tnd_shard_t;

typedef struct {
    tnd_part_t source;
    int shuffle; /* tnd_shuffle_t */
    int shard;   /* tnd_shard_t */
    uint64_t skip;
    uint64_t take; /* UINT64_MAX: all */
    uint64_t repeat;
    uint64_t epochs; /* or TND_ENDLESS */
    uint64_t workers;
    int access; /* tnd_access_t */
    int verify; /* tnd_verify_t */
    uint64_t retry_ns;
    int on_error; /* tnd_bad_way_t */
    const char *quarantine;
    const char *max_bad; /* a number, or a percentage */
    int isolate;         /* 0: in a thread of its host, 1: in processes of its own */
    uint64_t retain_bytes;
} tnd_reader_options_t;

#endif
