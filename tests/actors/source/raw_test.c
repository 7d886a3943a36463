/*  Covers actors/source/raw.c: records as NumPy and TensorFlow read them, and files or layouts that
 *  do not fit. */
#include "tests/actors/source/opened.h"

Test(raw, records_that_numpy_wrote_give_its_columns)
{
    static const char *const names[] = {"label", "image", "score"};
    static const struct {
        tnd_source_scope_t scope;
        size_t copied;
        bool ahead;
    } ways[] = {
        {{.access = TND_ACCESS_MAP}, 0, false},
        {{.access = TND_ACCESS_READ}, 56, false},
        /* In any order they are read, not mapped, where the page cache has no room for them ... */
        {{.pattern = TND_PATTERN_ALL, .room = 1}, 56, true},
        {{.pattern = TND_PATTERN_ALL, .room = 1 << 30}, 0, true},
        {{.pattern = TND_PATTERN_FORWARD, .room = 1}, 0, false},
        /* ... unless the user says otherwise. */
        {{.access = TND_ACCESS_MAP, .pattern = TND_PATTERN_ALL, .room = 1}, 0, true},
        {{.access = TND_ACCESS_READ, .pattern = TND_PATTERN_SOME, .room = 1 << 30}, 56, true},
    };
    char folder[64], text[512], path[128];
    uint64_t index[11];
    numpy_folder(folder);
    snprintf(text, sizeof text,
             "source: {raw: {files: \"%s/rec_*.bin\", header: 16B, footer: 3B, record: 56B, "
             "columns: {label: u8, image: \"u8[3, 4,4]\", score: {dtype: f32}}}}",
             folder);
    for (uint64_t i = 0; i < 11; i++)
        index[i] = (5 * i + 3) % 11;
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        opened_t opened;
        tnd_error_t error;
        tnd_source_scope_t scope = ways[way].scope;
        scope.lanes = 1;
        cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
        cr_assert_eq(opened.facts.count, 11);
        cr_assert_eq(opened.facts.copied, ways[way].copied, "%zu", way);
        cr_assert_eq(opened.source->ahead_rows(opened.state) > 0, ways[way].ahead, "%zu", way);
        if (ways[way].ahead)
            opened.source->ahead(opened.state, index, 11);
        tnd_block_t *block = read_rows(&opened, index, 11, &error);
        cr_assert_not_null(block, "%s", error.text);
        for (uint32_t c = 0; c < 3; c++) {
            size_t size;
            snprintf(path, sizeof path, "%s/rec.%s.rows", folder, names[c]);
            char *expected = read_whole(path, &size), *got = malloc(size);
            cr_assert_eq(tnd_block_copy(block, c, 0, 11, got), size);
            cr_assert_eq(memcmp(got, expected, size), 0, "%s", names[c]);
            free(expected), free(got);
        }
        tnd_block_drop(&block);
        close_source(&opened);
    }
    remove_folder(folder);
}

Test(raw, a_footer_as_long_as_a_record_is_not_a_record)
{
    char folder[] = "/tmp/tundish-raw-XXXXXX", text[512], path[64];
    opened_t opened;
    tnd_error_t error;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/f.bin", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (int i = 0; i < 4 + 3 * 4 + 2 * 4; i++)
        putc(i, file);
    cr_assert_eq(fclose(file), 0);
    snprintf(text, sizeof text,
             "source: {raw: {files: \"%s\", header: 4B, footer: 8B, columns: {x: u32}}}", path);
    cr_assert_eq(open_source(&opened, text, &error), TND_OK, "%s", error.text);
    cr_assert_eq(opened.facts.count, 3);
    close_source(&opened);
    remove_folder(folder);
}

/*  The file of one line of the vectors, from its hex digits. */
static size_t write_hex(const char *path, const char *hex)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    size_t size = 0;
    for (unsigned byte; sscanf(hex + 2 * size, "%2x", &byte) == 1; size++)
        putc((int)byte, file);
    cr_assert_eq(fclose(file), 0);
    return size;
}

/*  fixed NAME RECORD HEADER FOOTER FILE,FILE : RECORD ... | error */
Test(raw, gives_the_rows_of_tensorflows_fixed_length_records)
{
    char line[4096], files[2048], path[2][64], text[512], folder[] = "/tmp/tundish-raw-XXXXXX";
    unsigned record, header, footer, cases = 0;
    FILE *vectors = fopen("tests/oracle/fixed.txt", "r");
    cr_assert_not_null(vectors);
    cr_assert_not_null(mkdtemp(folder));
    while (fgets(line, sizeof line, vectors) != NULL) {
        int used = 0;
        if (sscanf(line, "fixed %*s %u %u %u %2047s :%n", &record, &header, &footer, files,
                   &used) != 4 ||
            used == 0)
            continue;
        char *second = strchr(files, ',');
        for (int i = 0; i < 2; i++)
            snprintf(path[i], sizeof path[i], "%s/%d", folder, i);
        write_hex(path[0], files);
        if (second != NULL)
            write_hex(path[1], second + 1);
        snprintf(text, sizeof text,
                 "source: {raw: {files: [%s%s%s], header: %uB, footer: %uB, columns: {x: "
                 "\"u8[%u]\"}}}",
                 path[0], second != NULL ? ", " : "", second != NULL ? path[1] : "", header, footer,
                 record);
        cases++;
        if (strstr(line + used, "error") != NULL) {
            expect_refusal(text, folder);
            continue;
        }
        opened_t opened;
        tnd_error_t error;
        cr_assert_eq(open_source(&opened, text, &error), TND_OK, "%s: %s", line, error.text);
        const char *at = line + used;
        char wanted[256];
        uint64_t row = 0;
        for (int size; sscanf(at, " %255[0-9a-f]%n", wanted, &size) == 1; at += size, row++) {
            tnd_block_t *block = read_rows(&opened, &row, 1, &error);
            cr_assert_not_null(block, "%s: %s", line, error.text);
            const uint8_t *bytes = tnd_block_row(block, 0, 0);
            for (unsigned i = 0; i < record; i++) {
                char digits[3];
                snprintf(digits, sizeof digits, "%02x", bytes[i]);
                cr_assert_eq(memcmp(digits, wanted + 2 * i, 2), 0, "%s", line);
            }
            tnd_block_drop(&block);
        }
        cr_assert_eq(opened.facts.count, row, "%s", line);
        close_source(&opened);
    }
    fclose(vectors);
    remove_folder(folder);
    cr_assert_eq(cases, 8);
}

Test(raw, a_file_with_a_partial_record_is_refused_with_the_arithmetic)
{
    char folder[] = "/tmp/tundish-raw-XXXXXX", path[64], text[512], words[128];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/batch.bin", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (int i = 0; i < 2 * 3073 + 7; i++)
        putc(0, file);
    cr_assert_eq(fclose(file), 0);
    snprintf(text, sizeof text,
             "source: {raw: {files: %s, columns: {label: u8, image: {dtype: u8, shape: [3, 32, "
             "32]}}}}",
             path);
    snprintf(words, sizeof words, "%s|6153 bytes|2 records of 3073 bytes|remainder of 7", path);
    expect_refusal(text, words);
    snprintf(text, sizeof text, "source: {raw: {files: %s, header: 9KiB, columns: {x: u8}}}", path);
    expect_refusal(text, "less than its header of 9216");
    remove_folder(folder);
}

Test(raw, an_invalid_layout_is_refused)
{
    static const char *const cases[][2] = {
        {"{}", "no column"},
        {"{x: u9}", "column `x` needs a type"},
        {"{x: \"u8[3\"}", "column `x` needs a type"},
        {"{x: \"u8[0]\"}", "column `x` needs a type"},
        {"{x: {shape: [3]}}", "column `x` needs `dtype`"},
        {"{x: {dtype: u8, shape: 3}}", "`shape` is a list"},
        {"{x: {dtype: u8, shape: [-1]}}", "numbers from 1 on"},
        {"{x: {dtype: u8, shape: [1099511627776, 1099511627776]}}", "1 TiB"},
        {"{x: {dtype: u8, ofset: 3}}", "no option `ofset`"},
        {"{x: {dtype: u8, offset: far}}", "`offset` is a number of bytes"},
        {"{x: u8, y: {dtype: f64, offset: 4}}", "column `y` ends at byte 12|`record` is 10"},
    };
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "source: {raw: {files: LICENSE, record: 10B, columns: %s}}",
                 cases[i][0]);
        expect_refusal(text, cases[i][1]);
    }
}
