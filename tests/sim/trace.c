/*  tests/sim/trace.c - what a run prints when --trace asks for it, and the violation that ends it.
 */
#include <stdarg.h>
#include <stdio.h>

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
    printf("%12llu  ", (unsigned long long)self->now);
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
    if (!self->trace)
        return;
    char more[96] = "";
    if (msg->kind == TND_MSG_BLOCK)
        (void)snprintf(more, sizeof more, " %u/%u/%llu+%u rows %u try %u%s", msg->block.lane,
                       msg->block.epoch, (unsigned long long)msg->block.first, msg->block.count,
                       msg->block.rows, msg->block.attempt, msg->block.end ? " end" : "");
    else if (msg->kind == TND_MSG_TICKET || msg->kind == TND_MSG_LOST ||
             msg->kind == TND_MSG_BEGIN || msg->kind == TND_MSG_GO)
        (void)snprintf(more, sizeof more, " %u/%u/%llu+%u try %u", msg->ticket.lane,
                       msg->ticket.epoch, (unsigned long long)msg->ticket.first, msg->ticket.count,
                       msg->ticket.attempt);
    else if (msg->kind == TND_MSG_SLICE)
        (void)snprintf(more, sizeof more, " step %llu lane %u replica %u: %u+%u of %u",
                       (unsigned long long)msg->slice.step, msg->slice.lane, msg->slice.replica,
                       msg->slice.offset, msg->slice.rows, msg->slice.total);
    else if (msg->kind == TND_MSG_MARK)
        (void)snprintf(more, sizeof more, " lane %u epoch %u rows %llu%s", msg->mark.lane,
                       msg->mark.epoch, (unsigned long long)msg->mark.rows,
                       msg->mark.ended ? " ended" : "");
    else if (msg->kind == TND_MSG_PART)
        (void)snprintf(more, sizeof more, " step %llu lane %u", (unsigned long long)msg->part.step,
                       msg->part.lane);
    else if (msg->kind == TND_MSG_COMMIT)
        (void)snprintf(more, sizeof more, " step %llu", (unsigned long long)msg->commit.step);
    else if (msg->kind == TND_MSG_WINDOW || msg->kind == TND_MSG_HELD ||
             msg->kind == TND_MSG_BOOKED || msg->kind == TND_MSG_LAST)
        (void)snprintf(more, sizeof more, " %llu", (unsigned long long)msg->until.step);
    else if (msg->kind >= TND_MSG_POST && msg->kind <= TND_MSG_CLOSED)
        (void)snprintf(more, sizeof more, " round %llu", (unsigned long long)msg->post.round);
    sim_say(self, "%s -> %s: %s g%u%s", sim_name(self, msg->from), sim_name(self, msg->to),
            tnd_msg_specs[msg->kind].name, msg->generation, more);
}
