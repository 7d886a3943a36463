/*  tools/events/tap_reader.c - asks a process of this machine for rows that pass its actors. */
#include "tools/events/tap_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"

struct tnd_tap_reader {
    int file;
    uint64_t at; /* offset of the tap */
    tnd_tap_t copy;
};

static uint64_t read_word(const tnd_tap_reader_t *self, size_t offset)
{
    uint64_t word = 0;
    off_t at = (off_t)(self->at + offset);
    return pread(self->file, &word, sizeof word, at) == sizeof word ? word : 0;
}

static void write_part(const tnd_tap_reader_t *self, size_t offset, const void *bytes, size_t size)
{
    /* A process that has just ended does not need it. */
    ssize_t written = pwrite(self->file, bytes, size, (off_t)(self->at + offset));
    (void)written;
}

static void write_word(const tnd_tap_reader_t *self, size_t offset, uint64_t word)
{
    write_part(self, offset, &word, sizeof word);
}

/*  Whether another process has a valid request there. */
static bool is_used(const tnd_tap_reader_t *self)
{
    uint64_t until = read_word(self, offsetof(tnd_tap_t, until_ns)), now = tnd_clock_now();
    return until > now && until - now <= TND_TAP_LEASE_NS &&
           read_word(self, offsetof(tnd_tap_t, inspector)) != (uint64_t)getpid();
}

tnd_status_t tnd_tap_reader_new(tnd_tap_reader_t **self_p, const tnd_inspected_t *process,
                                const char *name, uint64_t every, tnd_error_t *error)
{
    if (process->foreign)
        return tnd_fail(error, "%s: the process is another user's", process->path);
    int file = open(process->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return tnd_fail(error, "%s: %s", process->path, strerror(errno));
    tnd_tap_reader_t *self =
        tnd_allocate_aligned(_Alignof(tnd_tap_reader_t), sizeof(tnd_tap_reader_t));
    self->file = file;
    self->at = process->tap_at;
    if (is_used(self)) {
        (void)tnd_fail(error, "process %d: another tap reads its rows", process->process);
        close(file);
        free(self);
        return TND_FAILED;
    }
    char text[TND_TAP_NAME] = "";
    snprintf(text, sizeof text, "%s", name);
    write_word(self, offsetof(tnd_tap_t, until_ns), 0);
    write_word(self, offsetof(tnd_tap_t, inspector), (uint64_t)getpid());
    write_part(self, offsetof(tnd_tap_t, name), text, sizeof text);
    write_word(self, offsetof(tnd_tap_t, every), every);
    write_word(self, offsetof(tnd_tap_t, taken), read_word(self, offsetof(tnd_tap_t, made)));
    tnd_tap_reader_renew(self);
    *self_p = self;
    return TND_OK;
}

void tnd_tap_reader_destroy(tnd_tap_reader_t **self_p)
{
    tnd_tap_reader_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    write_word(self, offsetof(tnd_tap_t, until_ns), 0);
    close(self->file);
    free(self);
}

void tnd_tap_reader_renew(tnd_tap_reader_t *self)
{
    write_word(self, offsetof(tnd_tap_t, until_ns), tnd_clock_now() + TND_TAP_LEASE_NS);
}

/*  Rebuilds a schema column by column, which checks it. */
static bool bound_schema(tnd_schema_t *schema)
{
    tnd_schema_t checked = {.count = 0};
    tnd_error_t error;
    if (schema->count > TND_COLUMNS_MAX)
        return false;
    for (uint32_t c = 0; c < schema->count; c++) {
        tnd_column_t *column = &schema->columns[c];
        unsigned char ragged;
        memcpy(&ragged, &column->ragged, 1);
        column->name[sizeof column->name - 1] = '\0';
        if ((unsigned)column->dtype >= TND_DTYPE_COUNT || column->rank > TND_RANK_MAX)
            return false;
        tnd_status_t status = ragged != 0 && column->rank > 0
                                  ? tnd_schema_add_ragged(&checked, column->name, column->dtype,
                                                          column->rank, column->shape, &error)
                                  : tnd_schema_add(&checked, column->name, column->dtype,
                                                   column->rank, column->shape, &error);
        if (status != TND_OK)
            return false;
    }
    *schema = checked;
    return true;
}

/*  The bytes of a row that begins `at`; false: it does not end within the copy. */
static bool skip_row(const tnd_tap_t *copy, size_t *at_p)
{
    for (uint32_t c = 0; c < copy->schema.count; c++) {
        const tnd_column_t *column = &copy->schema.columns[c];
        size_t bytes = tnd_column_bytes(column), left = copy->note.bytes - *at_p;
        uint64_t length;
        if (column->ragged) {
            if (left < sizeof length)
                return false;
            memcpy(&length, copy->rows + *at_p, sizeof length);
            if (length > column->shape[0])
                return false;
            *at_p += sizeof length;
            left -= sizeof length;
            bytes = length * tnd_column_unit(column);
        }
        if (bytes > left)
            return false;
        *at_p += bytes;
    }
    return true;
}

bool tnd_tap_bound(tnd_tap_t *copy)
{
    size_t at = 0;
    if (copy->note.bytes > sizeof copy->rows || copy->note.rows > TND_TAP_ROWS ||
        !bound_schema(&copy->schema))
        return false;
    for (uint32_t row = 0; row < copy->note.rows; row++)
        if (!skip_row(copy, &at))
            return false;
    return at == copy->note.bytes;
}

const tnd_tap_t *tnd_tap_reader_take(tnd_tap_reader_t *self)
{
    uint64_t made = read_word(self, offsetof(tnd_tap_t, made));
    if (made == read_word(self, offsetof(tnd_tap_t, taken)))
        return NULL;
    bool whole = pread(self->file, &self->copy, sizeof self->copy, (off_t)self->at) ==
                 (ssize_t)sizeof self->copy;
    write_word(self, offsetof(tnd_tap_t, taken), made);
    return whole && tnd_tap_bound(&self->copy) ? &self->copy : NULL;
}
