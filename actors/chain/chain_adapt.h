/*  actors/chain/chain_adapt.h - lets operations with `auto` options learn from rows.
 *
 *  A chain of all operations, of which some are not known yet, gets the rows that come out of those
 *  before the first of these.  It learns, and so do later ones that read only columns that the
 *  operations between pass on, in the same pass.
 *
 *  Threads: that of the chain. */
#ifndef TND_ACTORS_CHAIN_CHAIN_ADAPT_H
#define TND_ACTORS_CHAIN_CHAIN_ADAPT_H

#include "actors/chain/chain.h"

/*  By which an operation finds its values: a hash of its name and options. */
uint64_t tnd_chain_key_of(const tnd_part_t *part);

/*  The first operation whose `auto` options are not known; the number of operations if all are. */
size_t tnd_chain_unknown(const tnd_chain_t *self);
/*  Whether operation `index` learns from the rows before operation `first`. */
bool tnd_chain_learns(const tnd_chain_t *self, size_t first, size_t index);

/*  Gives the rows of a sealed block to all that learn.  Errors: TND_FAILED if row *row_p is bad for
 *  operation *failed_p, unless the chain skips bad rows; the text is the reason. */
tnd_status_t tnd_chain_learn(tnd_chain_t *self, size_t first, const tnd_block_t *rows,
                             uint32_t *row_p, size_t *failed_p, tnd_error_t *error) TND_CHECKED;
/*  Writes what operation `index` has learned, or was opened with. */
tnd_status_t tnd_chain_tell_learned(const tnd_chain_t *self, size_t index, FILE *out,
                                    tnd_error_t *error) TND_CHECKED;

/*  Writes a line for each operation with `auto` options, for people, after `indent`. */
void tnd_chain_show_adapted(const tnd_chain_t *self, const char *indent, FILE *out);

#endif
