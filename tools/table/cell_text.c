/*  tools/table/cell_text.c - what the texts of a table may be: numbers, absent ones, names of columns. */
#include "tools/table/cell_text.h"

#include <math.h>
#include <string.h>

#include "actors/text/number_text.h"

const char *const tnd_cell_absent[TND_CELL_ABSENT] = {"NA",   "N/A", "null", "NULL",
                                                      "None", "?",   "-"};

bool tnd_cell_text(const tnd_csv_field_t *field, char text[TND_CLASS_TEXT_MAX])
{
    size_t size = field->size - field->doubled;
    text[0] = '\0';
    if (size >= TND_CLASS_TEXT_MAX ||
        (field->size > 0 && memchr(field->at, '\0', field->size) != NULL))
        return false;
    if (size > 0)
        tnd_csv_copy(field, text);
    text[size] = '\0';
    return true;
}

uint32_t tnd_cell_absence(const char *text)
{
    uint32_t found = 0;
    while (found < TND_CELL_ABSENT && strcmp(text, tnd_cell_absent[found]) != 0)
        found++;
    return found;
}

bool tnd_cell_is_number(const char *text, bool *whole_p, bool *wide_p)
{
    static const int64_t most = INT64_C(1) << 24;
    int64_t whole = 0;
    double number;
    *whole_p = tnd_number_text(TND_I64, text, strlen(text), &whole);
    *wide_p = *whole_p && (whole > most || whole < -most);
    return *whole_p || tnd_number_text(TND_F64, text, strlen(text), &number);
}

bool tnd_cell_is_nan(const char *text)
{
    double number;
    return tnd_number_text(TND_F64, text, strlen(text), &number) && isnan(number);
}

/*  Bytes of what may be beside the digits of a number; 0: none of that. */
static size_t dress_of(const char *at)
{
    static const char *const dress[] = {",", "%", "$", " ", "\u20ac", "\u00a3", "\u00a0"};
    for (size_t i = 0; i < sizeof dress / sizeof dress[0]; i++)
        if (strncmp(at, dress[i], strlen(dress[i])) == 0)
            return strlen(dress[i]);
    return 0;
}

bool tnd_cell_is_dressed(const char *text)
{
    char plain[TND_CLASS_TEXT_MAX];
    size_t used = 0, skipped = 0, commas = 0, apart = 0;
    bool whole, wide;
    for (const char *at = text; *at != '\0' && used + 1 < sizeof plain;) {
        size_t size = dress_of(at);
        commas += *at == ',';
        apart += *at == ',' && strspn(at + 1, "0123456789") != 3;
        skipped += size;
        if (size == 0)
            plain[used++] = *at++;
        at += size;
    }
    plain[used] = '\0';
    return skipped > 0 && used > 0 && (commas < 2 || apart == 0) &&
           tnd_cell_is_number(plain, &whole, &wide);
}

bool tnd_cell_is_year(const char *text)
{
    return strlen(text) == 4 && strspn(text, "0123456789") == 4 && strcmp(text, "1900") >= 0 &&
           strcmp(text, "2100") <= 0;
}

void tnd_number_names_add(tnd_number_names_t *self, const char *text, uint64_t numbers,
                          uint64_t years)
{
    int64_t number = 0;
    bool whole = tnd_number_text(TND_I64, text, strlen(text), &number);
    self->others = self->others || !whole || (self->count > 0 && number <= self->last);
    self->data = self->data || !tnd_cell_is_year(text) || 2 * years >= numbers;
    self->last = number;
    self->count++;
}

bool tnd_number_names_may_be(const tnd_number_names_t *self)
{
    return !self->others;
}

bool tnd_number_names_are(const tnd_number_names_t *self)
{
    return self->count == 0 || (self->count > 1 && !self->others && !self->data);
}
