/*  Covers actors/stored/chunk_hashes.h: the hashes are those of XXH3, of 64 KiB each, of several files
 *  one after the other; a changed byte is found in its chunk and in no other. */
#include "actors/stored/chunk_hashes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <xxhash.h>

enum { CHUNK = 65536, HEAD = 7, MOST = 3 * CHUNK + 1 };

static const tnd_source_scope_t scopes[] = {{.access = TND_ACCESS_MAP},
                                            {.access = TND_ACCESS_READ}};

typedef struct {
    char folder[64], data[96], hashes[96];
    uint8_t bytes[HEAD + MOST];
} bench_t;

static bench_t *begin(void)
{
    bench_t *self = calloc(1, sizeof *self);
    strcpy(self->folder, "/tmp/chunk_hashes_XXXXXX");
    cr_assert_not_null(mkdtemp(self->folder));
    snprintf(self->data, sizeof self->data, "%s/data", self->folder);
    snprintf(self->hashes, sizeof self->hashes, "%s/hashes.npy", self->folder);
    for (size_t i = 0; i < sizeof self->bytes; i++)
        self->bytes[i] = (uint8_t)(i * 31 + i / 251);
    return self;
}

static void end(bench_t *self)
{
    (void)unlink(self->data);
    (void)unlink(self->hashes);
    (void)rmdir(self->folder);
    free(self);
}

static void put(const char *path, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_eq(write(file, bytes, size), (ssize_t)size);
    close(file);
}

/*  The hashes of two files: the first `size` bytes after the head, in pieces, and a short one. */
static void write_hashes(const bench_t *self, size_t size)
{
    tnd_chunk_hasher_t *hashers[] = {tnd_chunk_hasher_new(), tnd_chunk_hasher_new()};
    for (size_t done = 0, some; done < size; done += some) {
        some = size - done < 10007 ? size - done : 10007;
        tnd_chunk_hasher_add(hashers[0], self->bytes + HEAD + done, some);
    }
    tnd_chunk_hasher_add(hashers[1], "short", 5);
    int file = open(self->hashes, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert(tnd_chunk_hashes_write(file, hashers, 2));
    close(file);
    tnd_chunk_hasher_destroy(&hashers[0]);
    tnd_chunk_hasher_destroy(&hashers[1]);
}

static void compare_sizes(const tnd_source_scope_t *scope)
{
    static const size_t sizes[] = {1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        bench_t *bench = begin();
        size_t end_of = HEAD + sizes[s], chunks = (sizes[s] + CHUNK - 1) / CHUNK;
        tnd_error_t error = {.text = ""};
        write_hashes(bench, sizes[s]);
        for (size_t damaged = 0; damaged <= chunks; damaged++) {
            size_t at = damaged < chunks ? HEAD + damaged * CHUNK : 0; /* the head has no hash */
            tnd_chunk_list_t list;
            tnd_chunk_hashes_t hashes;
            tnd_chunk_hashes_t second;
            tnd_content_t content;
            bench->bytes[at] ^= 1;
            put(bench->data, bench->bytes, end_of);
            bench->bytes[at] ^= 1;
            cr_assert_eq(tnd_content_open(&content, bench->data, scope, &error), TND_OK);
            cr_assert_eq(tnd_chunk_list_open(&list, bench->hashes, -1, &error), TND_OK);
            cr_assert_eq(
                tnd_chunk_list_take(&list, &hashes, bench->data, "do", HEAD, end_of, &error),
                TND_OK);
            cr_expect_not(tnd_chunk_list_is_at_end(&list));
            cr_assert_eq(tnd_chunk_list_take(&list, &second, "x", "y", 0, 5, &error), TND_OK);
            cr_assert_eq(tnd_chunk_list_end(&list, &error), TND_OK);
            for (size_t c = 0; c < chunks; c++) {
                size_t from = HEAD + c * CHUNK;
                uint64_t hash =
                    XXH3_64bits(bench->bytes + from, end_of - from < CHUNK ? end_of - from : CHUNK);
                cr_expect_eq(memcmp(hashes.hashes + 8 * c, &hash, 8), 0);
                for (int twice = 0; twice < 2; twice++)
                    cr_expect_eq(tnd_chunk_hashes_check(&hashes, &content, from, 1, &error),
                                 c == damaged ? TND_FAILED : TND_OK, "%zu: %zu %zu", s, c, damaged);
            }
            cr_expect_eq(tnd_chunk_hashes_check(&hashes, &content, HEAD, sizes[s], &error),
                         damaged < chunks ? TND_FAILED : TND_OK);
            cr_expect(damaged == chunks || strstr(error.text, "; do") != NULL, "%s", error.text);
            tnd_chunk_hashes_free(&hashes);
            tnd_chunk_hashes_free(&second);
            tnd_chunk_list_close(&list);
            tnd_content_close(&content);
        }
        end(bench);
    }
}

Test(chunk_hashes, each_chunk_of_a_mapped_file_is_compared)
{
    compare_sizes(&scopes[0]);
}

Test(chunk_hashes, each_chunk_of_a_file_that_is_read_is_compared)
{
    compare_sizes(&scopes[1]);
}

/*  One chunk more or fewer, and a file that was left out or added. */
Test(chunk_hashes, a_list_of_other_files_is_refused)
{
    static const struct {
        size_t size, second;
    } cases[] = {{CHUNK, 5}, {3 * CHUNK, 5}, {2 * CHUNK, 0}, {2 * CHUNK, CHUNK + 1}};
    bench_t *bench = begin();
    tnd_error_t error = {.text = ""};
    write_hashes(bench, 2 * CHUNK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnd_chunk_list_t list;
        tnd_chunk_hashes_t hashes = {0}, second = {0};
        cr_assert_eq(tnd_chunk_list_open(&list, bench->hashes, -1, &error), TND_OK);
        bool right =
            tnd_chunk_list_take(&list, &hashes, "x", "y", 0, cases[i].size, &error) == TND_OK &&
            tnd_chunk_list_take(&list, &second, "x", "y", 0, cases[i].second, &error) == TND_OK &&
            tnd_chunk_list_end(&list, &error) == TND_OK;
        cr_expect_not(right, "%zu", i);
        cr_expect_not_null(strstr(error.text, bench->hashes), "%s", error.text);
        tnd_chunk_hashes_free(&hashes);
        tnd_chunk_hashes_free(&second);
        tnd_chunk_list_close(&list);
    }
    end(bench);
}
