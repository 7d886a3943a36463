/*  A plain program for every preset: no message that the validator accepts breaks a machine.
 *
 *  A small pipeline exchanges its messages.  With them go copies with random fields changed, and
 *  forged ones.  Each passes the checks on its way first; a refused message sometimes ends its
 *  link.  A machine may refuse a message, which fails the run, but it never aborts and never
 *  releases a payload twice.  Runs without false fields complete.
 *
 *  Usage: stress_hostile [RUNS [FIRST_SEED]] */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "tests/support/false_fields.h"
#include "tests/support/pipeline.h"

#ifndef STRESS_RUNS
#define STRESS_RUNS 12000
#endif
enum { DELIVERIES_MAX = 4000 };

typedef struct {
    unsigned long done, failed, stuck, changed, refused;
} totals_t;

/*  What the decoder guarantees: offsets in order, as many as there are rows. */
static bool mark_rows(pipeline_t *self, tnd_msg_t *msg, token_t *token)
{
    tnd_block_note_t *block = &msg->block;
    bool has_origin = pipeline_below(self, 4) > 0;
    if (block->rows > OFFSETS_MAX || block->bad_count > OFFSETS_MAX)
        return false;
    if (block->count == 0 && (block->bad_count > 0 || (has_origin && block->rows > 0)))
        return false;
    if (block->bad_count > block->count)
        return false;
    for (uint32_t i = 0; i < block->rows; i++)
        token->origin[i] = (uint32_t)((uint64_t)i * block->count / block->rows);
    for (uint32_t i = 0; i < block->bad_count; i++)
        token->bad[i] = i;
    block->origin = has_origin ? token->origin : NULL;
    block->bad = block->bad_count > 0 ? token->bad : NULL;
    return true;
}

/*  Delivers a changed or forged copy of a message that is due. */
static void deliver_changed(pipeline_t *self, const pipeline_mail_t *truth, totals_t *totals)
{
    pipeline_mail_t mail = *truth;
    mail.token = pipeline_payload(&mail.msg) != NULL || mail.msg.kind == TND_MSG_REWIND
                     ? token_new(self)
                     : NULL;
    if (mail.msg.kind == TND_MSG_REWIND) {
        mail.token->cursor = truth->token->cursor;
        mail.msg.rewind.cursor = &mail.token->cursor;
        if (pipeline_below(self, 4) == 0)
            mail.msg.generation = (uint32_t)false_value(&self->random, mail.msg.generation);
        else
            false_fields_of_cursor(&self->random, &mail.token->cursor);
    } else {
        if (pipeline_below(self, 10) == 0 && mail.token == NULL) {
            tnd_msg_kind_t kind = (tnd_msg_kind_t)pipeline_below(self, TND_MSG_KINDS);
            tnd_msg_t forged = {.kind = kind, .from = mail.from, .to = mail.to};
            forged.generation = mail.msg.generation;
            if (pipeline_payload(&forged) != NULL)
                mail.token = token_new(self);
            mail.msg = forged;
        }
        false_fields_of_message(&self->random, &mail.msg);
        if (pipeline_payload(&mail.msg) != NULL)
            *pipeline_payload(&mail.msg) = mail.token;
        if (mail.msg.kind == TND_MSG_BLOCK && !mark_rows(self, &mail.msg, mail.token)) {
            token_drop(self, mail.token);
            return;
        }
    }
    totals->changed++;
    if (pipeline_check(self, &mail) == NULL) {
        pipeline_deliver(self, &mail);
        return;
    }
    totals->refused++;
    token_drop(self, mail.token);
    if (mail.by_link && pipeline_below(self, 100) == 0)
        pipeline_cut(self, mail.from, mail.to);
}

/*  Delivers one message, and after about `truths` of them a changed one (0: never).  Returns false
 *  if none is due. */
static bool step(pipeline_t *self, uint32_t truths, totals_t *totals)
{
    self->now += 10000;
    pipeline_lead(self);
    if (self->mail_count == 0) {
        uint64_t deadline = tnd_leader_core_deadline(self->leader);
        if (deadline == TND_NEVER || deadline <= self->now)
            return false;
        self->now = deadline;
        return true;
    }
    pipeline_mail_t mail = self->mail[self->mail_first];
    self->mail_first = (self->mail_first + 1) % MAIL_MAX;
    self->mail_count--;
    if (mail.msg.kind == TND_MSG_REWIND)
        mail.msg.rewind.cursor = &mail.token->cursor;
    if (truths > 0 && pipeline_below(self, truths) == 0)
        deliver_changed(self, &mail, totals);
    const char *why = self->over ? "the run is over" : pipeline_check(self, &mail);
    if (truths == 0 && !self->over && why != NULL) {
        fprintf(stderr, "an honest message of kind %d from %u was refused: %s\n",
                (int)mail.msg.kind, mail.from, why);
        abort();
    }
    if (why == NULL)
        pipeline_deliver(self, &mail);
    else
        token_drop(self, mail.token);
    return true;
}

static void run(uint64_t seed, bool honest, totals_t *totals)
{
    pipeline_t *self = tnd_allocate_zeroed(1, sizeof *self);
    tnd_random_init(&self->random, seed, 0, 0, 0);
    uint32_t truths = 4u << pipeline_below(self, 7);
    self->span = seed & 1;
    self->remainder = (tnd_remainder_t)(seed / 2 % 3);
    self->bounds = (tnd_bounds_t){.lane_rows = seed / 6 % 2 == 0 ? LANE_ROWS : TND_UNKNOWN,
                                  .bytes = {.fixed = ROW_BYTES},
                                  .rows_max = ROWS_MAX,
                                  .epochs = EPOCHS,
                                  .replicas = REPLICAS};
    pipeline_open(self);
    uint32_t deliveries = 0;
    while (!self->over && deliveries++ < DELIVERIES_MAX && step(self, honest ? 0 : truths, totals))
        ;
    tnd_leader_core_state_t state = tnd_leader_core_state(self->leader);
    if (state == TND_LEADER_CORE_DONE)
        totals->done++;
    else if (self->over)
        totals->failed++;
    else
        totals->stuck++;
    if (honest && state != TND_LEADER_CORE_DONE) {
        fprintf(stderr, "seed %llu: an honest run did not end: state %d, %u deliveries; %s%s\n",
                (unsigned long long)seed, (int)state, deliveries, self->error.text,
                tnd_leader_core_why(self->leader));
        abort();
    }
    pipeline_close(self);
}

int main(int argc, char **argv)
{
    uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : STRESS_RUNS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    totals_t totals = {0};
    for (uint64_t seed = 0; seed < 12; seed++)
        run(seed, true, &totals);
    for (uint64_t seed = first; seed < first + runs; seed++) {
        if (argc > 2)
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        run(seed, false, &totals);
    }
    printf("%lu runs ended, %lu failed, %lu did not end; %lu changed, %lu refused\n", totals.done,
           totals.failed, totals.stuck, totals.changed, totals.refused);
    return 0;
}
