/*  runtime/interface/collective.c - finds a collective by its name. */
#include "runtime/interface/collective.h"

#include <stdio.h>
#include <string.h>

/*  Writes "host and nccl".  One for each order may have the same name. */
static const char *list_names(char *text, size_t room)
{
    size_t count, used = 0;
    const tnd_collective_ops_t *const *all = tnd_registry_collectives(&count);
    const char *before = "";
    text[0] = '\0';
    for (size_t i = 0; i < count && used < room; i++) {
        if (strcmp(all[i]->name, before) != 0)
            used += (size_t)snprintf(text + used, room - used, "%s%s", i == 0 ? "" : " and ",
                                     all[i]->name);
        before = all[i]->name;
    }
    return text;
}

static bool adds_in(const tnd_collective_ops_t *ops, tnd_order_t order)
{
    return (ops->orders >> order & 1) != 0;
}

bool tnd_collective_is_for(const tnd_collective_ops_t *ops, const char *device)
{
    size_t kind = strcspn(device, ":");
    return ops->devices == NULL ||
           (strlen(ops->devices) == kind && strncmp(ops->devices, device, kind) == 0);
}

tnd_status_t tnd_collective_find(const tnd_collective_ops_t **ops_p, const char *through,
                                 tnd_order_t order, tnd_error_t *error)
{
    char names[128];
    size_t count;
    const tnd_collective_ops_t *const *all = tnd_registry_collectives(&count);
    bool any = strcmp(through, "auto") == 0, known = false;
    for (size_t i = 0; i < count; i++) {
        bool meant = any || strcmp(all[i]->name, through) == 0;
        known = known || meant;
        *ops_p = all[i];
        if (meant && adds_in(all[i], order))
            return TND_OK;
    }
    if (!known)
        return tnd_fail(
            error,
            "this program cannot reduce `through: %s`: it has %s; write one of these, or `auto`",
            through, list_names(names, sizeof names));
    return tnd_fail(error, "`order: any` is not possible: what carries the values adds along the "
                           "tree; write `order: tree`, which gives the same bits everywhere");
}
