/*  Covers runtime/core/numeric/digest.h: against digests of the Python package xxhash
 *  (tests/oracle/digest.txt), and that only rows and ranks count. */
#include "runtime/core/numeric/digest.h"
#include "runtime/core/numeric/vector_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { MOST_BYTES = 8192, MOST_COLUMNS = 4 };

/*  The bytes that tests/oracle/digest.py makes up. */
static void fill(unsigned char *data, size_t bytes, size_t column, size_t row)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i * i / 7 + 13 * i * column + 101 * row + 7 * column + 3);
}

static const char *text_of(const tnd_digest_t *digest)
{
    static char text[TND_DIGEST_TEXT_SIZE];
    tnd_digest_print(digest, text);
    return text;
}

/*  Hashes one line of the file row by row; returns whether it has ragged columns. */
static bool hash_line(char *columns_text, uint64_t first, size_t rows, tnd_digest_t *digest)
{
    static unsigned char data[MOST_COLUMNS][MOST_BYTES];
    tnd_digest_column_t columns[MOST_COLUMNS];
    bool any_ragged = false;
    for (size_t k = 0; k < rows; k++) {
        size_t count = 0;
        char copy[256];
        strcpy(copy, columns_text);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "), count++) {
            char *end;
            size_t bytes = strtoul(word, &end, 10);
            bool ragged = *end == 'r';
            if (ragged)
                bytes = (bytes + 3 * k) % (bytes + 1);
            cr_assert(count < MOST_COLUMNS && bytes <= MOST_BYTES);
            fill(data[count], bytes, count, k);
            columns[count] = (tnd_digest_column_t){data[count], bytes, ragged};
            any_ragged |= ragged;
        }
        tnd_digest_row(digest, first + k, columns, count);
    }
    return any_ragged;
}

/*  Hashes a line without ragged columns from two interleaved stripes a column. */
static void hash_stripes(char *columns_text, uint64_t first, size_t rows, tnd_digest_t *digest)
{
    static unsigned char data[MOST_COLUMNS][64 * (MOST_BYTES + 5)];
    tnd_digest_stripe_t columns[MOST_COLUMNS];
    size_t count = 0;
    for (char *word = strtok(columns_text, " "); word; word = strtok(NULL, " "), count++) {
        size_t bytes = strtoul(word, NULL, 10);
        cr_assert(count < MOST_COLUMNS && bytes <= MOST_BYTES && rows <= 64);
        columns[count] = (tnd_digest_stripe_t){data[count] + 1, bytes + 5, bytes};
        for (size_t k = 0; k < rows; k++)
            fill(data[count] + 1 + k * (bytes + 5), bytes, count, k);
    }
    tnd_digest_rows(digest, first, rows, columns, count);
}

Test(digest, a_row_is_its_columns_chained_from_its_rank)
{
    tnd_digest_t digest = {0, 0};
    const char pixels[] = {1, 2, 3, 4};
    const char label = 9;
    const tnd_digest_column_t row[] = {{pixels, 4, false}, {&label, 1, false}};

    tnd_digest_row(&digest, 0, row, 2);
    tnd_digest_t first = digest;
    tnd_digest_row(&digest, 1, row, 2);

    cr_assert_not(tnd_digest_equal(&digest, &first));
    cr_assert_not(digest.low == 2 * first.low, "the rank must count");
}

Test(digest, python_xxhash_gives_the_same_digests)
{
    FILE *file = fopen("tests/oracle/digest.txt", "r");
    cr_assert_not_null(file);
    char line[256];
    unsigned compared = 0, striped = 0;

    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        unsigned long first, rows;
        int used = 0;
        cr_assert_eq(sscanf(line, "%lu %lu %n", &first, &rows, &used), 2, "%s", line);
        char *colon = strchr(line, ':');
        cr_assert_not_null(colon);
        *colon = '\0';
        char *expected = colon + 2;
        expected[strcspn(expected, "\n")] = '\0';

        tnd_digest_t digest = {0, 0};
        if (!hash_line(line + used, first, rows, &digest)) {
            tnd_digest_t again = {0, 0};
            hash_stripes(line + used, first, rows, &again);
            cr_assert_str_eq(text_of(&again), expected, "stripes of %s", line);
            striped++;
        }
        cr_assert_str_eq(text_of(&digest), expected, "%s", line);
        compared++;
    }
    fclose(file);
    cr_assert(compared >= 15 && striped >= 10 && striped < compared);
}

Test(digest, parts_hashed_elsewhere_and_in_any_order_add_up)
{
    unsigned char rows[64][32];
    for (size_t k = 0; k < 64; k++)
        fill(rows[k], 32, 0, k);
    const tnd_digest_stripe_t stripe = {rows, 32, 32};
    tnd_digest_t whole = {0, 0};
    tnd_digest_rows(&whole, 1000, 64, &stripe, 1);

    tnd_digest_t sum = {0, 0};
    for (size_t start = 0; start < 64; start += 16) {
        tnd_digest_t part = {0, 0};
        for (size_t k = start + 16; k-- > start;) {
            const tnd_digest_column_t column = {rows[k], 32, false};
            tnd_digest_row(&part, 1000 + k, &column, 1);
        }
        tnd_digest_add(&sum, &part);
    }

    cr_assert(tnd_digest_equal(&sum, &whole));
}

Test(digest, the_sum_carries_into_the_high_half)
{
    tnd_digest_t sum = {UINT64_MAX, 1};
    const tnd_digest_t one = {1, UINT64_MAX - 1};

    tnd_digest_add(&sum, &one);

    cr_assert(sum.low == 0 && sum.high == 0);
}

Test(digest, a_ragged_column_says_where_it_ends)
{
    const tnd_digest_column_t ab_c[] = {{"ab", 2, true}, {"c", 1, true}};
    const tnd_digest_column_t a_bc[] = {{"a", 1, true}, {"bc", 2, true}};
    const tnd_digest_column_t fixed[] = {{"ab", 2, false}, {"c", 1, false}};
    tnd_digest_t x = {0, 0}, y = {0, 0}, z = {0, 0};

    tnd_digest_row(&x, 5, ab_c, 2);
    tnd_digest_row(&y, 5, a_bc, 2);
    tnd_digest_row(&z, 5, fixed, 2);

    cr_assert(!tnd_digest_equal(&x, &y) && !tnd_digest_equal(&x, &z));
}

Test(digest, what_is_printed_is_parsed)
{
    const tnd_digest_t digest = {0x0123456789abcdef, 0x00fedcba98765432}, *p = &digest;
    tnd_digest_t parsed;

    cr_assert_str_eq(text_of(p), "00fedcba987654320123456789abcdef");
    cr_assert(tnd_digest_parse(&parsed, "00FEDCBA987654320123456789abcdef"));

    cr_assert(tnd_digest_equal(&parsed, p));
}

Test(digest, anything_but_32_digits_is_refused)
{
    const char *const texts[] = {"",
                                 "0",
                                 "00fedcba987654320123456789abcde",
                                 "00fedcba987654320123456789abcdef0",
                                 "00fedcba987654320123456789abcdeg",
                                 " 0fedcba987654320123456789abcdef"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tnd_digest_t digest = {1, 2};
        cr_assert_not(tnd_digest_parse(&digest, texts[i]), "%s", texts[i]);
        cr_assert(digest.low == 1 && digest.high == 2);
    }
}

Test(digest, every_width_of_vectors_gives_the_same_digest)
{
    static unsigned char data[4 * MOST_BYTES];
    fill(data, sizeof data, 1, 2);
    tnd_digest_rows_fn *const *paths = tnd_digest_paths();
    size_t count = tnd_vector_paths();
    for (size_t bytes = 0; bytes < 3200; bytes = bytes < 300 ? bytes + 1 : bytes + 211) {
        const tnd_digest_stripe_t columns[] = {{data + 1, bytes + 5, bytes}, {data + 64, 8, 8}};
        tnd_digest_t one_by_one = {0, 0};
        for (size_t row = 0; row < 4; row++)
            tnd_digest_row(
                &one_by_one, 9 + row,
                (const tnd_digest_column_t[]){{data + 1 + row * (bytes + 5), bytes, false},
                                              {data + 64 + row * 8, 8, false}},
                2);
        for (size_t p = 0; p < count; p++) {
            tnd_digest_t digest = {0, 0};
            paths[p](&digest, 9, 4, columns, 2);
            cr_assert(tnd_digest_equal(&digest, &one_by_one), "path %zu, rows of %zu bytes", p,
                      bytes);
        }
    }
}
