/*  runtime/plan/placement_devices.c - reads the devices of feeders: names, ranges and `auto`. */
#include "runtime/plan/placement_internal.h"

#include <stdlib.h>

#include "runtime/option/registry.h"

enum { DEVICES_MAX = 4096 };

static const char digits[] = "0123456789";

/*  The length of "KIND:" at the beginning of a device; 0: it has none. */
static size_t kind_size(const char *device)
{
    size_t size = strspn(device, "abcdefghijklmnopqrstuvwxyz");
    return size > 0 && device[size] == ':' ? size + 1 : 0;
}

/*  A kind and a number, or a kind and a name of the device's own, such as GPU-5a1f-... */
static bool is_device(const char *device)
{
    const char *which = device + kind_size(device);
    size_t number = strspn(which, digits);
    if (which == device || *which == '\0')
        return false;
    if (number > 0)
        return which[number] == '\0' && number <= 4;
    return strspn(which, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") ==
           strlen(which);
}

static bool refuse(placer_t *self, tnd_mark_t mark, const char *device)
{
    tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark, "`%s` is not a device",
                        device);
    tnd_diagnostics_help(diagnostics_of(self),
                         "a device is a kind and a number, such as `cpu:0` or `cuda:1`; "
                         "`cuda:[0-7]` are eight of them");
    return false;
}

static bool refuse_auto(placer_t *self, tnd_mark_t mark)
{
    tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark,
                        "`auto` is all devices of the machine, and others are listed beside it");
    tnd_diagnostics_help(diagnostics_of(self),
                         "write `devices: auto`, or list the devices, such as `[\"cuda:[0-7]\"]`");
    return false;
}

static const char **copy(placer_t *self, const char *const *texts, size_t count, const char *more)
{
    const char **made = tnd_arena_array(arena_of(self), count + 1, sizeof *made);
    if (count > 0)
        memcpy(made, texts, count * sizeof *made);
    made[count] = more;
    return made;
}

static void add(placer_t *self, devices_t *list, const char *device, const char *written)
{
    list->items = copy(self, list->items, list->count, device);
    list->written = copy(self, list->written, list->count, written);
    list->count++;
}

static bool add_once(placer_t *self, devices_t *list, const char *device, const char *written,
                     tnd_mark_t mark)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], device) == 0) {
            tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark,
                                "`%s` is listed twice", device);
            tnd_diagnostics_help(diagnostics_of(self),
                                 "one device carries several replicas by itself");
            return false;
        }
    add(self, list, device, written);
    return true;
}

/*  "cuda:[0-7]". */
static bool add_range(placer_t *self, devices_t *list, const char *text, tnd_mark_t mark)
{
    size_t kind = kind_size(text);
    char *end;
    if (kind == 0 || text[kind] != '[' || strchr(digits, text[kind + 1]) == NULL)
        return refuse(self, mark, text);
    unsigned long first = strtoul(text + kind + 1, &end, 10), last;
    if (*end != '-' || end[1] == '\0' || strchr(digits, end[1]) == NULL)
        return refuse(self, mark, text);
    last = strtoul(end + 1, &end, 10);
    if (strcmp(end, "]") != 0 || last >= DEVICES_MAX)
        return refuse(self, mark, text);
    if (last < first) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark,
                            "`%s` is an empty range: its last number is less than its first", text);
        tnd_diagnostics_help(diagnostics_of(self), "write `%.*s[%lu-%lu]`", (int)kind, text, last,
                             first);
        return false;
    }
    for (unsigned long number = first; number <= last; number++)
        if (!add_once(self, list,
                      tnd_arena_format(arena_of(self), "%.*s%lu", (int)kind, text, number), text,
                      mark))
            return false;
    return true;
}

static uint32_t count_machines(const placer_t *self)
{
    uint32_t count = 0;
    for (uint32_t h = 0; h < self->host_count; h++)
        count += !self->hosts[h].isolated;
    return count;
}

/*  All devices of the kind that is preferred, or the processor. */
static bool add_auto(placer_t *self, devices_t *list, const char *written, tnd_mark_t mark)
{
    char why[256] = "";
    const char *kind = NULL;
    uint32_t machines = count_machines(self);
    if (self->launched != NULL && self->rest > 0) {
        list->found = true;
        add(self, list, "cpu:0", written);
        return true;
    }
    if (machines > 1) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark,
                            "`auto` finds the devices of one machine, and the file has %u hosts, "
                            "each of which must make the same plan",
                            machines);
        tnd_diagnostics_help(
            diagnostics_of(self),
            "list the devices of each host, such as `devices: {feed: \"cuda:[0-7]\"}`");
        return false;
    }
    uint32_t count = tnd_registry_auto_devices(&kind, why, sizeof why);
    for (uint32_t number = 0; number < count; number++)
        add(self, list, tnd_arena_format(arena_of(self), "%s:%u", kind, number), written);
    if (count > 0)
        return true;
    tnd_diagnostics_add(diagnostics_of(self), TND_T076_AUTO_DEVICE, mark,
                        "`auto` is cpu:0 here%s%s", why[0] != '\0' ? ": " : "", why);
    add(self, list, "cpu:0", written);
    return true;
}

static bool add_devices(placer_t *self, devices_t *list, const char *text, tnd_mark_t mark,
                        bool alone)
{
    if (strcmp(text, "auto") == 0)
        return alone ? add_auto(self, list, text, mark) : refuse_auto(self, mark);
    if (strchr(text, '[') != NULL)
        return add_range(self, list, text, mark);
    return is_device(text) ? add_once(self, list, text, text, mark) : refuse(self, mark, text);
}

bool tnd_placer_read_devices(placer_t *self, const tnd_strings_t *written, const tnd_value_t *value,
                             devices_t *devices)
{
    *devices = (devices_t){0};
    for (size_t i = 0; i < written->count; i++) {
        tnd_mark_t mark = value->type == TND_VALUE_LIST ? value->items[i]->mark : value->mark;
        if (!add_devices(self, devices, written->items[i], mark, written->count == 1))
            return false;
    }
    return true;
}
