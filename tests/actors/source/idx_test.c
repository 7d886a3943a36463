/*  Covers actors/source/idx.c: columns from several files, and files that are not
 *  what they should be.  The rows themselves are compared with NumPy's in npy_test.c. */
#include <sys/stat.h>

#include <zlib.h>

#include "tests/actors/source/opened.h"

static char folder[64], images[128], labels[128], both[512], alone[256];

static void make_paths(void)
{
    strcpy(folder, "/tmp/tundish-idx-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(images, sizeof images, "%s/images", folder);
    snprintf(labels, sizeof labels, "%s/labels", folder);
    snprintf(both, sizeof both, "source: {idx: {image: \"%s\", label: \"%s\"}}", images, labels);
    snprintf(alone, sizeof alone, "source: {idx: {image: \"%s\"}}", images);
}

static void remove_paths(void)
{
    remove_folder(folder);
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/*  `rows` pictures of 2 x 3 bytes that count up; returns the size. */
static size_t picture_bytes(uint8_t *out, uint8_t rows)
{
    const uint8_t header[] = {0, 0, 8, 3, 0, 0, 0, rows, 0, 0, 0, 2, 0, 0, 0, 3};
    memcpy(out, header, sizeof header);
    for (size_t i = 0; i < (size_t)rows * 6; i++)
        out[sizeof header + i] = (uint8_t)i;
    return sizeof header + (size_t)rows * 6;
}

static void write_pictures(uint8_t rows)
{
    uint8_t bytes[2048];
    write_bytes(images, bytes, picture_bytes(bytes, rows));
}

static void write_labels(uint8_t rows)
{
    uint8_t bytes[8 + 256] = {0, 0, 8, 1, 0, 0, 0, rows};
    for (size_t i = 0; i < rows; i++)
        bytes[8 + i] = (uint8_t)(100 + i);
    write_bytes(labels, bytes, 8u + rows);
}

/*  Compresses pictures into a gzip file in memory. */
static size_t compressed_pictures(uint8_t *out, size_t room, uint8_t rows)
{
    uint8_t bytes[2048];
    z_stream stream = {.next_in = bytes, .next_out = out, .avail_out = (uInt)room};
    stream.avail_in = (uInt)picture_bytes(bytes, rows);
    cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t size = room - stream.avail_out;
    deflateEnd(&stream);
    return size;
}

TestSuite(idx, .init = make_paths, .fini = remove_paths);

Test(idx, columns_of_several_files_make_one_row)
{
    static const uint64_t index[] = {4, 1};
    opened_t opened;
    tnd_error_t error;
    char text[128];
    write_pictures(5);
    write_labels(5);

    cr_assert_eq(open_source(&opened, both, &error), TND_OK, "%s", error.text);

    cr_assert_eq(opened.facts.count, 5);
    cr_assert_str_eq(tnd_schema_text(&opened.facts.schema, text, sizeof text),
                     "image u8[2,3], label u8");
    tnd_block_t *block = read_rows(&opened, index, 2, &error);
    cr_assert_not_null(block, "%s", error.text);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 0), 24);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 1, 1), 101);
    tnd_block_drop(&block);
    close_source(&opened);
}

Test(idx, columns_of_different_counts_are_refused_with_both_counts_and_files)
{
    char words[512];
    write_pictures(5);
    write_labels(6);
    snprintf(words, sizeof words, "%s|6 rows|%s|has 5|belong together", labels, images);

    expect_refusal(both, words);
}

Test(idx, the_identity_follows_the_data_and_not_its_place)
{
    opened_t opened;
    tnd_error_t error;
    uint64_t identities[3];
    for (int i = 0; i < 3; i++) {
        write_pictures(i == 2 ? 6 : 5);
        cr_assert_eq(open_source(&opened, alone, &error), TND_OK);
        identities[i] = opened.facts.identity;
        close_source(&opened);
        snprintf(images, sizeof images, "%s/moved", folder);
        snprintf(alone, sizeof alone, "source: {idx: {image: \"%s\"}}", images);
    }
    cr_assert_eq(identities[0], identities[1]);
    cr_assert_neq(identities[0], identities[2]);
}

Test(idx, a_file_that_is_missing_empty_or_a_directory_is_named)
{
    expect_refusal(alone, "no such file");
    write_bytes(images, "", 0);
    expect_refusal(alone, "is empty");
    snprintf(alone, sizeof alone, "source: {idx: {image: \"%s\"}}", folder);
    expect_refusal(alone, "is a directory");
}

Test(idx, a_wrong_header_is_refused_with_its_content)
{
    static const struct {
        uint8_t bytes[16];
        const char *words;
    } cases[] = {
        {{'G', 'I', 'F', '8'}, "not an IDX file|47 49 46 38"},
        {{0, 0, 7, 1}, "byte 2 is 07|0d f32"},
        {{0, 0, 8, 0}, "0 dimensions"},
        {{0, 0, 8, 10}, "10 dimensions"},
        {{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3}, "no elements|dimension 1, at byte 8"},
        {{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "too large"},
        {{0, 0, 8, 1, 0, 0, 0, 7}, "is longer than its rows|7 rows end at byte 15 of 16"},
        {{0, 0, 8, 1, 0, 0, 0, 9}, "is truncated|9 rows should end at byte 17|byte 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_bytes(images, cases[i].bytes, sizeof cases[i].bytes);
        expect_refusal(alone, cases[i].words);
    }
}

Test(idx, a_raw_file_cut_anywhere_is_refused_with_its_end)
{
    uint8_t bytes[2048];
    char words[32];
    size_t size = picture_bytes(bytes, 5);
    for (size_t cut = 1; cut < size; cut++) {
        write_bytes(images, bytes, cut);
        snprintf(words, sizeof words, "is truncated|byte %zu", cut);
        expect_refusal(alone, words);
    }
}

Test(idx, a_compressed_file_cut_anywhere_is_refused)
{
    uint8_t bytes[2048];
    size_t size = compressed_pictures(bytes, sizeof bytes, 200);
    for (size_t cut = 2; cut < size; cut++) {
        write_bytes(images, bytes, cut);
        expect_refusal(alone, "is truncated");
    }
}

/*  Some decoders do not look at bits that no byte of the content depends on. */
Test(idx, a_flipped_bit_in_a_compressed_file_is_refused_or_changes_no_row)
{
    enum { ROWS = 200, HEADER_BYTES = 16 };
    uint8_t bytes[2048], content[2048];
    uint64_t index[ROWS];
    size_t size = compressed_pictures(bytes, sizeof bytes, ROWS), refused = 0;
    size_t rows_size = picture_bytes(content, ROWS) - HEADER_BYTES;
    for (uint64_t i = 0; i < ROWS; i++)
        index[i] = i;
    for (size_t at = 10; at < size; at++) {
        opened_t opened;
        tnd_error_t error;
        bytes[at] ^= 4;
        write_bytes(images, bytes, size);
        if (open_source(&opened, alone, &error) == TND_OK) {
            tnd_block_t *block = read_rows(&opened, index, ROWS, &error);
            cr_assert_arr_eq(block->columns[0].base, content + HEADER_BYTES, rows_size);
            tnd_block_drop(&block);
            close_source(&opened);
        } else {
            cr_assert_not_null(strstr(error.text, images));
            leave_source(&opened);
            refused++;
        }
        bytes[at] ^= 4;
    }
    cr_assert_gt(refused, (size - 10) / 10 * 9);
}

Test(idx, a_wrong_checksum_is_named)
{
    uint8_t bytes[2048];
    size_t size = compressed_pictures(bytes, sizeof bytes, 20);
    bytes[size - 8] ^= 1;
    write_bytes(images, bytes, size);
    expect_refusal(alone, "the gzip stream is damaged (incorrect data check) at byte");
}

/*  Reports of a source that opens. */
typedef struct {
    unsigned count;
    uint64_t done, all;
    const char *unit;
} reports_t;

static void count_report(void *reporter, uint64_t done, uint64_t all, const char *unit)
{
    reports_t *self = reporter;
    *self = (reports_t){self->count + 1, done, all, unit};
}

/*  Writes a compressed file of `rows` pictures of 1 MiB, which is as large as its content; returns its
 *  size. */
static uint64_t write_large(const char *path, uint8_t rows)
{
    const uint8_t header[] = {0, 0, 8, 3, 0, 0, 0, rows, 0, 0, 4, 0, 0, 0, 4, 0};
    static uint8_t row[1 << 20];
    gzFile file = gzopen(path, "wb0");
    cr_assert_eq(gzwrite(file, header, sizeof header), (int)sizeof header);
    for (int i = 0; i < rows; i++)
        cr_assert_eq(gzwrite(file, row, sizeof row), (int)sizeof row);
    cr_assert_eq(gzclose(file), Z_OK);
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    return (uint64_t)status.st_size;
}

static reports_t reports_of(const char *text)
{
    reports_t reports = {0};
    tnd_source_scope_t scope = {.lanes = 1,
                                .context = {.progress = count_report, .reporter = &reports}};
    opened_t opened;
    tnd_error_t error;
    cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
    close_source(&opened);
    return reports;
}

Test(idx, a_large_compressed_file_reports_how_far_it_is_read)
{
    uint64_t size = write_large(images, 80);

    reports_t reports = reports_of(alone);

    cr_assert_geq(reports.count, 20);
    cr_assert_eq(reports.all, size);
    cr_assert_lt(size - reports.done, (uint64_t)4 << 20);
    cr_assert_str_eq(reports.unit, "bytes");
}

Test(idx, of_several_large_files_the_reports_count_files)
{
    char text[512], second[160];
    snprintf(second, sizeof second, "%s2", images);
    snprintf(text, sizeof text, "source: {idx: {image: \"%s*\"}}", images);
    (void)write_large(images, 80);
    (void)write_large(second, 80);

    reports_t reports = reports_of(text);

    cr_assert_geq(reports.count, 40);
    cr_assert_eq(reports.done, 2);
    cr_assert_eq(reports.all, 2);
    cr_assert_str_eq(reports.unit, "files");
}

Test(idx, data_after_the_compressed_data_is_an_error_unless_zero)
{
    opened_t opened;
    tnd_error_t error;
    uint8_t bytes[2048];
    size_t size = compressed_pictures(bytes, sizeof bytes, 20);
    memset(bytes + size, 0, 10);
    write_bytes(images, bytes, size + 10);
    cr_assert_eq(open_source(&opened, alone, &error), TND_OK, "%s", error.text);
    close_source(&opened);

    bytes[size + 9] = 'x';
    write_bytes(images, bytes, size + 10);
    expect_refusal(alone, "is followed by unknown bytes at byte");
}

Test(idx, a_header_larger_than_deflate_can_expand_to_allocates_nothing)
{
    uint8_t content[16] = {0, 0, 8, 3, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 0, 3}, bytes[128];
    z_stream stream = {.next_in = content,
                       .avail_in = sizeof content,
                       .next_out = bytes,
                       .avail_out = sizeof bytes};
    cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    write_bytes(images, bytes, sizeof bytes - stream.avail_out);
    expect_refusal(alone, "is truncated|12884508675 bytes");
}
