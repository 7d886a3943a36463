/*  actors/source/combine/choices.h - which of several sources each row of a combination is of.
 *
 *  Takes a byte per row, and 8 bytes per source and 512 rows.
 *
 *  Threads: one adds; then any. */
#ifndef TND_ACTORS_SOURCE_COMBINE_CHOICES_H
#define TND_ACTORS_SOURCE_COMBINE_CHOICES_H

#include <stddef.h>
#include <stdint.h>

enum { TND_CHOICES_SOURCES_MAX = 255 };

typedef struct {
    uint32_t sources;
    uint8_t *chosen; /* of each row */
    size_t count, room;
    uint64_t *before; /* rows of each source before rows 0, 512, 1024 ... */
    size_t before_room;
    uint64_t rows[TND_CHOICES_SOURCES_MAX]; /* of each source so far */
} tnd_choices_t;

void tnd_choices_init(tnd_choices_t *self, uint32_t sources);
void tnd_choices_add(tnd_choices_t *self, uint32_t source);
/*  The source of row `index`, and which of its rows it is. */
void tnd_choices_find(const tnd_choices_t *self, uint64_t index, uint32_t *source_p,
                      uint64_t *row_p);
size_t tnd_choices_bytes(const tnd_choices_t *self);
/*  Zeroed choices can be freed too. */
void tnd_choices_free(tnd_choices_t *self);

#endif
