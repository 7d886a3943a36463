/*  runtime/data/program_array.h - an array of the program whose rows a reader feeds without a copy.
 *
 *  Ownership: the data belong to the program, and stay valid and unchanged while sessions of the
 *  graph are open.  Threads: const; any. */
#ifndef TND_RUNTIME_DATA_PROGRAM_ARRAY_H
#define TND_RUNTIME_DATA_PROGRAM_ARRAY_H

#include "runtime/base/status.h"
#include "runtime/tundish/types.h"

typedef struct tnd_program_array tnd_program_array_t;
struct tnd_program_array {
    const tnd_program_array_t *next; /* of the graph, in the order of the calls; NULL: none */
    const char *actor;               /* that reads it */
    const char *column;
    tnd_dtype_t dtype;
    uint32_t rank; /* of a row */
    uint64_t shape[TND_RANK_MAX];
    uint64_t rows;
    const void *data;
};

/*  Describes an array of `rank` dimensions, of which the first one counts rows; texts are borrowed.
 *  Errors: TND_FAILED if it is not an array of rows that can be read in place. */
tnd_status_t tnd_program_array_set(tnd_program_array_t *self, const char *actor, const char *column,
                                   tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape,
                                   const void *data, tnd_error_t *error) TND_CHECKED;
/*  The array for this column of an actor; NULL: the program has none. */
const tnd_program_array_t *tnd_program_array_find(const tnd_program_array_t *first,
                                                  const char *actor, const char *column);
/*  Errors: TND_FAILED if the actor has an array of this column already, or one of another length. */
tnd_status_t tnd_program_array_fits(const tnd_program_array_t *self,
                                    const tnd_program_array_t *first,
                                    tnd_error_t *error) TND_CHECKED;

#endif
