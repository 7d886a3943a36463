/*  tools/new/left_out.h - files and folders that detection does not use, and why.
 *
 *  Ownership: all lives in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_LEFT_OUT_H
#define TND_TOOLS_NEW_LEFT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/text/arena.h"

typedef struct {
    const char *path; /* as the user would write it */
    const char *what; /* what it is, and what the user can do; equal texts are shown together */
    bool fed;         /* the pattern of the source matches it: it is a row, and a bad one */
    bool unreadable;  /* the source cannot open it */
} tnd_left_out_t;

typedef struct {
    tnd_left_out_t *items;
    size_t count;
} tnd_left_out_list_t;

/*  `path` and `what` are borrowed. */
void tnd_left_out_add(tnd_left_out_list_t *self, tnd_arena_t *arena, const tnd_left_out_t *item);

/*  Takes the item at `index` out again. */
void tnd_left_out_remove(tnd_left_out_list_t *self, size_t index);

/*  How many are rows of the source. */
size_t tnd_left_out_fed(const tnd_left_out_list_t *self);

/*  Prints how many there are, and for each reason some of their paths; nothing if there are none.
 *  `prefix` begins each sentence. */
void tnd_left_out_print(const tnd_left_out_list_t *self, const char *prefix, FILE *out);

/*  The same as a JSON array of {"path", "what", "bad_row"}, of at most 100; all are counted. */
void tnd_left_out_print_json(const tnd_left_out_list_t *self, FILE *out);

#endif
