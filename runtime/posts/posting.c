/*  runtime/posts/posting.c - what one replica posts to be reduced over all replicas. */
#include "runtime/posts/posting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool tnd_posting_fits(const tnd_posting_t *self, const tnd_posting_t *other)
{
    return self->reducer == other->reducer && self->reduce == other->reduce &&
           self->dtype == other->dtype && self->weighted == other->weighted &&
           self->root == other->root && self->sharing == other->sharing &&
           self->unit == other->unit && self->whole == other->whole &&
           self->on_device == other->on_device && (self->same == NULL) == (other->same == NULL) &&
           (self->count == other->count || self->reduce == TND_GATHER);
}

bool tnd_posting_follows(const tnd_posting_t *self, const tnd_posting_t *before)
{
    return self->reduce != TND_GATHER && self->reduce == before->reduce &&
           self->reducer == before->reducer && self->dtype == before->dtype &&
           self->weighted == before->weighted && self->root == before->root &&
           self->sharing == before->sharing && self->sharing != TND_SHARE_IN && self->whole == 0 &&
           before->whole == 0;
}

const char *tnd_operation_text(tnd_reduce_t reduce, uint32_t root, tnd_sharing_t sharing,
                               char text[TND_OPERATION_TEXT])
{
    static const char *const names[] = {[TND_SUM] = "sum",
                                        [TND_MEAN] = "mean",
                                        [TND_MIN] = "min",
                                        [TND_MAX] = "max",
                                        [TND_GATHER] = "gather"};
    if (sharing == TND_SHARE_IN)
        return strcpy(text, "gather into");
    if (root > 0 && sharing == TND_SHARE_NONE)
        snprintf(text, TND_OPERATION_TEXT, "broadcast from replica %" PRIu32, root - 1);
    else
        snprintf(text, TND_OPERATION_TEXT, "%s%s",
                 sharing == TND_SHARE_OUT ? "scatter of the " : "", names[reduce]);
    return text;
}

void tnd_posting_share(const tnd_posting_t *self, uint32_t replicas, uint32_t replica,
                       size_t *begin_p, size_t *end_p)
{
    size_t units = self->count / self->unit;
    *begin_p = units * replica / replicas * self->unit;
    *end_p = units * (replica + 1) / replicas * self->unit;
}
