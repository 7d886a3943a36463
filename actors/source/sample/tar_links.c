/*  actors/source/sample/tar_links.c - the hard links of a tar archive that is not compressed. */
#include "actors/source/sample/tar_links.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

/*  A name that links have, and the last file of that name so far. */
typedef struct {
    const char *name;
    bool known;
    uint64_t offset, size;
} target_t;

typedef struct {
    target_t *items; /* sorted by name */
    size_t count;
} targets_t;

void tnd_tar_links_add(tnd_tar_links_t *self, const tnd_tar_member_t *member, uint64_t sample,
                       uint32_t column)
{
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    self->items[self->count++] = (tnd_tar_link_t){.sample = sample,
                                                  .column = column,
                                                  .at = member->at,
                                                  .target = tnd_copy_string(member->link)};
}

void tnd_tar_links_free(tnd_tar_links_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->items[i].target);
    free(self->items);
    *self = (tnd_tar_links_t){0};
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const target_t *)a)->name, ((const target_t *)b)->name);
}

static targets_t list_targets(const tnd_tar_links_t *links)
{
    targets_t self = {.items = tnd_allocate_zeroed(links->count, sizeof *self.items)};
    for (size_t i = 0; i < links->count; i++)
        self.items[i].name = links->items[i].target;
    qsort(self.items, links->count, sizeof *self.items, compare);
    for (size_t i = 0; i < links->count; i++)
        if (i == 0 || compare(&self.items[self.count - 1], &self.items[i]) != 0)
            self.items[self.count++] = self.items[i];
    return self;
}

static target_t *find_target(const targets_t *self, const char *name)
{
    const target_t wanted = {.name = name};
    return bsearch(&wanted, self->items, self->count, sizeof *self->items, compare);
}

/*  A link may be named by another link, so it is a file as well. */
static void see_member(const targets_t *targets, const tnd_tar_member_t *member)
{
    const target_t *of = member->link != NULL ? find_target(targets, member->link) : NULL;
    target_t *target = find_target(targets, member->path);
    if (target == NULL)
        return;
    if (member->link == NULL)
        *target = (target_t){target->name, !member->sparse, member->offset, member->size};
    else if (of != NULL && !member->symbolic)
        *target = (target_t){target->name, of->known, of->offset, of->size};
    else
        target->known = false;
}

static void see_link(const targets_t *targets, tnd_tar_link_t *link)
{
    const target_t *target = find_target(targets, link->target);
    link->found = target->known;
    link->offset = target->offset;
    link->size = target->size;
}

tnd_status_t tnd_tar_links_find(tnd_tar_links_t *self, tnd_content_t *content, tnd_error_t *error)
{
    targets_t targets = list_targets(self);
    tnd_tar_members_t *members = tnd_tar_members_new(content);
    tnd_tar_member_t member;
    tnd_status_t status = TND_OK;
    for (size_t i = 0; i < self->count && status == TND_OK;) {
        status = tnd_tar_members_any(members, &member, error);
        if (status != TND_OK || member.damage != NULL)
            continue;
        while (i < self->count && self->items[i].at <= member.at)
            see_link(&targets, &self->items[i++]);
        see_member(&targets, &member);
    }
    tnd_tar_members_destroy(&members);
    free(targets.items);
    return status == TND_FAILED ? TND_FAILED : TND_OK;
}
