/*  transport/zmq/routes.c - finds the peers of a bound port. */
#include "transport/zmq/routes.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/allocation.h"

tnd_route_t *tnd_routes_find(const tnd_routes_t *self, uint64_t hash, const void *id, size_t size,
                             int source)
{
    for (uint32_t i = 0; i < self->count; i++) {
        tnd_route_t *route = self->items[i];
        if (route->hash == hash && route->source == source && route->size == size &&
            memcmp(route->id, id, size) == 0)
            return route;
    }
    return NULL;
}

tnd_route_t *tnd_route_new(struct tnd_binder *binder, uint64_t hash, const void *id, size_t size,
                           int fd)
{
    tnd_route_t *route = tnd_allocate(1, sizeof *route);
    *route = (tnd_route_t){
        .binder = binder, .hash = hash, .fd = fd, .source = fd, .size = (uint32_t)size};
    assert(route->size <= sizeof route->id);
    memcpy(route->id, id, route->size);
    return route;
}

void tnd_routes_keep(tnd_routes_t *self, tnd_route_t *route)
{
    if (self->count == self->room) {
        self->room = self->room == 0 ? 8 : 2 * self->room;
        self->items = tnd_resize(self->items, self->room, sizeof(tnd_route_t *));
    }
    self->items[self->count++] = route;
}

void tnd_routes_drop(tnd_routes_t *self, tnd_route_t *route)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i] == route)
            self->items[i] = self->items[--self->count];
    tnd_peer_memory_fini(&route->memory);
    free(route);
}

bool tnd_routes_left(tnd_routes_t *self, int fd)
{
    bool any = false;
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i]->fd == fd) {
            self->items[i]->fd = -1;
            self->items[i]->gone = any = true;
        }
    return any;
}
