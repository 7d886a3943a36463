/*  tools/cli/installed.c - finds the files that are installed with the program. */
#include "tools/cli/installed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *tnd_installed_find(tnd_arena_t *arena, const char *name)
{
    static const char *const places[] = {"share/tundish/examples", "examples"};
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size <= 0)
        return NULL;
    program[size] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *found =
            realpath(tnd_arena_format(arena, "%s/../%s/%s", program, places[i], name), NULL);
        if (found == NULL)
            continue;
        const char *kept = tnd_arena_text(arena, found, strlen(found));
        free(found);
        return kept;
    }
    return NULL;
}
