/*  Covers actors/file/files.h and content.h, and columns.h: the files that a text names, columns in
 *  many files, lanes that share them, and files that do not fit together. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "actors/file/files.h"
#include "actors/source/columns_internal.h"
#include "runtime/base/clock.h"
#include "runtime/base/parallel.h"
#include "tests/actors/source/opened.h"

static char folder[64];

/*  What the next calls of pread do: fail with these errors, then read at most `most` bytes. */
static struct {
    int errors[8];
    int count, calls;
    size_t most;
} trouble = {.most = SIZE_MAX};

/*  Replaces the C library's. */
ssize_t pread(int file, void *out, size_t size, off_t offset)
{
    int call = trouble.calls++;
    if (call < trouble.count) {
        errno = trouble.errors[call];
        return -1;
    }
    return syscall(SYS_pread64, file, out, size < trouble.most ? size : trouble.most, offset);
}

/*  Calls of open for files of rows.  Each waits until `together` of them are in progress, or were. */
static struct {
    atomic_uint calls, now, most;
    unsigned together;
} opens;

/*  Replaces the C library's. */
int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    bool counted = strstr(path, ".npy") != NULL;
    if (counted) {
        unsigned now = atomic_fetch_add(&opens.now, 1) + 1;
        atomic_fetch_add(&opens.calls, 1);
        if (now > opens.most)
            opens.most = now;
        uint64_t end = tnd_clock_now() + UINT64_C(10000000000);
        while (opens.most < opens.together && tnd_clock_now() < end)
            ;
    }
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (counted)
        atomic_fetch_sub(&opens.now, 1);
    return file;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/tundish-files-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void clean_folder(void)
{
    remove_folder(folder);
}

TestSuite(files, .init = make_folder, .fini = clean_folder);

/*  A .npy file of `rows` rows of `width` bytes; row r holds `first + r` throughout. */
static void write_rows(const char *name, unsigned rows, unsigned width, unsigned first)
{
    char path[256], header[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int length =
        snprintf(header, sizeof header,
                 "{'descr': '|u1', 'fortran_order': False, 'shape': (%u, %u), }", rows, width);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fprintf(file, "\x93NUMPY%c%c%c%c%s", 1, 0, length, 0, header);
    for (unsigned row = 0; row < rows; row++)
        for (unsigned i = 0; i < width; i++)
            putc((int)(first + row), file);
    cr_assert_eq(fclose(file), 0);
}

/*  The files that `text` names, with %s for the folder: names without the folder. */
static const char *names_of(const char *text, bool *searched_p)
{
    static char names[512];
    char written[256];
    const char *items[] = {written};
    tnd_files_t files = {0};
    tnd_error_t error;
    snprintf(written, sizeof written, text, folder);
    cr_assert_eq(tnd_files_find(&files, "x", &(tnd_strings_t){items, 1}, &error), TND_OK, "%s",
                 error.text);
    names[0] = '\0';
    for (size_t i = 0; i < files.count; i++) {
        cr_assert_eq(strncmp(files.paths[i], folder, strlen(folder)), 0);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? " " : "",
                 files.paths[i] + strlen(folder) + 1);
    }
    *searched_p = files.searched;
    tnd_files_free(&files);
    return names;
}

Test(files, a_pattern_gives_the_existing_files_sorted_by_bytes)
{
    bool searched;
    write_rows("b.npy", 1, 1, 0);
    write_rows("a10.npy", 1, 1, 0);
    write_rows("a9.npy", 1, 1, 0);
    write_rows("B.npy", 1, 1, 0);

    cr_assert_str_eq(names_of("%s/*.npy", &searched), "B.npy a10.npy a9.npy b.npy");
    cr_assert(searched);
    cr_assert_str_eq(names_of("%s/[ab].npy", &searched), "b.npy");
}

Test(files, a_range_gives_all_its_names_in_order_even_if_missing)
{
    bool searched;
    cr_assert_str_eq(names_of("%s/x[8-11].npy", &searched), "x8.npy x9.npy x10.npy x11.npy");
    cr_assert_not(searched);
    cr_assert_str_eq(names_of("%s/x[08-10].npy", &searched), "x08.npy x09.npy x10.npy");
    cr_assert_str_eq(names_of("%s/x[008-010]-[0-1]", &searched),
                     "x008-0 x008-1 x009-0 x009-1 x010-0 x010-1");
}

Test(files, a_file_whose_name_looks_like_a_pattern_is_that_file)
{
    bool searched;
    write_rows("a[0-3].npy", 1, 1, 0);
    write_rows("a0.npy", 1, 1, 0);

    cr_assert_str_eq(names_of("%s/a[0-3].npy", &searched), "a[0-3].npy");
}

/*  Opening `format` must fail with all of the words; %1$s is the folder. */
static void refuse(const char *format, const char *words)
{
    char text[512], wanted[512];
    snprintf(text, sizeof text, format, folder);
    snprintf(wanted, sizeof wanted, words, folder);
    expect_refusal(text, wanted);
}

Test(files, a_pattern_without_a_match_names_the_nearest_directory)
{
    refuse("source: {npy: {x: \"%1$s/train-*.npy\"}}",
           "column `x`|no file matches %1$s/train-*.npy|%1$s is empty");
    write_rows("trian-0.npy", 1, 1, 0);
    write_rows("other.npy", 1, 1, 0);
    refuse("source: {npy: {x: \"%1$s/train-?.npy\"}}",
           "no file matches|%1$s has 2 entries|trian-0.npy");
    refuse("source: {npy: {x: \"%1$s/deep/er/*.npy\"}}",
           "directory %1$s/deep/er does not exist|nearest that exists is %1$s;");
}

Test(files, a_file_named_twice_and_an_empty_list_are_refused)
{
    write_rows("a.npy", 1, 1, 0);
    refuse("source: {npy: {x: [\"%1$s/a.npy\", \"%1$s/*.npy\"]}}",
           "column `x`|a.npy is named twice");
    refuse("source: {npy: {x: []}}", "column `x`|names no file");
    refuse("source: {npy: {x: \"%1$s/a[9-3].npy\"}}", "range goes from 9 to 3");
    refuse("source: {npy: {x: \"%1$s/a[0-99999999].npy\"}}", "at most 10000000");
}

Test(files, of_one_column_must_agree_in_type_and_shape)
{
    write_rows("a0.npy", 2, 3, 0);
    write_rows("a1.npy", 2, 4, 0);
    refuse("source: {npy: {x: \"%1$s/a*.npy\"}}",
           "column `x`|%1$s/a0.npy holds rows u8[3]|%1$s/a1.npy holds rows u8[4]|one type");
}

Test(files, of_several_columns_must_agree_in_rows)
{
    write_rows("a0.npy", 2, 1, 0);
    write_rows("a1.npy", 3, 1, 0);
    write_rows("b0.npy", 2, 1, 0);
    write_rows("b1.npy", 4, 1, 0);
    write_rows("c0.npy", 6, 1, 0);
    refuse("source: {npy: {x: \"%1$s/a*.npy\", y: \"%1$s/b*.npy\"}}",
           "%1$s/b1.npy has 4 rows|%1$s/a1.npy has 3");
    refuse("source: {npy: {x: \"%1$s/a*.npy\", y: \"%1$s/c*.npy\"}}",
           "column `y` has 1 file with 6 rows|column `x` has 2 with 5");
}

Test(files, rows_of_columns_that_are_cut_differently_stay_together)
{
    static const uint64_t index[] = {4, 0, 2, 3}, run[] = {1, 2, 3};
    char text[512];
    opened_t opened;
    tnd_error_t error;
    write_rows("a0.npy", 2, 3, 0);
    write_rows("a1.npy", 3, 3, 2);
    write_rows("b0.npy", 4, 1, 0);
    write_rows("b1.npy", 1, 1, 4);
    snprintf(text, sizeof text, "source: {npy: {x: \"%1$s/a*.npy\", y: \"%1$s/b[0-1].npy\"}}",
             folder);
    cr_assert_eq(open_source(&opened, text, &error), TND_OK, "%s", error.text);
    cr_assert_eq(opened.facts.count, 5);

    tnd_block_t *block = read_rows(&opened, index, 4, &error);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, i), index[i]);
        cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 1, i), index[i]);
    }
    cr_assert_eq(tnd_buffer_kind(block->columns[0].buffer), TND_BUFFER_MAPPED);
    tnd_block_drop(&block);

    /* A run over an end of a file in one column, within a file in the other. */
    block = read_rows(&opened, run, 3, &error);
    uint8_t got[9];
    cr_assert_eq(tnd_block_copy(block, 0, 0, 3, got), 9);
    cr_assert_eq(memcmp(got, "\1\1\1\2\2\2\3\3\3", 9), 0);
    cr_assert_null(block->columns[1].index);
    close_source(&opened);
    cr_assert_eq(tnd_block_copy(block, 1, 0, 3, got), 3, "a block outlives its source");
    cr_assert_eq(memcmp(got, "\1\2\3", 3), 0);
    tnd_block_drop(&block);
}

/*  Reads all rows from the last to the first for 12 ms: files that were looked at are looked at
 *  again after 4. */
static void expect_rows_backwards(opened_t *opened, uint32_t count)
{
    tnd_error_t error;
    uint64_t index[64], end = tnd_clock_now() + 12000000;
    for (uint32_t i = 0; i < count; i++)
        index[i] = count - 1 - i;
    do {
        tnd_block_t *block = read_rows(opened, index, count, &error);
        cr_assert_not_null(block, "%s", error.text);
        for (uint32_t i = 0; i < count; i++)
            cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, i), count - 1 - i);
        tnd_block_drop(&block);
    } while (tnd_clock_now() < end);
}

Test(files, each_row_comes_from_its_file_whatever_number_each_has)
{
    static const unsigned rows[][4] = {{7, 7, 7, 3}, {7, 7, 7, 7}, {7, 7, 7, 8},    {1, 1, 1, 1},
                                       {2, 5, 2, 2}, {3, 3, 3, 1}, {16, 16, 16, 15}};
    char text[256], name[32];
    snprintf(text, sizeof text, "source: {npy: {x: \"%s/r?.npy\"}}", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned first = 0;
        opened_t opened;
        tnd_error_t error;
        for (unsigned file = 0; file < 4; first += rows[i][file++]) {
            snprintf(name, sizeof name, "r%u.npy", file);
            write_rows(name, rows[i][file], 1, first);
        }
        const tnd_source_scope_t scope = {.lanes = 1, .pattern = TND_PATTERN_ALL};
        cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
        cr_assert_eq(opened.facts.count, first);
        expect_rows_backwards(&opened, first);
        close_source(&opened);
    }
}

enum { MANY = 200 };

/*  Writes MANY files of a row, and lists the rows from the last to the first. */
static void write_many(uint64_t *index, char text[256])
{
    char name[32];
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%03u.npy", i);
        write_rows(name, 1, 1, i);
        index[i] = MANY - 1 - i;
    }
    snprintf(text, 256, "source: {npy: {x: \"%s/*.npy\"}}", folder);
}

static void expect_many(opened_t *opened, const uint64_t *index)
{
    tnd_error_t error;
    tnd_block_t *block = read_rows(opened, index, MANY, &error);
    cr_assert_not_null(block, "%s", error.text);
    for (unsigned i = 0; i < MANY; i++)
        cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, i), MANY - 1 - i);
    tnd_block_drop(&block);
}

static void allow_files(rlim_t count)
{
    const struct rlimit few = {count, count};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
}

Test(files, many_files_are_opened_once_and_several_at_a_time)
{
    uint64_t index[MANY];
    char text[256];
    opened_t opened;
    tnd_error_t error;
    write_many(index, text);
    opens.together = TND_PARALLEL_WAITS;
    for (tnd_access_t access = TND_ACCESS_MAP; access <= TND_ACCESS_READ; access++) {
        tnd_source_scope_t scope = {.lanes = 1, .access = access};
        opens.calls = opens.most = 0;
        cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
        expect_many(&opened, index);
        cr_assert_eq(opens.calls, MANY);
        cr_assert_eq(opens.most, TND_PARALLEL_WAITS);
        close_source(&opened);
    }
}

Test(files, the_first_of_the_files_that_cannot_be_opened_is_named)
{
    uint64_t index[MANY];
    char text[256], path[128];
    opened_t opened;
    tnd_error_t error;
    write_many(index, text);
    snprintf(text, sizeof text, "source: {npy: {x: \"%s/[000-199].npy\"}}", folder);
    for (unsigned i = 5; i < MANY; i += 7) {
        snprintf(path, sizeof path, "%s/%03u.npy", folder, i);
        cr_assert_eq(unlink(path), 0);
    }
    for (int times = 0; times < 20; times++) {
        cr_assert_eq(open_source(&opened, text, &error), TND_FAILED);
        cr_assert_not_null(strstr(error.text, "/005.npy: no such file"), "%s", error.text);
        leave_source(&opened);
    }
}

Test(files, files_beyond_the_descriptor_limit_are_opened_when_they_are_read)
{
    uint64_t index[MANY];
    char text[256];
    opened_t opened;
    tnd_error_t error;
    const tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_READ};
    write_many(index, text);
    allow_files(128);
    cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
    expect_many(&opened, index);
    cr_assert(opens.calls > MANY + 50 && opens.calls < 2 * MANY, "%u", opens.calls);
    /* A reservation gets the descriptors of files that were kept open. */
    cr_assert_eq(tnd_open_files_reserve(tnd_open_files_unreserved() - 1, &error), TND_OK);
    unsigned before = opens.calls;
    expect_many(&opened, index);
    cr_assert_geq(opens.calls, before + MANY - 1);
    close_source(&opened);
}

/*  A file that is opened for each read is made another one by `change`: why its row is an error. */
static void expect_refused(void (*change)(const char *path), const char *words)
{
    static const uint64_t index[] = {1};
    char text[256], path[128];
    opened_t opened;
    tnd_error_t error;
    const tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_READ};
    write_rows("a.npy", 3, 50, 0);
    snprintf(text, sizeof text, "source: {npy: {x: \"%s/a.npy\"}}", folder);
    snprintf(path, sizeof path, "%s/a.npy", folder);
    cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
    change(path);
    tnd_block_t *block = read_rows(&opened, index, 1, &error);
    if (words == NULL)
        cr_assert_not_null(block, "%s", error.text);
    else
        cr_assert(block == NULL && strstr(error.text, words) != NULL, "%s", error.text);
    tnd_block_drop(&block);
    close_source(&opened);
}

static void shrink(const char *path)
{
    cr_assert_eq(truncate(path, 150), 0);
}

static void grow(const char *path)
{
    cr_assert_eq(truncate(path, 5000), 0);
}

static void replace(const char *path)
{
    char other[128];
    write_rows("b.npy", 4, 50, 9); /* while the first is there: its inode is not used again */
    snprintf(other, sizeof other, "%s/b.npy", folder);
    cr_assert_eq(rename(other, path), 0);
}

static void take_away(const char *path)
{
    cr_assert_eq(unlink(path), 0);
}

Test(files, a_file_that_is_opened_for_each_read_is_still_the_same)
{
    allow_files(60);
    expect_refused(shrink, "shrank while it was read");
    expect_refused(grow, NULL);
    expect_refused(replace, "removed or replaced while it was read");
    expect_refused(take_away, "removed or replaced while it was read");
}

Test(files, a_lane_opens_only_its_files_of_the_list)
{
    char text[256];
    opened_t opened;
    tnd_error_t error;
    const uint64_t index[] = {2, 1, 0};
    write_rows("1.npy", 1, 1, 1);
    write_rows("4.npy", 2, 1, 4);
    snprintf(text, sizeof text, "source: {npy: {x: \"%s/[0-5].npy\"}}", folder);

    cr_assert_eq(open_scope(&opened, text, (tnd_source_scope_t){.lane = 1, .lanes = 3}, &error),
                 TND_OK, "%s", error.text);
    cr_assert_eq(opened.facts.count, 3);
    tnd_block_t *block = read_rows(&opened, index, 3, &error);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 0), 5);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 2), 1);
    tnd_block_drop(&block);
    close_source(&opened);

    cr_assert_eq(open_scope(&opened, text, (tnd_source_scope_t){.lane = 2, .lanes = 3}, &error),
                 TND_FAILED);
    cr_assert_not_null(strstr(error.text, "2.npy: no such file"), "%s", error.text);
    leave_source(&opened);
    cr_assert_eq(open_scope(&opened, text, (tnd_source_scope_t){.lane = 0, .lanes = 7}, &error),
                 TND_FAILED);
    cr_assert_not_null(strstr(error.text, "has 6 files for 7 lanes"), "%s", error.text);
    leave_source(&opened);
}

Test(files, that_shrink_while_they_are_read_are_an_error_not_a_signal)
{
    const uint64_t index[] = {0, 2};
    char text[256], path[128];
    opened_t opened;
    tnd_error_t error;
    write_rows("a.npy", 3, 50, 0);
    snprintf(text, sizeof text, "source: {npy: {x: \"%s/a.npy\"}}", folder);
    snprintf(path, sizeof path, "%s/a.npy", folder);
    tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_READ};
    cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
    cr_assert_eq(truncate(path, 100), 0);

    cr_assert_null(read_rows(&opened, index, 2, &error));
    cr_assert_not_null(strstr(error.text, "shrank while it was read"), "%s", error.text);
    close_source(&opened);
}

/*  Opens a file of three rows to read it, and reads rows 2 and 0 with trouble. */
static tnd_block_t *read_with_trouble(opened_t *opened, uint64_t retry_ns, const int *errors,
                                      int count, tnd_error_t *error)
{
    static const uint64_t index[] = {2, 0};
    char text[256];
    write_rows("a.npy", 3, 50, 7);
    snprintf(text, sizeof text, "source: {npy: {x: \"%s/a.npy\"}}", folder);
    tnd_source_scope_t scope = {.lanes = 1, .access = TND_ACCESS_READ, .retry_ns = retry_ns};
    cr_assert_eq(open_scope(opened, text, scope, error), TND_OK, "%s", error->text);
    memcpy(trouble.errors, errors, (size_t)count * sizeof *errors);
    trouble.count = count;
    trouble.calls = 0;
    trouble.most = 7;
    return read_rows(opened, index, 2, error);
}

Test(files, transient_failures_are_retried)
{
    static const int errors[] = {EIO, EAGAIN, ESTALE, ETIMEDOUT, EINTR};
    opened_t opened;
    tnd_error_t error;
    tnd_block_t *block = read_with_trouble(&opened, 1000000000, errors, 5, &error);

    cr_assert_not_null(block, "%s", error.text);
    cr_assert_eq(((const uint8_t *)tnd_block_row(block, 0, 0))[49], 9);
    cr_assert_eq(((const uint8_t *)tnd_block_row(block, 0, 1))[49], 7);
    cr_assert_gt(trouble.calls, 5 + 2 * 50 / 7);
    tnd_block_drop(&block);
    close_source(&opened);
}

Test(files, permanent_failures_are_errors_with_their_place)
{
    static const int lasting[] = {EIO, EIO, EIO, EIO, EIO, EIO, EIO, EIO}, final[] = {EBADF};
    opened_t opened;
    tnd_error_t error;
    cr_assert_null(read_with_trouble(&opened, 30000000, lasting, 8, &error));
    cr_assert_not_null(strstr(error.text, "a.npy: bytes "), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "also when retried: Input/output error"), "%s",
                       error.text);
    cr_assert_eq(trouble.calls, 3, "10 ms and 20 ms are waited for");
    close_source(&opened);

    cr_assert_null(read_with_trouble(&opened, 1000000000, final, 1, &error));
    cr_assert_not_null(strstr(error.text, "cannot be read: Bad file"), "%s", error.text);
    cr_assert_eq(trouble.calls, 1);
    close_source(&opened);
}

/*  A pattern such as "x*" also matches the indexes beside the data files. */
Test(files, indexes_beside_data_files_are_not_data)
{
    static const char *const index = "x.txt.0123456789abcdef.lines.npy";
    char *paths[] = {strdup("x.txt"), strdup(index), strdup("x.npy")};
    tnd_files_t files = {.paths = paths, .count = 3};
    tnd_columns_leave_out_indexes(&files);
    cr_assert_eq(files.count, 2);
    cr_assert_str_eq(paths[0], "x.txt");
    cr_assert_str_eq(paths[1], "x.npy");
    free(paths[0]);
    free(paths[1]);
    /* Without other files they are what is asked for. */
    paths[0] = strdup(index);
    files.count = 1;
    tnd_columns_leave_out_indexes(&files);
    cr_assert_eq(files.count, 1);
    cr_assert_str_eq(paths[0], index);
    free(paths[0]);
}
