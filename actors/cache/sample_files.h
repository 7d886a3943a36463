/*  actors/cache/sample_files.h - the rows that were made of each sample, in a folder.
 *
 *  The folder has .npy files: NN-NAME.npy for column number NN, or NN-NAME.values.npy and
 *  NN-NAME.splits.npy (stored/splits.h) if it is ragged, with the rows of all samples in any order.
 *  samples.npy has two integers for each sample: its first row, or -1 if it is not stored, and how
 *  many rows it has.  hashes.npy has hashes of all of them (stored/chunk_hashes.h): the index and splits
 *  are compared when the folder is opened, rows when they are first used.  sample_writer.h writes such
 *  a folder.
 *
 *  Files are mapped, and blocks refer to their rows without a copy.
 *
 *  Ownership: blocks may outlive the files; the schema remains the caller's.
 *  Threads: one; the rows of blocks are read by any. */
#ifndef TND_ACTORS_CACHE_SAMPLE_FILES_H
#define TND_ACTORS_CACHE_SAMPLE_FILES_H

#include "runtime/data/block.h"

typedef struct tnd_sample_files tnd_sample_files_t;

/*  Opens a folder of `samples` samples.  Errors: TND_FAILED if a file is missing, damaged, or of
 *  another schema; the text names it. */
tnd_status_t tnd_sample_files_open(tnd_sample_files_t **self_p, const char *folder,
                                   const tnd_schema_t *schema, uint64_t samples,
                                   tnd_error_t *error) TND_CHECKED;
/*  Bytes of the list of `samples` samples. */
uint64_t tnd_sample_files_list_bytes(uint64_t samples);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_sample_files_close(tnd_sample_files_t **self_p);

bool tnd_sample_files_has(const tnd_sample_files_t *self, uint64_t sample);

/*  How many of `count` samples, which are stored, have ragged rows of at most `budget` bytes in all;
 *  *ragged_p: their bytes, or those of the first if not even that one fits.  Errors: TND_FAILED if
 *  a file has changed. */
tnd_status_t tnd_sample_files_fit(const tnd_sample_files_t *self, const uint64_t *samples,
                                  uint32_t *count_p, uint64_t budget, uint64_t *ragged_p,
                                  tnd_error_t *error) TND_CHECKED;
/*  Fills an empty block with the rows of samples that are stored, and brings them into memory.  Sets
 *  rows and origin of its note; origin is NULL if each sample has one row.  Errors: TND_FAILED if the
 *  rows are not those that were written, or cannot be read. */
tnd_status_t tnd_sample_files_fill(tnd_sample_files_t *self, const uint64_t *samples,
                                   uint32_t count, tnd_block_t *block,
                                   tnd_error_t *error) TND_CHECKED;

/*  The path of a file of such a folder, which the caller frees: of a column, with the word that its
 *  name ends in ("values", "splits" or NULL), and of the index. */
char *tnd_sample_files_column(const char *folder, const tnd_schema_t *schema, uint32_t column,
                              const char *part);
char *tnd_sample_files_index(const char *folder);
/*  The path of the hashes (stored/chunk_hashes.h) of the index, and of each column. */
char *tnd_sample_files_hashes(const char *folder);
/*  The type of a row of the index. */
extern const tnd_column_t tnd_sample_files_record;

#endif
