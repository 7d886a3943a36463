/*  transport/device/pjrt_plugin.c - finds, checks and starts the plugin. */
#include "transport/device/pjrt_plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/library.h"
#include "transport/python_packages.h"

static tnd_pjrt_plugin_t plugin;
static char reason[448]; /* why it cannot be used */

/*  The characters of a path that leave room for the rest of a reason. */
enum { SHOWN = 240 };

/*  XLA's messages may go on for pages; the first line says what happened. */
static void take_text(char *to, size_t room, const char *text, size_t length)
{
    size_t line = 0;
    while (line < length && text[line] != '\n' && text[line] != '\0')
        line++;
    snprintf(to, room, "%.*s", (int)(line < room ? line : room), text);
}

bool tnd_pjrt_succeeded(void *error, char *why, size_t room)
{
    if (error == NULL)
        return true;
    text_args_t message = {.size = sizeof message, .thing = error};
    (void)plugin.table->calls[CALL_Error_Message](&message);
    take_text(why, room, message.text, message.length);
    one_args_t destroy = {.size = sizeof destroy, .thing = error};
    (void)plugin.table->calls[CALL_Error_Destroy](&destroy);
    return false;
}

static bool find_plugin(char *path, size_t room)
{
    static const char *const plugins[] = {"jax_plugins/*/*.so", "xla_plugins/*/*.so",
                                          "libtpu/libtpu.so", NULL};
    const char *named = getenv("TUNDISH_PJRT");
    if (named == NULL || named[0] == '\0')
        return tnd_python_packages_find(plugins, path, room);
    snprintf(path, room, "%s", named);
    return true;
}

static const table_t *table_of(const char *path, const char *shown)
{
    char why[256];
    void *library = tnd_library_load(path, RTLD_NOW | RTLD_LOCAL, why, sizeof why);
    if (library == NULL) {
        snprintf(reason, sizeof reason, "%s cannot be loaded: %s", shown, why);
        return NULL;
    }
    const table_t *(*get)(void) = (const table_t *(*)(void))(uintptr_t)dlsym(library, "GetPjrtApi");
    const table_t *table = get != NULL ? get() : NULL;
    if (table == NULL)
        snprintf(reason, sizeof reason, "%s is not a PJRT plugin: it has no %s", shown,
                 get != NULL ? "table of calls" : "GetPjrtApi");
    return table;
}

static bool has(const table_t *table, unsigned place)
{
    return table->size >= offsetof(table_t, calls) + (place + 1) * sizeof(call_t *) &&
           table->calls[place] != NULL;
}

/*  The first of the calls that no plugin may lack; NULL: all are there. */
static const char *missing_call(const table_t *table)
{
#define IS_MISSING(name, place, kind)                                                              \
    if ((place) < CALLS_NEEDED && !has(table, (place)))                                            \
        return "PJRT_" #name;
    CALLS(IS_MISSING)
#undef IS_MISSING
    return NULL;
}

static bool is_usable(const char *path, const table_t *table)
{
    if (table->size < offsetof(table_t, calls)) {
        snprintf(reason, sizeof reason, "%s has a table of %zu bytes, which is too short", path,
                 table->size);
        return false;
    }
    if (table->version.major != 0 || table->version.minor < OLDEST_MINOR) {
        snprintf(reason, sizeof reason,
                 "%s has version %d.%d of the PJRT interface; 0.%d or a later 0.x is needed", path,
                 table->version.major, table->version.minor, OLDEST_MINOR);
        return false;
    }
    const char *missing = missing_call(table);
    if (missing != NULL)
        snprintf(reason, sizeof reason, "%s lacks %s: its table has %zu bytes", path, missing,
                 table->size);
    return missing == NULL;
}

/*  GPU plugins take three quarters of the memory at once unless they are told not to; others may
 *  not know that option. */
static bool create_client(char *why, size_t room)
{
    one_args_t start = {.size = offsetof(one_args_t, thing)};
    option_t option = {.size = sizeof option,
                       .name = "preallocate",
                       .name_length = strlen("preallocate"),
                       .type = 4,
                       .values = 1};
    if (!tnd_pjrt_succeeded(plugin.table->calls[CALL_Plugin_Initialize](&start), why, room))
        return false;
    for (size_t options = 2; options-- > 0;) {
        create_args_t create = {.size = sizeof create, .options = &option, .option_count = options};
        if (tnd_pjrt_succeeded(plugin.table->calls[CALL_Client_Create](&create), why, room)) {
            plugin.client = create.client;
            return true;
        }
    }
    return false;
}

static bool list_devices(char *why, size_t room)
{
    devices_args_t list = {.size = sizeof list, .client = plugin.client};
    text_args_t platform = {.size = sizeof platform, .thing = plugin.client};
    if (!tnd_pjrt_succeeded(plugin.table->calls[CALL_Client_AddressableDevices](&list), why,
                            room) ||
        !tnd_pjrt_succeeded(plugin.table->calls[CALL_Client_PlatformName](&platform), why, room))
        return false;
    snprintf(why, room, "it found no devices");
    plugin.devices = list.devices;
    plugin.count = (uint32_t)list.count;
    plugin.on_host = platform.length == 3 && memcmp(platform.text, "cpu", 3) == 0;
    return list.count > 0;
}

static void start_plugin(void)
{
    char path[512], shown[SHOWN + 1], why[160];
    if (!find_plugin(path, sizeof path)) {
        snprintf(reason, sizeof reason,
                 "no PJRT plugin is among Python's packages: name its file in TUNDISH_PJRT");
        return;
    }
    size_t length = strlen(path);
    bool fits = length <= SHOWN;
    snprintf(shown, sizeof shown, "%s%s", fits ? "" : "...",
             fits ? path : path + length - SHOWN + strlen("..."));
    const table_t *table = table_of(path, shown);
    if (table == NULL || !is_usable(shown, table))
        return;
    plugin.table = table;
    if (!create_client(why, sizeof why) || !list_devices(why, sizeof why))
        snprintf(reason, sizeof reason, "%s: %s", shown, why);
}

const tnd_pjrt_plugin_t *tnd_pjrt_plugin(char *why, size_t room)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_plugin);
    snprintf(why, room, "%s", reason);
    return plugin.count > 0 ? &plugin : NULL;
}

bool tnd_pjrt_has(unsigned place)
{
    return has(plugin.table, place);
}

bool tnd_pjrt_call(unsigned place, void *args, char *why, size_t room)
{
    return tnd_pjrt_succeeded(plugin.table->calls[place](args), why, room);
}
