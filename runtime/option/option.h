/*  runtime/option/option.h - options are data: one const table describes them.
 *
 *  Each kind, source and operation has one table.  Parser, errors, help, overlay rule and
 *  fingerprint read it.
 *
 *      typedef struct {
 *          uint64_t size;
 *          int remainder;
 *      } batcher_options_t;
 *
 *      static const tnd_option_t options[] = {
 *          {TND_OPTION(batcher_options_t, size, U64, GRAPH), .unit = "rows", .range = "1..",
 *           .fallback = NULL, .help = "rows of a global batch"},
 *          {TND_OPTION(batcher_options_t, remainder, ENUM, GRAPH), .fallback = "keep",
 *           .choices = "keep|drop|pad", .help = "how the last, smaller batch is treated"},
 *      };
 *
 *  Threads: tables are const; a parsed struct is read-only. */
#ifndef TND_RUNTIME_OPTION_OPTION_H
#define TND_RUNTIME_OPTION_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/text/arena.h"
#include "runtime/text/value.h"

/*  The type of an option, and the C type of the field that it fills. */
typedef enum {
    TND_OPTION_BOOL, /* bool: true, false */
    TND_OPTION_U64,  /* uint64_t, or one of the words in `choices` */
    TND_OPTION_I64,  /* int64_t, or one of the words in `choices` */
    TND_OPTION_F64,  /* double */
    TND_OPTION_F64S, /* tnd_numbers_t: a list of numbers, or one; or the word of `choices`, NULL */
    TND_OPTION_STRING,   /* const char * */
    TND_OPTION_STRINGS,  /* tnd_strings_t: a list of texts, or one */
    TND_OPTION_ENUM,     /* int: the place in `choices`, from 0 */
    TND_OPTION_BYTES,    /* uint64_t bytes: 64MiB, 1.5GB, 100B */
    TND_OPTION_DURATION, /* uint64_t nanoseconds: 10s, 50ms, 2min */
    TND_OPTION_RATE,     /* uint64_t bytes per second: 55GB/s */
    TND_OPTION_EXTENT,   /* tnd_extent_t: "100 rows" or 128KiB */
    TND_OPTION_INTERVAL, /* tnd_interval_t: "500 steps" or 60s */
    TND_OPTION_PERIOD,   /* tnd_period_t: "500 steps" or 1 epoch */
    TND_OPTION_COLUMN,   /* const char *: the name of a column */
    TND_OPTION_COLUMNS,  /* tnd_strings_t: names of columns, or one */
    TND_OPTION_PATH,     /* const char *: of a host; `${data}` is substituted */
    TND_OPTION_PATHS,    /* tnd_strings_t: of a host, or one */
    TND_OPTION_TABLE,    /* const void *: a map with a `table` of its own; its struct */
    TND_OPTION_PART,     /* tnd_part_t: {NAME: {options}}, one of `parts` */
    TND_OPTION_PARTS,    /* tnd_part_list_t: a list of parts */
    TND_OPTION_MAP,      /* const tnd_value_t *: a map, not parsed */
    TND_OPTION_VALUE     /* const tnd_value_t *: any value, not parsed */
} tnd_option_type_t;

/*  What an option changes.  An overlay may change all but GRAPH; only GRAPH is fingerprinted. */
typedef enum {
    TND_ROLE_GRAPH = 1,  /* the stream or what is computed from it */
    TND_ROLE_PLACE = 2,  /* where an actor or host is placed */
    TND_ROLE_SECURE = 4, /* which peers may connect */
    TND_ROLE_TUNE = 8,   /* speed, memory, time-outs */
    TND_ROLE_ALL = 15
} tnd_option_role_t;

/*  What follows if `tundish set` changes an option of role TUNE during a run. */
typedef enum {
    TND_LIVE_NOT,  /* it cannot: the option is read when the run starts */
    TND_LIVE_DEPTH /* a number from 1 on: the leader tells the feeders (core/leader.h) */
} tnd_live_t;

typedef struct tnd_table tnd_table_t;

/*  The index-th table that a PART may name; NULL past the last. */
typedef const tnd_table_t *tnd_parts_fn(size_t index);

/*  Why the parts of a list do not fit each other, and what to do (NULL: no suggestion). */
typedef struct {
    size_t item; /* which; past the last: the list */
    tnd_error_t why;
    const char *help;
} tnd_parts_fault_t;

typedef struct tnd_part_list tnd_part_list_t;
typedef bool tnd_parts_check_fn(const tnd_part_list_t *list, tnd_parts_fault_t *fault);

typedef struct {
    const char *name; /* "*" in the last row: any other key; the field is a tnd_pairs_t */
    tnd_option_type_t type;
    tnd_option_role_t role;
    const char *unit; /* what a number counts, for people: "rows"; for a STRING: "type"; or NULL */
    const char *fallback; /* the default as text; NULL: required; "": none, the field stays zero */
    const char *range;    /* "1..", "0..1", "..64MiB", ends included; NULL: any */
    const char *choices;  /* for an ENUM: "keep|drop"; for a number, its words: "auto=0" */
    const char *example;  /* for a STRING, PATH or PATHS: "${data}/train.npy"; or NULL */
    const char *help;     /* one sentence */
    size_t offset;        /* of the field in the struct */
    tnd_parts_fn *parts;  /* for PART and PARTS */
    const tnd_table_t *table;  /* of a TABLE, and of "*" of type PATHS that takes maps too */
    tnd_parts_check_fn *check; /* for PARTS: false for parts that do not fit; or NULL */
    tnd_live_t live;
} tnd_option_t;

/*  The name, type, role and place of an option with the name of its field, and of another name. */
#define TND_OPTION(struct_type, field, type_name, role_name)                                       \
    TND_OPTION_NAMED(#field, struct_type, field, type_name, role_name)
#define TND_OPTION_NAMED(text, struct_type, field, type_name, role_name)                           \
    .name = (text), .type = TND_OPTION_##type_name, .role = TND_ROLE_##role_name,                  \
    .offset = offsetof(struct_type, field)

/*  Something with options: a kind, a source, an operation. */
struct tnd_table {
    const char *name;
    const char *help; /* one sentence */
    const tnd_option_t *options;
    size_t option_count;
    size_t size;        /* of the struct that parsing fills; 0 without options */
    bool reflects;      /* the struct begins with a pointer to its table */
    const char *scalar; /* the option that a part `{NAME: VALUE}` sets, a scalar or, for PARTS, a
                           list; that a list instead of a TABLE's map sets; NULL: none */
};

/*  The options of a table, and the size of the struct that they fill. */
#define TND_OPTIONS(array, struct_type)                                                            \
    .options = (array), .option_count = sizeof(array) / sizeof((array)[0]),                        \
    .size = sizeof(struct_type)

/*  Rows or bytes, never both; both 0 if the option was not given. */
typedef struct {
    uint64_t rows;
    uint64_t bytes;
} tnd_extent_t;

/*  Steps or nanoseconds, never both; both 0 if the option was not given. */
typedef struct {
    uint64_t steps;
    uint64_t ns;
} tnd_interval_t;

/*  Steps or epochs, never both; both 0 if the option was not given. */
typedef struct {
    uint64_t steps;
    uint64_t epochs;
} tnd_period_t;

typedef struct {
    const char *const *items;
    size_t count;
} tnd_strings_t;

typedef struct {
    const double *items;
    size_t count;
} tnd_numbers_t;

/*  Keys that the table does not name, for an option named "*" of type STRING, PATH, PATHS, COLUMN,
 *  TABLE or VALUE, in the order written.  `text` is the scalar (substituted for a PATH), `texts` the list
 *  of PATHS, `options` the struct of `table` if the value is a map; the others are empty. */
typedef struct {
    const char *name;
    const char *text;
    tnd_strings_t texts;
    const tnd_table_t *table;
    const void *options;
    const tnd_value_t *value;
} tnd_pair_t;

typedef struct {
    const tnd_pair_t *items;
    size_t count;
} tnd_pairs_t;

/*  A part that was chosen by name.  `table` is NULL if none was given. */
typedef struct {
    const tnd_table_t *table;
    const void *options; /* the struct that `table` describes */
    const tnd_value_t *value;
} tnd_part_t;

struct tnd_part_list {
    const tnd_part_t *items;
    size_t count;
};

/*  The option named `name`; never the one named "*". */
const tnd_option_t *tnd_options_find(const tnd_table_t *table, const char *name);

/*  Whether this is the option "*", which takes all keys that its table does not name. */
bool tnd_option_is_any(const tnd_option_t *option);

/*  The option "*" of a table; NULL if it takes no other keys. */
const tnd_option_t *tnd_options_any(const tnd_table_t *table);

/*  The field of the option `name` in a parsed struct; NULL if the table has no such option of that
 *  type or `options` is NULL. */
const void *tnd_options_field(const tnd_table_t *table, const void *options, const char *name,
                              tnd_option_type_t type);

/*  The next of the words in "a|b|c", which ends at the next bar or the end; *text_p moves past it.
 *  Returns its size, 0 at the end. */
size_t tnd_option_choice(const char **text_p, const char **word_p);

/*  The type of the items if the option takes a list, otherwise its own type. */
tnd_option_type_t tnd_option_item(tnd_option_type_t type);

/*  Whether `text` can name an actor, a host or a column: a letter or `_`, then letters, digits, `_`
 *  and `-`, at most 63. */
bool tnd_options_is_name(const char *text);

/*  Whether a byte belongs to a word: a letter, a digit or `_`. */
bool tnd_options_in_word(char byte);

#endif
