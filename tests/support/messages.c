/*  tests/support/messages.c - one message of each kind.  */
#include "tests/support/messages.h"

#include "runtime/core/protocol/message_table.h"

tnd_msg_t tnd_message_of(tnd_msg_kind_t kind)
{
    tnd_msg_t msg = {.kind = kind, .generation = 3, .from = 0x80000001, .to = TND_LEADER};
    const tnd_msg_spec_t *spec = &tnd_msg_specs[kind];
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const tnd_msg_field_t *field = &spec->fields[i];
        void *at = (char *)&msg + field->offset;
        /* Another value for each field; the largest and all sizes of an encoded number occur. */
        uint64_t number = field->most >> i * 3 % 32;
        number -= number > i ? i : 0;
        switch (field->type) {
        case TND_FIELD_U32:
            *(uint32_t *)at = (uint32_t)number;
            break;
        case TND_FIELD_U64:
            *(uint64_t *)at = number;
            break;
        case TND_FIELD_BOOL:
            *(bool *)at = i % 2 == 1;
            break;
        case TND_FIELD_TEXT:
            *(const char **)at = "another graph";
            break;
        }
    }
    return msg;
}
