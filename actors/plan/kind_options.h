/*  actors/plan/kind_options.h - the options of the kinds, as plan queries and tools read them.
 *
 *  The table of each option, with its default, range and help, is in the file of its kind.
 *
 *  Ownership: the plan owns the options and all that they point to. */
#ifndef TND_ACTORS_PLAN_KIND_OPTIONS_H
#define TND_ACTORS_PLAN_KIND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/option/option_parse.h"
#include "runtime/topology/best_options.h"

typedef enum { TND_SHUFFLE_NONE, TND_SHUFFLE_GLOBAL, TND_SHUFFLE_TENSORFLOW } tnd_shuffle_t;

/*  What a checkpoint stores to recognize the bytes of a file. */
typedef enum { TND_VERIFY_QUICK, TND_VERIFY_FULL } tnd_verify_t;

/*  In the order of runtime/topology/topology_internal.h; `auto` is never among the options of a plan. */
typedef enum {
    TND_SHARD_INDEX,
    TND_SHARD_FILE,
    TND_SHARD_SOURCE,
    TND_SHARD_OFF,
    TND_SHARD_PIECES
} tnd_shard_t;

/*  How the rows of ragged columns are stored in a batch. */
typedef enum { TND_RAGGED_PAD, TND_RAGGED_PACK } tnd_batch_ragged_t;

/*  One or some of several disjoint parts of the rows. */
typedef struct {
    tnd_numbers_t of; /* their sizes, relative to each other */
    uint64_t index;   /* which; TND_UNKNOWN: all but `except` */
    tnd_numbers_t except;
    uint64_t seed;
    const char *by;         /* a column: all rows of a value are of one part; NULL: none */
    const char *stratified; /* a column: the rows of each value are divided alike; NULL: none */
} tnd_order_part_t;

typedef struct {
    tnd_part_t source;
    const tnd_order_part_t *part; /* NULL: all rows */
    int shuffle;                  /* tnd_shuffle_t */
    int shard;                    /* tnd_shard_t */
    uint64_t skip;
    uint64_t take; /* UINT64_MAX: all */
    uint64_t repeat;
    tnd_part_list_t order; /* instead of these five */
    uint64_t epochs;       /* or TND_ENDLESS */
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

typedef struct {
    tnd_part_list_t ops;
    uint64_t workers; /* 0: auto */
    int isolate;      /* 0: in a thread of its host, 1: in processes of its own */
    int on_error;     /* tnd_bad_way_t */
} tnd_preprocessor_options_t;

/*  When a cache stores rows. */
typedef enum { TND_STORE_FIRST_EPOCH } tnd_store_when_t;

typedef struct {
    const char *path;
} tnd_store_dir_options_t;

typedef struct {
    uint64_t limit;   /* bytes of the stored rows of a lane */
    tnd_part_t store; /* options: NULL in memory, else tnd_store_dir_options_t */
    int when;         /* tnd_store_when_t */
    bool freeze;
} tnd_cache_options_t;

/*  What rows of the bucketed column are padded to. */
typedef enum { TND_BUCKET_PAD_LONGEST, TND_BUCKET_PAD_BOUND } tnd_bucket_pad_t;

typedef struct {
    const char *column;
    tnd_numbers_t bounds, sizes; /* whole numbers, see plan/buckets.h */
    int pad;                     /* tnd_bucket_pad_t */
    const char *value;
    bool drop_remainder;
    uint64_t window; /* rows; 0: an epoch */
} tnd_bucket_options_t;

typedef struct {
    const char *column;
    uint64_t length; /* values of a packed row */
    bool segments, drop_remainder;
} tnd_pack_options_t;

/*  How a global batch is dealt. */
typedef enum { TND_DEAL_SPLIT, TND_DEAL_WHOLE } tnd_batch_deal_t;

typedef struct {
    uint64_t size;                      /* 0: none is given; see tnd_plan_batch_size */
    const tnd_bucket_options_t *bucket; /* NULL: rows that follow one another */
    const tnd_pack_options_t *pack;     /* NULL: rows as they come */
    uint64_t replicas;
    int deal;      /* tnd_batch_deal_t */
    int split;     /* tnd_split_t */
    bool apart;    /* lanes feed replicas of their own */
    int remainder; /* tnd_remainder_t */
    bool span_epochs;
    uint64_t skip;
    uint64_t take;         /* UINT64_MAX: all */
    int ragged;            /* tnd_batch_ragged_t */
    const char *pad_value; /* a number of the type of each ragged column */
    uint64_t bytes;        /* of the ragged rows of a batch, at most; 0: rows x longest */
    tnd_extent_t block;    /* zero: chosen from the links and the rows */
    bool speculate;
} tnd_batcher_options_t;

/*  `step: {plugin: mlp, hidden: 128}`: all but the name is the plugin's own. */
typedef struct {
    const char *plugin;
    tnd_pairs_t options; /* of type VALUE; tnd_pairs_print prints them */
} tnd_step_options_t;

/*  `cast: {image: {to: bf16}}`: see actors/feeder/cast_columns.h. */
typedef struct {
    tnd_pairs_t columns;
} tnd_cast_options_t;

/*  The model of devices called `sim`. */
typedef struct {
    uint64_t to_device, latency, memory, step;
    const char *faults; /* NULL: none */
} tnd_sim_options_t;

/*  As many steps as fit into some bytes; see prefetch.h. */
#define TND_DEPTH_AUTO 0
#define TND_DEPTH_MOST 1024 /* as its range says */

/*  When `apply` of a step runs. */
typedef enum { TND_APPLY_REDUCED, TND_APPLY_EARLY } tnd_apply_t;

typedef struct {
    uint64_t depth; /* or TND_DEPTH_AUTO */
    uint64_t spare;
    uint64_t gather;                /* threads, or TND_GATHER_AUTO: runtime/feed/gatherers.h */
    tnd_strings_t devices;          /* as the actor names them; those of a host are in the plan */
    uint64_t accumulate;            /* consecutive replicas that share a model */
    int apply;                      /* tnd_apply_t */
    const tnd_step_options_t *step; /* NULL: none */
    const tnd_cast_options_t *cast; /* NULL: none */
    const tnd_sim_options_t *sim;   /* NULL: as by default */
    const char *after;              /* NULL: none */
    tnd_period_t every;             /* of the first chain; both 0: only at its end */
    const tnd_best_options_t *best; /* NULL: none */
    bool digest;
} tnd_feeder_options_t;

/*  What carries and adds the values of a reducer. */
typedef enum { TND_THROUGH_AUTO, TND_THROUGH_HOST, TND_THROUGH_NCCL } tnd_through_t;

typedef struct {
    const char *weight; /* NULL: means are weighted by rows */
    uint64_t bucket;    /* bytes of values that are reduced together, at most */
    int order;          /* tnd_order_t */
    int through;        /* tnd_through_t */
} tnd_reducer_options_t;

/*  `staleness: unbounded`, and the steps that may be dealt and are not booked. */
#define TND_STALENESS_UNBOUNDED UINT64_MAX
enum { TND_DEALT_MOST = 256 };

typedef struct {
    tnd_part_t optimizer;
    uint64_t count;      /* of the parameters; 0: as `initial` or the step has */
    uint64_t staleness;  /* or TND_STALENESS_UNBOUNDED */
    int order;           /* tnd_parameters_order_t */
    const char *initial; /* a .npy file; NULL: those of the step, or zeros */
} tnd_parameters_options_t;

#endif
