/*  runtime/base/library.c - loads a shared library, unless its file is cut off. */
#include "runtime/base/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_at(int file, void *into, size_t bytes, uint64_t offset)
{
    return pread(file, into, bytes, (off_t)offset) == (ssize_t)bytes;
}

/*  Whether the file ends before a segment that the loader would map.  Everything else that can be
 *  wrong with a file, dlopen() finds. */
static bool ends_early(int file)
{
    struct stat facts;
    ElfW(Ehdr) header;
    if (fstat(file, &facts) != 0 || !read_at(file, &header, sizeof header, 0) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        if (!read_at(file, &segment, sizeof segment, header.e_phoff + i * sizeof segment))
            return true;
        uint64_t size = (uint64_t)facts.st_size;
        if (segment.p_type == PT_LOAD &&
            (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
            return true;
    }
    return false;
}

static bool is_cut_off(const char *path)
{
    int file = strchr(path, '/') != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return false;
    bool early = ends_early(file);
    close(file);
    return early;
}

void *tnd_library_load(const char *path, int flags, char *why, size_t room)
{
    if (is_cut_off(path)) {
        snprintf(why, room, "the file is cut off");
        return NULL;
    }
    void *library = dlopen(path, flags);
    if (library != NULL)
        return library;
    const char *text = dlerror(); /* starts with the path */
    size_t length = strlen(path);
    bool named =
        text != NULL && strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0;
    snprintf(why, room, "%s", text == NULL ? "unknown reason" : text + (named ? length + 2 : 0));
    return NULL;
}
