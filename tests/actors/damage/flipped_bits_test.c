/*  Flips random bits in one file of every format, and reads it as a reader and a preprocessor do: what
 *  changes is noticed, by an error, a bad row or a note, as far as the format has something to notice
 *  it by; and nothing crashes or hangs. */
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/folder.h"
#include "runtime/checkpoint/store.h"
#include "tests/actors/damage/formats.h"
#include "tests/actors/op/chain_fixture.h"

enum { FLIPS = 200, FOUND_MOST = 64 };

/*  What is promised of a file with one changed bit. */
typedef enum {
    NOTICED, /* the same rows, or an error, a bad row or a note */
    EXACT,   /* that, and each row that is good is one of the undamaged file */
    KEPT,    /* values may change; fewer rows are noticed */
    LINES,   /* lines may be joined or divided; all bytes are in some row */
    SURVIVED /* no promise: a single row may be anything */
} promise_t;

typedef struct {
    const char *name;
    void (*make)(content_t *self);
    tnd_compression_t compression;
    const char *source; /* its options; %s: the path of the file */
    const char *ops;    /* "": none */
    promise_t promise;
} format_t;

#define EXAMPLE                                                                                    \
    "{parse_example: {features: {x: {dtype: i64, ragged: true, max: 8}, s: {dtype: bytes, max: "   \
    "9}}}}"
#define CSV "{decode_csv: {fields: {a: i64, b: f64, c: string}}}"
#define JSON "{decode_json: {column: line, fields: {n: i64, x: f64, s: string}}}"
#define PICTURE                                                                                    \
    "{decode_image: {column: %s, dtype: u16, max_pixels: 65536, then: [{resize_with_crop_or_pad: " \
    "{size: [9, 9]}}]}}"
#define EACH(NAME, MAKE, SOURCE, OPS, PROMISE)                                                     \
    {NAME, MAKE, TND_COMPRESSION_NONE, SOURCE, OPS, PROMISE},                                      \
        {NAME, MAKE, TND_COMPRESSION_GZIP, SOURCE, OPS, NOTICED},                                  \
        {NAME, MAKE, TND_COMPRESSION_ZLIB, SOURCE, OPS, NOTICED},                                  \
    {                                                                                              \
        NAME, MAKE, TND_COMPRESSION_ZSTD, SOURCE, OPS, NOTICED                                     \
    }

static const format_t formats[] = {
    {"tfrecord", make_records, TND_COMPRESSION_NONE, "tfrecord: {files: %s", "", EXACT},
    {"tfrecord", make_records, TND_COMPRESSION_GZIP, "tfrecord: {files: %s", "", EXACT},
    {"tfrecord", make_records, TND_COMPRESSION_ZLIB, "tfrecord: {files: %s", "", EXACT},
    {"tfrecord", make_records, TND_COMPRESSION_ZSTD, "tfrecord: {files: %s", "", EXACT},
    {"tf.Example", make_examples, TND_COMPRESSION_NONE, "tfrecord: {files: %s", EXAMPLE, EXACT},
    {"tf.Example alone", make_example, TND_COMPRESSION_NONE, "folder: {files: %s, column: record",
     EXAMPLE, SURVIVED},
    {"npy", make_npy, TND_COMPRESSION_NONE, "npy: {x: %s", "", KEPT},
    {"raw", make_raw, TND_COMPRESSION_NONE, "raw: {files: %s, columns: {x: i32}", "", KEPT},
    {"raw", make_raw, TND_COMPRESSION_GZIP, "raw: {files: %s, columns: {x: i32}", "", NOTICED},
    {"tokens", make_raw, TND_COMPRESSION_NONE, "raw: {files: %s, columns: {x: \"u16[2]\"}", "",
     KEPT},
    {"idx", make_idx, TND_COMPRESSION_NONE, "idx: {x: %s", "", KEPT},
    {"idx", make_idx, TND_COMPRESSION_GZIP, "idx: {x: %s", "", NOTICED},
    EACH("text", make_text, "text: {files: %s", "", LINES),
    EACH("csv", make_csv, "csv: {files: %s", "", LINES),
    EACH("csv fields", make_csv, "csv: {files: %s", CSV, KEPT),
    EACH("json lines", make_json, "text: {files: %s", JSON, KEPT),
    {"tar", make_tar, TND_COMPRESSION_NONE, "tar: {files: %s", "", KEPT},
    {"tar", make_tar, TND_COMPRESSION_GZIP, "tar: {files: %s", "", NOTICED},
    {"tar", make_tar, TND_COMPRESSION_ZSTD, "tar: {files: %s", "", NOTICED},
    {"webdataset", make_webdataset, TND_COMPRESSION_NONE, "tar: {files: %s", "PICTURE png", KEPT},
    {"webdataset", make_webdataset, TND_COMPRESSION_GZIP, "tar: {files: %s", "PICTURE png",
     NOTICED},
    {"png", make_png, TND_COMPRESSION_NONE, "folder: {files: %s", "PICTURE file", EXACT},
    {"png of 16 bits", make_deep_png, TND_COMPRESSION_NONE, "folder: {files: %s", "PICTURE file",
     EXACT},
    {"jpeg", make_jpeg, TND_COMPRESSION_NONE, "folder: {files: %s", "PICTURE file", SURVIVED},
    {"folder", make_text, TND_COMPRESSION_NONE, "folder: {files: %s", "", KEPT},
};

/*  What was read of a file. */
typedef struct {
    bool opened;
    uint64_t good, bad, notes, bytes;
    uint64_t rows[FOUND_MOST]; /* a hash of each good one */
} found_t;

static char folder[] = "/dev/shm/tundish-flips-XXXXXX", path[64];

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void end(void)
{
    tnd_folder_remove(folder);
}

TestSuite(flipped_bits, .init = begin, .fini = end);

static void write_at(const char *to, size_t at, const void *bytes, size_t size)
{
    int file = open(to, O_WRONLY | O_CREAT, 0666);
    cr_assert_eq(pwrite(file, bytes, size, (off_t)at), (ssize_t)size, "%s", to);
    close(file);
}

/*  Writes a whole file of a format. */
static void write_file(content_t *file, const format_t *format)
{
    static const char *const endings[] = {"", ".gz", ".zz", ".zst"};
    static content_t plain;
    plain.size = 0;
    format->make(&plain);
    pack(file, &plain, format->compression);
    snprintf(path, sizeof path, "%s/file%s", folder, endings[format->compression]);
    unlink(path);
    write_at(path, 0, file->bytes, file->size);
}

/*  Numbers that a seed determines (xorshift64*). */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/*  ------------------------------------------------------------------------------------- reading */

static void note_row(found_t *found, const tnd_block_t *block, uint32_t row)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t c = 0; c < block->column_count; c++) {
        size_t size = tnd_block_row_bytes(block, c, row);
        const uint8_t *bytes = size > 0 ? tnd_block_row(block, c, row) : NULL;
        for (size_t i = 0; i < size; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
        hash = (hash ^ size) * UINT64_C(0x100000001b3);
        found->bytes += size;
    }
    cr_assert_lt(found->good, (uint64_t)FOUND_MOST);
    found->rows[found->good++] = hash;
}

static void note_rows(found_t *found, const run_t *run, tnd_block_t *block)
{
    tnd_error_t error;
    tnd_block_t *made = block;
    if (run->chain != NULL && tnd_chain_run(run->chain, &plain_key, block, run->block_pool,
                                            run->pool, &made, &error) != TND_OK) {
        found->bad += block->note.rows;
        return;
    }
    found->bad += block->note.rows - made->note.rows;
    for (uint32_t row = 0; row < made->note.rows; row++)
        note_row(found, made, row);
    if (made != block)
        tnd_block_drop(&made);
}

static void read_each(found_t *found, opened_t *opened, const run_t *run)
{
    for (uint64_t row = 0; row < opened->facts.count; row++) {
        tnd_error_t error = {.text = ""};
        tnd_block_t *block = read_rows(opened, &row, 1, &error);
        if (block == NULL) {
            cr_assert_str_not_empty(error.text);
            found->bad++;
            continue;
        }
        block->note.count = 1;
        note_rows(found, run, block);
        tnd_block_drop(&block);
    }
}

static void read_in_order(found_t *found, opened_t *opened, const run_t *run)
{
    uint64_t index[FOUND_MOST];
    uint32_t count = FOUND_MOST, refused;
    bool ended = false;
    tnd_error_t error = {.text = ""};
    for (uint32_t i = 0; i < count; i++)
        index[i] = i;
    tnd_block_t *block = tnd_block_pool_take(opened->block_pool, &opened->facts.schema);
    tnd_status_t status =
        tnd_stream_reader_read(opened->writer, 0, index, &count, block, &ended, &error);
    const tnd_stream_refusal_t *list = tnd_stream_reader_refused(opened->writer, &refused);
    for (uint32_t i = 0; i < refused; i++)
        cr_assert_str_not_empty(list[i].why);
    block->note.count = count;
    block->note.rows = status == TND_OK ? count - refused : 0;
    found->bad += status == TND_OK ? refused : 1;
    tnd_block_seal(block);
    note_rows(found, run, block);
    tnd_block_drop(&block);
}

static void open_ops(run_t *run, const format_t *format, const tnd_schema_t *schema)
{
    char ops[256];
    tnd_error_t error = {.text = ""};
    *run = (run_t){0};
    if (format->ops[0] == '\0')
        return;
    snprintf(ops, sizeof ops, "%s", format->ops);
    if (strncmp(ops, "PICTURE ", 8) == 0)
        snprintf(ops, sizeof ops, PICTURE, format->ops + 8);
    cr_assert_eq(open_chain(run, ops, true, schema, &error), TND_OK, "%s", error.text);
}

/*  Whether columns have been left out because their names were changed. */
static bool has_columns(const format_t *format, const tnd_schema_t *schema)
{
    const char *column = strncmp(format->ops, "PICTURE ", 8) == 0 ? format->ops + 8 : NULL;
    for (uint32_t c = 0; column != NULL && c < schema->count; c++)
        if (strcmp(schema->columns[c].name, column) == 0)
            return true;
    return column == NULL;
}

static found_t read_file(const format_t *format)
{
    char options[256], text[288];
    opened_t opened;
    run_t run;
    found_t found = {0};
    tnd_error_t error = {.text = ""};
    snprintf(options, sizeof options, format->source, path, folder);
    snprintf(text, sizeof text, "source: {%s}}", options);
    if (open_source(&opened, text, &error) != TND_OK) {
        cr_assert_str_not_empty(error.text);
        leave_source(&opened);
        return found;
    }
    found.opened = has_columns(format, &opened.facts.schema);
    found.notes = opened.facts.note_count;
    if (found.opened) {
        open_ops(&run, format, &opened.facts.schema);
        if (opened.writer != NULL)
            read_in_order(&found, &opened, &run);
        else
            read_each(&found, &opened, &run);
        if (run.chain != NULL)
            close_chain(&run);
    }
    close_source(&opened);
    return found;
}

/*  ------------------------------------------------------------------------------------- promises */

static bool is_same(const found_t *was, const found_t *is)
{
    return is->good == was->good && is->bad == was->bad &&
           memcmp(is->rows, was->rows, was->good * sizeof *was->rows) == 0;
}

/*  Whether all good rows are among those of the undamaged file.  Damage of a compressed one can repeat
 *  some. */
static bool are_known(const found_t *was, const found_t *is)
{
    for (uint64_t row = 0; row < is->good; row++) {
        uint64_t at = 0;
        while (at < was->good && was->rows[at] != is->rows[row])
            at++;
        if (at == was->good)
            return false;
    }
    return true;
}

/*  What is wrong; NULL: nothing is. */
static const char *judge(promise_t promise, const found_t *was, const found_t *is, size_t size)
{
    bool told = !is->opened || is->bad > 0 || is->notes > 0;
    if (promise == EXACT && is->opened && !are_known(was, is))
        return "a row has other values";
    if ((promise == NOTICED || promise == EXACT) && !told && !is_same(was, is))
        return "it was not noticed";
    if (promise == KEPT && !told && is->good < was->good)
        return "rows were lost without a word";
    /* The end of a line has one byte or two. */
    if (promise == LINES && !told && is->bytes + 2 * is->good < size)
        return "bytes were lost without a word";
    return NULL;
}

static void flip_bits(const format_t *format, uint64_t seed)
{
    static content_t file;
    write_file(&file, format);
    found_t was = read_file(format);
    cr_assert(was.opened && was.good > 0 && was.bad == 0 && was.notes == 0, "%s", format->name);
    uint64_t state = seed;
    for (unsigned i = 0; i < FLIPS; i++) {
        size_t bit = draw(&state) % (file.size * 8);
        uint8_t byte = file.bytes[bit / 8], changed = byte ^ (uint8_t)(1 << bit % 8);
        write_at(path, bit / 8, &changed, 1);
        found_t is = read_file(format);
        const char *wrong = judge(format->promise, &was, &is, file.size);
        cr_expect_null(wrong, "%s (%s), seed %" PRIu64 ", bit %zu of byte %zu: %s", format->name,
                       tnd_compression_name(format->compression), seed, bit % 8, bit / 8, wrong);
        write_at(path, bit / 8, &byte, 1);
    }
}

Test(flipped_bits, are_noticed_in_files_of_every_format)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        flip_bits(&formats[i], 1 + i);
}

/*  The one file beside the data whose name matches; it must be one. */
static void find_stored(const char *pattern, char to[256])
{
    char all[128];
    glob_t found;
    snprintf(all, sizeof all, "%s/%s", folder, pattern);
    cr_assert_eq(glob(all, 0, NULL, &found), 0, "%s", all);
    cr_assert_eq(found.gl_pathc, 1u, "%s", all);
    snprintf(to, 256, "%s", found.gl_pathv[0]);
    globfree(&found);
}

/*  Flips bits in a file that was stored beside the data.  `same`: it is made again, or has the same
 *  rows; else it loses none without a word. */
static void flip_stored(const format_t *format, const char *pattern, bool same, uint64_t seed)
{
    static content_t file;
    char stored[256];
    size_t size;
    write_file(&file, format);
    found_t was = read_file(format);
    find_stored(pattern, stored);
    uint8_t *bytes = read_whole(stored, &size);
    uint64_t state = seed;
    for (unsigned i = 0; i < FLIPS; i++) {
        size_t bit = draw(&state) % (size * 8);
        uint8_t changed = bytes[bit / 8] ^ (uint8_t)(1 << bit % 8);
        write_at(stored, bit / 8, &changed, 1);
        found_t is = read_file(format);
        const char *wrong = same && (!is.opened || !is_same(&was, &is))
                                ? "other rows"
                                : judge(KEPT, &was, &is, file.size);
        cr_expect_null(wrong, "%s of %s, seed %" PRIu64 ", bit %zu of byte %zu: %s", pattern,
                       format->name, seed, bit % 8, bit / 8, wrong);
        unlink(stored);
        write_at(stored, 0, bytes, size);
    }
    free(bytes);
    unlink(stored);
}

Test(flipped_bits, of_indexes_change_no_row)
{
    static const format_t indexed[] = {
        {"tfrecord", make_records, TND_COMPRESSION_NONE, "tfrecord: {files: %s", "", EXACT},
        {"tfrecord", make_records, TND_COMPRESSION_GZIP, "tfrecord: {files: %s", "", EXACT},
        {"csv", make_csv, TND_COMPRESSION_NONE, "csv: {files: %s", "", EXACT},
        {"text", make_text, TND_COMPRESSION_ZSTD, "text: {files: %s", "", EXACT},
    };
    for (size_t i = 0; i < sizeof indexed / sizeof indexed[0]; i++)
        flip_stored(&indexed[i], "tundish/*.npy", true, 100 + i);
}

#define SPOOLED "tfrecord: {files: %s, spool: {dir: %s/spool, limit: 1MiB}"

/*  One record is bad, so that there is a list of them. */
static void make_bad_record(content_t *self)
{
    make_records(self);
    self->bytes[60] ^= 1;
}

/*  Their values are as those of .npy files: nothing tells that they have changed. */
Test(flipped_bits, of_spooled_files_lose_no_row)
{
    static const format_t spooled[] = {
        {"values.npy", make_records, TND_COMPRESSION_GZIP, SPOOLED, "", KEPT},
        {"splits.npy", make_records, TND_COMPRESSION_GZIP, SPOOLED, "", KEPT},
        {"bad.txt", make_bad_record, TND_COMPRESSION_GZIP, SPOOLED, "", KEPT},
    };
    for (size_t i = 0; i < sizeof spooled / sizeof spooled[0]; i++) {
        char pattern[64], all[64];
        snprintf(pattern, sizeof pattern, "spool/*.%s", spooled[i].name);
        snprintf(all, sizeof all, "%s/spool", folder);
        flip_stored(&spooled[i], pattern, false, 200 + i);
        tnd_folder_remove(all);
    }
}

/*  A resume reads the manifest, and then the part of each replica. */
Test(flipped_bits, of_a_checkpoint_are_noticed)
{
    static const char model[] = "the weights of a model";
    char parts[2][TND_STORE_PATH];
    tnd_error_t error;
    tnd_saved_t saved;
    cr_assert_eq(tnd_store_begin(folder, 7, &error), TND_OK, "%s", error.text);
    tnd_store_draft_path(parts[0], folder, 7, 0);
    write_at(parts[0], 0, model, sizeof model);
    cr_assert_eq(tnd_store_seal(folder, 7, 0, &saved, &error), TND_OK, "%s", error.text);
    tnd_manifest_t manifest = {
        .graph = (char[]){"seed 7\nbatch.size 128\n"}, .replicas = 1, .parts = &saved};
    tnd_cursor_start(&manifest.cursor, 1);
    manifest.cursor.step = 7;
    cr_assert_eq(tnd_store_commit(folder, &manifest, &error), TND_OK, "%s", error.text);
    tnd_store_part_path(parts[0], folder, 7, 0);
    snprintf(parts[1], sizeof parts[1], "%s/step-00000007/manifest", folder);
    uint64_t state = 77;
    for (unsigned i = 0; i < FLIPS; i++) {
        size_t size;
        uint8_t *bytes = read_whole(parts[i % 2], &size);
        size_t bit = draw(&state) % (size * 8);
        uint8_t changed = bytes[bit / 8] ^ (uint8_t)(1 << bit % 8);
        write_at(parts[i % 2], bit / 8, &changed, 1);
        tnd_manifest_t found = {0};
        tnd_status_t status = tnd_store_read(folder, 7, &found, &error);
        if (status == TND_OK) {
            tnd_resume_t resume = {.step = 7, .replicas = 1, .parts = found.parts};
            char path_of[TND_STORE_PATH];
            snprintf(resume.dir, sizeof resume.dir, "%s", folder);
            status = tnd_store_check(&resume, 0, path_of, &error);
            tnd_manifest_free(&found);
        }
        cr_expect_neq(status, TND_OK, "%s, bit %zu of byte %zu", parts[i % 2], bit % 8, bit / 8);
        write_at(parts[i % 2], bit / 8, &bytes[bit / 8], 1);
        free(bytes);
    }
}
