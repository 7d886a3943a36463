/*  runtime/interface/source.h - where rows come from: the interface of a source.
 *
 *  One file in actors/source/ and one line in sources.def make a source.  A source declares what it
 *  can do: RANDOM, any row by index; REWINDS, from the start with the same rows; or neither.  What
 *  follows (shuffle, epochs, lanes, retention) is checked from it before the start.
 *
 *  One open source serves all readers of a host; a RANDOM one is const after `open`.
 *
 *  Threads: open and close on one thread at a time, while other sources may be opened beside it;
 *  read and fill on any number at once, of a source that is not RANDOM on one; they may take long
 * (a disk).
 */
#ifndef TND_RUNTIME_INTERFACE_SOURCE_H
#define TND_RUNTIME_INTERFACE_SOURCE_H

#include "runtime/core/access.h"
#include "runtime/data/block.h"
#include "runtime/option/spec.h"

/*  What a reader wants of a source. */
typedef struct {
    uint32_t lane, lanes; /* only the files at places p of the list with p mod lanes == lane, for
                             sources with TND_SOURCE_FILES; 0, 1: all */
    tnd_access_t access;
    tnd_access_pattern_t pattern;
    uint64_t room;     /* bytes that the page cache may use for these files; 0: unknown */
    uint64_t retry_ns; /* transient failures of reads (EIO, ESTALE ...) are retried so long */
    /*  Is told what else is wrong where `open` fails, so that a person sees all at once; NULL:
     *  nobody asks.
     */
    void (*tell)(void *teller, const tnd_error_t *error);
    void *teller;
} tnd_source_scope_t;

/*  One of the files of a source. */
typedef struct {
    const char *path;
    uint64_t size;
    int64_t modified_ns; /* since 1970 */
    uint64_t ends;       /* hash of the first and last 64 KiB */
} tnd_source_file_t;

/*  What a source says of its data once it is open. */
typedef struct {
    tnd_schema_t schema;
    uint64_t count; /* rows; TND_UNKNOWN */
    uint64_t
        identity; /* of the data set: count, sizes, hash of first and last 64 KiB of each file */
    const tnd_source_file_t *files; /* in the order written, until it is closed; NULL: none */
    size_t file_count;
    uint64_t found; /* hash of the names of files that a pattern found; 0: all were written down */
    uint32_t lists; /* lists that `read` writes, each a u64 a row */
    size_t copied;  /* bytes a row that `read` copies to call->room, at most; 0: none */
    size_t loaded;  /* bytes of data that stay in memory until the source is closed */
    uint64_t mapped, read;    /* bytes of files that are used as they are, by way of access */
    uint64_t room;            /* that the page cache may use for them; 0: unknown */
    tnd_access_plan_t access; /* of these files */
} tnd_source_facts_t;

/*  Rows that are asked for.  The caller drops both buffers after the call; a source that keeps one
 *  in the block seals it first.
 */
typedef struct {
    tnd_buffer_t *indices; /* which rows: `count` u64, and room for facts.lists * count more */
    tnd_buffer_t *room;    /* tnd_source_room bytes to write rows to; NULL where that is 0 */
    uint32_t count;
} tnd_source_call_t;

/*  Bytes of call->room: the rows, and slack so that every column can be aligned. */
static inline size_t tnd_source_room(const tnd_source_facts_t *facts, uint32_t count)
{
    return facts->copied == 0 ? 0 : facts->copied * count + (size_t)TND_COLUMNS_MAX * 64;
}

/*  Rows to be filled: row r of column c begins at columns[c].base + r * columns[c].stride. */
typedef struct {
    uint32_t count; /* that there is room for; then, that were filled */
    struct {
        uint8_t *base;
        size_t stride;
        uint64_t *lengths; /* of a ragged column: to be filled too, none above its shape[0] */
    } columns[TND_COLUMNS_MAX];
} tnd_source_rows_t;

/*  Where a row lies. */
typedef struct {
    const char *file;        /* of the source; until it is closed */
    uint64_t record, offset; /* of the file; in bytes */
} tnd_source_place_t;

typedef struct tnd_source {
    const tnd_source_spec_t *spec; /* name, options, help, what it can do */
    size_t state_bytes;

    /*  Opens the data; `options` is the struct that spec->options fill, valid until close.  Fails
     *  with a text that names file and offset.  On failure close is not called.
     */
    tnd_status_t (*open)(void *state, const void *options, const tnd_source_scope_t *scope,
                         tnd_source_facts_t *facts, tnd_error_t *error);
    /*  Makes `block` show rows index[0 ... count), in this order: sets columns, and may keep the
     *  buffers of the call (hold them: block->index, columns[].buffer).  Touches the pages, so that
     *  page faults are waited for here.  Checks what it hands out: a file that shrank is an error
     *  with file and offset, never a signal.  TND_REFUSED: one of these rows could be read and is
     * no record; they are asked for again one by one.  What may be better the next time is
     * TND_FAILED.
     */
    tnd_status_t (*read)(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                         tnd_error_t *error);
    /*  Instead of `read`: writes rows index[0 ... rows->count).  A source that is not RANDOM is
     *  asked for one row after the other; index[0] == 0 is from the start.  TND_END: there are no
     *  more than the rows->count rows that it then says.  TND_REFUSED as above, if RANDOM.
     */
    tnd_status_t (*fill)(void *state, const uint64_t *index, tnd_source_rows_t *rows,
                         tnd_error_t *error);
    /*  How many rows after those that are read the source wants to know of; 0: none, now.  NULL:
     *  never any.
     */
    uint32_t (*ahead_rows)(const void *state);
    /*  Rows index[0 ... count) will be read soon: requests them and returns at once.  Any thread.
     */
    void (*ahead)(void *state, const uint64_t *index, uint32_t count);
    /*  Where row `index` lies, for people; NULL: nowhere in particular. */
    void (*where)(const void *state, uint64_t index, tnd_source_place_t *place);
    void (*close)(void *state);
} tnd_source_t;

#endif
