/*  runtime/data/stream.h - what is known of a chain's stream once its sources are open.
 *
 *  The hosts that have the files say what is in them (facts); from that and the graph every host
 *  derives the same schemas along the chain, so that actors begin with all they need to know.
 *
 *  Threads: const once made; any. */
#ifndef TND_RUNTIME_DATA_STREAM_H
#define TND_RUNTIME_DATA_STREAM_H

#include <stdio.h>

#include "runtime/core/lane/batch_room.h"
#include "runtime/core/lane/row_bytes.h"
#include "runtime/core/places.h"
#include "runtime/core/protocol/bad_way.h"
#include "runtime/core/stream/buckets.h"
#include "runtime/core/stream/cursor.h"
#include "runtime/core/stream/split.h"
#include "runtime/core/tuning/access.h"
#include "runtime/data/buffer.h"
#include "runtime/data/field_names.h"
#include "runtime/data/schema.h"
#include "runtime/option/option.h"
#include "runtime/text/adapted.h"

/*  The files of one lane, where lanes share out files. */
typedef struct {
    uint64_t count; /* rows; TND_UNKNOWN */
    uint64_t data;  /* identity */
    bool known;
} tnd_stream_lane_t;

/*  The rows at one stage of a chain. */
typedef struct {
    tnd_schema_t schema;
    uint32_t rows_max;   /* rows that one position may become */
    uint32_t operations; /* of all preprocessors before it */
    /*  Bytes of ragged columns that a position becomes, per byte that it had as read: at most, and
     *  usually; 0: only the schema is a bound. */
    double growth_max, growth_usual;
    uint64_t numeric; /* hash of the operations over built-in rows, and of plugins; 0: none */
} tnd_stream_stage_t;

/*  What is done about bad records. */
typedef struct {
    tnd_bad_way_t read, made; /* of the reader, of the preprocessor */
    tnd_bad_limit_t limit;
} tnd_stream_bad_t;

/*  What the operations of a worker do, together. */
typedef struct {
    uint32_t caps;           /* to rows: a set of TND_OP_* */
    bool reshapes;           /* one may drop or add rows, bad records aside */
    size_t tables, decoding; /* bytes that they hold (chain.h) */
} tnd_stream_work_t;

/*  Room for the names of options. */
enum { TND_BATCH_DROPS = 96 };

/*  How batches are made of rows, as the batcher declares it. */
typedef struct {
    uint64_t size;  /* rows of a global batch, at most */
    uint64_t share; /* rows of it that one replica gets, at most */
    uint32_t replicas;
    bool dealt; /* it goes to one replica, whole */
    tnd_split_t split;
    tnd_remainder_t remainder;
    char drops[TND_BATCH_DROPS]; /* the options that drop rows of a stream too short for a batch */
    bool spans;                  /* batches span epochs */
    uint64_t skip,
        take; /* batches that are left out, and those that are made then; UINT64_MAX: all */
    uint64_t
        positions;   /* of an epoch, or of a run whose batches span epochs, of which these are made
                            when no operation drops or adds any; 0: all */
    uint64_t copied; /* bytes of a batch that rows are copied to; 0: it refers to blocks */
    uint64_t limit;  /* most bytes of ragged rows in a batch of all lanes; 0: any */
    /*  Bytes of the ragged columns of a batch, and of a replica's part of it, at most, their padding
     *  included; 0: of so many of the longest rows. */
    uint64_t ragged, ragged_part;
    bool packs;                     /* ragged rows follow one another, and are not padded */
    bool pads_least;                /* they are padded to the longest of their batch or bucket */
    uint64_t pads[TND_COLUMNS_MAX]; /* the element after a shorter row of a ragged column */
    /*  Columns that are padded to the bound of a bucket, as a set of bits: that bucket is found by
     *  column `deciding`, and the last has none. */
    uint64_t bounded;
    uint32_t deciding, bound_count;
    uint64_t bounds[TND_BUCKETS_MAX];
} tnd_stream_batch_t;

/*  The readers of one host. */
typedef struct {
    uint32_t caps;           /* what the opened source can do: TND_SOURCE_* */
    uint32_t files;          /* of the first column: of the lane that has most */
    size_t loaded;           /* bytes of files that they have in memory */
    uint64_t mapped, copied; /* bytes of files that are mapped, and that are read */
    uint64_t room;           /* that the page cache may use for them; 0: unknown */
    tnd_access_plan_t access;
} tnd_stream_own_t;

typedef struct tnd_stream {
    uint32_t chain;
    uint32_t lanes;
    uint64_t seed;
    uint64_t graph[2];      /* fingerprint */
    uint64_t data;          /* identity of the data set: over all lanes */
    uint64_t count;         /* rows of the source, over all lanes; TND_UNKNOWN */
    tnd_place_list_t order; /* of rows; empty: by the next three and a shuffle */
    uint64_t skip;          /* rows that an epoch skips at the start of the source */
    uint64_t take;          /* rows that it uses after them; 0: all */
    uint64_t repeat;        /* how many times; 0: once */
    uint32_t epochs;        /* TND_ENDLESS */
    bool sequential;        /* the source is read from its start only */
    bool custom;            /* the source is the user's own */
    bool sized;             /* rows have different sizes, which are known before they are read */
    uint64_t budget; /* bytes of ragged columns of a ticket; 0: tickets count positions alone */
    tnd_stream_bad_t bad;
    tnd_stream_stage_t read;   /* rows as they leave the reader */
    tnd_stream_stage_t cached; /* as they leave the cache, if `caches` */
    tnd_stream_stage_t joined; /* as they enter the batcher; others than `fed` if it packs rows */
    tnd_stream_stage_t fed;    /* as they enter batches; while it is derived, as they are so far */
    tnd_stream_stage_t shown;  /* as steps read them: as fed, but for columns that are cast */
    bool caches;               /* the chain has a cache */
    /*  The last operation so far that makes other rows of a sample in each epoch; NULL: none does. */
    const tnd_part_t *drawn;
    bool frozen;             /* those before the cache make those of epoch 0 in all of them */
    tnd_field_names_t names; /* of the fields of records that are read */
    tnd_adapted_t *adapted;  /* what `auto` options of operations are; NULL: nothing */
    tnd_stream_batch_t batch;
    uint32_t measured; /* a ragged column of `joined`, plus 1: blocks carry its lengths; 0: none */
    bool by_file;      /* each lane has files of its own, by `lane` */
    bool undivided;    /* each lane has all rows */
    bool pieces;       /* of which the first lane books each once */
    uint64_t found;    /* hash of the names of files that a pattern found, of all lanes; 0: none */
    tnd_stream_lane_t lane[TND_LANES_MAX];
    tnd_stream_work_t work;
    /*  The most of the readers of any host. */
    uint32_t lists;       /* u64 a row that they write beside the one of which rows */
    size_t copied;        /* bytes a row that they copy; 0: rows are used where they are stored */
    tnd_stream_own_t own; /* of this host; others are not told */
} tnd_stream_t;

/*  Rows [first, first + count) of the source, over and over: `repeat` times an epoch. */
typedef struct {
    uint64_t first, count, repeat;
} tnd_window_t;

/*  The rows that an epoch uses, of the whole source; where lanes have files of their own, of the
 *  files of `lane`.  There `skip` and `take` count rows of the lanes in turn, a row of lane 0, of
 *  lane 1 ...; a lane that has ended is passed over.  Its count is TND_UNKNOWN if the source's is and `take` is not
 *  set; then an epoch may also have fewer rows than `take`. */
tnd_window_t tnd_stream_window(const tnd_stream_t *self, uint32_t lane);

/*  Positions of an epoch: over all lanes, in `lane` (by position: positions p of the whole with p
 *  mod lanes == lane), in the lane that has most.  TND_UNKNOWN. */
uint64_t tnd_stream_positions(const tnd_stream_t *self);
uint64_t tnd_stream_lane_count(const tnd_stream_t *self, uint32_t lane);
uint64_t tnd_stream_lane_most(const tnd_stream_t *self);

/*  The bytes of a position while its block is under way, as read or as made; and the most as made.
 *  Without a budget each counts as the longest. */
tnd_row_bytes_t tnd_stream_row_bytes(const tnd_stream_t *self);
uint64_t tnd_stream_made_max(const tnd_stream_t *self);
/*  The part of ragged columns in it. */
uint64_t tnd_stream_made_ragged(const tnd_stream_t *self);
/*  Both as the rows leave the cache; 0 without one. */
uint64_t tnd_stream_cached_max(const tnd_stream_t *self);
uint64_t tnd_stream_cached_ragged(const tnd_stream_t *self);

/*  Positions that each epoch, and the whole run, will have read, for progress; TND_UNKNOWN. */
uint64_t tnd_stream_epoch(const tnd_stream_t *self);
uint64_t tnd_stream_run(const tnd_stream_t *self);

/*  Takes over what another host says of lanes that this one does not know, and of what readers copy;
 *  they agree. */
void tnd_stream_merge(tnd_stream_t *self, const tnd_stream_t *other);
/*  Takes over what `own` says of the readers of this host. */
void tnd_stream_take_own(tnd_stream_t *self, const tnd_stream_t *own);
/*  Once all `lanes` lanes are known: count and identity of the whole.  False: lane *lane_p is not
 *  known yet. */
bool tnd_stream_settle(tnd_stream_t *self, uint32_t lanes, uint32_t *lane_p);

/*  The facts (chain, count, identity, the schema as read) as lines of a note. */
void tnd_stream_write(const tnd_stream_t *self, FILE *out);
/*  Takes one such line: "stream ..." begins, each "column ...", "ragged ...", "lane ..." and "name ..."
 *  adds one, "files ..." says that lanes have files of their own. */
tnd_status_t tnd_stream_read(tnd_stream_t *self, const char *line, tnd_error_t *error) TND_CHECKED;
/*  What `auto` options are is sent before, in parts because messages between hosts are limited. */
typedef struct {
    char *text;
    size_t size, at;
} tnd_adapted_parts_t;

void tnd_stream_begin_adapted(tnd_adapted_parts_t *self, const tnd_adapted_t *adapted);
/*  The next part; NULL after the last, which frees the parts. */
tnd_buffer_t *tnd_stream_adapted_part(tnd_adapted_parts_t *self);
bool tnd_stream_is_adapted_part(tnd_buffer_t *note);
/*  Takes the parts in turn; part 0 begins a list.  Errors: TND_FAILED if it is not understood. */
tnd_status_t tnd_stream_take_adapted(tnd_adapted_t **adapted_p, uint64_t number, tnd_buffer_t *note,
                                     tnd_error_t *error) TND_CHECKED;
/*  TND_OK if two hosts see the same data; else the text says how it differs. */
tnd_status_t tnd_stream_agree(const tnd_stream_t *self, const char *self_host,
                              const tnd_stream_t *other, const char *other_host,
                              tnd_error_t *error) TND_CHECKED;

#endif
