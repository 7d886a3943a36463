/*  Covers runtime/data/mapping.h: what cannot be mapped is refused with its path, and a file that
 *  shrank is found before the access. */
#include "runtime/data/mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

static char folder[64], path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/tundish-mapping-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rows.bin", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(size_t size)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (size_t i = 0; i < size; i++)
        putc((int)(i * 31 % 251), file);
    cr_assert_eq(fclose(file), 0);
}

TestSuite(mapping, .init = make_folder, .fini = remove_folder);

Test(mapping, shows_the_bytes_of_the_file_while_a_reference_is_held)
{
    enum { SIZE = 200000 };
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;
    write_file(SIZE);

    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK);
    cr_assert_eq(tnd_mapping_size(mapping), SIZE);
    cr_assert_eq(tnd_mapping_check(mapping, &error), TND_OK);
    cr_assert_eq(tnd_mapping_populate(mapping, 0, SIZE, &error), TND_OK);
    cr_assert_eq(tnd_mapping_populate(mapping, SIZE - 1, 1, &error), TND_OK);
    const uint64_t rows[] = {1, 0, (SIZE - 7) / 9000 - 1};
    cr_assert_eq(tnd_mapping_populate_rows(mapping, 7, 9000, rows, 3, &error), TND_OK);
    tnd_buffer_t *buffer = tnd_mapping_buffer(mapping);
    tnd_mapping_destroy(&mapping);

    cr_assert_eq(tnd_buffer_kind(buffer), TND_BUFFER_MAPPED);
    cr_assert_eq(((uint8_t *)tnd_buffer_data(buffer))[SIZE - 1], (SIZE - 1) * 31 % 251);
    tnd_buffer_drop(&buffer);
}

Test(mapping, rows_are_requested_once_where_they_stay_and_always_where_they_do_not)
{
    enum { SIZE = 1 << 20, ROW = 5000 };
    const uint64_t rows[] = {100, 7, 208, 7};
    tnd_error_t error;
    write_file(SIZE);
    for (int fits = 0; fits < 2; fits++) {
        tnd_mapping_t *mapping = NULL;
        cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK);
        tnd_mapping_advise(mapping, TND_PATTERN_ALL, fits == 1);
        cr_assert_eq(tnd_mapping_by_rows(mapping), fits == 0);
        cr_assert(tnd_mapping_ahead(mapping, 100 * ROW, ROW));
        cr_assert_eq(tnd_mapping_ahead(mapping, 100 * ROW, ROW), fits == 0);
        cr_assert_not(tnd_mapping_ahead(mapping, SIZE, 0));
        cr_assert_eq(tnd_mapping_populate_rows(mapping, 0, ROW, rows, 4, &error), TND_OK);
        cr_assert_eq(tnd_mapping_ahead(mapping, 7 * ROW, ROW), fits == 0);
        cr_assert_eq(tnd_mapping_populate(mapping, SIZE - 1, 1, &error), TND_OK);
        cr_assert_eq(tnd_mapping_data(mapping)[208 * ROW], 208 * ROW * 31 % 251);
        tnd_mapping_destroy(&mapping);
    }
}

Test(mapping, a_file_used_from_start_to_end_is_populated)
{
    enum { SIZE = 20 << 20, PIECE = 3 << 20 };
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;
    write_file(SIZE);
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK);
    tnd_mapping_advise(mapping, TND_PATTERN_FORWARD, false);
    cr_assert_not(tnd_mapping_by_rows(mapping));
    for (int epoch = 0; epoch < 2; epoch++)
        for (size_t at = 0; at < SIZE; at += PIECE)
            cr_assert_eq(
                tnd_mapping_populate(mapping, at, at + PIECE < SIZE ? PIECE : SIZE - at, &error),
                TND_OK);
    cr_assert_eq(tnd_mapping_data(mapping)[SIZE - 1], (SIZE - 1) * UINT64_C(31) % 251);
    tnd_mapping_destroy(&mapping);
}

Test(mapping, a_file_that_cannot_be_mapped_is_refused_with_its_path)
{
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;

    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "no such file"));
    cr_assert_eq(strncmp(error.text, path, strlen(path)), 0);

    write_file(0);
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "is empty"));

    cr_assert_eq(tnd_mapping_open(&mapping, folder, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "is a directory"));

    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "not a regular file"));
    cr_assert_null(mapping);
}

Test(mapping, a_file_that_shrank_is_an_error_that_says_where_it_ends)
{
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;
    write_file(300000);
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK);

    cr_assert_eq(truncate(path, 100), 0);

    cr_assert_eq(tnd_mapping_check(mapping, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "shrank while it was mapped"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "300000"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "byte 100;"), "%s", error.text);
    cr_assert_eq(tnd_mapping_populate(mapping, 200000, 10, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "shrank"), "%s", error.text);
    const uint64_t rows[] = {20000};
    cr_assert_eq(tnd_mapping_populate_rows(mapping, 0, 10, rows, 1, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "shrank"), "%s", error.text);
    tnd_mapping_destroy(&mapping);
}
