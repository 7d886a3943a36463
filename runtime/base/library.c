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

#include "runtime/base/allocation.h"

static bool read_at(int file, void *into, size_t bytes, uint64_t offset)
{
    return pread(file, into, bytes, (off_t)offset) == (ssize_t)bytes;
}

/*  Reads the header; false: the loader would pass over this file, or find out itself. */
static bool is_library(int file, ElfW(Ehdr) * header)
{
    static const unsigned char own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    return read_at(file, header, sizeof *header, 0) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == own_class;
}

/*  Whether the file ends before a segment that the loader would map. */
static bool ends_early(int file, const ElfW(Ehdr) * header)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return false;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (!read_at(file, &segment, sizeof segment, header->e_phoff + i * sizeof segment))
            return true;
        uint64_t size = (uint64_t)facts.st_size;
        if (segment.p_type == PT_LOAD &&
            (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
            return true;
    }
    return false;
}

/*  false: the loader would not take it. */
static bool check_file(const char *path, bool *cut_off_p)
{
    ElfW(Ehdr) header;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool taken = is_library(file, &header);
    *cut_off_p = taken && ends_early(file, &header);
    close(file);
    return taken;
}

/*  Checks the file that the loader would find in its folders.  It may also know it from its cache; then
 *  the file is not checked, unless it is in one of these too. */
static bool check_name(const char *name, bool *cut_off_p)
{
    Dl_serinfo size;
    bool found = false;
    void *self = dlopen(NULL, RTLD_NOW);
    if (self == NULL || dlinfo(self, RTLD_DI_SERINFOSIZE, &size) != 0)
        return false;
    Dl_serinfo *folders = tnd_allocate(1, size.dls_size);
    if (dlinfo(self, RTLD_DI_SERINFOSIZE, folders) != 0 ||
        dlinfo(self, RTLD_DI_SERINFO, folders) != 0)
        folders->dls_cnt = 0;
    for (unsigned i = 0; i < folders->dls_cnt && !found; i++) {
        char *path = tnd_format_string("%s/%s", folders->dls_serpath[i].dls_name, name);
        found = check_file(path, cut_off_p);
        free(path);
    }
    free(folders);
    dlclose(self);
    return found;
}

static bool is_cut_off(const char *path)
{
    bool cut_off = false;
    return (strchr(path, '/') != NULL ? check_file : check_name)(path, &cut_off) && cut_off;
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
