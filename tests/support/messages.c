/*  tests/support/messages.c - one message of each kind.  */
#include "tests/support/messages.h"

tnd_msg_t tnd_message_of(tnd_msg_kind_t kind)
{
    tnd_msg_t msg = {.kind = kind, .generation = 3, .from = 0x80000001, .to = TND_LEADER};
    switch (kind) {
    case TND_MSG_HELLO:
        msg.hello.life = UINT64_MAX;
        msg.hello.birth = 1u << 31;
        msg.hello.connection = 70000;
        msg.hello.terms = (tnd_terms_t){{1, UINT64_MAX - 1}, 300, 1u << 31, UINT64_MAX, 6, true};
        break;
    case TND_MSG_STALE:
        msg.hello.life = UINT64_MAX;
        break;
    case TND_MSG_REFUSE:
        msg.refuse.why = "another graph";
        break;
    case TND_MSG_CREDIT:
        msg.credit.blocks = 5;
        msg.credit.bytes = 1ull << 40;
        break;
    case TND_MSG_BLOCK:
        msg.block = (tnd_block_note_t){.first = 1ull << 41,
                                       .lane = 255,
                                       .epoch = 4,
                                       .count = 128,
                                       .asked = 129,
                                       .attempt = 2,
                                       .rows = 127,
                                       .end = true,
                                       .bad_count = 1,
                                       .bytes = 99999,
                                       .work_ns = 20000000};
        break;
    case TND_MSG_SLICE:
        msg.slice = (tnd_slice_note_t){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, true, false, NULL};
        break;
    case TND_MSG_POST:
    case TND_MSG_RESULT:
    case TND_MSG_GOT:
    case TND_MSG_CLOSED:
        msg.post = (tnd_post_note_t){1ull << 50, 1, 2, 3, 4, 1ull << 33, NULL};
        break;
    case TND_MSG_TICKET:
    case TND_MSG_LOST:
        msg.ticket.first = 77;
        msg.ticket.lane = 1;
        msg.ticket.epoch = 2;
        msg.ticket.count = 3;
        msg.ticket.attempt = 4;
        msg.ticket.floor = (tnd_position_t){5, 6, 7};
        break;
    case TND_MSG_MARK:
        msg.mark.rows = 1;
        msg.mark.lane = 2;
        msg.mark.epoch = 3;
        msg.mark.ended = true;
        break;
    case TND_MSG_PART:
    case TND_MSG_LAST:
        msg.part.step = 1;
        msg.part.lane = 2;
        msg.part.epoch = 3;
        msg.part.step_of_epoch = 4;
        msg.part.rank = 5;
        msg.part.position = (tnd_position_t){6, 7, 8};
        msg.part.ledger = (tnd_ledger_t){9, 10, 11, 12, 13, 14, 15};
        break;
    case TND_MSG_COMMIT:
        msg.commit.step = 1;
        msg.commit.digest[0] = UINT64_MAX;
        msg.commit.digest[1] = 2;
        msg.commit.rows = 3;
        break;
    case TND_MSG_PASSED:
        msg.passed = (tnd_passed_note_t){1, 2, 3, TND_PASSED_DONE, 5};
        break;
    case TND_MSG_KEEP:
        msg.keep = (tnd_keep_note_t){500, UINT64_MAX, 3};
        break;
    case TND_MSG_WINDOW:
    case TND_MSG_HELD:
    case TND_MSG_BOOKED:
    case TND_MSG_DRAIN:
        msg.until.step = TND_UNKNOWN;
        break;
    default:
        if (kind >= TND_MSG_FACTS)
            msg.note.number = 1ull << 63;
    }
    return msg;
}
