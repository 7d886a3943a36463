/*  actors/source/columns_spool.h - compressed files of records, kept as .npy files.
 *
 *  A file is decompressed once, to a folder: NAME.KEY.FORMAT.values.npy has the content of its
 *  records, NAME.KEY.FORMAT.splits.npy divides it (stored/splits.h), and NAME.KEY.FORMAT.bad.txt has
 *  a line "RECORD BYTE REASON" for each bad record, whose row is empty, and for bytes after the last.  The source `npy` reads the
 *  first two as a ragged column.  NAME.KEY.FORMAT.hashes.npy has hashes of these three
 *  (stored/chunk_hashes.h), in this order; values are compared when they are first used.  Names and keys
 *  are as those of indexes (file/index_folder.h).
 *
 *  The splits are published last, so what is there is complete.
 *
 *  Threads: different files at once; the others one at a time. */
#ifndef TND_ACTORS_SOURCE_COLUMNS_SPOOL_H
#define TND_ACTORS_SOURCE_COLUMNS_SPOOL_H

#include "actors/source/columns.h"

/*  Prepares for spooling the compressed files of a strand, to `chosen`. */
void tnd_spool_init(tnd_strand_t *strand, const tnd_spool_options_t *chosen);
void tnd_spool_free(tnd_strand_t *strand);

/*  Reads a file from the folder, if it is there.  *there_p: it is, and the strand uses it.
 *  *longest_p: its longest row. */
tnd_status_t tnd_spool_open(tnd_strand_t *strand, size_t file, bool *there_p, uint64_t *longest_p,
                            tnd_error_t *error) TND_CHECKED;

/*  Errors: TND_FAILED if the files that are not there yet would exceed the limit, or the disk has no
 *  room for them. */
tnd_status_t tnd_spool_check(const tnd_strand_t *strand, tnd_error_t *error) TND_CHECKED;
/*  Makes the folder. */
tnd_status_t tnd_spool_make_folder(const tnd_strand_t *strand, tnd_error_t *error) TND_CHECKED;

/*  Spools a file, whose index is open, and reads it from the folder then. */
tnd_status_t tnd_spool_make(tnd_strand_t *strand, size_t file, tnd_error_t *error) TND_CHECKED;

/*  Why a row of a file is bad, and where it is in the content of the compressed file; NULL: it is
 *  not. */
const tnd_lost_row_t *tnd_spool_find(const tnd_strand_t *strand, size_t file, uint64_t row);

/*  Compares the hashes of values [begin, end) of a file that is read from the folder.  Errors: TND_FAILED
 *  if they are not those that were written. */
tnd_status_t tnd_spool_compare(const tnd_strand_t *strand, size_t file, uint64_t begin,
                               uint64_t end, tnd_error_t *error) TND_CHECKED;

/*  Whether a file is read from the folder. */
static inline bool tnd_spool_has(const tnd_strand_t *strand, size_t file)
{
    return strand->spooled != NULL && strand->spooled[file].values != NULL;
}

#endif
