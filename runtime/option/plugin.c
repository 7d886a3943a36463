/*  runtime/option/plugin.c - finds and loads shared objects that users write. */
#include "runtime/option/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tundish/tundish.h>
#include <xxhash.h>

#include "runtime/base/library.h"

typedef struct {
    char path[512];     /* of the file that was found */
    char searched[768]; /* for the text */
} search_t;

/*  Its address identifies the file of this code. */
static const uint32_t tnd_abi_of_plugins = TND_ABI;

/*  Looks in one folder, of `length` characters. */
static bool look(search_t *search, const char *folder, size_t length, const char *plugin)
{
    size_t used = strlen(search->searched);
    if (length == 0)
        return false;
    snprintf(search->searched + used, sizeof search->searched - used, "%s%.*s",
             used > 0 ? ", " : "", (int)length, folder);
    snprintf(search->path, sizeof search->path, "%.*s/%s.so", (int)length, folder, plugin);
    return access(search->path, R_OK) == 0;
}

/*  The plugin folder of an installed tree, relative to its library or program. */
static bool look_near(search_t *search, const char *program, const char *plugin)
{
    static const char below[] = "/tundish", aside[] = "/../" TND_PLUGIN_NEAR;
    char folder[1024], library[512] = "";
    Dl_info of;
    if (dladdr(&tnd_abi_of_plugins, &of) != 0 && of.dli_fname != NULL)
        snprintf(library, sizeof library, "%s", of.dli_fname);
    const char *const files[] = {strstr(library, ".so") != NULL ? library : "", program};
    for (size_t i = 0; i < 2; i++) {
        const char *slash = strrchr(files[i], '/');
        if (slash == NULL)
            continue;
        snprintf(folder, sizeof folder, "%.*s%s", (int)(slash - files[i]), files[i],
                 i == 0 ? below : aside);
        if (look(search, folder, strlen(folder), plugin))
            return true;
    }
    return false;
}

static bool find(search_t *search, const char *folder, const char *plugin)
{
    if (folder != NULL && look(search, folder, strlen(folder), plugin))
        return true;
    const char *path = getenv("TUNDISH_PLUGIN_PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        if (look(search, path, length, plugin))
            return true;
        path += length + (path[length] == ':');
    }
    char program[512] = "";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
        const char *slash = strrchr(program, '/');
        if (slash != NULL && look(search, program, (size_t)(slash - program), plugin))
            return true;
    }
    return look_near(search, program, plugin) ||
           look(search, TND_PLUGIN_DIR, strlen(TND_PLUGIN_DIR), plugin);
}

/*  Both halves of FILE.NAME, or NAME twice; returns false if they are not valid names. */
static bool split_name(const char *name, char file[64], char table[64])
{
    const char *dot = strrchr(name, '.');
    size_t length = dot != NULL ? (size_t)(dot - name) : strlen(name);
    const char *last = dot != NULL ? dot + 1 : name;
    if (length == 0 || length > 63 || *last == '\0' || strlen(last) > 63 ||
        strchr(name, '/') != NULL || strcmp(last, "so") == 0)
        return false;
    memcpy(file, name, length);
    file[length] = '\0';
    strcpy(table, last);
    return true;
}

/*  Plugins may be linked with the library of Tundish, which the command has in itself: so that the
 *  loader finds it, the one beside the program is loaded. */
static bool load_own_library(void)
{
    /* A wheel has the second one. */
    static const char *const files[] = {"libtundish.so.0", "libtundish.so",
                                        "../" TND_PLUGIN_NEAR "/../libtundish.so.0"};
    char program[512] = "", path[1024];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *slash = length > 0 ? strrchr(program, '/') : NULL;
    for (size_t i = 0; slash != NULL && i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - program), program, files[i]);
        if (access(path, R_OK) == 0 && dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL)
            return true;
    }
    return false;
}

/*  Shows the functions of this library to plugins, if the program has loaded it for itself only. */
static bool show_own_functions(void)
{
    Dl_info of;
    return dladdr(&tnd_abi_of_plugins, &of) != 0 && of.dli_fname != NULL &&
           dlopen(of.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) != NULL;
}

static tnd_status_t open_library(void **library_p, const char *folder, const char *what,
                                 const char *file, bool stays, search_t *search, tnd_error_t *error)
{
    if (!find(search, folder, file))
        return tnd_fail(error,
                        "%s plugin %s.so is in none of %s: build it, or name its folder in "
                        "TUNDISH_PLUGIN_PATH",
                        what, file, search->searched);
    char why[256];
    int flags = RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0);
    *library_p = tnd_library_load(search->path, flags, why, sizeof why);
    if (*library_p == NULL && show_own_functions())
        *library_p = tnd_library_load(search->path, flags, why, sizeof why);
    if (*library_p == NULL && load_own_library())
        *library_p = tnd_library_load(search->path, flags, why, sizeof why);
    if (*library_p == NULL)
        return tnd_fail(error, "%s cannot be loaded: %s", search->path, why);
    return TND_OK;
}

tnd_status_t tnd_plugin_load(void **library_p, const void **table_p, const char *folder,
                             const char *what, const char *name, bool stays, tnd_error_t *error)
{
    search_t search = {.searched = ""};
    char file[64], last[64], symbol[128];
    void *library = NULL;
    tnd_status_t status = TND_FAILED;
    if (!split_name(name, file, last))
        return tnd_fail(error,
                        "%s plugin '%s': a name is expected, without folder and ending, or "
                        "FILE.NAME for a file with several",
                        what, name);
    TND_TRY(open_library(&library, folder, what, file, stays, &search, error));
    snprintf(symbol, sizeof symbol, "tnd_%s_%s", what, last);
    const uint32_t *abi = dlsym(library, symbol);
    if (abi == NULL)
        (void)tnd_fail(error,
                       "%s does not export `%s`: a %s plugin defines `const tnd_%s_ops_t %s`",
                       search.path, symbol, what, what, symbol);
    else if (*abi != TND_ABI)
        (void)tnd_fail(error,
                       "%s was built for version %" PRIu32 " of the tables of %ss, this "
                       "program has version %u: build it again",
                       search.path, *abi, what, TND_ABI);
    else
        status = TND_OK;
    if (status != TND_OK) {
        tnd_plugin_close(&library);
        return status;
    }
    *library_p = library;
    *table_p = abi;
    return TND_OK;
}

tnd_status_t tnd_plugin_build(const void *table, uint64_t *build_p, tnd_error_t *error)
{
    static const char what[] = "plugin %s: cannot be read: %s";
    Dl_info of;
    struct stat facts;
    if (dladdr(table, &of) == 0)
        return tnd_fail(error, "the file of a plugin is not known");
    int file = open(of.dli_fname, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return tnd_fail(error, what, of.dli_fname, strerror(errno));
    void *data = MAP_FAILED;
    if (fstat(file, &facts) == 0)
        data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    int reason = errno;
    close(file);
    if (data == MAP_FAILED)
        return tnd_fail(error, what, of.dli_fname, strerror(reason));
    *build_p = XXH3_64bits(data, (size_t)facts.st_size) | 1;
    munmap(data, (size_t)facts.st_size);
    return TND_OK;
}

void tnd_plugin_close(void **library_p)
{
    if (*library_p != NULL)
        dlclose(*library_p);
    *library_p = NULL;
}
