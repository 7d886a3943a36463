/*  runtime/posts/posting.c - what one replica posts to be reduced over all replicas. */
#include "runtime/posts/posting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool tnd_posting_fits(const tnd_posting_t *self, const tnd_posting_t *other)
{
    return self->reducer == other->reducer && self->reduce == other->reduce &&
           self->dtype == other->dtype && self->weighted == other->weighted &&
           self->root == other->root && (self->same == NULL) == (other->same == NULL) &&
           (self->count == other->count || self->reduce == TND_GATHER);
}

bool tnd_posting_follows(const tnd_posting_t *self, const tnd_posting_t *before)
{
    return self->reduce != TND_GATHER && self->reduce == before->reduce &&
           self->reducer == before->reducer && self->dtype == before->dtype &&
           self->weighted == before->weighted && self->root == before->root;
}

const char *tnd_operation_text(tnd_reduce_t reduce, uint32_t root, char text[TND_OPERATION_TEXT])
{
    static const char *const names[] = {[TND_SUM] = "sum",
                                        [TND_MEAN] = "mean",
                                        [TND_MIN] = "min",
                                        [TND_MAX] = "max",
                                        [TND_GATHER] = "gather"};
    if (root > 0)
        snprintf(text, TND_OPERATION_TEXT, "broadcast from replica %" PRIu32, root - 1);
    else
        strcpy(text, names[reduce]);
    return text;
}
