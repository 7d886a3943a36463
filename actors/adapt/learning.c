/*  actors/adapt/learning.c - lets the operations of a chain learn of rows what their `auto` options are. */
#include "actors/adapt/learning.h"

#include <stdlib.h>
#include <string.h>

#include "actors/adapt/adapted_file.h"
#include "actors/op/ops.h"
#include "runtime/base/allocation.h"

/*  Lets operations learn of the rows of a block at one stop. */
static tnd_status_t learn_at(void *context, tnd_chain_pass_t *pass,
                             const tnd_chain_strand_t *strand, size_t stop, tnd_error_t *error)
{
    tnd_error_t why;
    uint32_t row = 0;
    size_t failed = 0;
    const tnd_block_note_t *note = &strand->out[stop]->note;
    tnd_status_t status =
        tnd_chain_learn(pass->learners, &pass->stops, stop, strand->out[stop], &row, &failed, &why);
    if (status == TND_OK)
        return TND_OK;
    return tnd_chain_pass_fail(context, pass,
                               note->first + (note->origin != NULL ? note->origin[row] : row),
                               failed, status == TND_REFUSED, why.text, error);
}

/*  Adds what operation `index` has learned to `learned`, and stores it. */
static tnd_status_t take(tnd_chain_rows_t *self, const tnd_chain_pass_t *pass, size_t index,
                         uint32_t lane, uint64_t rows, tnd_adapted_t **learned, tnd_error_t *error)
{
    uint64_t key = tnd_chain_key_of(&self->ops[index]);
    size_t size;
    char *words;
    FILE *out = tnd_memory_stream(&words, &size);
    tnd_status_t status = tnd_chain_tell_learned(pass->learners, index, out, error);
    fclose(out);
    if (status == TND_OK) {
        /* A run that evaluates writes nothing beside its checkpoint. */
        if (self->plan->checkpoint == NULL || !self->plan->checkpoint->evaluate)
            tnd_adapted_file_write(self->plan, self->reader->host, key, rows, words);
        tnd_adapted_add(learned, key, lane, words);
    }
    free(words);
    return status;
}

/*  Takes what is stored for all operations of a pass.  Returns whether there is all of it. */
static bool load(const tnd_chain_rows_t *self, const tnd_chain_pass_t *pass, uint32_t lane,
                 uint64_t rows, tnd_adapted_t **learned)
{
    bool all = true;
    for (size_t i = 0; i < self->count && all; i++) {
        if (!tnd_chain_learns(pass->learners, &pass->stops, i))
            continue;
        uint64_t key = tnd_chain_key_of(&self->ops[i]);
        char *words = tnd_adapted_file_read(self->plan, self->reader->host, key, rows);
        all = words != NULL;
        if (all)
            tnd_adapted_add(learned, key, lane, words);
        free(words);
    }
    return all;
}

static tnd_status_t run_pass(tnd_chain_rows_t *self, tnd_chain_pass_t *pass,
                             const tnd_shared_part_t *part, uint32_t lane,
                             tnd_adapted_t **learned_p, tnd_error_t *error)
{
    uint64_t rows;
    tnd_adapted_t *stored = NULL;
    TND_TRY(tnd_chain_rows_open(self, self->count, &pass->learners, error));
    tnd_chain_find_stops(pass->learners, tnd_chain_unknown(pass->learners), &pass->stops);
    TND_TRY(tnd_chain_pass_hash(self, pass, &rows, error));
    bool there = tnd_chain_rows_stored(self, part) && load(self, pass, lane, rows, &stored);
    if (there)
        tnd_adapted_merge(learned_p, stored);
    tnd_adapted_free(&stored);
    if (there || self->plan->unread)
        return TND_OK;
    TND_TRY(tnd_chain_pass_run(self, pass, learn_at, self, error));
    for (size_t i = 0; i < self->count; i++)
        if (tnd_chain_learns(pass->learners, &pass->stops, i) &&
            take(self, pass, i, lane, rows, learned_p, error) != TND_OK) {
            self->culprit = self->owners[i];
            return TND_FAILED;
        }
    return TND_OK;
}

/*  Lets operations learn of the rows of one part. */
static tnd_status_t learn_part(tnd_chain_rows_t *self, const tnd_shared_part_t *part,
                               tnd_adapted_t **learned_p, tnd_error_t *error)
{
    tnd_chain_pass_t pass;
    uint32_t lane = part->lane == TND_LANES_MAX ? 0 : part->lane;
    tnd_status_t status = tnd_chain_pass_begin(&pass, self, part, error);
    if (status == TND_OK)
        status = run_pass(self, &pass, part, lane, learned_p, error);
    tnd_chain_pass_end(&pass);
    return status;
}

/*  The operations before others are known with the rows of all lanes alone. */
static tnd_status_t check_lanes(tnd_chain_rows_t *self, size_t operation, tnd_error_t *error)
{
    uint32_t here = 0;
    while (tnd_shared_source_at(self->shared, here) != NULL)
        here++;
    if (!self->stream->by_file || here == self->plan->lanes)
        return TND_OK;
    self->culprit = self->owners[operation];
    return tnd_fail_about(
        error, self->ops[operation].value,
        "`%s` has an option that is `auto` and comes after another such operation, so "
        "it needs two passes over the files of all lanes, of which this host has %u "
        "of %u; write the values of the first themselves",
        self->ops[operation].table->name, here, self->plan->lanes);
}

/*  Of two preprocessors that have the same operation, the later is to blame. */
static bool blame_repeated(tnd_chain_rows_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        for (size_t other = 0; other < i; other++)
            if (self->owners[i] != self->owners[other] &&
                tnd_op_of(tnd_op_spec_of(self->ops[i].table))->learn != NULL &&
                tnd_chain_key_of(&self->ops[i]) == tnd_chain_key_of(&self->ops[other])) {
                self->culprit = self->owners[i];
                return true;
            }
    return false;
}

/*  Returns whether there may be more to learn. */
static tnd_status_t learn_some(tnd_chain_rows_t *self, bool *more_p, tnd_error_t *error)
{
    tnd_chain_t *chain;
    tnd_adapted_t *learned = NULL;
    *more_p = false;
    /* What is wrong with an operation of one preprocessor is reported where the stream is derived. */
    if (tnd_chain_rows_open(self, self->count, &chain, error) != TND_OK)
        return blame_repeated(self) ? TND_FAILED : TND_OK;
    size_t first = tnd_chain_unknown(chain);
    tnd_chain_close(&chain);
    if (first == self->count)
        return TND_OK;
    if (self->stream->adapted != NULL)
        TND_TRY(check_lanes(self, first, error));
    self->work = tnd_guarded_call_opens(self->call, self->ops[first].value, "its rows");
    tnd_guarded_work_doing(self->work, "summarizing", NULL);
    const tnd_shared_part_t *part;
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; status == TND_OK && (part = tnd_shared_source_at(self->shared, i)) != NULL;
         i++)
        status = learn_part(self, part, &learned, error);
    *more_p = learned != NULL;
    if (status == TND_OK)
        tnd_adapted_merge(&self->stream->adapted, learned);
    tnd_adapted_free(&learned);
    return status;
}

tnd_status_t tnd_learning_run(tnd_chain_rows_t *self, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    for (bool more = self->any; more && status == TND_OK;)
        status = learn_some(self, &more, error);
    return status;
}
