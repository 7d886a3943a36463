/*  runtime/base/free_list.h - a list of released items that their owner uses again.
 *
 *  Any thread puts an item back; only the owner takes one.  Neither locks: tnd_free_list_put
 *  exchanges the head of the list, and the owner takes all returned items at once by another
 *  exchange, so no node is compared after it was used again.
 *
 *  Threads: tnd_free_list_put on any; the others on the owner's. */
#ifndef TND_RUNTIME_BASE_FREE_LIST_H
#define TND_RUNTIME_BASE_FREE_LIST_H

#include <stdatomic.h>
#include <stddef.h>

/*  Part of every item. */
typedef struct tnd_free_list_node {
    struct tnd_free_list_node *next;
} tnd_free_list_node_t;

/*  All zero: empty. */
typedef struct {
    tnd_free_list_node_t *front;          /* the owner's */
    _Atomic(tnd_free_list_node_t *) back; /* what was put back since the owner last looked */
} tnd_free_list_t;

static inline void tnd_free_list_put(tnd_free_list_t *self, tnd_free_list_node_t *node)
{
    tnd_free_list_node_t *head = atomic_load_explicit(&self->back, memory_order_relaxed);
    do
        node->next = head;
    while (!atomic_compare_exchange_weak_explicit(&self->back, &head, node, memory_order_release,
                                                  memory_order_relaxed));
}

/*  The item that was put back last, because it is likely in the cache; NULL if there is none. */
static inline tnd_free_list_node_t *tnd_free_list_take(tnd_free_list_t *self)
{
    if (self->front == NULL)
        self->front = atomic_exchange_explicit(&self->back, NULL, memory_order_acquire);
    tnd_free_list_node_t *node = self->front;
    if (node != NULL)
        self->front = node->next;
    return node;
}

#endif
