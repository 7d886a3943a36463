/*  runtime/data/shared_memory.c - memory that other processes of this machine can read.  */
#include "runtime/data/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

/*  The key, in a page of its own. */
enum { HEAD_BYTES = 4096 };

static const int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW;

struct tnd_shared_memory {
    atomic_uint holders;
    int file; /* -1: another process has it */
    uint8_t *base;
    size_t piece;
    uint32_t reserved;
    tnd_shared_name_t name;
};

static tnd_shared_memory_t *wrap(int file, void *base, size_t piece, const tnd_shared_name_t *name)
{
    tnd_shared_memory_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_shared_memory_t){.file = file, .base = base, .piece = piece, .name = *name};
    atomic_init(&self->holders, 1);
    return self;
}

/* --- the owner -------------------------------------------------------------------------------- */

/*  Others may not write; systems before Linux 5.1 do not know that seal. */
static bool seal(int file)
{
    return fcntl(file, F_ADD_SEALS, fixed_size) == 0 &&
           (fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0 || true) &&
           fcntl(file, F_ADD_SEALS, F_SEAL_SEAL) == 0;
}

static void *map_own(int file, tnd_shared_name_t *name)
{
    if (ftruncate(file, (off_t)name->bytes) != 0 || fallocate(file, 0, 0, HEAD_BYTES) != 0)
        return NULL;
    void *base = mmap(NULL, name->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED)
        return NULL;
    memcpy(base, name->key, sizeof name->key);
    if (seal(file))
        return base;
    munmap(base, name->bytes);
    return NULL;
}

tnd_shared_memory_t *tnd_shared_memory_new(size_t bytes, uint32_t pieces)
{
    size_t piece = (bytes + HEAD_BYTES - 1) / HEAD_BYTES * HEAD_BYTES;
    tnd_shared_name_t name = {.process = (uint32_t)getpid(), .bytes = HEAD_BYTES + piece * pieces};
    if (getrandom(name.key, sizeof name.key, 0) != sizeof name.key)
        return NULL;
    int file = memfd_create("tundish values", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return NULL;
    name.file = (uint32_t)file;
    void *base = map_own(file, &name);
    if (base != NULL)
        return wrap(file, base, piece, &name);
    close(file);
    return NULL;
}

/*  Allocates the pages here: a page that is missing when it is written would be SIGBUS. */
void *tnd_shared_memory_reserve(tnd_shared_memory_t *self)
{
    uint64_t offset = HEAD_BYTES + (uint64_t)self->reserved * self->piece;
    if (offset + self->piece > self->name.bytes ||
        fallocate(self->file, 0, (off_t)offset, (off_t)self->piece) != 0)
        return NULL;
    self->reserved++;
    return self->base + offset;
}

const tnd_shared_name_t *tnd_shared_memory_name(const tnd_shared_memory_t *self)
{
    return &self->name;
}

uint64_t tnd_shared_memory_offset(const tnd_shared_memory_t *self, const void *data)
{
    return (uint64_t)((const uint8_t *)data - self->base);
}

/* --- other processes -------------------------------------------------------------------------- */

/*  Opens a descriptor of another process without touching what it is: a device may do something
 *  when it is opened, and a pipe wait.  Only files of tmpfs are opened, which have pages of the
 *  usual size. */
static int open_file(const tnd_shared_name_t *name)
{
    char path[64];
    struct stat info;
    struct statfs system;
    snprintf(path, sizeof path, "/proc/%u/fd/%u", name->process, name->file);
    int seen = open(path, O_PATH | O_CLOEXEC);
    if (seen < 0)
        return -1;
    int file = -1;
    if (fstat(seen, &info) == 0 && S_ISREG(info.st_mode) && fstatfs(seen, &system) == 0 &&
        system.f_type == TMPFS_MAGIC && (uint64_t)info.st_size == name->bytes) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", seen);
        file = open(path, O_RDONLY | O_CLOEXEC);
    }
    close(seen);
    return file;
}

static bool has_fixed_size(int file, uint64_t bytes)
{
    struct stat info;
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & fixed_size) == fixed_size && fstat(file, &info) == 0 &&
           (uint64_t)info.st_size == bytes;
}

tnd_shared_memory_t *tnd_shared_memory_find(const tnd_shared_name_t *name)
{
    void *base = MAP_FAILED;
    if (name->bytes <= HEAD_BYTES || name->bytes > SIZE_MAX / 2)
        return NULL;
    int file = open_file(name);
    if (file < 0)
        return NULL;
    uint64_t key[2];
    if (has_fixed_size(file, name->bytes) && pread(file, key, sizeof key, 0) == sizeof key &&
        memcmp(key, name->key, sizeof key) == 0)
        base = mmap(NULL, name->bytes, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return base == MAP_FAILED ? NULL : wrap(-1, base, 0, name);
}

const void *tnd_shared_memory_at(const tnd_shared_memory_t *self, uint64_t offset, uint64_t bytes)
{
    bool inside =
        offset >= HEAD_BYTES && offset <= self->name.bytes && bytes <= self->name.bytes - offset;
    return inside ? self->base + offset : NULL;
}

/* --- both ------------------------------------------------------------------------------------- */

tnd_shared_memory_t *tnd_shared_memory_hold(tnd_shared_memory_t *self)
{
    atomic_fetch_add_explicit(&self->holders, 1, memory_order_relaxed);
    return self;
}

void tnd_shared_memory_drop(tnd_shared_memory_t **self_p)
{
    tnd_shared_memory_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) != 1)
        return;
    munmap(self->base, self->name.bytes);
    if (self->file >= 0)
        close(self->file);
    free(self);
}
