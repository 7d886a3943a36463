/*  tests/fuzz/csv_table_fuzz.c - lines as records of CSV, as `tundish new` looks at them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/new/csv_table.h"

/*  Gives at most `most` lines. */
static void take_lines(tnd_csv_table_t *table, const uint8_t *data, size_t size, size_t most)
{
    for (size_t line = 0; line < most && size > 0; line++) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t length = end != NULL ? (size_t)(end - data) : size;
        uint8_t *exact = malloc(length > 0 ? length : 1); /* a read beyond it is noticed */
        if (exact == NULL)
            abort();
        memcpy(exact, data, length);
        tnd_csv_table_take(table, exact, length);
        free(exact);
        length += end != NULL;
        data += length;
        size -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tnd_csv_table_t *table = tnd_csv_table_new();
    take_lines(table, data, size, TND_CSV_FIRST);
    if (tnd_csv_table_divide(table)) {
        take_lines(table, data, size, SIZE_MAX);
        if (tnd_csv_table_decide(table, 1)) {
            tnd_arena_t *arena = tnd_arena_new();
            char *text = NULL;
            size_t used;
            FILE *out = open_memstream(&text, &used);
            assert(strncmp(tnd_csv_table_source(table, arena, "csv"), "csv", 3) == 0);
            tnd_csv_table_print(table, "record", out);
            fclose(out);
            assert(strstr(text, "decode_csv") != NULL);
            free(text);
            tnd_arena_destroy(&arena);
        }
    }
    tnd_csv_table_free(table);
    return 0;
}
