/*  runtime/interface/source.h - the interface of a source: where rows come from.
 *
 *  One file in actors/source/ and one line in sources.def make a source.  A source declares what it
 *  can do: RANDOM, read any row by index; REWINDS, read the same rows again from the start; or
 *  neither.  Before the start of a run, shuffle, epochs, lanes and retention are checked against
 *  this.
 *
 *  Ownership: one open source serves all readers of a host; a RANDOM one is const after `open`.
 *  Threads: open and close on one thread, while other sources may be opened; read and fill on any
 *  number of threads at once, for a source that is not RANDOM on one.  They may block on a disk. */
#ifndef TND_RUNTIME_INTERFACE_SOURCE_H
#define TND_RUNTIME_INTERFACE_SOURCE_H

#include <limits.h>
#include <stdio.h>

#include "runtime/core/tuning/access.h"
#include "runtime/data/block.h"
#include "runtime/data/field_names.h"
#include "runtime/data/program_array.h"
#include "runtime/option/spec.h"
#include "runtime/text/printable.h"
#include "runtime/tundish/tundish.h"

/*  What a reader needs of a source. */
typedef struct {
    uint32_t lane, lanes; /* a source with TND_SOURCE_FILES opens only the files at places p of the
                             list with p mod lanes == lane; 0, 1: all */
    tnd_access_t access;
    tnd_access_pattern_t pattern;
    uint64_t room;     /* bytes that the page cache may use for these files; 0: unknown */
    uint64_t retry_ns; /* how long transient failures of reads (EIO, ESTALE ...) are retried */
    uint64_t seed;     /* of the run */
    bool skips_bad;    /* a file that cannot be opened may be a bad row instead of an error */
    bool stores_index; /* an index that cannot be stored is an error, and not kept in memory */
    bool unread; /* no row will be read: what is only made to read rows, as a spool, is not made */
    /*  Reports further errors when `open` fails, to show all at once; NULL: they are dropped. */
    void (*tell)(void *teller, const tnd_error_t *error);
    void *teller;
    tnd_source_context_t context; /* for the code of users; with `progress` for every source */
    /*  Names what `open` does, "indexing", and with which file; either may be NULL: as before.  This
     *  does not count as progress.  `reporter` is that of the context.  NULL: it is not shown. */
    void (*doing)(void *reporter, const char *what, const char *file);
    const char *directory;  /* of the topology; NULL: not known */
    const char *python;     /* the interpreter, as the topology says; NULL: it does not */
    uint64_t hung_after_ns; /* 0: not known */
    uint32_t readers;       /* on this host; 0: not known */
    const tnd_program_array_t *arrays; /* all of the program; NULL: none */
    const char *actor;                 /* for which the source is opened */
} tnd_source_scope_t;

/*  Reports progress of `open`, which is not called often: a file, or some MiB, at a time.  `scope`
 *  may be NULL.  Threads: any, until `open` returns. */
static inline void tnd_source_progress(const tnd_source_scope_t *scope, uint64_t done, uint64_t all,
                                       const char *unit)
{
    if (scope != NULL && scope->context.progress != NULL)
        scope->context.progress(scope->context.reporter, done, all, unit);
}

static inline void tnd_source_doing(const tnd_source_scope_t *scope, const char *what,
                                    const char *file)
{
    if (scope != NULL && scope->doing != NULL)
        scope->doing(scope->context.reporter, what, file);
}

typedef enum {
    TND_DATA_FILE,
    TND_DATA_FOLDER, /* of many files: `size` is their sum, `modified_ns` the newest */
    TND_DATA_SOURCE  /* one without files in a source of sources: its name, `size` its rows */
} tnd_source_file_kind_t;

/*  What a checkpoint lists of the data of a source. */
typedef struct {
    tnd_source_file_kind_t kind;
    const char *path;
    uint64_t size;
    int64_t modified_ns; /* since 1970 */
    uint64_t ends;       /* hash of the first and last 64 KiB; of the names and sizes; identity */
    bool program;        /* it makes the rows, which may change while it stays the same */
} tnd_source_file_t;

/*  What an open source reports of its data. */
typedef struct {
    tnd_schema_t schema;
    uint32_t caps;     /* what this source can do: TND_SOURCE_*, those of its spec or fewer */
    uint64_t count;    /* rows; TND_UNKNOWN */
    uint64_t identity; /* of the data: count, sizes, hash of first and last 64 KiB of each file */
    const tnd_source_file_t *files; /* in the order of the options, until close; NULL: none */
    size_t file_count;
    const uint64_t *file_rows; /* rows of each file of the first column, until close; NULL: one */
    uint32_t file_rows_count;
    uint64_t found;           /* hash of the file names that a pattern matched; 0: no pattern */
    const char *const *notes; /* what the user should know of the data, until close */
    size_t note_count;
    const tnd_field_names_t *names; /* of the fields of its records, until close; NULL: unknown */
    const char *const
        *classes; /* what 0, 1, 2 ... of its labels mean, until close; NULL: unknown */
    size_t class_count;
    uint32_t lists;           /* lists that `read` writes, of one u64 per row each */
    size_t copied;            /* the most bytes per row that `read` copies to call->room; 0: none */
    bool allocates;           /* it copies them to memory of its own; call->room is NULL */
    size_t loaded;            /* bytes of data that stay in memory until the source is closed */
    uint64_t mapped, read;    /* bytes of files that are mapped, and that are read */
    uint64_t room;            /* bytes that the page cache may use for them; 0: unknown */
    tnd_access_plan_t access; /* of these files */
} tnd_source_facts_t;

/*  "labels: 0 cat, 1 dog", cut with the number of all if they do not fit `text`. */
static inline const char *tnd_source_classes(const tnd_source_facts_t *facts, char *text,
                                             size_t room)
{
    size_t used = (size_t)snprintf(text, room, "labels: ");
    for (size_t i = 0; i < facts->class_count; i++) {
        int more =
            snprintf(text + used, room - used, "%s%zu %s", i > 0 ? ", " : "", i, facts->classes[i]);
        if (used + (size_t)more + 32 > room) {
            snprintf(text + used, room - used, " ... of %zu", facts->class_count);
            break;
        }
        used += (size_t)more;
    }
    return tnd_printable(text, room); /* names of folders */
}

/*  Rows to be read. The caller drops both buffers after the call; a source that keeps one in the
 *  block seals it first. */
typedef struct {
    tnd_buffer_t *indices; /* `count` u64: which rows; facts.lists * count more; all may be used */
    tnd_buffer_t *room;    /* tnd_source_room bytes to write rows to; NULL where that is 0 */
    uint32_t count;
    bool late; /* rows may be checked where they are used: columns[].check */
} tnd_source_call_t;

/*  Bytes of call->room: the rows, and slack so that every column can be aligned. */
static inline size_t tnd_source_room(const tnd_source_facts_t *facts, uint32_t count)
{
    return facts->copied == 0 || facts->allocates
               ? 0
               : facts->copied * count + (size_t)TND_COLUMNS_MAX * 64;
}

/*  Where a row is stored. */
typedef struct {
    const char *file;        /* of the source; until it is closed */
    uint64_t record, offset; /* of the file; in bytes */
} tnd_source_place_t;

/*  A file of an open source, and the rows in it. */
typedef struct {
    char path[PATH_MAX];
    uint64_t rows;
} tnd_source_rows_t;

/*  The reverse of `where`, for people who know a file and ask for its row.  Of a source that is
 *  RANDOM.  Threads: any. */
typedef struct {
    /*  Files that have rows of their own; those of several columns are all counted. */
    uint64_t (*files)(const void *state);
    void (*file)(const void *state, uint64_t number, tnd_source_rows_t *rows);
    /*  The first row of the source that is, or has, row `record` of a file; TND_UNKNOWN: none is. */
    uint64_t (*row)(const void *state, uint64_t number, uint64_t record);
} tnd_source_locate_t;

typedef struct tnd_source {
    const tnd_source_spec_t *spec; /* name, options, help, what it can do */
    size_t state_bytes;

    /*  Opens the data. `options` is the struct that spec->options fill, valid until close. On
     *  failure close is not called. Errors: TND_FAILED; the text names file and offset. */
    tnd_status_t (*open)(void *state, const void *options, const tnd_source_scope_t *scope,
                         tnd_source_facts_t *facts, tnd_error_t *error);
    /*  Makes `block` show rows index[0 ... count) in this order: sets its columns, and may hold the
     *  buffers of the call (block->index, columns[].buffer). Touches the pages, so that page faults
     *  happen here. Errors: TND_REFUSED if one of the rows can be read but is not a valid record;
     *  the reader then asks for them one by one. TND_FAILED for what a retry may solve, and if a
     *  file shrank, with file and offset; never a signal. */
    tnd_status_t (*read)(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                         tnd_error_t *error);
    /*  Instead of `read`, or beside it, see tnd_source_writes: writes rows index[0 ...
     *  rows->count), with tnd_rows_room those of ragged columns.  A source that is not
     *  RANDOM gets consecutive indices; index[0] == 0 means from the start, and with SEEKS any other
     *  one from there.  Errors: TND_END if the source has only the rows->count rows that it then
     *  sets; TND_REFUSED as above, if RANDOM.  Otherwise TND_REFUSED means that the row after the
     *  rows->count rows that it then sets is not a valid record; the next call continues after it. */
    tnd_status_t (*fill)(void *state, const uint64_t *index, tnd_rows_t *rows, tnd_error_t *error);
    /*  Sets bytes[0 ... count) to the bytes of the ragged columns of these rows, before they are
     *  read, on any thread; 0 for a row that `read` refuses. NULL, TND_AGAIN: not known before.
     *  Errors: as read. */
    tnd_status_t (*sizes)(const void *state, const uint64_t *index, uint32_t count, uint64_t *bytes,
                          tnd_error_t *error);
    /*  How many rows to request ahead of those that are read; 0: none now. NULL: always none. */
    uint32_t (*ahead_rows)(const void *state);
    /*  Requests rows index[0 ... count), to be read soon, and returns at once. Any thread. */
    void (*ahead)(void *state, const uint64_t *index, uint32_t count);
    /*  Where row `index` is stored, for people. NULL: rows have no place. */
    void (*where)(const void *state, uint64_t index, tnd_source_place_t *place);
    const tnd_source_locate_t *locate; /* NULL: its rows are not in files */
    /*  A hash of all bytes of the files in facts.files[place], which is a TND_DATA_FOLDER. NULL: it
     *  lists no folders. Errors: TND_FAILED if one cannot be read, or has another size by now. */
    tnd_status_t (*hash)(const void *state, size_t place, uint64_t hash[2], tnd_error_t *error);
    void (*close)(void *state);
} tnd_source_t;

/*  Whether the rows of an open source are read by `fill`.  One that has `read` too can be either
 *  RANDOM, and is then read by `read`, or not. */
static inline bool tnd_source_writes(const tnd_source_t *source, const tnd_source_facts_t *facts)
{
    return source->fill != NULL && (source->read == NULL || (facts->caps & TND_SOURCE_RANDOM) == 0);
}

#endif
