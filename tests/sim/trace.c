/*  tests/sim/trace.c - what a run prints when --trace asks for it, and the violation that ends it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/protocol/message_table.h"
#include "tests/sim/cluster.h"

void sim_violate(sim_t *self, const char *format, ...)
{
    if (self->violation[0])
        return;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, list);
    va_end(list);
}

void sim_say(sim_t *self, const char *format, ...)
{
    if (!self->trace)
        return;
    printf("%12" PRIu64 "  ", self->now);
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

const char *sim_name(sim_t *self, uint32_t actor)
{
    if (actor == TND_LEADER || actor == TND_NOBODY)
        return actor == TND_LEADER ? "leader" : "all";
    return actor >= SIM_HOST_ID ? self->host_names[actor - SIM_HOST_ID] : self->plan.names[actor];
}

void sim_say_msg(sim_t *self, const tnd_msg_t *msg)
{
    const tnd_msg_spec_t *spec = &tnd_msg_specs[msg->kind];
    if (!self->trace)
        return;
    printf("%12" PRIu64 "  %s -> %s: %s g%u", self->now, sim_name(self, msg->from),
           sim_name(self, msg->to), spec->name, msg->generation);
    for (uint32_t f = 0; f < spec->field_count; f++) {
        const char *at = (const char *)msg + spec->fields[f].offset;
        uint64_t value = 0;
        if (spec->fields[f].type == TND_FIELD_TEXT)
            continue;
        memcpy(&value, at,
               spec->fields[f].type == TND_FIELD_BOOL  ? 1
               : spec->fields[f].type == TND_FIELD_U32 ? 4
                                                       : 8);
        printf(" %" PRIu64, value);
    }
    putchar('\n');
}
