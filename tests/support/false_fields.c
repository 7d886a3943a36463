/*  tests/support/false_fields.c - messages with false fields. */
#include "tests/support/false_fields.h"

#include <stddef.h>
#include <string.h>

#include "runtime/core/protocol/message_table.h"

uint64_t false_value(tnd_random_t *random, uint64_t value)
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

static const size_t sizes[] = {
    [TND_FIELD_U32] = sizeof(uint32_t), [TND_FIELD_U64] = sizeof(uint64_t), [TND_FIELD_BOOL] = 1};

static void change(tnd_random_t *random, void *field, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, field, size); /* little-endian, as all machines that this runs on */
    value = size == 1 ? !value : false_value(random, value);
    memcpy(field, &value, size);
}

void false_fields_of_cursor(tnd_random_t *random, tnd_cursor_t *cursor)
{
    uint32_t lane = (uint32_t)tnd_random_below(random, cursor->lanes);
    switch (tnd_random_below(random, 8)) {
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
    case 6:
        change(random, &cursor->since[lane], sizeof cursor->since[lane]);
        break;
    default:
        change(random, &cursor->lanes, sizeof cursor->lanes);
        break;
    }
}

/*  Whether the receiver checks the field itself, and not the decoder of a payload. */
static bool is_free(const tnd_msg_field_t *field)
{
    return field->type != TND_FIELD_TEXT && field->offset != offsetof(tnd_msg_t, block.why_bytes);
}

void false_fields_of_message(tnd_random_t *random, tnd_msg_t *msg)
{
    for (uint64_t changes = 1 + tnd_random_below(random, 3); changes > 0; changes--) {
        const tnd_msg_spec_t *spec = &tnd_msg_specs[msg->kind];
        uint64_t which = tnd_random_below(random, spec->field_count + 1);
        if (which == spec->field_count)
            msg->generation = (uint32_t)false_value(random, msg->generation);
        else if (is_free(&spec->fields[which]))
            change(random, (char *)msg + spec->fields[which].offset,
                   sizes[spec->fields[which].type]);
    }
}
