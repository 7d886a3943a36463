/*  actors/source/combine/combination.h - sources of sources: what the combinators have in common.
 *
 *  A combination is RANDOM if all its sources are: then each row is found by arithmetic and nothing
 *  is copied.  Otherwise it is read from the start, and its rows are copied one by one.
 *
 *  The combinators other than `zip` take each row from one source; they say from which.
 *
 *  Ownership: the sources are open from tnd_combination_open to tnd_combination_close.
 *  Threads: as runtime/interface/source.h. */
#ifndef TND_ACTORS_SOURCE_COMBINE_COMBINATION_H
#define TND_ACTORS_SOURCE_COMBINE_COMBINATION_H

#include "actors/source/combine/choices.h"
#include "actors/source/combine/subsource.h"

typedef struct tnd_combination {
    tnd_subsource_t *sources;
    uint32_t count; /* whose rows are used; a selector follows them */
    uint32_t opened;
    tnd_schema_t schema;
    uint64_t rows; /* TND_UNKNOWN */
    bool random;
    /*  If RANDOM: the source of row `index`, and which of its rows it is. */
    void (*find)(const struct tnd_combination *self, uint64_t index, uint32_t *source_p,
                 uint64_t *row_p);
    /*  The reverse; TND_UNKNOWN if no row is that one.  NULL: all rows are looked at. */
    uint64_t (*reverse)(const struct tnd_combination *self, uint32_t source, uint64_t row);
    /*  If not: the next row; begins again after `rewind`.  TND_END: there is none. */
    void (*rewind)(struct tnd_combination *self);
    tnd_status_t (*next)(struct tnd_combination *self, const tnd_block_t **block_p, uint32_t *row_p,
                         tnd_error_t *error);
    tnd_choices_t choices; /* of `mix` and `choose` */
    const char **notes;    /* of all sources, which own them */
    size_t note_count, note_room;
    tnd_source_file_t *files;
    size_t file_count;
    uint64_t *file_rows;
    uint32_t ahead; /* rows */
} tnd_combination_t;

/*  For the option table of a list of sources: `.check`. */
bool tnd_combination_check(const tnd_part_list_t *list, tnd_parts_fault_t *fault);

/*  Opens the sources of a list, and `selector`, unless NULL, after them; on failure all are closed
 *  again. */
tnd_status_t tnd_combination_open(tnd_combination_t *self, const tnd_part_list_t *list,
                                  const tnd_part_t *selector, const tnd_source_scope_t *scope,
                                  tnd_error_t *error) TND_CHECKED;
void tnd_combination_close(tnd_combination_t *self);
/*  `find` of combinations that note their choices. */
void tnd_combination_find_choice(const tnd_combination_t *self, uint64_t index, uint32_t *source_p,
                                 uint64_t *row_p);

/*  Makes the schema that all sources have; a ragged column is as long as the longest.  Errors:
 *  TND_FAILED if they differ; `about` is the one that does. */
tnd_status_t tnd_combination_same_schema(tnd_combination_t *self, tnd_error_t *error) TND_CHECKED;
/*  Writes the facts from self->schema and self->rows, and lists the files of all sources. */
void tnd_combination_facts(tnd_combination_t *self, const tnd_source_scope_t *scope,
                           tnd_source_facts_t *facts);

/*  Functions of runtime/interface/source.h of a source whose state begins with a tnd_combination_t
 *  and takes each row from one source. */
tnd_status_t tnd_combination_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                                  tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_combination_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                                  tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_combination_sizes(const void *state, const uint64_t *index, uint32_t count,
                                   uint64_t *bytes, tnd_error_t *error) TND_CHECKED;
uint32_t tnd_combination_ahead_rows(const void *state);
void tnd_combination_ahead(void *state, const uint64_t *index, uint32_t count);
void tnd_combination_where(const void *state, uint64_t index, tnd_source_place_t *place);
extern const tnd_source_locate_t tnd_combination_locate;
tnd_status_t tnd_combination_hash(const void *state, size_t place, uint64_t hash[2],
                                  tnd_error_t *error) TND_CHECKED;
void tnd_combination_source_close(void *state);

/*  All of them but the last. */
#define TND_COMBINATION_HOOKS                                                                      \
    .read = tnd_combination_read, .fill = tnd_combination_fill, .sizes = tnd_combination_sizes,    \
    .ahead_rows = tnd_combination_ahead_rows, .ahead = tnd_combination_ahead,                      \
    .where = tnd_combination_where, .locate = &tnd_combination_locate,                             \
    .hash = tnd_combination_hash

#endif
