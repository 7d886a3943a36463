/*  Covers actors/cache/sample_writer.h and sample_files.h: what a folder has is what was put, it is
 *  complete or not there, and damage is found when it is opened. */
#include "actors/cache/sample_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "actors/cache/sample_writer.h"
#include "runtime/base/folder.h"
#include "tests/actors/cache/sample_rows.h"

typedef struct {
    tnd_schema_t schema;
    tnd_block_pool_t *block_pool;
    char parent[64], folder[128];
    tnd_sample_writer_t *writer;
    tnd_sample_files_t *files;
    uint32_t left;
} bench_t;

static tnd_status_t begin_writing(bench_t *self, uint64_t needed, uint64_t limit,
                                  tnd_error_t *error)
{
    tnd_sample_writer_config_t config = {.folder = self->folder,
                                         .schema = &self->schema,
                                         .samples = SAMPLES,
                                         .needed = needed,
                                         .positions = 20,
                                         .limit = limit};
    return tnd_sample_writer_open(&self->writer, &config, &self->left, error);
}

static void begin(bench_t *self, bool ragged)
{
    tnd_error_t error;
    *self = (bench_t){.schema = schema_of_rows(ragged), .block_pool = tnd_block_pool_new()};
    strcpy(self->parent, "/tmp/sample_files_XXXXXX");
    cr_assert_not_null(mkdtemp(self->parent));
    snprintf(self->folder, sizeof self->folder, "%s/stores/key", self->parent);
    cr_assert_eq(begin_writing(self, SAMPLES, 1 << 20, &error), TND_OK);
}

static void end(bench_t *self)
{
    tnd_sample_writer_close(&self->writer);
    tnd_sample_files_close(&self->files);
    tnd_block_pool_destroy(&self->block_pool);
    tnd_folder_remove(self->parent);
}

static bool put(bench_t *self, uint64_t sample, uint64_t number, uint32_t rows)
{
    tnd_error_t error;
    bool fits;
    tnd_block_t *block = make_rows(self->block_pool, &self->schema, number - 1, rows + 2);
    cr_assert_eq(tnd_sample_writer_put(self->writer, sample, block, 1, rows, &fits, &error),
                 TND_OK);
    tnd_block_drop(&block);
    return fits;
}

static void publish(bench_t *self)
{
    tnd_error_t error;
    cr_assert_eq(tnd_sample_writer_publish(self->writer, &error), TND_OK);
    tnd_sample_writer_close(&self->writer);
}

static tnd_status_t open_files(bench_t *self, tnd_error_t *error)
{
    return tnd_sample_files_open(&self->files, self->folder, &self->schema, SAMPLES, error);
}

static tnd_block_t *get(bench_t *self, const uint64_t *samples, uint32_t count)
{
    tnd_error_t error;
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    block->note.count = count;
    cr_assert_eq(tnd_sample_files_fill(self->files, samples, count, block, &error), TND_OK);
    tnd_block_seal(block);
    return block;
}

/*  How many names there are beside the folder, and it. */
static uint32_t names(const bench_t *self)
{
    char path[128];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%s/stores", self->parent);
    DIR *list = opendir(path);
    cr_assert_not_null(list);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(list);
    return count;
}

static void samples_of_any_number_of_rows(bool ragged)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, ragged);
    cr_assert(put(&bench, 5, 100, 1));
    cr_assert(put(&bench, 9, 200, 0));
    cr_assert(put(&bench, 3, 300, 4));
    cr_assert(put(&bench, 99, 400, 60));
    cr_assert(put(&bench, 5, 700, 3)); /* it was put before */
    tnd_sample_writer_skip(bench.writer, 7);
    publish(&bench);
    cr_assert_eq(open_files(&bench, &error), TND_OK, "%s", error.text);
    for (uint64_t sample = 0; sample < SAMPLES + 2; sample++)
        cr_expect_eq(tnd_sample_files_has(bench.files, sample),
                     sample == 3 || sample == 5 || sample == 9 || sample == 99);

    tnd_block_t *block = get(&bench, (uint64_t[]){3, 9, 5, 3, 99}, 5);
    tnd_sample_files_close(&bench.files);
    cr_assert_eq(block->note.rows, 4 + 0 + 1 + 4 + 60);
    const uint32_t first[] = {0, 4, 5, 9}, origin[] = {0, 2, 3, 4}, rows[] = {4, 1, 4, 60};
    const uint64_t number[] = {300, 100, 300, 400};
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t i = 0; i < rows[s]; i++) {
            cr_expect_eq(block->note.origin[first[s] + i], origin[s]);
            is_row(block, first[s] + i, number[s] + i);
        }
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_files, a_sample_has_any_number_of_rows)
{
    samples_of_any_number_of_rows(false);
}

Test(sample_files, a_sample_has_any_number_of_ragged_rows)
{
    samples_of_any_number_of_rows(true);
}

Test(sample_files, there_may_be_no_rows_at_all)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, true);
    cr_assert(put(&bench, 1, 100, 0));
    publish(&bench);
    cr_assert_eq(open_files(&bench, &error), TND_OK, "%s", error.text);
    cr_assert(tnd_sample_files_has(bench.files, 1));
    tnd_block_t *block = get(&bench, (uint64_t[]){1}, 1);
    cr_assert_eq(block->note.rows, 0);
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_files, all_ragged_rows_may_be_empty)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, true);
    cr_assert_eq(length_of(800), 0);
    cr_assert(put(&bench, 1, 800, 1));
    publish(&bench);
    cr_assert_eq(open_files(&bench, &error), TND_OK, "%s", error.text);
    tnd_block_t *block = get(&bench, (uint64_t[]){1, 1}, 2);
    is_row(block, 0, 800);
    is_row(block, 1, 800);
    cr_assert_null(block->note.origin);
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_files, as_many_samples_are_taken_as_a_budget_has_room_for)
{
    bench_t bench;
    tnd_error_t error;
    uint64_t samples[8], ragged, sum = 0;
    begin(&bench, true);
    for (uint64_t i = 0; i < 8; i++) {
        samples[i] = 7 - i;
        cr_assert(put(&bench, 7 - i, 100 + i * 10, 2));
        sum += (length_of(100 + i * 10) + length_of(101 + i * 10)) * 6;
    }
    publish(&bench);
    cr_assert_eq(open_files(&bench, &error), TND_OK, "%s", error.text);
    uint32_t count = 8;
    cr_assert_eq(tnd_sample_files_fit(bench.files, samples, &count, sum, &ragged, &error), TND_OK);
    cr_assert_eq(count, 8);
    cr_assert_eq(ragged, sum);
    cr_assert_eq(tnd_sample_files_fit(bench.files, samples, &count, sum - 1, &ragged, &error),
                 TND_OK);
    cr_assert_eq(count, 7);
    cr_assert_eq(ragged, sum - (length_of(170) + length_of(171)) * 6);
    cr_assert_eq(tnd_sample_files_fit(bench.files, samples, &count, 1, &ragged, &error), TND_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(ragged, (length_of(100) + length_of(101)) * 6);
    end(&bench);
}

Test(sample_files, samples_beyond_the_limit_are_left_out)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, false);
    tnd_sample_writer_close(&bench.writer);
    cr_assert_eq(begin_writing(&bench, 3, 20, &error), TND_OK);
    cr_assert(put(&bench, 0, 100, 2)); /* 18 bytes */
    cr_assert_not(put(&bench, 1, 100, 1));
    cr_assert_not(tnd_sample_writer_complete(bench.writer));
    cr_assert(put(&bench, 2, 100, 0));
    cr_assert(tnd_sample_writer_complete(bench.writer));
    publish(&bench);
    cr_assert_eq(open_files(&bench, &error), TND_OK, "%s", error.text);
    cr_assert(tnd_sample_files_has(bench.files, 0));
    cr_assert_not(tnd_sample_files_has(bench.files, 1));
    end(&bench);
}

Test(sample_files, a_store_is_complete_after_all_samples_or_all_positions_of_an_epoch)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, false);
    tnd_sample_writer_cover(bench.writer, 0, 5, 15);
    cr_assert_not(tnd_sample_writer_complete(bench.writer));
    cr_assert(tnd_sample_writer_covers(bench.writer, 15));
    tnd_sample_writer_cover(bench.writer, 0, 5, 10);
    cr_assert_not(tnd_sample_writer_covers(bench.writer, 16));
    tnd_sample_writer_cover(bench.writer, 1, 0, 12);
    tnd_sample_writer_cover(bench.writer, 0, 0, 5);
    cr_assert_not(tnd_sample_writer_complete(bench.writer));
    tnd_sample_writer_cover(bench.writer, 1, 12, 8);
    cr_assert(tnd_sample_writer_complete(bench.writer));

    tnd_sample_writer_close(&bench.writer);
    cr_assert_eq(begin_writing(&bench, 2, 1 << 20, &error), TND_OK);
    cr_assert(put(&bench, 50, 100, 1));
    cr_assert(put(&bench, 50, 100, 1));
    tnd_sample_writer_skip(bench.writer, 50);
    cr_assert_not(tnd_sample_writer_complete(bench.writer));
    tnd_sample_writer_skip(bench.writer, 51);
    tnd_sample_writer_skip(bench.writer, 51);
    cr_assert(tnd_sample_writer_complete(bench.writer));
    end(&bench);
}

Test(sample_files, what_was_not_published_leaves_nothing)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, true);
    cr_assert(put(&bench, 5, 100, 1));
    cr_assert_eq(names(&bench), 1);
    cr_assert_eq(open_files(&bench, &error), TND_FAILED);
    tnd_sample_writer_close(&bench.writer);
    cr_assert_eq(names(&bench), 0);
    end(&bench);
}

Test(sample_files, folders_that_no_process_writes_are_removed)
{
    bench_t bench;
    tnd_error_t error;
    char left[192], other[192], foreign[192];
    begin(&bench, true);
    tnd_sample_writer_t *first = bench.writer;
    snprintf(left, sizeof left, "%s.writing-1-0", bench.folder);
    snprintf(other, sizeof other, "%s.writing-1-1", bench.folder);
    snprintf(foreign, sizeof foreign, "%s/stores/key2.writing-1-0", bench.parent);
    cr_assert_eq(mkdir(left, 0777) | mkdir(other, 0777) | mkdir(foreign, 0777), 0);
    int lock = open(other, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(flock(lock, LOCK_EX), 0);
    cr_assert_eq(begin_writing(&bench, SAMPLES, 1 << 20, &error), TND_OK, "%s", error.text);
    cr_assert_eq(bench.left, 1);
    cr_assert_neq(access(left, F_OK), 0);
    cr_assert_eq(access(other, F_OK) | access(foreign, F_OK), 0);
    cr_assert_eq(names(&bench), 4); /* those two, and one for each writer */

    /* Both writers complete the same store, and one of them remains. */
    cr_assert(put(&bench, 5, 100, 1));
    publish(&bench);
    bench.writer = first;
    cr_assert(put(&bench, 5, 100, 1));
    publish(&bench);
    cr_assert_eq(names(&bench), 3);
    cr_assert_eq(open_files(&bench, &error), TND_OK, "%s", error.text);
    close(lock);
    end(&bench);
}

Test(sample_files, damage_is_found)
{
    static const char *const files[] = {"samples.npy", "00-flag.npy", "01-id.npy",
                                        "02-words.values.npy", "02-words.splits.npy"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        for (int how = 0; how < 3; how++) {
            bench_t bench;
            tnd_error_t error = {.text = ""};
            char path[192];
            begin(&bench, true);
            for (uint64_t sample = 0; sample < 10; sample++)
                cr_assert(put(&bench, sample, 100 + sample, 1));
            publish(&bench);
            snprintf(path, sizeof path, "%s/%s", bench.folder, files[i]);
            if (how == 0)
                cr_assert_eq(unlink(path), 0);
            else
                cr_assert_eq(truncate(path, how == 1 ? 0 : 322), 0);
            cr_assert_eq(open_files(&bench, &error), TND_FAILED, "%s %d", files[i], how);
            cr_assert_not_null(strstr(error.text, files[i]), "%s: %s", files[i], error.text);
            cr_assert_null(bench.files);
            tnd_sample_writer_discard(bench.folder);
            cr_assert_eq(names(&bench), 0);
            end(&bench);
        }
}

/*  Gives a folder of small files hashes that fit its index again: those of the first file, and of all. */
static void hash_again(const bench_t *self)
{
    static uint8_t rows[SAMPLES * 16];
    uint64_t hashes[64], all = 0;
    char path[192];
    snprintf(path, sizeof path, "%s/samples.npy", self->folder);
    int file = open(path, O_RDONLY);
    cr_assert_eq(pread(file, rows, sizeof rows, 320), sizeof rows);
    close(file);
    snprintf(path, sizeof path, "%s/hashes.npy", self->folder);
    file = open(path, O_RDWR);
    ssize_t bytes = pread(file, hashes, sizeof hashes, 320);
    cr_assert(bytes > 8 && bytes < (ssize_t)sizeof hashes);
    size_t last = (size_t)bytes / sizeof hashes[0] - 1;
    hashes[0] = XXH3_64bits(rows, sizeof rows);
    for (size_t i = 0; i < last; i++)
        all = XXH3_64bits_withSeed(&hashes[i], sizeof hashes[i], all);
    hashes[last] = all;
    cr_assert_eq(pwrite(file, hashes, (size_t)bytes, 320), bytes);
    close(file);
}

Test(sample_files, an_index_that_names_rows_outside_of_the_columns_is_refused)
{
    static const int64_t records[][2] = {{0, 11}, {10, 1}, {-2, 0},
                                         {5, -1}, {-1, 1}, {INT64_MAX, 2}};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        bench_t bench;
        tnd_error_t error = {.text = ""};
        char path[192];
        begin(&bench, false);
        for (uint64_t sample = 0; sample < 10; sample++)
            cr_assert(put(&bench, sample, 100 + sample, 1));
        publish(&bench);
        snprintf(path, sizeof path, "%s/samples.npy", bench.folder);
        int file = open(path, O_WRONLY);
        cr_assert_eq(pwrite(file, records[i], 16, 320 + 16 * 12), 16);
        close(file);
        cr_assert_eq(open_files(&bench, &error), TND_FAILED);
        cr_assert_not_null(strstr(error.text, "samples.npy: is damaged: bytes 320 to "), "%s",
                           error.text);
        hash_again(&bench);
        cr_assert_eq(open_files(&bench, &error), TND_FAILED);
        cr_assert_not_null(strstr(error.text, "sample 12"), "%s", error.text);
        end(&bench);
    }
}

/*  Whether all rows are read, and are those that were put; else why not. */
static bool reads_right(bench_t *self, tnd_error_t *error)
{
    static const uint64_t samples[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    if (open_files(self, error) != TND_OK)
        return false;
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    block->note.count = 10;
    uint64_t ragged;
    uint32_t count = 10;
    bool read =
        tnd_sample_files_fit(self->files, samples, &count, UINT64_MAX, &ragged, error) == TND_OK &&
        tnd_sample_files_fill(self->files, samples, 10, block, error) == TND_OK;
    tnd_block_seal(block);
    for (uint32_t row = 0; row < 100 && read; row++)
        is_row(block, row, 100 * (1 + row / 10) + row % 10);
    tnd_block_drop(&block);
    tnd_sample_files_close(&self->files);
    return read;
}

/*  A bit of one of the files, in the order of their names; returns the byte. */
static off_t flip(const bench_t *self, const char *name, uint64_t bit)
{
    char path[192];
    struct stat is;
    uint8_t byte;
    snprintf(path, sizeof path, "%s/%s", self->folder, name);
    int file = open(path, O_RDWR);
    cr_assert_eq(fstat(file, &is), 0);
    off_t at = (off_t)(bit / 8 % (uint64_t)is.st_size);
    cr_assert_eq(pread(file, &byte, 1, at), 1);
    byte ^= (uint8_t)(1 << bit % 8);
    cr_assert_eq(pwrite(file, &byte, 1, at), 1);
    close(file);
    return at;
}

Test(sample_files, a_bit_that_flips_is_found_or_changes_nothing)
{
    static const char *const files[] = {"samples.npy",         "00-flag.npy",         "01-id.npy",
                                        "02-words.values.npy", "02-words.splits.npy", "hashes.npy"};
    bench_t bench;
    tnd_error_t error = {.text = ""};
    uint32_t found = 0;
    begin(&bench, true);
    for (uint64_t sample = 0; sample < 10; sample++)
        cr_assert(put(&bench, sample, 100 * (1 + sample), 10));
    publish(&bench);
    cr_assert(reads_right(&bench, &error), "%s", error.text);
    for (uint64_t i = 0; i < 240; i++) {
        const char *name = files[i % 6];
        uint64_t bit = XXH3_64bits(&i, sizeof i);
        off_t at = flip(&bench, name, bit);
        bool right = reads_right(&bench, &error);
        found += !right;
        cr_expect(!right || at < 320, "byte %lld of %s", (long long)at, name);
        cr_expect(right || strstr(error.text, bench.folder) != NULL, "%s", error.text);
        (void)flip(&bench, name, bit);
    }
    cr_expect(found > 80, "%u", found);
    cr_assert(reads_right(&bench, &error), "%s", error.text);
    (void)flip(&bench, "01-id.npy", 8 * 400);
    cr_assert_not(reads_right(&bench, &error));
    cr_expect_not_null(strstr(error.text, "/01-id.npy: is damaged: bytes 320 to "), "%s",
                       error.text);
    cr_expect_not_null(strstr(error.text, "; remove the folder "), "%s", error.text);
    end(&bench);
}

Test(sample_files, a_folder_that_cannot_be_made_is_an_error_that_names_it)
{
    bench_t bench;
    tnd_error_t error = {.text = ""};
    begin(&bench, false);
    tnd_sample_writer_close(&bench.writer);
    snprintf(bench.folder, sizeof bench.folder, "/dev/null/stores/key");
    cr_assert_eq(begin_writing(&bench, SAMPLES, 1 << 20, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "/dev/null/stores/key"), "%s", error.text);
    cr_assert_null(bench.writer);
    end(&bench);
}
