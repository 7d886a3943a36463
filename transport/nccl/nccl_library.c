/*  transport/nccl/nccl_library.c - looks for NCCL and the addresses of its calls. */
#include "transport/nccl/nccl_library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/library.h"
#include "transport/python_packages.h"

/*  The first with all calls of the table and all members of the configuration. */
enum { OLDEST = 21900 };

static const char file_name[] = "libnccl.so.2";

static const struct {
    const char *name;
    size_t place;
} calls[] = {
#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(result, name, parameters) {#name, offsetof(tnd_nccl_library_t, name)},
#include "transport/nccl/nccl_calls.def"
#undef CALL
#undef CONSTANT
#undef TYPE
};

static tnd_nccl_library_t library;
static void *handle;
static tnd_status_t outcome;
static tnd_error_t reason; /* why it cannot be used */

tnd_nccl_config_t tnd_nccl_config(void)
{
    static const unsigned int magic = 0xcafebeef;
    return (tnd_nccl_config_t){.size = sizeof(tnd_nccl_config_t),
                               .magic = magic,
                               .version = OLDEST,
                               .blocking = 0,
                               .cgaClusterSize = TND_NCCL_UNDEFINED,
                               .minCTAs = TND_NCCL_UNDEFINED,
                               .maxCTAs = TND_NCCL_UNDEFINED,
                               .splitShare = TND_NCCL_UNDEFINED};
}

const char *tnd_nccl_version_text(int version, char *text, size_t room)
{
    if (version < 10000) /* until 2.8 */
        snprintf(text, room, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    else
        snprintf(text, room, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return text;
}

const char *tnd_nccl_failure(const tnd_nccl_library_t *self, const char *call, ncclResult_t result,
                             char *text, size_t room)
{
    const char *meaning = self->ncclGetErrorString(result);
    const char *more = self->ncclGetLastError(NULL);
    bool has_more = more != NULL && more[0] != '\0';
    snprintf(text, room, "%s failed: %s%s%.*s (%d)", call,
             meaning != NULL ? meaning : "unknown error", has_more ? ": " : "",
             has_more ? (int)strcspn(more, "\n") : 0, has_more ? more : "", result);
    return text;
}

/* --- looking for it --------------------------------------------------------------------------- */

/*  *path_p is what was to be loaded, for errors. */
static void *load(const char **path_p, char *why, size_t room)
{
    static char packaged[PATH_MAX];
    static const char *const packages[] = {"nvidia/nccl/lib/libnccl.so.2", NULL};
    const char *named = getenv("TUNDISH_NCCL");
    *path_p = file_name;
    void *loaded = dlopen(file_name, RTLD_NOW | RTLD_NOLOAD);
    if (loaded != NULL)
        return loaded;
    if (named != NULL && named[0] != '\0') {
        *path_p = named;
        return tnd_library_load(named, RTLD_NOW | RTLD_LOCAL, why, room);
    }
    loaded = tnd_library_load(file_name, RTLD_NOW | RTLD_LOCAL, why, room);
    if (loaded != NULL || !tnd_python_packages_find(packages, packaged, sizeof packaged))
        return loaded;
    *path_p = packaged;
    return tnd_library_load(packaged, RTLD_NOW | RTLD_LOCAL, why, room);
}

static tnd_status_t find_calls(tnd_error_t *error)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *address = dlsym(handle, calls[i].name);
        if (address == NULL)
            return tnd_fail(error, "%s lacks %s, as NCCL before 2.19 does: update it", library.path,
                            calls[i].name);
        memcpy((char *)&library + calls[i].place, &address, sizeof address);
    }
    return TND_OK;
}

static void note_path(const char *path)
{
    const struct link_map *map = NULL;
    bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
    snprintf(library.path, sizeof library.path, "%s", known ? map->l_name : path);
}

static tnd_status_t start(tnd_error_t *error)
{
    char why[256], text[32];
    const char *path;
    handle = load(&path, why, sizeof why);
    if (handle == NULL)
        return tnd_fail(error,
                        "NCCL cannot be loaded: %s: %s; install it, or name its file in "
                        "TUNDISH_NCCL",
                        path, why);
    note_path(path);
    TND_TRY(find_calls(error));
    ncclResult_t result = library.ncclGetVersion(&library.version);
    if (result != ncclSuccess)
        return tnd_fail(error, "%s: %s", library.path,
                        tnd_nccl_failure(&library, "ncclGetVersion", result, why, sizeof why));
    if (library.version < OLDEST)
        return tnd_fail(error, "%s is NCCL %s and 2.19 is needed: update it", library.path,
                        tnd_nccl_version_text(library.version, text, sizeof text));
    return TND_OK;
}

static void start_once(void)
{
    outcome = start(&reason);
}

tnd_status_t tnd_nccl_library(const tnd_nccl_library_t **library_p, tnd_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
    *library_p = &library;
    return outcome == TND_OK ? TND_OK : tnd_fail(error, "%s", reason.text);
}

bool tnd_nccl_library_found(void)
{
    return handle != NULL;
}
