/*  runtime/option/python_module.c - finds the source of a module of Python, for its hash. */
#include "runtime/option/python_module.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

/*  The size of the names with dots between them at the start of a text; 0: there is none. */
static size_t dotted(const char *text)
{
    size_t size = 0;
    for (bool first = true;; first = true) {
        for (;
             (text[size] >= 'a' && text[size] <= 'z') || (text[size] >= 'A' && text[size] <= 'Z') ||
             text[size] == '_' || (!first && text[size] >= '0' && text[size] <= '9');
             first = false)
            size++;
        if (first)
            return 0;
        if (text[size] != '.')
            return size;
        size++;
    }
}

bool tnd_python_call_is_valid(const char *call)
{
    size_t module = dotted(call);
    if (module == 0 || call[module] != ':')
        return false;
    size_t name = dotted(call + module + 1);
    return name > 0 && call[module + 1 + name] == '\0';
}

static uint64_t hash_file(const char *path)
{
    enum { PIECE = 65536 };
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    XXH3_state_t *state = XXH3_createState();
    char *piece = malloc(PIECE);
    ssize_t size = state != NULL && piece != NULL && XXH3_64bits_reset(state) == XXH_OK ? 1 : -1;
    while (size > 0 && (size = read(file, piece, PIECE)) > 0)
        (void)XXH3_64bits_update(state, piece, (size_t)size);
    uint64_t hash = size == 0 ? XXH3_64bits_digest(state) | 1 : 0;
    free(piece);
    (void)XXH3_freeState(state);
    close(file);
    return hash;
}

/*  Looks in one folder, of `length` characters. */
static uint64_t look(const char *folder, size_t length, const char *module, size_t size, char *path,
                     size_t room)
{
    static const char *const ends[] = {"/__init__.py", ".py"};
    for (size_t i = 0; i < 2; i++) {
        int used =
            snprintf(path, room, "%.*s/%.*s%s", (int)length, folder, (int)size, module, ends[i]);
        for (size_t at = length + 1; at < length + 1 + size && at < room; at++)
            path[at] = path[at] == '.' ? '/' : path[at];
        uint64_t hash = used > 0 && (size_t)used < room ? hash_file(path) : 0;
        if (hash != 0)
            return hash;
    }
    return 0;
}

/*  Looks in the folders of a list with colons between them; NULL: none. */
static uint64_t look_in(const char *list, const char *module, size_t size, char *path, size_t room)
{
    uint64_t hash = 0;
    while (hash == 0 && list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        if (length > 0)
            hash = look(list, length, module, size, path, room);
        list += length + (list[length] == ':');
    }
    return hash;
}

uint64_t tnd_python_module_hash(const char *directory, const char *call, char *path, size_t room)
{
    size_t size = strcspn(call, ":");
    const char *folder = directory != NULL ? directory : ".";
    uint64_t hash = look(folder, strlen(folder), call, size, path, room);
    if (hash == 0)
        hash = look_in(getenv("TUNDISH_PYTHONPATH"), call, size, path, room);
    if (hash == 0)
        hash = look_in(getenv("PYTHONPATH"), call, size, path, room);
    return hash;
}
