/*  actors/reader/part_words.c - the parts of all rows by the values of a column, as words. */
#include "actors/reader/part_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/*  Takes a number and the space after it.  Returns false if there is none, or it is above `most`. */
static bool take_number(const char **at_p, uint64_t most, uint64_t *number_p)
{
    char *end;
    if (!isdigit((unsigned char)**at_p))
        return false;
    *number_p = strtoull(*at_p, &end, 10);
    *at_p = end + 1;
    return *end == ' ' && *number_p <= most;
}

/*  Takes the words of values; the text of the rows follows. */
static bool take_values(const tnd_part_words_t *self, const char **at_p)
{
    uint64_t number;
    for (uint32_t v = 0; v < (self->stratified ? self->values : 1); v++) {
        size_t size = self->stratified ? strcspn(*at_p, " ") : 0;
        if (self->stratified && (**at_p != '=' || (*at_p)[size] != ' '))
            return false;
        *at_p += self->stratified ? size + 1 : 0;
        for (uint32_t p = 0; p < self->rows.parts; p++)
            if (!take_number(at_p, TND_ROW_PARTS_MAX, &number))
                return false;
    }
    return true;
}

bool tnd_part_words_read(tnd_part_words_t *self, const char *text)
{
    uint64_t rows, parts, values;
    bool by = strncmp(text, "by ", 3) == 0, stratified = strncmp(text, "stratified ", 11) == 0;
    *self = (tnd_part_words_t){.stratified = stratified};
    const char *at = text + (by ? 3 : 11);
    if (!(by || stratified) || !take_number(&at, TND_ROW_PARTS_MAX, &rows) ||
        !take_number(&at, TND_PLACES_PARTS_MAX, &parts) || parts < 2 ||
        !take_number(&at, stratified ? TND_PART_CLASSES_MAX : TND_ROW_PARTS_MAX, &values))
        return false;
    self->values = (uint32_t)values;
    self->rows = (tnd_row_parts_t){.rows = rows, .parts = (uint32_t)parts};
    self->words = at;
    if (!take_values(self, &at))
        return false;
    self->rows.text = at;
    return tnd_row_parts_check(&self->rows, self->counts);
}

bool tnd_part_words_find(tnd_part_words_t *self, const tnd_stream_t *stream, uint64_t list)
{
    size_t count;
    const tnd_adapted_item_t *item = tnd_adapted_find(stream->adapted, list, &count);
    return count == 1 && tnd_part_words_read(self, item->text);
}

void tnd_part_words_name(const void *name, size_t size, FILE *out)
{
    putc('=', out);
    for (const unsigned char *at = name; at < (const unsigned char *)name + size; at++)
        fprintf(out, *at > ' ' && *at < 127 && *at != '%' ? "%c" : "%%%02x", *at);
}

/*  The rows, or values, of each part; returns what follows them. */
static const char *show_counts(const tnd_part_words_t *self, const char *at, FILE *out)
{
    uint64_t number = 0;
    for (uint32_t p = 0; p < self->rows.parts; p++) {
        (void)take_number(&at, UINT64_MAX, &number);
        fprintf(out, "%s%" PRIu64, p > 0 ? " / " : "", number);
    }
    return at;
}

void tnd_part_words_show(const tnd_part_words_t *self, const char *indent, uint32_t most, FILE *out)
{
    const char *at = self->words;
    if (!self->stratified) {
        fprintf(out, "%s%" PRIu32 " values: ", indent, self->values);
        (void)show_counts(self, at, out);
        putc('\n', out);
        return;
    }
    for (uint32_t v = 0; v < self->values && v < most; v++) {
        int size = (int)strcspn(at + 1, " ");
        fprintf(out, "%s%.*s: ", indent, size, at + 1);
        at = show_counts(self, at + size + 2, out);
        putc('\n', out);
    }
    if (self->values > most)
        fprintf(out, "%s... and %" PRIu32 " more\n", indent, self->values - most);
}

uint64_t tnd_part_words_key(const tnd_order_part_t *part)
{
    const char *column = part->by != NULL ? part->by : part->stratified;
    if (column == NULL)
        return 0;
    const uint64_t facts[] = {part->by != NULL, part->seed, part->of.count};
    uint64_t key = XXH3_64bits_withSeed(facts, sizeof facts, 28);
    key = XXH3_64bits_withSeed(part->of.items, part->of.count * sizeof part->of.items[0], key);
    key = XXH3_64bits_withSeed(column, strlen(column), key);
    return key != 0 ? key : 1;
}
