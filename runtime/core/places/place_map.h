/*  runtime/core/places/place_map.h - one map of an order, and the interface that implements it.
 *
 *  A map makes a sequence of another one: it knows how many positions the result has and which
 *  position of its input each of them is.  A pass is one iteration of a sequence.  An epoch is a
 *  pass of the whole list; a `repeat` makes several passes over its input in each of its own, and a
 *  shuffle that reshuffles draws a new order in each pass.
 *
 *  A new map is one file here, one line in maps.def, one member of the union below and one option
 *  table in actors/reader/order_options.c.
 *
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_CORE_PLACES_PLACE_MAP_H
#define TND_RUNTIME_CORE_PLACES_PLACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  A count without end, and an argument that means "all". */
#define TND_PLACES_ENDLESS UINT64_MAX
/*  The index of a shard that is that of the lane, with as many shards as lanes: 0. */
#define TND_PLACES_OWN_LANE UINT64_C(4294967295)
/*  Parts that rows are divided into, and the sum of their sizes in lowest terms, at most. */
#define TND_PLACES_PARTS_MAX 16
#define TND_PLACES_PARTS_SUM 1000

typedef enum {
#define MAP(NAME, name) TND_PLACE_##NAME,
#include "runtime/core/places/maps.def"
#undef MAP
    TND_PLACE_KINDS
} tnd_place_kind_t;

/*  What a map of a list is told. */
typedef struct {
    tnd_place_kind_t kind;
    union {
        struct {
            uint64_t cycle, block;
        } interleave;
        uint64_t unbatch; /* rows inside a stored row */
        struct {
            uint32_t of[TND_PLACES_PARTS_MAX]; /* sizes of all parts in lowest terms */
            uint32_t parts;                    /* 0: the sizes cannot be used */
            uint32_t chosen;                   /* a bit of each part whose rows are read */
            uint64_t seed;
            /*  By the values of a column: the name of the list of all rows' parts (row_parts.h); 0: by
             *  the number of the row.  Once that is known: how many rows it has, and how many of them
             *  are of the chosen parts. */
            uint64_t list, rows, own;
        } part;
        uint64_t skip, take;
        struct {
            uint64_t times;
            uint64_t group; /* rows that are repeated before the next ones; 0: all */
            bool fused;     /* TensorFlow's shuffle_and_repeat_fusion, its default */
        } repeat;
        struct {
            uint64_t shards, index, rows; /* each shard has `rows` rows in turn */
            bool by_lane;                 /* tnd_places_of_lane sets `shards` and `index` */
        } shard;
        uint64_t global; /* seed */
        struct {
            uint32_t seeds[2]; /* as tnd_places_seeds gives them */
            bool reshuffle;
            uint64_t buffer; /* of `shuffle`, which `files` has too */
        } shuffle, index_shuffle;
        struct {
            uint64_t size, shift, stride;
            bool drop_remainder;
        } window;
    };
} tnd_place_map_t;

typedef struct tnd_row_parts tnd_row_parts_t;

/*  Called from time to time while a shuffle draws positions only to get past them, with how many are
 *  left.  Returns false to end that; what it was to find is then not set. */
typedef bool tnd_place_watch_fn(void *watcher, uint64_t left);
/*  Positions that are drawn between two calls. */
enum { TND_PLACES_WATCHED = 1 << 20 };

/*  One map in use. */
typedef struct tnd_place_stage {
    const struct tnd_place_op *op;
    const tnd_place_map_t *map;
    struct tnd_place_stage *below; /* its input; NULL: the stored rows */
    uint64_t input, count;         /* positions of the input and of the result, of one pass */
    uint64_t wanted;               /* positions that are read in each pass; more than `count` if
                                      the end is read too */
    uint64_t passes;               /* over the input, in each pass over the result */
    const uint64_t *files;         /* of the first maps: rows of each file, and the files */
    uint32_t file_count;
    const struct tnd_row_parts *row_parts; /* of `part` by a list */
    uint64_t unit;                         /* of the first maps: rows inside a stored row */
    uint64_t drawn;                        /* by a shuffle, in all */
    tnd_place_watch_fn *watch;             /* NULL: none */
    void *watcher;
    void *state;
} tnd_place_stage_t;

/*  Rules for the place of a map in a list. */
enum {
    TND_PLACE_FIRST =
        1, /* first: `files`, `interleave`, `unbatch`, `part`; or `part` before them */
    TND_PLACE_LAST = 2,
    TND_PLACE_WHOLE = 4,     /* its input is finite and has random access */
    TND_PLACE_SEQUENTIAL = 8 /* its result has no random access */
};

typedef struct tnd_place_op {
    const char *name;
    uint32_t rules;
    /*  Positions that it makes of `input` positions, which may be ENDLESS.  NULL: as many. */
    uint64_t (*count)(const tnd_place_map_t *map, uint64_t input);
    /*  `wanted` of its input, for its own.  NULL: all of it, and the end. */
    uint64_t (*demand)(const tnd_place_stage_t *self);
    /*  Bytes of `state`, a multiple of 8.  NULL: none. */
    size_t (*bytes)(const tnd_place_stage_t *self);
    /*  Prepares `state`.  NULL: nothing to do. */
    void (*init)(tnd_place_stage_t *self);
    /*  Replaces positions of the result, which ascend and are of pass `pass`, by places.  NULL:
     *  places.c does. */
    void (*trace)(tnd_place_stage_t *self, uint64_t pass, uint64_t *positions, size_t count);
} tnd_place_op_t;

#define MAP(NAME, name) extern const tnd_place_op_t tnd_place_##name;
#include "runtime/core/places/maps.def"
#undef MAP

/*  Writes "part 1" or "parts 0, 2" for the parts of a set of bits, for people. */
const char *tnd_place_part_text(uint32_t chosen, char text[64]);
/*  The rows [from, to), as they are stored, that are of the chosen parts. */
uint64_t tnd_place_part_rows(const tnd_place_map_t *map, const tnd_row_parts_t *row_parts,
                             uint64_t from, uint64_t to);
/*  Of a stage of `files`: the stored rows of the files in the order of a pass. */
const uint64_t *tnd_place_files_counts(tnd_place_stage_t *self, uint64_t pass);

/*  Replaces positions of the input of `self` by places. */
static inline void tnd_place_below(const tnd_place_stage_t *self, uint64_t pass,
                                   uint64_t *positions, size_t count)
{
    if (self->below != NULL && count > 0)
        self->below->op->trace(self->below, pass, positions, count);
}

#endif
