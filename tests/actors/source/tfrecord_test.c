/*  Covers the rows of actors/source/tfrecord.c: short records that are read in random order are
 *  copied side by side, other records stay where they are stored, and a bad one is refused by both
 *  ways.  Checksums leave the vector registers as ordinary code expects them. */
#include <isa-l.h>

#include "actors/stored/tfrecord_frames.h"
#include "tests/actors/source/opened.h"

enum { RECORDS = 300, SHORT_BYTES = 100, LONG_BYTES = 3000 };

static char folder[64], path[96], text[256];

static void make_folder(void)
{
    strcpy(folder, "/tmp/tundish-tfrecord-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.tfrecord", folder);
    snprintf(text, sizeof text, "source: {tfrecord: {files: %s, index: beside}}", path);
}

static void drop_folder(void)
{
    remove_folder(folder);
}

TestSuite(tfrecord, .init = make_folder, .fini = drop_folder);

static void write_masked(FILE *out, const void *data, int size)
{
    uint32_t crc = ~crc32_iscsi((unsigned char *)(uintptr_t)data, size, UINT32_MAX);
    crc = (crc >> 15 | crc << 17) + 0xa282ead8U;
    fwrite(data, 1, (size_t)size, out);
    fwrite(&crc, 1, sizeof crc, out);
}

/*  Record r has `bytes` + r % 7 bytes; byte k of it is r * 31 + k. */
static uint64_t length_of(uint64_t record, uint64_t bytes)
{
    return bytes + record % 7;
}

static void save(uint64_t bytes)
{
    uint8_t data[LONG_BYTES + 7];
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    for (uint64_t r = 0; r < RECORDS; r++) {
        const uint64_t length = length_of(r, bytes);
        for (uint64_t k = 0; k < length; k++)
            data[k] = (uint8_t)(r * 31 + k);
        write_masked(out, &length, sizeof length);
        write_masked(out, data, (int)length);
    }
    cr_assert_eq(fclose(out), 0);
}

static void open_in_order(opened_t *opened, tnd_access_pattern_t pattern)
{
    tnd_error_t error;
    tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_MAP, .pattern = pattern};
    cr_assert_eq(open_scope(opened, text, scope, &error), TND_OK, "%s", error.text);
    cr_assert_eq(opened->facts.count, RECORDS);
}

/*  Reads records 0, 7, 14 ... modulo RECORDS, which is each of them once. */
static void expect_rows(opened_t *opened, uint64_t bytes, bool copied)
{
    tnd_error_t error;
    uint64_t index[RECORDS];
    for (uint64_t i = 0; i < RECORDS; i++)
        index[i] = i * 7 % RECORDS;
    tnd_block_t *block = read_rows(opened, index, RECORDS, &error);
    cr_assert_not_null(block, "%s", error.text);
    for (uint32_t i = 0; i < RECORDS; i++) {
        const uint8_t *row = tnd_block_row(block, 0, i);
        cr_assert_eq(block->columns[0].lengths[i], length_of(index[i], bytes));
        for (uint64_t k = 0; k < block->columns[0].lengths[i]; k++)
            cr_assert_eq(row[k], (uint8_t)(index[i] * 31 + k));
    }
    cr_assert_eq(tnd_buffer_kind(block->columns[0].buffer) == TND_BUFFER_MAPPED, !copied);
    tnd_block_drop(&block);
}

Test(tfrecord, short_records_in_random_order_are_copied)
{
    opened_t opened;
    save(SHORT_BYTES);
    open_in_order(&opened, TND_PATTERN_ALL);
    cr_assert_geq(opened.facts.copied, SHORT_BYTES + 6);

    expect_rows(&opened, SHORT_BYTES, true);

    close_source(&opened);
}

Test(tfrecord, records_in_order_and_long_ones_stay_where_they_are_stored)
{
    opened_t opened;
    save(SHORT_BYTES);
    open_in_order(&opened, TND_PATTERN_FORWARD);
    expect_rows(&opened, SHORT_BYTES, false);
    close_source(&opened);

    save(LONG_BYTES);
    open_in_order(&opened, TND_PATTERN_ALL);
    cr_assert_eq(opened.facts.copied, 0);
    expect_rows(&opened, LONG_BYTES, false);
    close_source(&opened);
}

Test(tfrecord, a_damaged_short_record_is_refused)
{
    const uint64_t index[] = {4, 1};
    opened_t opened;
    tnd_error_t error;
    save(SHORT_BYTES);
    FILE *file = fopen(path, "r+");
    cr_assert_not_null(file);
    fseek(file, 20, SEEK_SET); /* in the data of record 0 */
    fputc(0xff, file);
    cr_assert_eq(fclose(file), 0);
    open_in_order(&opened, TND_PATTERN_ALL);

    tnd_block_t *good = read_rows(&opened, index, 2, &error);
    tnd_block_t *bad = read_rows(&opened, (const uint64_t[]){4, 0}, 2, &error);

    cr_assert_not_null(good);
    cr_assert_null(bad);
    cr_assert_str_eq(error.text, "the checksum of its data is wrong");
    tnd_block_drop(&good);
    close_source(&opened);
}

/*  Damages a byte of record `record`, `at` bytes after its beginning. */
static void damage(uint64_t record, uint64_t bytes, uint64_t at)
{
    FILE *file = fopen(path, "r+");
    cr_assert_not_null(file);
    for (uint64_t r = 0; r < record; r++)
        at += length_of(r, bytes) + 16;
    fseek(file, (long)at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, (long)at, SEEK_SET);
    fputc(byte ^ 1, file);
    cr_assert_eq(fclose(file), 0);
}

Test(tfrecord, records_that_are_checked_late_are_not_looked_at_before)
{
    const uint64_t index[] = {2, 250, 7, 100, 3};
    opened_t opened;
    tnd_error_t error;
    char place[160];
    save(LONG_BYTES);
    open_in_order(&opened, TND_PATTERN_ALL);
    damage(100, LONG_BYTES, 500);
    damage(3, LONG_BYTES, 2);

    tnd_block_t *early = read_rows(&opened, index, 5, &error);
    opened.late = true;
    tnd_block_t *block = read_rows(&opened, index, 5, &error);

    cr_assert_null(early);
    cr_assert_not_null(block, "%s", error.text);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(block->columns[0].lengths[i], length_of(index[i], LONG_BYTES));
        cr_assert_eq(((const uint8_t *)tnd_block_row(block, 0, i))[1],
                     (uint8_t)(index[i] * 31 + 1));
    }
    cr_assert_eq(tnd_block_check_rows(block, 0, 3, &error), TND_OK);
    cr_assert_eq(tnd_block_check_rows(block, 2, 2, &error), TND_FAILED);
    snprintf(place, sizeof place, "record 100 of %s, at byte %d is bad: the checksum of its data",
             path, 100 * (LONG_BYTES + 16) + 14 * 21 + 1);
    cr_assert_not_null(strstr(error.text, place), "%s", error.text);
    cr_assert_eq(tnd_block_check_rows(block, 4, 1, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "record 3 of "), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "is bad: the checksum of its length"), "%s", error.text);
    tnd_block_drop(&block);
    close_source(&opened);
}

Test(tfrecord, records_that_are_copied_are_never_checked_late)
{
    opened_t opened;
    tnd_error_t error;
    save(SHORT_BYTES);
    damage(0, SHORT_BYTES, 20);
    open_in_order(&opened, TND_PATTERN_ALL);
    opened.late = true;
    cr_assert_null(read_rows(&opened, (const uint64_t[]){4, 0}, 2, &error));
    close_source(&opened);
}

#if defined(__x86_64__)
#include <cpuid.h>

/*  Whether the processor tells which parts of its vector registers are in use. */
static bool tells_use(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx") && __get_cpuid_count(13, 1, &a, &b, &c, &d) != 0 &&
           (a & 4) != 0;
}

/*  Whether upper halves of the 16 older vector registers are in use. */
__attribute__((target("xsave"))) static bool uses_upper_halves(void)
{
    return (__builtin_ia32_xgetbv(1) & 4) != 0;
}

__attribute__((target("avx"))) static void clear(void)
{
    __builtin_ia32_vzeroupper();
}
#else
static bool tells_use(void)
{
    return false;
}

static bool uses_upper_halves(void)
{
    return false;
}

static void clear(void)
{
}
#endif

Test(tfrecord, a_checksum_leaves_no_upper_halves_in_use)
{
    uint8_t data[1024] = {0};
    if (!tells_use())
        cr_skip_test("the processor does not tell which registers are in use");
    for (size_t size = 8; size <= 1000; size += 31) {
        clear();
        if (uses_upper_halves())
            cr_skip_test("the processor takes them as in use always");
        (void)tnd_tfrecord_data_matches(data, size);
        cr_assert_not(uses_upper_halves(), "after %zu bytes", size);
    }
}
