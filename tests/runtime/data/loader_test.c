/*  Covers runtime/data/loader.h: files come into memory; those that cannot be read are passed over.
 */
#include "runtime/data/loader.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { SIZE = 9 << 20, PIECE = 2 << 20, PAGE = 4096 };

/*  Whether the last page of each whole piece of 2 MiB is in memory: the loader waits for these; the
 *  kernel may pass over others that it was asked for. */
static bool is_loaded(void *data)
{
    static unsigned char pages[SIZE / PAGE];
    bool loaded = true;
    cr_assert_eq(mincore(data, SIZE, pages), 0);
    for (size_t end = PIECE; end <= SIZE; end += PIECE)
        loaded = loaded && (pages[end / PAGE - 1] & 1) != 0;
    return loaded;
}

Test(loader, loads_files_and_skips_missing_ones, .timeout = 60)
{
    char folder[] = "/tmp/tundish-loader-XXXXXX", path[128];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rows.bin", folder);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    char *piece = calloc(1, SIZE);
    cr_assert_eq(write(file, piece, SIZE), SIZE);
    cr_assert_eq(fdatasync(file), 0);
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    void *data = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
    cr_assert_neq(data, MAP_FAILED);

    tnd_loader_t *loader = tnd_loader_new();
    tnd_loader_add(loader, "/nowhere/to/be/found");
    tnd_loader_add(loader, path);
    tnd_loader_begin(loader);
    tnd_loader_begin(loader);
    while (!is_loaded(data))
        sched_yield();
    tnd_loader_destroy(&loader);
    cr_assert_null(loader);
    tnd_loader_destroy(&loader);

    loader = tnd_loader_new();
    tnd_loader_add(loader, path);
    tnd_loader_destroy(&loader);
    munmap(data, SIZE);
    close(file);
    free(piece);
    unlink(path);
    rmdir(folder);
}
