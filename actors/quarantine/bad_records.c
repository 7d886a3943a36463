/*  actors/quarantine/bad_records.c - the bad records of a lane, from arrival to release. */
#include "actors/quarantine/bad_records.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

/*  The first at or after a place. */
static size_t find(const tnd_bad_records_t *self, tnd_position_t place)
{
    size_t at;
    TND_LOWER_BOUND(at, 0, self->count, tnd_position_compare(self->items[at].place, place) < 0);
    return at;
}

static void drop_first(tnd_bad_records_t *self, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(self->items[i].who);
    self->count -= count;
    if (count > 0 && self->count > 0)
        memmove(self->items, self->items + count, self->count * sizeof *self->items);
}

void tnd_bad_records_clear(tnd_bad_records_t *self, tnd_position_t from)
{
    drop_first(self, self->count);
    self->from = from;
}

void tnd_bad_records_free(tnd_bad_records_t *self)
{
    drop_first(self, self->count);
    free(self->items);
    *self = (tnd_bad_records_t){0};
}

static void read_why(tnd_bad_record_t *reject, const char *why)
{
    const char *tab = strchr(why, '\t');
    if (tab != NULL && why[0] >= '0' && why[0] <= '0' + TND_BAD_QUARANTINE) {
        reject->way = (tnd_bad_way_t)(why[0] - '0');
        why++;
    } else {
        tab = NULL;
    }
    reject->who = tnd_copy_string(why);
    size_t at = tab != NULL ? (size_t)(tab - why) : strlen(why);
    reject->what = reject->who + at + (tab != NULL);
    reject->who[at] = '\0';
    for (char *control = reject->what; *control != '\0'; control++)
        if ((unsigned char)*control < ' ')
            *control = ' ';
}

void tnd_bad_records_add(tnd_bad_records_t *self, tnd_position_t place, const char *why,
                         tnd_bad_way_t way)
{
    size_t at = find(self, place);
    bool is_known = at < self->count && tnd_position_compare(self->items[at].place, place) == 0;
    if (is_known || tnd_position_compare(place, self->from) < 0)
        return;
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    memmove(self->items + at + 1, self->items + at, (self->count - at) * sizeof *self->items);
    self->count++;
    self->items[at] = (tnd_bad_record_t){.place = place, .way = way};
    read_why(&self->items[at], why != NULL ? why : "");
}

void tnd_bad_records_note(tnd_bad_records_t *self, const tnd_block_note_t *note, tnd_bad_way_t way)
{
    const char *why = note->why;
    for (uint32_t i = 0; i < note->bad_count; i++) {
        tnd_position_t place = {.epoch = note->epoch, .index = note->first + note->bad[i]};
        tnd_bad_records_add(self, place, why, way);
        if (why != NULL)
            why += strlen(why) + 1;
    }
}

size_t tnd_bad_records_before(const tnd_bad_records_t *self, tnd_position_t to, uint64_t most)
{
    size_t before = find(self, to);
    return before < most ? before : (size_t)most;
}

void tnd_bad_records_remove(tnd_bad_records_t *self, uint64_t count)
{
    size_t some = count < self->count ? (size_t)count : self->count;
    if (some == 0)
        return;
    self->from = self->items[some - 1].place;
    self->from.index++;
    drop_first(self, some);
}

void tnd_bad_records_pass(tnd_bad_records_t *self, tnd_position_t to)
{
    drop_first(self, find(self, to));
    self->from = to;
}
