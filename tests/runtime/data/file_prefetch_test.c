/*  Covers runtime/data/file_prefetch.h: files that were requested are in the page cache. */
#include "runtime/data/file_prefetch.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/base/clock.h"

enum { FILES = 40, BYTES = 50000 };

static char folder[64];

static void path_of(const void *context, uint64_t index, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%lu.bin", (const char *)context, (unsigned long)index);
}

static int open_file(uint64_t index)
{
    char path[PATH_MAX];
    path_of(folder, index, path);
    int file = open(path, O_RDONLY);
    cr_assert_geq(file, 0);
    return file;
}

static bool is_cached(uint64_t index)
{
    char byte;
    struct iovec to = {.iov_base = &byte, .iov_len = 1};
    int file = open_file(index);
    bool is = preadv2(file, &to, 1, 0, RWF_NOWAIT) == 1;
    close(file);
    return is;
}

/*  Removes it from the page cache; false: this file system keeps it there. */
static bool evict(uint64_t index)
{
    int file = open_file(index);
    cr_assert_eq(fsync(file), 0);
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    return !is_cached(index);
}

static void make_files(void)
{
    static char bytes[BYTES];
    char path[PATH_MAX];
    strcpy(folder, "/tmp/tundish-prefetch-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (uint64_t i = 0; i < FILES; i++) {
        path_of(folder, i, path);
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file, "%s", path);
        cr_assert_eq(fwrite(bytes, 1, BYTES, file), BYTES);
        cr_assert_eq(fclose(file), 0);
    }
}

static void remove_files(void)
{
    char path[PATH_MAX];
    for (uint64_t i = 0; i < FILES; i++) {
        path_of(folder, i, path);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

TestSuite(file_prefetch, .init = make_files, .fini = remove_files);

Test(file_prefetch, files_that_were_requested_are_in_the_page_cache)
{
    const uint64_t some[] = {3, 0, 39, 17};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        if (!evict(some[i]))
            cr_skip_test("this file system keeps its files in memory");
    tnd_file_prefetch_t *prefetch = tnd_file_prefetch_new(path_of, folder);
    tnd_file_prefetch_add(prefetch, some, sizeof some / sizeof some[0]);
    uint64_t until = tnd_clock_now() + UINT64_C(60000000000);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        while (!is_cached(some[i])) {
            cr_assert_lt(tnd_clock_now(), until, "file %lu", some[i]);
            sched_yield();
        }
    tnd_file_prefetch_destroy(&prefetch);
    cr_assert_null(prefetch);
}

/*  More than the queue holds, and files that do not exist any more. */
Test(file_prefetch, ends_with_requests_that_wait)
{
    char path[PATH_MAX];
    uint64_t many[5000];
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        many[i] = i % FILES;
    path_of(folder, 5, path);
    cr_assert_eq(unlink(path), 0);
    tnd_file_prefetch_t *prefetch = tnd_file_prefetch_new(path_of, folder);
    tnd_file_prefetch_add(prefetch, many, sizeof many / sizeof many[0]);
    tnd_file_prefetch_destroy(&prefetch);
    prefetch = tnd_file_prefetch_new(path_of, folder);
    tnd_file_prefetch_destroy(&prefetch);
}

Test(file_prefetch, helps_until_many_files_were_there)
{
    char byte;
    uint64_t all[FILES], until = tnd_clock_now() + UINT64_C(60000000000);
    bool evicts = evict(2);
    int file = open_file(2);
    cr_assert_eq(read(file, &byte, 1), 1);
    close(file);
    for (size_t i = 0; i < FILES; i++) {
        all[i] = i;
        if (!is_cached(i))
            cr_skip_test("this file system does not report what is in memory");
    }
    tnd_file_prefetch_t *prefetch = tnd_file_prefetch_new(path_of, folder);
    cr_assert(tnd_file_prefetch_helps(prefetch));
    while (tnd_file_prefetch_helps(prefetch)) {
        cr_assert_lt(tnd_clock_now(), until);
        tnd_file_prefetch_add(prefetch, all, FILES);
        sched_yield();
    }
    file = open_file(1);
    tnd_file_prefetch_note(prefetch, file);
    close(file);
    cr_assert_not(tnd_file_prefetch_helps(prefetch), "that file is there");
    /* Requests that still wait may bring it back, or find other files there. */
    for (file = open_file(2); evicts && !tnd_file_prefetch_helps(prefetch);) {
        cr_assert_lt(tnd_clock_now(), until, "a file that is not there does not show");
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        tnd_file_prefetch_note(prefetch, file);
    }
    close(file);
    tnd_file_prefetch_destroy(&prefetch);
}

/*  A file is opened once: by a thread, which keeps it open, or by its reader. */
Test(file_prefetch, an_opened_file_is_taken_once)
{
    const uint64_t some[] = {3, 3, 7};
    char path[PATH_MAX], link[64], target[PATH_MAX] = "";
    tnd_file_prefetch_t *prefetch = tnd_file_prefetch_new(path_of, folder);
    cr_assert_null(tnd_file_prefetch_take(prefetch, 3), "nothing was requested");
    tnd_kept_file_t *kept = NULL;
    uint64_t until = tnd_clock_now() + UINT64_C(60000000000);
    while (kept == NULL && tnd_clock_now() < until) { /* until a thread was first */
        tnd_file_prefetch_add(prefetch, some, sizeof some / sizeof some[0]);
        sched_yield();
        kept = tnd_file_prefetch_take(prefetch, 3);
    }
    cr_assert_not_null(kept);
    int file = tnd_kept_file_borrow(kept);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    cr_assert_gt(readlink(link, target, sizeof target - 1), 0);
    path_of(folder, 3, path);
    cr_assert_str_eq(target, path);
    tnd_kept_file_return(kept);
    tnd_kept_file_destroy(&kept);
    cr_assert_null(tnd_file_prefetch_take(prefetch, 3), "it was taken");
    cr_assert_null(tnd_file_prefetch_take(prefetch, 1027), "a file at the same remainder");
    tnd_file_prefetch_destroy(&prefetch);
}
