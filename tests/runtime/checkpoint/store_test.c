/*  Covers runtime/checkpoint/store.h: what was written is read back, and torn, damaged or
 *  incomplete checkpoints are ignored. */
#include "runtime/checkpoint/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

static char dir[] = "/tmp/tundish-store-XXXXXX";

static void begin(void)
{
    cr_assert(mkdtemp(dir) != NULL);
}

static void end(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(store, .init = begin, .fini = end);

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    cr_assert(out != NULL && fwrite(bytes, 1, size, out) == size && fclose(out) == 0, "%s", path);
}

static void save_part(uint64_t step, uint32_t replica, const char *text, tnd_saved_t *part)
{
    char path[TND_STORE_PATH];
    tnd_error_t error;
    cr_assert_eq(tnd_store_begin(dir, step, &error), TND_OK, "%s", error.text);
    tnd_store_draft_path(path, dir, step, replica);
    write_file(path, text, strlen(text));
    cr_assert_eq(tnd_store_seal(dir, step, replica, part, &error), TND_OK, "%s", error.text);
}

/*  A whole checkpoint of two replicas. */
static void save(uint64_t step)
{
    tnd_error_t error;
    tnd_saved_t parts[2];
    save_part(step, 0, "the first model", &parts[0]);
    save_part(step, 1, "the second one", &parts[1]);
    tnd_manifest_t manifest = {
        .graph = (char[]){"seed 7\nbatch.size 128\n"}, .replicas = 2, .parts = parts};
    tnd_cursor_start(&manifest.cursor, 2);
    manifest.cursor.step = step;
    manifest.cursor.rank = 128 * step;
    manifest.cursor.part[1].index = 77;
    cr_assert_eq(tnd_store_commit(dir, &manifest, &error), TND_OK, "%s", error.text);
}

static void path_of_manifest(char path[TND_STORE_PATH], uint64_t step)
{
    snprintf(path, TND_STORE_PATH, "%s/step-%08d/manifest", dir, (int)step);
}

Test(store, a_checkpoint_is_read_back_unchanged)
{
    tnd_error_t error;
    tnd_manifest_t manifest;
    tnd_saved_t part;
    save(500);

    cr_assert_eq(tnd_store_read(dir, 500, &manifest, &error), TND_OK, "%s", error.text);

    cr_assert_eq(manifest.cursor.step, 500);
    cr_assert_eq(manifest.cursor.rank, 64000);
    cr_assert_eq(manifest.cursor.part[1].index, 77);
    cr_assert_str_eq(manifest.graph, "seed 7\nbatch.size 128\n");
    cr_assert_eq(manifest.replicas, 2);
    for (uint32_t r = 0; r < 2; r++) {
        cr_assert_eq(tnd_store_measure(dir, 500, r, &part, &error), TND_OK, "%s", error.text);
        cr_assert(tnd_saved_equal(&part, &manifest.parts[r]));
    }
    cr_assert_eq(manifest.parts[0].bytes, strlen("the first model"));
    tnd_manifest_free(&manifest);
}

Test(store, a_truncated_manifest_is_ignored)
{
    tnd_error_t error;
    tnd_manifest_t manifest;
    char path[TND_STORE_PATH], text[4096];
    save(3);
    path_of_manifest(path, 3);
    FILE *in = fopen(path, "rb");
    size_t size = fread(text, 1, sizeof text, in);
    fclose(in);
    cr_assert(size > 100 && size < sizeof text);
    for (size_t length = 0; length < size; length++) {
        write_file(path, text, length);
        cr_assert_eq(tnd_store_read(dir, 3, &manifest, &error), TND_FAILED, "%zu bytes", length);
        cr_assert(strstr(error.text, path) != NULL, "%s", error.text);
    }
    for (size_t at = 0; at < size; at++) {
        text[at] ^= 4;
        write_file(path, text, size);
        text[at] ^= 4;
        cr_assert_eq(tnd_store_read(dir, 3, &manifest, &error), TND_FAILED, "byte %zu", at);
    }
    write_file(path, text, size);
    cr_assert_eq(tnd_store_read(dir, 3, &manifest, &error), TND_OK);
    tnd_manifest_free(&manifest);
}

Test(store, a_manifest_in_the_folder_of_another_step_is_refused)
{
    tnd_error_t error;
    tnd_manifest_t manifest;
    char from[TND_STORE_PATH], to[TND_STORE_PATH];
    save(3);
    save(4);
    path_of_manifest(from, 3);
    path_of_manifest(to, 4);
    cr_assert_eq(rename(from, to), 0);
    cr_assert_eq(tnd_store_read(dir, 4, &manifest, &error), TND_FAILED);
    cr_assert(strstr(error.text, "step 3") != NULL, "%s", error.text);
}

Test(store, a_changed_part_is_found_by_its_measure)
{
    tnd_error_t error;
    tnd_saved_t before, part;
    char path[TND_STORE_PATH];
    save_part(9, 0, "a model", &before);
    tnd_store_part_path(path, dir, 9, 0);
    write_file(path, "a_model", 7);
    cr_assert_eq(tnd_store_measure(dir, 9, 0, &part, &error), TND_OK);
    cr_assert_not(tnd_saved_equal(&part, &before));
    unlink(path);
    cr_assert_eq(tnd_store_measure(dir, 9, 0, &part, &error), TND_FAILED);
    cr_assert(strstr(error.text, path) != NULL, "%s", error.text);
}

Test(store, a_checkpoint_that_was_removed_is_named)
{
    char path[TND_STORE_PATH];
    tnd_error_t error;
    tnd_saved_t parts[2];
    save(7);
    save_part(7, 0, "the first model", &parts[0]);
    save_part(7, 1, "the second one", &parts[1]);
    tnd_resume_t resume = {.step = 7, .replicas = 2, .parts = parts};
    snprintf(resume.dir, sizeof resume.dir, "%s", dir);
    cr_assert_eq(tnd_store_check(&resume, 1, path, &error), TND_OK, "%s", error.text);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(tnd_store_check(&resume, 1, path, &error), TND_FAILED);
    cr_assert(strstr(error.text, "cannot be opened") != NULL, "%s", error.text);
    tnd_store_forget(dir, 7);
    cr_assert_eq(tnd_store_check(&resume, 1, path, &error), TND_FAILED);
    cr_assert(strstr(error.text, "step 6 was removed") != NULL, "%s", error.text);
}

Test(store, an_incomplete_checkpoint_leaves_nothing)
{
    tnd_error_t error;
    tnd_saved_t part;
    char path[TND_STORE_PATH];
    cr_assert_eq(tnd_store_begin(dir, 9, &error), TND_OK);
    cr_assert_eq(tnd_store_seal(dir, 9, 0, &part, &error), TND_FAILED);
    tnd_store_part_path(path, dir, 9, 0);
    cr_assert(access(path, F_OK) != 0);
}

Test(store, steps_are_listed_from_the_last_one_on_and_can_be_forgotten)
{
    tnd_error_t error;
    uint64_t *steps;
    size_t count;
    char path[TND_STORE_PATH];
    const uint64_t saved[] = {1000, 500, 123456789012, 1500};
    for (size_t i = 0; i < 4; i++)
        save(saved[i]);
    snprintf(path, sizeof path, "%s/step-12x", dir);
    cr_assert_eq(mkdir(path, 0777), 0);

    cr_assert_eq(tnd_store_list(dir, &steps, &count, &error), TND_OK);
    cr_assert_eq(count, 4);
    const uint64_t expected[] = {123456789012, 1500, 1000, 500};
    cr_assert_arr_eq(steps, expected, sizeof expected);
    free(steps);

    tnd_store_forget(dir, 1500);
    tnd_store_forget(dir, 1501);
    cr_assert_eq(tnd_store_list(dir, &steps, &count, &error), TND_OK);
    cr_assert_eq(count, 3);
    cr_assert_eq(steps[1], 1000);
    free(steps);
}

Test(store, a_missing_folder_has_no_checkpoints)
{
    tnd_error_t error;
    uint64_t *steps;
    size_t count;
    char path[TND_STORE_PATH];
    snprintf(path, sizeof path, "%s/none", dir);
    cr_assert_eq(tnd_store_list(path, &steps, &count, &error), TND_OK);
    cr_assert_eq(count, 0);
}

/*  The second lock is another open file, as that of another process. */
Test(store, a_folder_that_was_removed_is_locked_again)
{
    tnd_error_t error;
    tnd_store_t *first = NULL, *second = NULL;
    char path[TND_STORE_PATH], command[TND_STORE_PATH + 16];
    snprintf(path, sizeof path, "%s/removed", dir);
    snprintf(command, sizeof command, "rm -r %s", path);
    cr_assert_eq(tnd_store_open(&first, path, &error), TND_OK, "%s", error.text);
    cr_assert(tnd_store_holds(first));
    cr_assert_eq(system(command), 0);
    cr_assert_not(tnd_store_holds(first));
    cr_assert_eq(tnd_store_lock_again(first, &error), TND_OK, "%s", error.text);
    cr_assert(tnd_store_holds(first));
    cr_assert_eq(tnd_store_open(&second, path, &error), TND_FAILED);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(tnd_store_open(&second, path, &error), TND_OK, "%s", error.text);
    cr_assert_not(tnd_store_holds(first));
    cr_assert_eq(tnd_store_lock_again(first, &error), TND_FAILED);
    cr_assert(strstr(error.text, "another run writes its checkpoints there") != NULL, "%s",
              error.text);
    cr_assert(tnd_store_holds(second));
    tnd_store_close(&first);
    tnd_store_close(&second);
}

Test(store, one_run_at_a_time_writes_there)
{
    tnd_error_t error;
    tnd_store_t *first = NULL, *second = NULL;
    char path[TND_STORE_PATH];
    snprintf(path, sizeof path, "%s/deep/down", dir);
    cr_assert_eq(tnd_store_open(&first, path, &error), TND_OK, "%s", error.text);
    cr_assert_eq(tnd_store_open(&second, path, &error), TND_FAILED);
    cr_assert(strstr(error.text, "another run") != NULL, "%s", error.text);
    tnd_store_close(&first);
    cr_assert_eq(tnd_store_open(&second, path, &error), TND_OK, "%s", error.text);
    tnd_store_close(&second);
}
