/*  Covers runtime/data/mapping.h: what cannot be mapped is refused with its path, and what is promised
 *  of a file that changes while it is mapped, at a cost that does not grow with the rows. */
#include "runtime/data/mapping.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/base/clock.h"

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

/*  Counts the calls of the code that is tested. */
static atomic_uint stat_calls;

int stat(const char *name, struct stat *status)
{
    atomic_fetch_add(&stat_calls, 1);
    return fstatat(AT_FDCWD, name, status, 0);
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

Test(mapping, a_file_without_bytes_is_mapped)
{
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;
    write_file(0);
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK, "%s", error.text);
    cr_assert_eq(tnd_mapping_size(mapping), 0u);
    tnd_mapping_advise(mapping, TND_PATTERN_FORWARD, true);
    cr_assert_eq(tnd_mapping_check(mapping, &error), TND_OK);
    tnd_mapping_destroy(&mapping);
    unlink(path);
}

Test(mapping, a_file_that_cannot_be_mapped_is_refused_with_its_path)
{
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;

    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "no such file"));
    cr_assert_eq(strncmp(error.text, path, strlen(path)), 0);

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

static tnd_mapping_t *open_advised(void)
{
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK);
    tnd_mapping_advise(mapping, TND_PATTERN_ALL, true);
    return mapping;
}

/*  Brings in a row at the start again and again, up to `ms`; the first error, or TND_OK. */
static tnd_status_t bring_for(tnd_mapping_t *mapping, uint64_t ms, tnd_error_t *error)
{
    const tnd_mapping_part_t row = {.mapping = mapping, .offset = 0, .size = 64};
    uint64_t end = tnd_clock_now() + ms * 1000000;
    tnd_status_t status;
    do
        status = tnd_mapping_bring(&row, 1, error);
    while (status == TND_OK && tnd_clock_now() < end);
    return status;
}

/*  Brings in a row until nothing of the file has to be for a while: in the second tick, unless this
 *  thread has to wait. */
static void bring_until_there(tnd_mapping_t *mapping)
{
    tnd_error_t error;
    uint64_t end = tnd_clock_now() + UINT64_C(3000000000);
    bool there = false;
    while (!there && tnd_clock_now() < end) {
        cr_assert_eq(bring_for(mapping, 0, &error), TND_OK);
        there = tnd_mapping_is_there(mapping, tnd_mapping_tick());
    }
    cr_assert(there);
}

/*  `size` bytes of a file of 10,000 are left; the rows that are brought in are not among the lost. */
static void expect_shrunk(off_t size, const char *words)
{
    tnd_error_t error;
    write_file(10000);
    tnd_mapping_t *mapping = open_advised();
    bring_until_there(mapping);
    cr_assert_eq(truncate(path, size), 0);
    cr_assert_eq(bring_for(mapping, 3000, &error), TND_FAILED, "%d bytes are left", (int)size);
    cr_assert_not_null(strstr(error.text, "shrank while it was mapped"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, words), "%s", error.text);
    cr_assert_eq(tnd_mapping_populate_rows(mapping, 0, 64, &(uint64_t){0}, 1, &error), TND_FAILED);
    tnd_mapping_destroy(&mapping);
}

Test(mapping, rows_of_a_file_that_has_lost_other_bytes_are_an_error)
{
    expect_shrunk(9999, "byte 9999;");
    expect_shrunk(8192, "byte 8192;");
    expect_shrunk(8191, "byte 8191;");
    expect_shrunk(100, "byte 100;");
    expect_shrunk(0, "byte 0;");
}

Test(mapping, a_file_that_loses_zeros_only_is_an_error_too)
{
    tnd_error_t error;
    write_file(10000);
    cr_assert_eq(truncate(path, 10100), 0);
    tnd_mapping_t *mapping = open_advised();
    cr_assert_eq(bring_for(mapping, 0, &error), TND_OK);
    cr_assert_eq(truncate(path, 10050), 0);
    cr_assert_eq(bring_for(mapping, 3000, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "10100 bytes and now ends at byte 10050"), "%s",
                       error.text);
    tnd_mapping_destroy(&mapping);
}

Test(mapping, is_there_once_all_of_it_was_brought_in)
{
    enum { SIZE = 200000 }; /* four chunks of 64 KiB, the last of 3,392 bytes */
    tnd_error_t error;
    write_file(SIZE);
    tnd_mapping_t *mapping = open_advised();
    const tnd_mapping_part_t most = {.mapping = mapping, .size = 196608};
    const tnd_mapping_part_t rest = {.mapping = mapping, .offset = 196608, .size = 1};
    uint64_t end = tnd_clock_now() + 20000000;
    do {
        cr_assert_eq(tnd_mapping_bring(&most, 1, &error), TND_OK);
        cr_assert(!tnd_mapping_is_there(mapping, tnd_mapping_tick()));
    } while (tnd_clock_now() < end);
    cr_assert_eq(tnd_mapping_bring(&rest, 1, &error), TND_OK);
    bring_until_there(mapping);
    tnd_mapping_destroy(&mapping);
}

Test(mapping, a_file_that_grows_or_is_replaced_keeps_its_rows)
{
    tnd_error_t error;
    char other[160];
    write_file(10000);
    tnd_mapping_t *mapping = open_advised();
    cr_assert_eq(truncate(path, 20000), 0);
    cr_assert_eq(bring_for(mapping, 50, &error), TND_OK);
    snprintf(other, sizeof other, "%s.old", path);
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(bring_for(mapping, 50, &error), TND_OK);
    write_file(10);
    cr_assert_eq(bring_for(mapping, 1100, &error), TND_OK);
    cr_assert_eq(tnd_mapping_data(mapping)[9999], 9999 * 31 % 251);
    unlink(other);
    tnd_mapping_destroy(&mapping);
}

Test(mapping, a_file_whose_end_is_overwritten_is_an_error)
{
    tnd_error_t error;
    write_file(10000);
    tnd_mapping_t *mapping = open_advised();
    bring_until_there(mapping);
    FILE *file = fopen(path, "r+");
    cr_assert_eq(fseek(file, 9999, SEEK_SET), 0);
    putc(9999 * 31 % 251 + 1, file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(bring_for(mapping, 3000, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "byte 9999 is not what it was"), "%s", error.text);
    tnd_mapping_destroy(&mapping);
}

Test(mapping, many_rows_of_many_files_cost_a_system_call_per_file_and_second)
{
    enum { FILES = 8, ROWS = 100, CALLS = 10000 };
    tnd_mapping_part_t rows[ROWS];
    tnd_mapping_t *mappings[FILES];
    tnd_error_t error;
    write_file(10000);
    for (int i = 0; i < FILES; i++)
        mappings[i] = open_advised();
    for (int i = 0; i < ROWS; i++)
        rows[i] = (tnd_mapping_part_t){
            .mapping = mappings[i % FILES], .offset = (size_t)i * 64, .size = 64};
    uint64_t began = tnd_clock_now();
    stat_calls = 0;
    for (int i = 0; i < CALLS; i++)
        cr_assert_eq(tnd_mapping_bring(rows, ROWS, &error), TND_OK);
    uint64_t seconds = (tnd_clock_now() - began) / 1000000000 + 2;
    cr_assert_geq(stat_calls, FILES);
    cr_assert_leq(stat_calls, FILES * seconds);
    for (int i = 0; i < FILES; i++)
        tnd_mapping_destroy(&mappings[i]);
}
