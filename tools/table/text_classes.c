/*  tools/table/text_classes.c - the different texts of a column, if they are few enough to be classes. */
#include "tools/table/text_classes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/text/number_text.h"
#include "runtime/text/json_string.h"

const char tnd_missing_class[] = "(missing)";

void tnd_text_classes_add(tnd_text_classes_t *self, const char *text)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (strcmp(self->items[i], text) == 0)
            return;
    for (const char *at = text; *at != '\0'; at += tnd_utf8_bytes(at) > 0 ? tnd_utf8_bytes(at) : 1)
        self->foreign = self->foreign || tnd_utf8_bytes(at) == 0;
    if (self->count == TND_TEXT_CLASSES_MAX)
        self->many = true;
    else
        strcpy(self->items[self->count++], text);
}

void tnd_text_classes_remove(tnd_text_classes_t *self, const char *text)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (strcmp(self->items[i], text) == 0) {
            memmove(self->items[i], self->items[--self->count], sizeof self->items[i]);
            return;
        }
    }
}

bool tnd_text_classes_few(const tnd_text_classes_t *self, uint64_t rows)
{
    return !self->many && !self->foreign && self->count > 0 && 2 * self->count <= rows;
}

bool tnd_text_classes_range(const tnd_text_classes_t *self, uint64_t *first_p, uint64_t *last_p)
{
    uint64_t number;
    *first_p = 1;
    *last_p = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        if (!tnd_number_text(TND_U64, self->items[i], strlen(self->items[i]), &number) ||
            number > self->count)
            return false;
        *first_p = number < *first_p ? number : *first_p;
        *last_p = number > *last_p ? number : *last_p;
    }
    return !self->many && self->count > 0 && *last_p - *first_p + 1 == self->count;
}

const char *tnd_text_classes_note(const tnd_text_classes_t *self)
{
    if (self->foreign)
        return "  # bytes: some texts are not UTF-8; iconv converts a file";
    if (self->many)
        return "  # bytes: more texts than are listed here; if they are classes, `lookup` with a "
               "`map` of all numbers them";
    return self->count == 0 ? "  # bytes: always empty"
                            : "  # bytes: texts that differ in most rows";
}

static int by_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

void tnd_text_classes_print(tnd_text_classes_t *self, const char *column, bool missing, FILE *out)
{
    qsort(self->items, self->count, sizeof self->items[0], by_text);
    fprintf(out, "      - {lookup: {column: %s, to: i64, map: {", column);
    for (uint32_t i = 0; i < self->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        tnd_json_string_print(self->items[i], out);
        fprintf(out, ": %" PRIu32, i);
    }
    if (missing)
        fprintf(out, "%s\"%s\": %" PRIu32, self->count > 0 ? ", " : "", tnd_missing_class,
                self->count);
    fputs("}}}\n", out);
}
