/*  actors/chain/chain_adapt.h - lets operations with `auto` options learn from rows.
 *
 *  A chain of all operations, of which some are not known yet, gets rows at some stops of a pass: those
 *  that come out of the operations before the stop.  The first is before the first of these.  An
 *  operation learns at the first stop whose rows have its columns.  It has to wait for another pass
 *  only if what is not known yet changes them.
 *
 *  Threads: that of the chain. */
#ifndef TND_ACTORS_CHAIN_CHAIN_ADAPT_H
#define TND_ACTORS_CHAIN_CHAIN_ADAPT_H

#include "actors/chain/chain.h"

/*  By which an operation finds its values: a hash of its name and options. */
uint64_t tnd_chain_key_of(const tnd_part_t *part);

/*  The first operation whose `auto` options are not known; the number of operations if all are. */
size_t tnd_chain_unknown(const tnd_chain_t *self);

/*  How many operations there are up to the first after which there is a column of this name; more than all of
 *  them: there is never one. */
size_t tnd_chain_makes(const tnd_chain_t *self, const char *column);

/*  Operations before which a pass stops, ascending. */
enum { TND_CHAIN_STOPS_MAX = 4 };
typedef struct {
    size_t count;
    size_t at[TND_CHAIN_STOPS_MAX];
} tnd_chain_stops_t;

/*  The stops of a pass from operation `first` on, which is not known. */
void tnd_chain_find_stops(const tnd_chain_t *self, size_t first, tnd_chain_stops_t *stops);
/*  Whether operation `index` learns in a pass. */
bool tnd_chain_learns(const tnd_chain_t *self, const tnd_chain_stops_t *stops, size_t index);

/*  Gives the rows of a sealed block to all that learn at stop `stop`.  Errors: TND_REFUSED if row *row_p
 *  is bad for operation *failed_p, unless the chain skips bad rows; TND_FAILED if a limit is reached with
 *  it; the text is the reason. */
tnd_status_t tnd_chain_learn(tnd_chain_t *self, const tnd_chain_stops_t *stops, size_t stop,
                             const tnd_block_t *rows, uint32_t *row_p, size_t *failed_p,
                             tnd_error_t *error) TND_CHECKED;
/*  Writes what operation `index` has learned, or was opened with. */
tnd_status_t tnd_chain_tell_learned(const tnd_chain_t *self, size_t index, FILE *out,
                                    tnd_error_t *error) TND_CHECKED;

/*  Writes a line for each operation with `auto` options, for people, after `indent`. */
void tnd_chain_show_adapted(const tnd_chain_t *self, const char *indent, FILE *out);

#endif
