/*  tools/bench/sample_file.c - files with data for measurements. */
#include "tools/bench/sample_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <isa-l.h>

#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"

enum { PATTERN_BYTES = 1048573, PAGE_BYTES = 4096, NPY_HEADER_BYTES = 128 };

/*  The folder of this process, "" if none; global, because an exit handler removes it. */
static char folder[128];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void remove_folder(void)
{
    tnd_folder_remove(folder);
}

static const char *need_folder(void)
{
    const char *parent = getenv("TMPDIR");
    if (folder[0] != '\0')
        return folder;
    snprintf(folder, sizeof folder, "%s/tundish-bench-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL)
        fail(folder);
    atexit(remove_folder);
    return folder;
}

static size_t available_memory(void)
{
    unsigned long long kib = SIZE_MAX / 1024;
    char line[128];
    FILE *in = fopen("/proc/meminfo", "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (in != NULL)
        fclose(in);
    return (size_t)kib * 1024;
}

size_t bench_file_room(size_t bytes)
{
    struct statvfs disk;
    if (statvfs(need_folder(), &disk) != 0)
        fail(folder);
    size_t room = (size_t)disk.f_bavail * disk.f_frsize, memory = available_memory();
    room = (room < memory ? room : memory) / 3 * 2;
    if (room >= bytes)
        return bytes;
    fprintf(stderr, "bench: %zu MiB of data instead of %zu: %s is full\n", room >> 20, bytes >> 20,
            folder);
    return room;
}

static void write_all(int file, const void *data, size_t bytes, const char *path)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t done = write(file, at, bytes);
        if (done <= 0)
            fail(path);
        at += done;
        bytes -= (size_t)done;
    }
}

static void write_rows(int file, size_t bytes, const char *path)
{
    uint8_t *pattern = tnd_allocate(1, PATTERN_BYTES);
    uint64_t state = 1;
    for (size_t i = 0; i < PATTERN_BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        pattern[i] = (uint8_t)(state >> 56);
    }
    for (size_t left = bytes; left > 0;) {
        size_t some = left < PATTERN_BYTES ? left : PATTERN_BYTES;
        write_all(file, pattern, some, path);
        left -= some;
    }
    free(pattern);
}

static bench_file_t make(const char *name, const char *header, size_t header_bytes,
                         size_t row_bytes, size_t count)
{
    bench_file_t self = {.row_bytes = row_bytes, .count = count, .header_bytes = header_bytes};
    snprintf(self.path, sizeof self.path, "%s/%s", need_folder(), name);
    int file = open(self.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        fail(self.path);
    write_all(file, header, header_bytes, self.path);
    write_rows(file, row_bytes * count, self.path);
    void *data =
        mmap(NULL, header_bytes + row_bytes * count, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (data == MAP_FAILED)
        fail(self.path);
    close(file);
    self.rows = (const uint8_t *)data + header_bytes;
    return self;
}

bench_file_t bench_file_raw(const char *name, size_t row_bytes, size_t bytes)
{
    return make(name, "", 0, row_bytes, bench_file_room(bytes) / row_bytes);
}

bench_file_t bench_file_npy(const char *name, const char *descr, size_t columns, size_t count)
{
    char header[NPY_HEADER_BYTES + 1];
    memset(header, ' ', NPY_HEADER_BYTES);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used = snprintf(header + 10, NPY_HEADER_BYTES - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }", descr,
                        count, columns);
    header[10 + used] = ' ';
    header[NPY_HEADER_BYTES - 1] = '\n';
    size_t size = (size_t)(descr[2] - '0');
    return make(name, header, NPY_HEADER_BYTES, columns * size, count);
}

static uint32_t masked_crc(const uint8_t *data, uint64_t size)
{
    uint32_t crc = ~crc32_iscsi((unsigned char *)(uintptr_t)data, (int)size, UINT32_MAX);
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

void bench_frame(uint8_t *frame, uint64_t length)
{
    memcpy(frame, &length, sizeof length);
    uint32_t crc = masked_crc(frame, sizeof length);
    memcpy(frame + 8, &crc, sizeof crc);
    crc = masked_crc(frame + 12, length);
    memcpy(frame + 12 + length, &crc, sizeof crc);
}

void bench_file_unmap(bench_file_t *self)
{
    munmap((void *)(uintptr_t)(self->rows - self->header_bytes),
           self->header_bytes + self->count * self->row_bytes);
    self->rows = NULL;
}

void bench_file_evict(const bench_file_t *self)
{
    int file = open(self->path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fdatasync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0)
        fail(self->path);
    close(file);
}

void bench_file_forget(bench_file_t *self)
{
    bench_file_unmap(self);
    unlink(self->path);
}

void bench_file_touch(const bench_file_t *self)
{
    const volatile uint8_t *bytes = self->rows;
    for (size_t at = 0; at < self->count * self->row_bytes; at += PAGE_BYTES)
        (void)bytes[at];
}
