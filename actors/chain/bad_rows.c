/*  actors/chain/bad_rows.c - the rows of one block that operations fail on. */
#include "actors/chain/bad_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

void tnd_bad_rows_clear(tnd_bad_rows_t *self)
{
    self->count = 0;
    self->why_used = 0;
}

void tnd_bad_rows_free(tnd_bad_rows_t *self)
{
    free(self->offsets);
    free(self->why);
}

void tnd_bad_rows_add(tnd_bad_rows_t *self, uint32_t offset, const char *where, const char *what)
{
    if (self->count > 0 && self->offsets[self->count - 1] == offset)
        return;
    self->offsets = tnd_grow(self->offsets, self->count, &self->room, sizeof *self->offsets);
    self->offsets[self->count++] = offset;
    self->why = tnd_grow(self->why, self->why_used + TND_BAD_TEXT_MAX, &self->why_room, 1);
    int length = snprintf(self->why + self->why_used, TND_BAD_TEXT_MAX, "%s\t%s", where, what);
    self->why_used += length < TND_BAD_TEXT_MAX ? (size_t)length + 1 : TND_BAD_TEXT_MAX;
}

tnd_buffer_t *tnd_bad_rows_merge(const tnd_bad_rows_t *self, tnd_block_note_t *note)
{
    uint32_t own = 0, theirs = 0, count = self->count + note->bad_count;
    const char *own_why = self->why, *their_why = note->why;
    size_t most = self->why_used + note->why_bytes + note->bad_count, used = 0;
    size_t origins = note->origin != NULL ? note->rows : 0;
    tnd_buffer_t *buffer = tnd_buffer_new((origins + count) * sizeof(uint32_t) + most);
    uint32_t *origin = tnd_buffer_data(buffer), *bad = origin + origins;
    char *why = (char *)(bad + count);
    if (origins > 0) {
        memcpy(origin, note->origin, origins * sizeof *origin);
        note->origin = origin;
    }
    for (uint32_t at = 0; at < count; at++) {
        bool is_own = theirs == note->bad_count ||
                      (own < self->count && self->offsets[own] < note->bad[theirs]);
        const char **from = is_own ? &own_why : &their_why;
        bad[at] = is_own ? self->offsets[own++] : note->bad[theirs++];
        size_t size = *from != NULL ? strlen(*from) + 1 : 1;
        memcpy(why + used, *from != NULL ? *from : "", size);
        used += size;
        *from += *from != NULL ? size : 0;
    }
    note->bad = bad;
    note->bad_count = count;
    note->why = why;
    note->why_bytes = (uint32_t)used;
    tnd_buffer_seal(buffer);
    return buffer;
}
