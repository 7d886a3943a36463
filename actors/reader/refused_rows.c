/*  actors/reader/refused_rows.c - the rows of one ticket that the source refuses. */
#include "actors/reader/refused_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/host/actor.h"

static void add(tnd_refused_rows_t *self, const tnd_actor_t *reader, uint32_t offset,
                const char *what)
{
    const tnd_reader_options_t *options = tnd_actor_options(reader);
    int size = snprintf(self->why + self->why_bytes, TND_BAD_TEXT_MAX, "%d%.63s\t%s",
                        options->on_error, tnd_actor_instance(reader)->actor, what);
    self->why_bytes += size < TND_BAD_TEXT_MAX ? (uint32_t)size + 1 : (uint32_t)TND_BAD_TEXT_MAX;
    self->offsets[self->count++] = offset;
}

/*  Memory for at most `most` rows. */
static void prepare(tnd_refused_rows_t *self, uint32_t most)
{
    self->offsets = tnd_allocate(most, sizeof *self->offsets);
    self->why = tnd_allocate(most, TND_BAD_TEXT_MAX);
}

void tnd_refused_rows_take(tnd_refused_rows_t *self, const tnd_row_reader_t *rows,
                           const tnd_actor_t *reader)
{
    uint32_t count;
    const tnd_stream_refusal_t *refused = tnd_row_reader_refused(rows, &count);
    if (count > 0)
        prepare(self, count);
    for (uint32_t i = 0; i < count; i++)
        add(self, reader, refused[i].offset, refused[i].why);
}

tnd_status_t tnd_refused_rows_read(tnd_refused_rows_t *self, tnd_row_reader_t *rows,
                                   const tnd_actor_t *reader, const tnd_msg_t *ticket,
                                   tnd_block_t *block, tnd_error_t *error)
{
    uint32_t good = 0;
    uint64_t *samples = tnd_allocate(ticket->ticket.count, sizeof *samples);
    prepare(self, ticket->ticket.count);
    tnd_row_reader_samples(rows, ticket->ticket.epoch, ticket->ticket.first, ticket->ticket.count,
                           samples);
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; i < ticket->ticket.count && status == TND_OK; i++) {
        if (tnd_held_has(&ticket->ticket.held, i))
            continue;
        tnd_block_t *row = tnd_row_reader_block(rows);
        tnd_error_t why = {.text = "it is not a valid record"};
        status = tnd_row_reader_read_samples(rows, ticket->ticket.epoch, &samples[i], 1, row, &why);
        tnd_block_drop(&row);
        if (status == TND_OK) {
            samples[good++] = samples[i];
        } else if (status == TND_REFUSED) {
            add(self, reader, i, why.text);
            status = TND_OK;
        } else {
            *error = why;
        }
    }
    if (status == TND_OK && good > 0)
        status =
            tnd_row_reader_read_samples(rows, ticket->ticket.epoch, samples, good, block, error);
    if (status == TND_REFUSED)
        status = tnd_fail(error, "%s: the source refuses rows together, but not one by one",
                          tnd_actor_name(reader));
    free(samples);
    return status;
}

tnd_status_t tnd_refused_rows_fail(const tnd_refused_rows_t *self, tnd_row_reader_t *rows,
                                   const tnd_actor_t *reader, const tnd_msg_t *ticket,
                                   tnd_error_t *error)
{
    tnd_quarantine_place_t place;
    char where[320];
    uint64_t sample;
    tnd_row_reader_samples(rows, ticket->ticket.epoch, ticket->ticket.first + self->offsets[0], 1,
                           &sample);
    tnd_row_reader_place(rows, ticket->ticket.epoch, sample, &place, where, sizeof where);
    return tnd_fail(error,
                    "%s: %s is bad: %.240s; to continue without such records, set `on_error: skip` "
                    "or `quarantine`",
                    tnd_actor_name(reader), where, strchr(self->why, '\t') + 1);
}

void tnd_refused_rows_mark(const tnd_refused_rows_t *self, const tnd_held_t *held,
                           tnd_block_t *block, tnd_block_note_t *note)
{
    note->rows = tnd_held_asked(held, note->count) - self->count;
    size_t offsets = note->count * sizeof(uint32_t);
    block->marks = tnd_buffer_new(offsets + self->why_bytes);
    uint32_t *origin = tnd_buffer_data(block->marks), *bad = origin + note->rows;
    char *why = (char *)(bad + self->count);
    for (uint32_t i = 0, at = 0, row = 0; i < note->count; i++)
        if (at < self->count && self->offsets[at] == i)
            bad[at++] = i;
        else if (!tnd_held_has(held, i))
            origin[row++] = i;
    if (self->count > 0)
        memcpy(why, self->why, self->why_bytes);
    note->origin = origin;
    note->bad = self->count > 0 ? bad : NULL;
    note->bad_count = self->count;
    note->why = self->count > 0 ? why : NULL;
    note->why_bytes = self->why_bytes;
    tnd_buffer_seal(block->marks);
}

void tnd_refused_rows_free(tnd_refused_rows_t *self)
{
    free(self->offsets);
    free(self->why);
}
