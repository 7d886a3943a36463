/*  runtime/launch/hostlist.c - the host names of a list as Slurm writes it. */
#include "runtime/launch/hostlist.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { GROUPS_MAX = 16, DIGITS_MAX = 18 };

/*  A group of an entry: "[1-4,7]" and the text before it. */
typedef struct {
    const char *text, *ranges; /* `ranges` is after the bracket */
    size_t length;             /* of the text */
    uint64_t number;           /* in the name that is made next */
    int width;                 /* its digits, with leading zeros */
} group_t;

typedef struct {
    tnd_hostlist_t *list;
    const char *text; /* the whole list, for errors */
    group_t groups[GROUPS_MAX];
    size_t count;
    tnd_error_t *error;
} entry_t;

static tnd_status_t refuse(const entry_t *self, const char *at, const char *why)
{
    return tnd_fail(self->error, "character %zu: %s", (size_t)(at - self->text) + 1, why);
}

/*  Reads digits; *end_p is after them. */
static tnd_status_t read_number(const entry_t *self, const char *at, const char **end_p,
                                uint64_t *value_p)
{
    size_t length = strspn(at, "0123456789");
    if (length == 0)
        return refuse(self, at, "expected a number, as in `c[1-4]`");
    if (length > DIGITS_MAX)
        return refuse(self, at, "the number has more than 18 digits");
    *end_p = at + length;
    *value_p = strtoull(at, NULL, 10);
    return TND_OK;
}

static tnd_status_t read_range(const entry_t *self, const char **at_p, uint64_t *low_p,
                               uint64_t *high_p, int *width_p)
{
    const char *begin = *at_p;
    TND_TRY(read_number(self, begin, at_p, low_p));
    *width_p = (int)(*at_p - begin);
    *high_p = *low_p;
    if (**at_p == '-')
        TND_TRY(read_number(self, *at_p + 1, at_p, high_p));
    if (*high_p < *low_p)
        return refuse(self, begin, "the range ends before it begins");
    if (*high_p - *low_p >= TND_HOSTLIST_MAX)
        return refuse(self, begin, "the range has more than 65536 hosts");
    if (**at_p != ',' && **at_p != ']')
        return refuse(self, *at_p, "expected `,`, `-` or `]` after a number");
    return TND_OK;
}

static tnd_status_t add_name(const entry_t *self, const char *rest, size_t rest_length)
{
    char name[TND_HOSTLIST_NAME_MAX + 1];
    size_t used = 0;
    for (size_t g = 0; g < self->count; g++) {
        const group_t *group = &self->groups[g];
        if (group->length + (size_t)group->width + DIGITS_MAX > sizeof name - used)
            return refuse(self, group->text, "the name is longer than 255 characters");
        memcpy(name + used, group->text, group->length);
        used += group->length;
        used += (size_t)snprintf(name + used, sizeof name - used, "%0*" PRIu64, group->width,
                                 group->number);
    }
    if (rest_length > sizeof name - 1 - used)
        return refuse(self, rest, "the name is longer than 255 characters");
    memcpy(name + used, rest, rest_length);
    name[used + rest_length] = '\0';
    tnd_hostlist_t *list = self->list;
    if (list->count == TND_HOSTLIST_MAX)
        return refuse(self, rest, "the list has more than 65536 hosts");
    list->names = tnd_grow(list->names, list->count, &list->room, sizeof *list->names);
    list->names[list->count++] = tnd_copy_string(name);
    return TND_OK;
}

/*  Slurm's order: the last group changes fastest, then the first, the second and so on. */
static tnd_status_t add_names(entry_t *self, size_t depth, const char *rest)
{
    if (depth == self->count)
        return add_name(self, rest, 0);
    size_t fixed = self->count - 1 - depth;
    group_t *group = &self->groups[fixed == 0 ? self->count - 1 : fixed - 1];
    const char *at = group->ranges;
    do {
        uint64_t low, high;
        TND_TRY(read_range(self, &at, &low, &high, &group->width));
        for (group->number = low; group->number <= high; group->number++)
            TND_TRY(add_names(self, depth + 1, rest));
    } while (*at++ == ',');
    return TND_OK;
}

static tnd_status_t read_entry(entry_t *self, const char **at_p)
{
    const char *at = *at_p;
    size_t length;
    for (self->count = 0; at[length = strcspn(at, ",[] \t\n")] == '['; self->count++) {
        const char *open = at + length, *close = strchr(open, ']');
        if (close == NULL)
            return refuse(self, open, "`[` has no `]`");
        if (self->count == GROUPS_MAX)
            return refuse(self, open, "the name has more than 16 groups of numbers");
        self->groups[self->count] = (group_t){.text = at, .ranges = open + 1, .length = length};
        at = close + 1;
    }
    *at_p = at + length;
    if (**at_p != ',' && **at_p != '\0')
        return refuse(self, *at_p, **at_p == ']' ? "`]` has no `[`" : "a blank is in the list");
    if (self->count > 0 && length > 0)
        return refuse(self, at, "text follows the last `]`, which Slurm does not allow");
    if (self->count > 0)
        return add_names(self, 0, at);
    return length > 0 ? add_name(self, at, length) : TND_OK;
}

tnd_status_t tnd_hostlist_read(tnd_hostlist_t *self, const char *text, tnd_error_t *error)
{
    *self = (tnd_hostlist_t){0};
    entry_t entry = {.list = self, .text = text, .error = error};
    tnd_status_t status;
    const char *at = text;
    do
        status = read_entry(&entry, &at);
    while (status == TND_OK && *at++ == ',');
    if (status == TND_OK && self->count == 0)
        status = tnd_fail(error, "the list has no host");
    if (status != TND_OK)
        tnd_hostlist_free(self);
    return status;
}

void tnd_hostlist_free(tnd_hostlist_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->names[i]);
    free(self->names);
    *self = (tnd_hostlist_t){0};
}
