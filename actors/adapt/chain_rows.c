/*  actors/adapt/chain_rows.c - the rows of a reader before a run, as they come out of operations. */
#include "actors/adapt/chain_rows.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/op/ops.h"
#include "actors/plan/plan_queries.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/parallel.h"
#include "runtime/checkpoint/store.h"

static void renew_work(void *context)
{
    (void)context; /* each block of rows is reported */
}

static void drop_record(void *context, tnd_log_level_t level, const char *text)
{
    (void)context, (void)level, (void)text; /* the run logs it again */
}

const tnd_instance_t *tnd_chain_rows_reader(const tnd_plan_t *plan, uint32_t chain)
{
    uint32_t i = 0;
    while (plan->instances[i].chain != chain || plan->instances[i].kind->role != TND_ROLE_READER)
        i++;
    return &plan->instances[i];
}

static void add_ops(tnd_chain_rows_t *self, const tnd_instance_t *owner)
{
    const tnd_plan_work_t work = tnd_plan_work(owner);
    self->skip_bad = self->skip_bad || work.skips_bad;
    size_t workers =
        work.workers > 0 ? tnd_least(work.workers, TND_PARALLEL_WAITS) : TND_PARALLEL_WAITS;
    self->workers = tnd_most(workers, self->workers);
    for (size_t i = 0; i < work.ops.count; i++) {
        const tnd_part_t *op = &work.ops.items[i];
        self->ops = tnd_grow(self->ops, self->count, &self->room[0], sizeof *self->ops);
        self->owners = tnd_grow(self->owners, self->count, &self->room[1], sizeof *self->owners);
        self->ops[self->count] = *op;
        self->owners[self->count++] = owner;
        self->any = self->any || tnd_op_of(tnd_op_spec_of(op->table))->learn != NULL;
    }
}

void tnd_chain_rows_begin(tnd_chain_rows_t *self, const tnd_plan_t *plan, tnd_stream_t *stream)
{
    *self = (tnd_chain_rows_t){.plan = plan, .stream = stream, .workers = 1};
    self->reader = tnd_chain_rows_reader(plan, stream->chain);
    for (const tnd_instance_t *at = self->reader; at != NULL; at = tnd_plan_next(plan, at))
        if (at->kind->role == TND_ROLE_WORKER)
            add_ops(self, at);
    self->scope = (tnd_op_scope_t){
        .directory = plan->directory,
        .python = plan->topology != NULL ? plan->topology->settings->python : NULL,
        .names = &stream->names,
        .hung_after_ns = plan->hung_after_ns,
        .renew = renew_work,
        .log = drop_record,
    };
}

void tnd_chain_rows_end(tnd_chain_rows_t *self)
{
    free(self->ops);
    free(self->owners);
}

/*  The operations [from, to), for rows of a schema.  `runs`: rows follow. */
static tnd_status_t open_some(tnd_chain_rows_t *self, size_t from, size_t to,
                              const tnd_schema_t *in, bool runs, tnd_chain_t **chain_p,
                              tnd_error_t *error)
{
    const tnd_part_list_t ops = {self->ops + from, to - from};
    self->scope.runs = self->scope.adapting = runs;
    self->scope.adapted = self->stream->adapted;
    /* Rows follow on several threads, of which the call knows one. */
    return tnd_chain_open(chain_p, &ops, self->skip_bad, in, &self->scope, runs ? NULL : self->call,
                          error);
}

tnd_status_t tnd_chain_rows_open(tnd_chain_rows_t *self, size_t count, tnd_chain_t **chain_p,
                                 tnd_error_t *error)
{
    return open_some(self, 0, count, &self->stream->read.schema, false, chain_p, error);
}

/*  Whether there is a checkpoint to resume from; a host without the folder sees none. */
static bool resumes(const tnd_checkpoint_options_t *checkpoint)
{
    uint64_t *steps;
    size_t count;
    tnd_error_t ignored; /* is reported by the run, which lists them as well */
    bool found = false;
    if (checkpoint == NULL || strcmp(checkpoint->resume, "none") == 0)
        return false;
    if (strcmp(checkpoint->resume, "latest") != 0 && strcmp(checkpoint->resume, "best") != 0)
        return true; /* a path, which exists */
    if (tnd_store_list(checkpoint->dir, &steps, &count, &ignored) != TND_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        found = found || tnd_store_has(checkpoint->dir, steps[i]);
    free(steps);
    return found;
}

/*  Files have a time of modification; what a program says of rows of its own may stay the same while
 *  they change, so only a resumed run, whose data are those of its checkpoint, uses what is stored. */
bool tnd_chain_rows_stored(const tnd_chain_rows_t *self, const tnd_shared_part_t *part)
{
    bool files = part->facts.file_count > 0;
    for (size_t i = 0; i < part->facts.file_count; i++)
        files =
            files && part->facts.files[i].kind != TND_DATA_SOURCE && !part->facts.files[i].program;
    return files || self->plan->unread || resumes(self->plan->checkpoint);
}

tnd_status_t tnd_chain_pass_fail(tnd_chain_rows_t *self, tnd_chain_pass_t *pass, uint64_t position,
                                 size_t operation, bool bad, const char *why, tnd_error_t *error)
{
    char where[320];
    bool skips = (tnd_op_spec_of(self->ops[operation].table)->caps & TND_OP_FAILS) != 0;
    tnd_training_rows_place(pass->rows, position, where, sizeof where);
    self->culprit = self->owners[operation];
    return tnd_fail_about(
        error, self->ops[operation].value, "%s%s: operation %zu, `%s`: %.240s%s", where,
        bad ? " is bad" : "", operation + 1, self->ops[operation].table->name, why,
        bad && skips && !self->skip_bad
            ? "; to continue without such records, set `on_error: skip` or `quarantine`"
            : "");
}

/*  The operation that refused a row, as the chain names it. */
static size_t failed_operation(const char *why)
{
    const char *at = strstr(why, ", operation ");
    unsigned long number = at != NULL ? strtoul(at + strlen(", operation "), NULL, 10) : 1;
    return number > 0 ? number - 1 : 0;
}

static void run_strand(void *context, size_t index)
{
    tnd_chain_strand_t *self = (tnd_chain_strand_t *)context + index;
    const tnd_chain_key_t key = {.seed = self->seed, .lanes = 1, .way = TND_BAD_STOP};
    tnd_error_t why; /* which the chain keeps with its row */
    tnd_block_t *in = self->in;
    for (size_t i = 0; i < self->count && in != NULL; i++) {
        if (tnd_chain_run(self->chains[i], &key, in, self->block_pool, self->pool, &self->out[i],
                          &why) != TND_OK)
            self->out[i] = NULL;
        in = self->out[i];
    }
}

/*  Fails with the row that an operation before a stop has refused. */
static tnd_status_t fail_strand(tnd_chain_rows_t *self, tnd_chain_pass_t *pass,
                                const tnd_chain_strand_t *strand, size_t stop, tnd_error_t *error)
{
    const char *reason;
    uint64_t position = strand->in->note.first + tnd_chain_failed(strand->chains[stop], &reason);
    size_t failed = (stop > 0 ? pass->stops.at[stop - 1] : 0) + failed_operation(reason);
    return tnd_chain_pass_fail(self, pass, position, failed, true, strchr(reason, '\t') + 1, error);
}

static tnd_status_t take_block(tnd_chain_rows_t *self, tnd_chain_pass_t *pass,
                               const tnd_chain_strand_t *strand, tnd_chain_pass_fn *take,
                               void *context, tnd_error_t *error)
{
    for (size_t stop = 0; stop < strand->count; stop++) {
        if (strand->out[stop] == NULL)
            return fail_strand(self, pass, strand, stop, error);
        TND_TRY(take(context, pass, strand, stop, error));
    }
    return tnd_block_intact(strand->in, 0, strand->in->note.rows, error);
}

/*  Reads a block for each strand; *count_p: how many there are. */
static tnd_status_t read_blocks(tnd_chain_pass_t *pass, size_t *count_p, tnd_error_t *error)
{
    for (*count_p = 0; *count_p < pass->strand_count; ++*count_p) {
        tnd_chain_strand_t *strand = &pass->strands[*count_p];
        TND_TRY(tnd_training_rows_next(pass->rows, &strand->in, error));
        if (strand->in == NULL)
            return TND_OK;
    }
    return TND_OK;
}

/*  Whatever the number of threads, blocks are taken in their order. */
static tnd_status_t take_all(tnd_chain_rows_t *self, tnd_chain_pass_t *pass,
                             tnd_chain_pass_fn *take, void *context, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    for (size_t count = 1; count > 0 && status == TND_OK;) {
        status = read_blocks(pass, &count, error);
        if (status == TND_OK)
            tnd_parallel(count, run_strand, pass->strands);
        for (size_t i = 0; i < count; i++) {
            tnd_chain_strand_t *strand = &pass->strands[i];
            if (status == TND_OK)
                status = take_block(self, pass, strand, take, context, error);
            for (size_t stop = 0; stop < strand->count; stop++)
                tnd_block_drop(&strand->out[stop]);
            tnd_block_drop(&strand->in);
        }
        tnd_guarded_work_count(self->work, tnd_training_rows_done(pass->rows),
                               tnd_training_rows_all(pass->rows), "rows");
    }
    return status;
}

static tnd_status_t check_draws(tnd_chain_rows_t *self, const tnd_chain_pass_t *pass,
                                const tnd_chain_t *chain, size_t first, tnd_error_t *error)
{
    int drawn = tnd_chain_draws(chain);
    if (drawn < 0)
        return TND_OK;
    size_t operation = first + (size_t)drawn;
    self->culprit = self->owners[operation];
    if (pass->column != NULL)
        return tnd_fail_about(
            error, self->ops[operation].value,
            "`%s` is random and comes before column `%s`, by which `part` divides "
            "the rows once; move it after the operation that makes that column",
            self->ops[operation].table->name, pass->column);
    return tnd_fail_about(error, self->ops[operation].value,
                          "`%s` is random and comes before `%s`, whose `auto` is computed once of "
                          "all rows; move it after that operation",
                          self->ops[operation].table->name,
                          self->ops[pass->stops.at[pass->stops.count - 1]].table->name);
}

static tnd_status_t open_strand(tnd_chain_rows_t *self, const tnd_chain_pass_t *pass,
                                tnd_chain_strand_t *strand, tnd_error_t *error)
{
    const tnd_schema_t *in = &self->stream->read.schema;
    size_t from = 0, made = 0;
    strand->block_pool = tnd_block_pool_new();
    strand->seed = self->plan->seed;
    for (; strand->count < pass->stops.count; strand->count++) {
        tnd_chain_t **chain = &strand->chains[strand->count];
        size_t to = pass->stops.at[strand->count];
        self->culprit = from < self->count ? self->owners[from] : self->reader;
        TND_TRY(open_some(self, from, to, in, true, chain, error));
        TND_TRY(check_draws(self, pass, *chain, from, error));
        in = tnd_chain_schema(*chain);
        made = tnd_most(made, tnd_chain_bytes(*chain, 1));
        from = to;
    }
    self->culprit = self->reader;
    uint32_t rows = tnd_training_rows_limit(pass->rows, made);
    size_t bytes = 0;
    for (size_t i = 0; i < strand->count; i++)
        bytes = tnd_most(bytes, tnd_chain_bytes(strand->chains[i], rows));
    strand->pool = tnd_pool_new(bytes);
    return TND_OK;
}

tnd_status_t tnd_chain_pass_run(tnd_chain_rows_t *self, tnd_chain_pass_t *pass,
                                tnd_chain_pass_fn *take, void *context, tnd_error_t *error)
{
    pass->strands = tnd_allocate_zeroed(self->workers, sizeof *pass->strands);
    while (pass->strand_count < self->workers)
        TND_TRY(open_strand(self, pass, &pass->strands[pass->strand_count++], error));
    return take_all(self, pass, take, context, error);
}

tnd_status_t tnd_chain_pass_begin(tnd_chain_pass_t *self, const tnd_chain_rows_t *chain,
                                  const tnd_shared_part_t *part, tnd_error_t *error)
{
    *self = (tnd_chain_pass_t){.rows = NULL};
    return tnd_training_rows_open(&self->rows, chain->plan, chain->reader, chain->stream,
                                  chain->shared, part, chain->whole, error);
}

void tnd_chain_pass_end(tnd_chain_pass_t *self)
{
    for (size_t i = 0; i < self->strand_count; i++) {
        tnd_chain_strand_t *strand = &self->strands[i];
        for (size_t stop = 0; stop < TND_CHAIN_STOPS_MAX; stop++)
            tnd_chain_close(&strand->chains[stop]);
        tnd_pool_destroy(&strand->pool);
        tnd_block_pool_destroy(&strand->block_pool);
    }
    free(self->strands);
    tnd_chain_close(&self->learners);
    tnd_training_rows_close(&self->rows);
}

tnd_status_t tnd_chain_pass_hash(tnd_chain_rows_t *self, const tnd_chain_pass_t *pass,
                                 uint64_t *hash_p, tnd_error_t *error)
{
    tnd_chain_t *before;
    size_t last = pass->stops.at[pass->stops.count - 1];
    TND_TRY(tnd_chain_rows_open(self, last, &before, error));
    const uint64_t all[] = {tnd_training_rows_hash(pass->rows), tnd_chain_facts(before)->content,
                            self->skip_bad};
    tnd_chain_close(&before);
    *hash_p = XXH3_64bits(all, sizeof all);
    for (size_t i = 0; i < last; i++) {
        uint64_t key = tnd_chain_key_of(&self->ops[i]);
        *hash_p = XXH3_64bits_withSeed(&key, sizeof key, *hash_p);
    }
    return TND_OK;
}

size_t tnd_chain_pass_bytes(const tnd_chain_rows_t *self)
{
    uint64_t rows = tnd_stream_positions(self->stream);
    uint64_t all = tnd_schema_row_bytes(&self->stream->read.schema);
    if (rows != TND_UNKNOWN && __builtin_mul_overflow(all, rows, &all))
        all = UINT64_MAX;
    /* What comes in, and what comes out at each stop. */
    return self->workers * (1 + TND_CHAIN_STOPS_MAX) *
           tnd_least(TND_TRAINING_BLOCK_BYTES, rows == TND_UNKNOWN ? UINT64_MAX : all);
}
