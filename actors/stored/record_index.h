/*  actors/stored/record_index.h - where the records of a data file begin, kept in a file beside it
 *  or in a cache.
 *
 *  An index is a .npy file of u64: the offset of each record, and last the offset where the last
 *  record ends, so record i is bytes [index[i], index[i + 1]).  It is built where it is missing,
 *  and published by giving a complete file its name, so a process that is killed leaves nothing
 *  half-written, and two that build the same index end with one.  Its name has a hash of the data
 *  file's size, modification time and first and last 64 KiB; another file, or the same file
 *  changed, has another index.
 *
 *  A comment in its header has a hash of its numbers, which is compared when it is opened.
 *
 *  A finder knows the format.  It walks over the file by a window, in ascending order.
 *
 *  Threads: any; different files at once. */
#ifndef TND_ACTORS_STORED_RECORD_INDEX_H
#define TND_ACTORS_STORED_RECORD_INDEX_H

#include "actors/file/index_folder.h"
#include "actors/stored/record_window.h"
#include "actors/stored/stored.h"

typedef struct tnd_offsets tnd_offsets_t;
/*  Appends an offset; none is below the one before. */
void tnd_offsets_add(tnd_offsets_t *self, uint64_t offset);

typedef struct {
    const char *name; /* of the format, in the names of its indexes */
    bool skips_head;  /* the first record need not begin the file */
    bool line_ends;   /* a record ends with an end of a line, the last one maybe not */
    const void *context;
    /*  Whether a record can be `size` bytes, which begin with data[0 ... have).  `before`: the byte
     *  before it; negative: it begins the file.  `last`: the file ends with it. */
    bool (*fits)(int before, const uint8_t *data, size_t have, uint64_t size, bool last);
    /*  Appends the offset of each record, and then that of the end of the last one: not if the
     *  content ends inside of a record because the file is damaged.  Errors: the file cannot be
     *  read. */
    tnd_status_t (*find)(const void *context, tnd_record_window_t *window, tnd_offsets_t *offsets,
                         tnd_error_t *error);
} tnd_record_finder_t;

/*  What an index shows of a data file. */
typedef struct {
    uint64_t longest; /* bytes of the longest record, without the last byte of its line end */
    bool again;       /* there was one that did not fit; `why` */
    bool in_memory;   /* it could not be stored; `why` */
    tnd_error_t why;
} tnd_record_index_facts_t;

/*  Opens the index of an open data file, and builds it first where there is none that fits.  Of a
 *  compressed file the last number of the index is the size of the content; it is set as
 *  data->rows, and left out of the rows of the opened index.  If the file is damaged, the last record
 *  is what is lost.  An index that cannot be stored is kept in memory, until it is closed.  Errors:
 *  TND_FAILED if the data cannot be read. */
tnd_status_t tnd_record_index_open(tnd_stored_t *index, tnd_stored_t *data,
                                   const tnd_record_finder_t *finder, tnd_index_place_t place,
                                   tnd_record_index_facts_t *facts, tnd_error_t *error) TND_CHECKED;
/*  Closes the index and frees its path. */
void tnd_record_index_close(tnd_stored_t *index);

#endif
