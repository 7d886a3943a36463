/*  runtime/core/session/assembly.c - the cursors of the steps that are not booked yet. */
#include "runtime/core/session/assembly.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bug_injection.h"

typedef tnd_assembly_entry_t entry_t;

size_t tnd_assembly_bytes(uint32_t lanes, uint32_t open_max)
{
    return open_max * sizeof(entry_t) +
           ((size_t)open_max + 1) * lanes *
               (sizeof(tnd_position_t) + sizeof(uint64_t) + sizeof(tnd_ledger_t));
}

void tnd_assembly_init(tnd_assembly_t *self, void *memory, const tnd_cursor_t *from,
                       uint32_t feeders, uint32_t open_max)
{
    *self = (tnd_assembly_t){.cursor = *from,
                             .whole = from->step,
                             .last = TND_UNKNOWN,
                             .lanes = from->lanes,
                             .feeders = feeders,
                             .open_max = open_max};
    self->ring = memory;
    self->ledgers = (tnd_ledger_t *)(self->ring + open_max);
    self->positions = (tnd_position_t *)(self->ledgers + ((size_t)open_max + 1) * self->lanes);
    self->since = (uint64_t *)(self->positions + ((size_t)open_max + 1) * self->lanes);
    for (uint32_t i = 0; i < open_max; i++)
        self->ring[i].step = TND_UNKNOWN;
}

static entry_t *entry_of(const tnd_assembly_t *self, uint64_t step)
{
    return &self->ring[step % self->open_max];
}

static entry_t *open_entry(tnd_assembly_t *self, uint64_t step)
{
    entry_t *entry = entry_of(self, step);
    if (entry->step != step) {
        memset(entry, 0, sizeof *entry);
        entry->step = step;
    }
    return entry;
}

tnd_status_t tnd_assembly_reaches(const tnd_assembly_t *self, uint64_t step, tnd_error_t *error)
{
    if (step - self->cursor.step < self->open_max)
        return TND_OK;
    return tnd_fail(error,
                    "step %llu was reported while only steps before %llu may be open: two hosts do "
                    "not agree on the plan of the run",
                    (unsigned long long)step,
                    (unsigned long long)(self->cursor.step + self->open_max));
}

static bool same_ledger(const tnd_ledger_t *a, const tnd_ledger_t *b)
{
    return a->read == b->read && a->added == b->added && a->fed == b->fed &&
           a->filtered == b->filtered && a->bad == b->bad && a->dropped == b->dropped &&
           a->padded == b->padded;
}

/*  Positions, ranks and epochs never go back from one cursor to the next. */
static tnd_status_t check_order(const tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                                tnd_error_t *error)
{
    uint64_t step = msg->part.step;
    uint32_t lane = msg->part.lane;
    tnd_position_t before = self->cursor.part[lane];
    uint64_t rank = self->cursor.rank;
    if (step < self->cursor.step)
        return TND_OK;
    if (step > self->cursor.step) {
        const entry_t *entry = entry_of(self, step - 1);
        if (entry->step == step - 1 && (entry->have[lane / 64] >> (lane % 64) & 1)) {
            size_t place = (step - 1) % self->open_max;
            before = self->positions[place * self->lanes + lane];
            rank = entry->rank;
        }
    }
    if (tnd_position_compare(msg->part.position, before) >= 0 && msg->part.rank >= rank &&
        msg->part.epoch >= self->cursor.epoch && msg->part.step_of_epoch <= step + 1)
        return TND_OK;
    return tnd_fail(
        error,
        "%s reported lane %u at position %llu of epoch %u after %llu rows and step %llu, "
        "which is before its previous report",
        who, lane, (unsigned long long)msg->part.position.index, msg->part.position.epoch,
        (unsigned long long)msg->part.rank, (unsigned long long)step);
}

static tnd_status_t differs(const tnd_msg_t *msg, const char *who, const char *what,
                            tnd_error_t *error)
{
    return tnd_fail(error,
                    "lane %u (%s) reported %s of step %llu: its rows are not the same each time "
                    "they are made",
                    msg->part.lane, who, what, (unsigned long long)msg->part.step);
}

/*  Whether a lane is elsewhere than the first one that has reported. */
static bool differs_from_others(const tnd_assembly_t *self, const entry_t *entry, size_t place,
                                const tnd_msg_t *msg)
{
    uint32_t lane = 0;
    while (lane < self->lanes && !(entry->have[lane / 64] >> (lane % 64) & 1))
        lane++;
    return lane < self->lanes && tnd_position_compare(self->positions[place * self->lanes + lane],
                                                      msg->part.position) != 0;
}

/*  Records the report of one lane about the cursor at `place`. */
static tnd_status_t enter(tnd_assembly_t *self, entry_t *entry, size_t place, const tnd_msg_t *msg,
                          const char *who, tnd_error_t *error)
{
    uint32_t lane = msg->part.lane;
    size_t at = place * self->lanes + lane;
    uint64_t *have = &entry->have[lane / 64];
    uint64_t bit = 1ull << (lane % 64);
    assert(lane < self->lanes);
    if (entry->parts > 0 &&
        (entry->epoch != msg->part.epoch || entry->step_of_epoch != msg->part.step_of_epoch ||
         entry->rank != msg->part.rank))
        return differs(msg, who, "another composition than the other lanes", error);
    if (self->alike && differs_from_others(self, entry, place, msg))
        return differs(msg, who, "other rows than another lane, which reads the same,", error);
    if (*have & bit) {
        if (tnd_position_compare(self->positions[at], msg->part.position) != 0 ||
            self->since[at] != msg->part.since ||
            !same_ledger(&self->ledgers[at], &msg->part.ledger))
            return differs(msg, who, "other rows than before the last rewind", error);
        return TND_OK;
    }
    entry->epoch = msg->part.epoch;
    entry->step_of_epoch = msg->part.step_of_epoch;
    entry->rank = msg->part.rank;
    *have |= bit;
    entry->parts++;
    self->positions[at] = msg->part.position;
    self->since[at] = msg->part.since;
    self->ledgers[at] = msg->part.ledger;
    tnd_ledger_add(&entry->ledger, &msg->part.ledger);
    return TND_OK;
}

tnd_status_t tnd_assembly_part(tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                               tnd_error_t *error)
{
    uint64_t step = msg->part.step;
    if (step < self->cursor.step) {
        if (entry_of(self, step)->step != step)
            return TND_OK;
    } else {
        TND_TRY(tnd_assembly_reaches(self, step, error));
    }
    TND_TRY(check_order(self, msg, who, error));
    TND_TRY(enter(self, open_entry(self, step), step % self->open_max, msg, who, error));
    while (self->whole - self->cursor.step < self->open_max &&
           entry_of(self, self->whole)->step == self->whole &&
           entry_of(self, self->whole)->parts == self->lanes)
        self->whole++;
    return TND_OK;
}

tnd_status_t tnd_assembly_last(tnd_assembly_t *self, const tnd_msg_t *msg, const char *who,
                               tnd_error_t *error)
{
    uint64_t step = msg->part.step;
    if ((self->last != TND_UNKNOWN && self->last != step) || step < self->cursor.step)
        return tnd_fail(
            error,
            "lane %u (%s) says that the stream ends before step %llu, but it was known to go "
            "to step %llu",
            msg->part.lane, who, (unsigned long long)step,
            (unsigned long long)(self->last != TND_UNKNOWN ? self->last : self->cursor.step));
    TND_TRY(enter(self, &self->end, self->open_max, msg, who, error));
    self->last = step;
    return TND_OK;
}

tnd_status_t tnd_assembly_commit(tnd_assembly_t *self, const tnd_msg_t *msg, tnd_error_t *error)
{
    TND_TRY(tnd_assembly_reaches(self, msg->commit.step, error));
    entry_t *entry = open_entry(self, msg->commit.step);
    entry->commits++;
    entry->rows += msg->commit.rows;
    entry->digest[0] += msg->commit.digest[0];
    entry->digest[1] += msg->commit.digest[1] + (entry->digest[0] < msg->commit.digest[0]);
    return TND_OK;
}

/*  Where the lanes are according to the reports at `place`. */
static void place_lanes(const tnd_assembly_t *self, size_t place, tnd_cursor_t *cursor)
{
    memcpy(cursor->part, &self->positions[place * self->lanes],
           self->lanes * sizeof *self->positions);
    memcpy(cursor->since, &self->since[place * self->lanes], self->lanes * sizeof *self->since);
}

static void place_cursor(const tnd_assembly_t *self, const entry_t *entry, tnd_cursor_t *cursor)
{
    cursor->step = entry->step + 1;
    cursor->step_of_epoch = entry->step_of_epoch;
    cursor->epoch = entry->epoch;
    cursor->rank = entry->rank;
    place_lanes(self, entry->step % self->open_max, cursor);
}

void tnd_assembly_cut(tnd_assembly_t *self)
{
    tnd_cursor_t *cursor = &self->cursor;
    cursor->epoch++;
    cursor->step_of_epoch = 0;
    for (uint32_t lane = 0; lane < self->lanes; lane++) {
        cursor->part[lane] = (tnd_position_t){.epoch = cursor->epoch};
        cursor->since[lane] = 0;
    }
    for (uint32_t i = 0; i < self->open_max; i++)
        self->ring[i].step = TND_UNKNOWN;
    memset(&self->end, 0, sizeof self->end);
    self->whole = cursor->step;
    self->last = TND_UNKNOWN;
}

void tnd_assembly_at(const tnd_assembly_t *self, uint64_t step, tnd_cursor_t *cursor)
{
    assert(step >= self->cursor.step && step <= self->whole);
    *cursor = self->cursor;
    if (step > self->cursor.step)
        place_cursor(self, entry_of(self, step - 1), cursor);
}

/*  Adds `more` to the account if the result balances. */
static tnd_status_t add_up(const tnd_assembly_t *self, const tnd_ledger_t *more,
                           tnd_ledger_t *ledger, tnd_error_t *error)
{
    *ledger = self->cursor.ledger;
    tnd_ledger_add(ledger, more);
    if (tnd_ledger_balances(ledger))
        return TND_OK;
    return tnd_fail(error,
                    "the account of rows does not balance after step %llu: read %llu + added %llu, "
                    "but fed %llu + filtered %llu + bad %llu + dropped %llu",
                    (unsigned long long)self->cursor.step, (unsigned long long)ledger->read,
                    (unsigned long long)ledger->added, (unsigned long long)ledger->fed,
                    (unsigned long long)ledger->filtered, (unsigned long long)ledger->bad,
                    (unsigned long long)ledger->dropped);
}

tnd_status_t tnd_assembly_book(tnd_assembly_t *self, uint64_t end, tnd_error_t *error)
{
    uint64_t step = self->cursor.step;
    const entry_t *entry = entry_of(self, step);
    tnd_ledger_t ledger;
    if (entry->step != step || entry->commits < self->feeders || step >= self->whole || step >= end)
        return TND_AGAIN;
    uint64_t rows = entry->rank - self->cursor.rank;
    if (rows != entry->rows)
        return tnd_fail(error, "step %llu has %llu rows, but its feeders report %llu",
                        (unsigned long long)step, (unsigned long long)rows,
                        (unsigned long long)entry->rows);
    TND_TRY(add_up(self, &entry->ledger, &ledger, error));
    self->cursor.ledger = ledger;
    uint64_t low = self->cursor.digest[0] + entry->digest[0];
    self->cursor.digest[1] += entry->digest[1] + (low < entry->digest[0]);
    self->cursor.digest[0] = low;
    if (TND_BUG(CURSOR_ONE_LATE)) {
        self->cursor.step = step + 1;
        self->cursor.rank = entry->rank;
        if (step > 0 && entry_of(self, step - 1)->step == step - 1)
            place_lanes(self, (step - 1) % self->open_max, &self->cursor);
    } else {
        place_cursor(self, entry, &self->cursor);
    }
    return TND_OK;
}

uint32_t tnd_assembly_next_epoch(const tnd_assembly_t *self)
{
    const entry_t *next = entry_of(self, self->cursor.step);
    if (self->whole == self->cursor.step)
        return self->cursor.epoch;
    /* The cursor after the last step of an epoch is in the next one. */
    return next->epoch - (next->step_of_epoch == 0);
}

tnd_status_t tnd_assembly_finish(tnd_assembly_t *self, tnd_error_t *error)
{
    tnd_ledger_t ledger;
    if (self->end.parts < self->lanes)
        return TND_AGAIN;
    TND_TRY(add_up(self, &self->end.ledger, &ledger, error));
    self->cursor.ledger = ledger;
    self->cursor.epoch = self->end.epoch;
    self->cursor.step_of_epoch = self->end.step_of_epoch;
    place_lanes(self, self->open_max, &self->cursor);
    return TND_OK;
}
