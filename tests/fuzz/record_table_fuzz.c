/*  tests/fuzz/record_table_fuzz.c - lines as records of each format, as `tundish new` looks at them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/table/record_table.h"

/*  Gives at most `most` lines. */
static void take_lines(const tnd_record_table_t *format, void *table, const uint8_t *data,
                       size_t size, size_t most)
{
    for (size_t line = 0; line < most && size > 0; line++) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t length = end != NULL ? (size_t)(end - data) : size;
        uint8_t *exact = malloc(length > 0 ? length : 1); /* a read beyond it is noticed */
        if (exact == NULL)
            abort();
        memcpy(exact, data, length);
        const tnd_record_place_t place = {.file = "lines", .line = line + 1, .first = line == 0};
        format->take(table, &place, exact, length);
        free(exact);
        length += end != NULL;
        data += length;
        size -= length;
    }
}

static void look_at(const tnd_record_table_t *format, const uint8_t *data, size_t size)
{
    void *table = format->open();
    take_lines(format, table, data, size, TND_TABLE_FIRST);
    if (format->look(table)) {
        take_lines(format, table, data, size, SIZE_MAX);
        tnd_error_t error;
        if (format->decide(table, 1, &error) == TND_OK) {
            tnd_arena_t *arena = tnd_arena_new();
            char *text = NULL;
            size_t used;
            FILE *out = open_memstream(&text, &used);
            assert(strchr(format->options(table, arena), '\n') == NULL);
            assert(*format->describe(table, arena) != '\0');
            format->print(table, "record", out);
            fclose(out);
            assert(strstr(text, ": record\n") != NULL);
            free(text);
            tnd_arena_destroy(&arena);
        }
    }
    char *text = NULL;
    size_t used;
    FILE *out = open_memstream(&text, &used);
    (void)format->misfits(table, out);
    fclose(out);
    free(text);
    format->close(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    look_at(&tnd_csv_table, data, size);
    look_at(&tnd_json_table, data, size);
    look_at(&tnd_text_table, data, size);
    return 0;
}
