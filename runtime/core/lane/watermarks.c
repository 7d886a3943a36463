/*  runtime/core/lane/watermarks.c - how many rows each lane has joined. */
#include "runtime/core/lane/watermarks.h"

#include <string.h>

#include "runtime/base/bug_injection.h"
#include "runtime/core/stream/split.h"

/*  A lane composes at most two epochs ahead of another, and its marks reach one further. */
enum { MARKED_EPOCHS = 4 };

/*  A lane that is ahead reports again after it has joined rows for so many more steps. */
enum { QUOTAS_PER_MARK = 3 };

typedef struct {
    uint64_t rows;       /* of every epoch, if known */
    uint64_t rows_ahead; /* of the epoch of the last rewind, from its cursor on */
    uint32_t generation;
    tnd_watermark_t mark[MARKED_EPOCHS]; /* by epoch */
} lane_t;

static lane_t *lane_at(const tnd_watermarks_t *self, uint32_t lane)
{
    return (lane_t *)self->memory + lane;
}

size_t tnd_watermarks_bytes(uint32_t lanes)
{
    return lanes * sizeof(lane_t);
}

void tnd_watermarks_init(tnd_watermarks_t *self, const tnd_order_t *order, uint32_t lane,
                         uint32_t lanes, uint64_t size, const uint64_t *lane_rows)
{
    self->order = order;
    self->lane = lane;
    self->lanes = lanes;
    self->size = size;
    self->known = lane_rows != NULL;
    for (uint32_t i = 0; i < lanes && self->known; i++)
        lane_at(self, i)->rows = lane_rows[i];
}

void tnd_watermarks_rewind(tnd_watermarks_t *self, uint32_t generation, const tnd_cursor_t *cursor)
{
    self->generation = generation;
    self->first_epoch = cursor->epoch;
    memset(self->published, 0, sizeof self->published);
    for (uint32_t i = 0; i < self->lanes && self->known; i++) {
        uint64_t read = TND_BUG(ROWS_KNOWN_TWICE) ? 0 : cursor->part[i].index;
        lane_at(self, i)->rows_ahead = lane_at(self, i)->rows - read;
    }
}

void tnd_watermarks_next_epoch(tnd_watermarks_t *self)
{
    self->published[0] = self->published[1];
    self->published[1] = (tnd_watermark_t){0};
}

bool tnd_watermarks_heard(tnd_watermarks_t *self, const tnd_msg_t *msg, uint32_t epoch)
{
    if (msg->mark.lane >= self->lanes)
        return false;
    lane_t *lane = lane_at(self, msg->mark.lane);
    if (msg->generation < self->generation || msg->generation < lane->generation)
        return false;
    /* No lane is so far ahead; its mark would take the place of one that counts. */
    if (msg->generation == self->generation && msg->mark.epoch > epoch &&
        msg->mark.epoch - epoch >= MARKED_EPOCHS)
        return false;
    if (msg->generation > lane->generation) {
        lane->generation = msg->generation;
        memset(lane->mark, 0, sizeof lane->mark);
    }
    tnd_watermark_t *mark = &lane->mark[msg->mark.epoch % MARKED_EPOCHS];
    if (msg->mark.epoch < mark->epoch)
        return false;
    if (msg->mark.epoch > mark->epoch)
        *mark = (tnd_watermark_t){.epoch = msg->mark.epoch};
    if (msg->mark.rows > mark->rows)
        mark->rows = msg->mark.rows;
    mark->ended = mark->ended || msg->mark.ended;
    return true;
}

bool tnd_watermarks_ahead(const tnd_watermarks_t *self, uint32_t lane)
{
    return lane_at(self, lane)->generation > self->generation;
}

tnd_watermark_t tnd_watermarks_of(const tnd_watermarks_t *self, uint32_t number, uint32_t epoch)
{
    const lane_t *lane = lane_at(self, number);
    tnd_watermark_t mark = {.epoch = epoch};
    if (number == self->lane) {
        mark.rows = tnd_order_joined(self->order, epoch, &mark.ended);
    } else if (self->known) {
        mark.rows = epoch == self->first_epoch ? lane->rows_ahead : lane->rows;
        mark.ended = true;
    } else if (lane->generation == self->generation &&
               lane->mark[epoch % MARKED_EPOCHS].epoch == epoch) {
        mark = lane->mark[epoch % MARKED_EPOCHS];
    }
    return mark;
}

static bool another_ended(const tnd_watermarks_t *self, uint32_t epoch)
{
    for (uint32_t lane = 0; lane < self->lanes; lane++)
        if (lane != self->lane && tnd_watermarks_of(self, lane, epoch).ended)
            return true;
    return false;
}

static uint64_t quota_of(const tnd_watermarks_t *self, uint64_t batch)
{
    return self->apart != NULL ? tnd_apart_quota(self->apart, self->lane, batch)
                               : tnd_lane_quota(self->size, self->lanes, self->lane, batch);
}

/*  While no lane has ended, a step and the row after it need the lane's quota and one row.  Beyond
 *  that it is enough to report a few quotas at a time, because each MARK wakes every other lane.
 *  Once a lane has ended, any row may be needed; not so where lanes are apart.  There a step may need
 *  all of the lane's own batch, and of the next. */
bool tnd_watermarks_due(tnd_watermarks_t *self, uint32_t which, uint32_t epoch, uint64_t batch,
                        uint64_t taken, bool decided, tnd_watermark_t *mark)
{
    tnd_watermark_t *published = &self->published[which];
    *mark = tnd_watermarks_of(self, self->lane, epoch);
    if (mark->ended == published->ended && mark->rows == published->rows)
        return false;
    uint64_t next = quota_of(self, batch + 1);
    uint64_t needed = taken + quota_of(self, batch) + next + 1;
    if (self->apart != NULL && tnd_apart_whole(self->apart))
        needed += 2 * self->size;
    bool due = mark->ended != published->ended || decided || published->rows < needed ||
               mark->rows >= published->rows + QUOTAS_PER_MARK * next ||
               (self->apart == NULL && another_ended(self, epoch));
    if (due)
        *published = *mark;
    return due;
}
