/*  tests/support/lies.c - messages that are not true. */
#include "tests/support/lies.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    tnd_msg_kind_t kind;
    uint16_t offset, size; /* of the field in the message; a size of 1 is a bool */
} field_t;

#define FIELD(kind, part)                                                                          \
    {                                                                                              \
        TND_MSG_##kind, offsetof(tnd_msg_t, part), sizeof(((tnd_msg_t *)0)->part)                  \
    }

static const field_t fields[] = {
    FIELD(CREDIT, credit.blocks),
    FIELD(CREDIT, credit.bytes),
    FIELD(BLOCK, block.first),
    FIELD(BLOCK, block.lane),
    FIELD(BLOCK, block.epoch),
    FIELD(BLOCK, block.count),
    FIELD(BLOCK, block.asked),
    FIELD(BLOCK, block.attempt),
    FIELD(BLOCK, block.rows),
    FIELD(BLOCK, block.end),
    FIELD(BLOCK, block.bad_count),
    FIELD(BLOCK, block.bytes),
    FIELD(BLOCK, block.work_ns),
    FIELD(WINDOW, until.step),
    FIELD(SLICE, slice.step),
    FIELD(SLICE, slice.step_of_epoch),
    FIELD(SLICE, slice.rank),
    FIELD(SLICE, slice.epoch),
    FIELD(SLICE, slice.lane),
    FIELD(SLICE, slice.replica),
    FIELD(SLICE, slice.offset),
    FIELD(SLICE, slice.rows),
    FIELD(SLICE, slice.total),
    FIELD(SLICE, slice.padded),
    FIELD(SLICE, slice.step_rows),
    FIELD(SLICE, slice.last_of_epoch),
    FIELD(SLICE, slice.last_of_run),
    FIELD(POST, post.round),
    FIELD(POST, post.reducer_slot),
    FIELD(POST, post.first),
    FIELD(POST, post.count),
    FIELD(POST, post.weight),
    FIELD(RESULT, post.round),
    FIELD(RESULT, post.reducer_slot),
    FIELD(RESULT, post.first),
    FIELD(RESULT, post.count),
    FIELD(GOT, post.round),
    FIELD(GOT, post.reducer_slot),
    FIELD(GOT, post.first),
    FIELD(GOT, post.count),
    FIELD(CLOSED, post.round),
    FIELD(CLOSED, post.reducer_slot),
    FIELD(CLOSED, post.first),
    FIELD(CLOSED, post.count),
    FIELD(PASSED, passed.first),
    FIELD(PASSED, passed.last),
    FIELD(PASSED, passed.begin),
    FIELD(PASSED, passed.end),
    FIELD(PASSED, passed.reductions),
    FIELD(TICKET, ticket.first),
    FIELD(TICKET, ticket.lane),
    FIELD(TICKET, ticket.epoch),
    FIELD(TICKET, ticket.count),
    FIELD(TICKET, ticket.attempt),
    FIELD(TICKET, ticket.floor.index),
    FIELD(TICKET, ticket.floor.epoch),
    FIELD(TICKET, ticket.floor.used),
    FIELD(LOST, ticket.first),
    FIELD(LOST, ticket.lane),
    FIELD(LOST, ticket.epoch),
    FIELD(LOST, ticket.count),
    FIELD(LOST, ticket.attempt),
    FIELD(MARK, mark.rows),
    FIELD(MARK, mark.lane),
    FIELD(MARK, mark.epoch),
    FIELD(MARK, mark.ended),
    FIELD(PART, part.step),
    FIELD(PART, part.lane),
    FIELD(PART, part.epoch),
    FIELD(PART, part.step_of_epoch),
    FIELD(PART, part.rank),
    FIELD(PART, part.position.index),
    FIELD(PART, part.position.epoch),
    FIELD(PART, part.position.used),
    FIELD(PART, part.ledger.read),
    FIELD(PART, part.ledger.fed),
    FIELD(LAST, part.step),
    FIELD(LAST, part.lane),
    FIELD(LAST, part.epoch),
    FIELD(LAST, part.position.epoch),
    FIELD(LAST, part.ledger.read),
    FIELD(HELD, until.step),
    FIELD(COMMIT, commit.step),
    FIELD(COMMIT, commit.rows),
    FIELD(BOOKED, until.step),
    FIELD(DRAIN, until.step),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

uint64_t lies_another(tnd_random_t *random, uint64_t value)
{
    switch (tnd_random_below(random, 8)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return 0;
    case 3:
        return UINT64_MAX;
    case 4:
        return value ^ 1ull << tnd_random_below(random, 64);
    case 5:
        return tnd_random_u64(random);
    default:
        return tnd_random_below(random, 64);
    }
}

static void change(tnd_random_t *random, void *field, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, field, size); /* little-endian, as all machines that this runs on */
    value = size == 1 ? !value : lies_another(random, value);
    memcpy(field, &value, size);
}

void lies_of_cursor(tnd_random_t *random, tnd_cursor_t *cursor)
{
    uint32_t lane = (uint32_t)tnd_random_below(random, cursor->lanes);
    switch (tnd_random_below(random, 7)) {
    case 0:
        change(random, &cursor->step, sizeof cursor->step);
        break;
    case 1:
        change(random, &cursor->step_of_epoch, sizeof cursor->step_of_epoch);
        break;
    case 2:
        change(random, &cursor->epoch, sizeof cursor->epoch);
        break;
    case 3:
        change(random, &cursor->part[lane].index, sizeof cursor->part[lane].index);
        break;
    case 4:
        change(random, &cursor->part[lane].epoch, sizeof cursor->part[lane].epoch);
        break;
    case 5:
        change(random, &cursor->part[lane].used, sizeof cursor->part[lane].used);
        break;
    default:
        change(random, &cursor->lanes, sizeof cursor->lanes);
        break;
    }
}

void lies_of_message(tnd_random_t *random, tnd_msg_t *msg)
{
    for (uint64_t changes = 1 + tnd_random_below(random, 3); changes > 0; changes--) {
        uint32_t tries = 0;
        const field_t *field = &fields[tnd_random_below(random, FIELDS)];
        while (field->kind != msg->kind && tries++ < 500)
            field = &fields[tnd_random_below(random, FIELDS)];
        if (field->kind != msg->kind || tnd_random_below(random, 12) == 0)
            msg->generation = (uint32_t)lies_another(random, msg->generation);
        else
            change(random, (char *)msg + field->offset, field->size);
    }
}
