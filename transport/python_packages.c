/*  transport/python_packages.c - finds files of packages that are installed for Python. */
#include "transport/python_packages.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1024 };

static bool find_in(const char *packages, const char *const *patterns, char *path, size_t room)
{
    for (size_t i = 0; patterns[i] != NULL; i++) {
        char pattern[2 * ROOM];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/%s", packages, patterns[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            snprintf(path, room, "%s", found.gl_pathv[0]);
            globfree(&found);
            return true;
        }
    }
    return false;
}

/*  The folder above the `bin` of the python3 that PATH has; "": none. */
static void find_prefix(char *prefix, size_t room)
{
    const char *list = getenv("PATH");
    prefix[0] = '\0';
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        char program[ROOM];
        int used = snprintf(program, sizeof program, "%.*s/python3", (int)length, list);
        if (length > 0 && (size_t)used < sizeof program && access(program, X_OK) == 0) {
            snprintf(prefix, room, "%.*s/..", (int)length, list);
            return;
        }
        list += length + (list[length] == ':');
    }
}

bool tnd_python_packages_find(const char *const *patterns, char *path, size_t room)
{
    char prefix[ROOM];
    find_prefix(prefix, sizeof prefix);
    const struct {
        const char *root, *below;
    } places[] = {{getenv("VIRTUAL_ENV"), "/lib/python3*/site-packages"},
                  {prefix[0] != '\0' ? prefix : NULL, "/lib/python3*/site-packages"},
                  {getenv("HOME"), "/.local/lib/python3*/site-packages"},
                  {"", "/usr/local/lib/python3*/*-packages"},
                  {"", "/usr/lib/python3*/*-packages"}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char packages[ROOM];
        if (places[i].root == NULL)
            continue;
        snprintf(packages, sizeof packages, "%s%s", places[i].root, places[i].below);
        if (find_in(packages, patterns, path, room))
            return true;
    }
    return false;
}
