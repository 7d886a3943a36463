/*  actors/text/csv_record.c - the fields of a record of CSV. */
#include "actors/text/csv_record.h"

#include <string.h>

uint8_t tnd_csv_delimiter(const char *option)
{
    if (strcmp(option, "tab") == 0 || strcmp(option, "\\t") == 0)
        return '\t';
    if (strcmp(option, "spaces") == 0)
        return TND_CSV_SPACES;
    return strlen(option) == 1 && strchr("\"\r\n", option[0]) == NULL ? (uint8_t)option[0] : 0;
}

size_t tnd_csv_record_size(const uint8_t *text, size_t size, uint8_t delimiter, bool quotes)
{
    tnd_csv_state_t state = TND_CSV_FIELD_START;
    size_t at = 0;
    while (at < size && (state == TND_CSV_QUOTED || (text[at] != '\n' && text[at] != '\r')))
        state = tnd_csv_follow(state, text[at++], delimiter, quotes);
    return at;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static const uint8_t *pass_spaces(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

void tnd_csv_init(tnd_csv_record_t *self, const void *record, size_t size, uint8_t delimiter,
                  bool quotes)
{
    *self = (tnd_csv_record_t){.at = record, .delimiter = delimiter, .quotes = quotes};
    self->end = size > 0 ? self->at + size : self->at;
    if (delimiter != TND_CSV_SPACES)
        return;
    self->at = pass_spaces(self->at, self->end);
    while (self->end > self->at && is_space(self->end[-1]))
        self->end--;
}

/*  Ends a field that is followed by `at`. */
static void finish(tnd_csv_record_t *self, const uint8_t *at)
{
    self->ended = at == self->end;
    self->at = self->ended ? at : at + 1;
    if (self->delimiter == TND_CSV_SPACES)
        self->at = pass_spaces(self->at, self->end);
}

static tnd_status_t next_quoted(tnd_csv_record_t *self, tnd_csv_field_t *field, tnd_error_t *error)
{
    const uint8_t *at = self->at + 1;
    *field = (tnd_csv_field_t){.at = at};
    for (;;) {
        at = at < self->end ? memchr(at, '"', (size_t)(self->end - at)) : NULL;
        if (at == NULL)
            return tnd_fail(error, "the record ends inside of a field in quotes");
        const uint8_t *next = at + 1;
        if (next == self->end || tnd_csv_separates(*next, self->delimiter)) {
            field->size = (size_t)(at - field->at);
            finish(self, next);
            return TND_OK;
        }
        if (*next != '"')
            return tnd_fail(error, "a quote inside of a field in quotes is not doubled");
        field->doubled++;
        at = next + 1;
    }
}

tnd_status_t tnd_csv_next(tnd_csv_record_t *self, tnd_csv_field_t *field, tnd_error_t *error)
{
    if (self->ended)
        return TND_END;
    if (self->quotes && self->at < self->end && *self->at == '"')
        return next_quoted(self, field, error);
    const uint8_t *at = self->at;
    for (; at < self->end && !tnd_csv_separates(*at, self->delimiter); at++) {
        if (*at == '"' && self->quotes)
            return tnd_fail(error, "a field without quotes around it has a quote in it");
        if (*at == '\n' || *at == '\r')
            return tnd_fail(error, "a field without quotes around it has an end of a line in it");
    }
    *field = (tnd_csv_field_t){.at = self->at, .size = (size_t)(at - self->at)};
    finish(self, at);
    return TND_OK;
}

void tnd_csv_copy(const tnd_csv_field_t *field, void *to)
{
    uint8_t *out = to;
    if (field->doubled == 0) {
        if (field->size > 0)
            memcpy(out, field->at, field->size);
        return;
    }
    for (size_t i = 0; i < field->size; i++) {
        *out++ = field->at[i];
        i += field->at[i] == '"';
    }
}
