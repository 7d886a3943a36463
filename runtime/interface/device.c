/*  runtime/interface/device.c - finds a device by its name. */
#include "runtime/interface/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  Whether the first `length` bytes of a name are this word, which may be NULL. */
static bool begins_with(const char *name, size_t length, const char *word)
{
    return word != NULL && strlen(word) == length && memcmp(word, name, length) == 0;
}

static const tnd_device_ops_t *find(const char *name, size_t length)
{
    size_t count;
    const tnd_device_ops_t *const *all = tnd_registry_devices(&count);
    for (size_t i = 0; i < count; i++)
        if (begins_with(name, length, all[i]->name))
            return all[i];
    return NULL;
}

static tnd_status_t unknown(const char *name, tnd_error_t *error)
{
    char known[128] = "";
    size_t count, used = 0;
    const tnd_device_ops_t *const *all = tnd_registry_devices(&count);
    size_t kind = strcspn(name, ":");
    for (size_t i = 0; i < count; i++)
        if (begins_with(name, kind, all[i]->meant))
            return tnd_fail(error, "device '%s' is unknown; did you mean %s%s?", name, all[i]->name,
                            name[kind] != '\0' ? name + kind : ":0");
    if (find(name, kind) != NULL)
        return tnd_fail(error, "device '%s' is unknown; such devices have numbers, as %.*s:0", name,
                        (int)kind, name);
    for (size_t i = 0; i < count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 all[i]->name);
    return tnd_fail(error,
                    "device '%s' is unknown; this program has %s, with a number after "
                    "a colon, such as cpu:0",
                    name, known);
}

/*  Writes "cuda:0 and cuda:1". */
static const char *list(const char *kind, uint32_t count, char *text, size_t room)
{
    if (count == 1)
        snprintf(text, room, "%s:0", kind);
    else
        snprintf(text, room, "%s:0 %s %s:%" PRIu32, kind, count == 2 ? "and" : "to", kind,
                 count - 1);
    return text;
}

/*  The kind and the number that a name means, if this machine has that one.  Errors name `written`,
 *  which may be the range that it is of. */
static tnd_status_t resolve(const char *name, const char *written, const tnd_device_ops_t **ops_p,
                            uint32_t *ordinal_p, tnd_error_t *error)
{
    const char *colon = strchr(name, ':');
    const tnd_device_ops_t *ops = find(name, colon != NULL ? (size_t)(colon - name) : strlen(name));
    const char *which = colon != NULL ? colon + 1 : "0";
    char *end = NULL;
    unsigned long ordinal = strtoul(which, &end, 10);
    bool numbered = *which >= '0' && *which <= '9' && *end == '\0';
    bool range = strchr(written, '[') != NULL;
    if (ops == NULL || *which == '\0' || (!numbered && ops->find == NULL))
        return unknown(written, error);
    char why[448] = "", all[64];
    uint32_t count = ops->count(why, sizeof why);
    if (count == 0)
        return tnd_fail(error, "device%s %s cannot be used: %s", range ? "s" : "", written, why);
    if (!numbered) {
        *ops_p = ops;
        return ops->find(which, ordinal_p, error);
    }
    if (ordinal >= count)
        return tnd_fail(error,
                        "device%s %s %s there: this machine has %" PRIu32 " of that kind, %s",
                        range ? "s" : "", written, range ? "are not all" : "is not", count,
                        list(ops->name, count, all, sizeof all));
    *ops_p = ops;
    *ordinal_p = (uint32_t)ordinal;
    return TND_OK;
}

uint32_t tnd_device_can(const char *name)
{
    const tnd_device_ops_t *ops = find(name, strcspn(name, ":"));
    return ops != NULL ? ops->can : 0;
}

tnd_status_t tnd_device_check(const char *name, const char *written, tnd_error_t *error)
{
    const tnd_device_ops_t *ops;
    uint32_t ordinal;
    return resolve(name, written, &ops, &ordinal, error);
}

tnd_status_t tnd_device_open(tnd_device_t **self_p, const char *name,
                             const tnd_device_config_t *config, tnd_error_t *error)
{
    const tnd_device_ops_t *ops;
    uint32_t ordinal;
    *self_p = NULL;
    TND_TRY(resolve(name, name, &ops, &ordinal, error));
    return ops->open(self_p, ordinal, config, error);
}

void tnd_device_close(tnd_device_t **self_p)
{
    if (*self_p != NULL)
        (*self_p)->ops->close(self_p);
}
