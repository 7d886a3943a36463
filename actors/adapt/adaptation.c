/*  actors/adapt/adaptation.c - the values of `auto` options. */
#include "actors/adapt/adaptation.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/adapt/adapted_file.h"
#include "actors/adapt/training_rows.h"
#include "actors/chain/chain_adapt.h"
#include "actors/op/ops.h"
#include "actors/plan/kind_options.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/parallel.h"
#include "runtime/checkpoint/store.h"

typedef struct {
    const tnd_plan_t *plan;
    const tnd_instance_t *reader;
    const void *shared;
    tnd_stream_t *stream;
    tnd_guarded_call_t *call;
    tnd_guarded_work_t *work;
    /*  Of all preprocessors of the chain, and whose each is. */
    tnd_part_t *ops;
    const tnd_instance_t **owners;
    size_t count, room[2];
    size_t workers; /* threads that apply them */
    bool skip_bad, any;
    tnd_op_scope_t scope;
    const tnd_instance_t *culprit;
} adaptation_t;

static void renew_work(void *context)
{
    (void)context; /* each block of rows is reported */
}

static void drop_record(void *context, tnd_log_level_t level, const char *text)
{
    (void)context, (void)level, (void)text; /* the run logs it again */
}

static const tnd_instance_t *first_reader(const tnd_plan_t *plan, uint32_t chain)
{
    uint32_t i = 0;
    while (plan->instances[i].chain != chain || plan->instances[i].kind->role != TND_ROLE_READER)
        i++;
    return &plan->instances[i];
}

static void add_ops(adaptation_t *self, const tnd_instance_t *owner)
{
    const tnd_preprocessor_options_t *options = owner->options;
    self->skip_bad = self->skip_bad || options->on_error != TND_BAD_STOP;
    size_t workers = options->workers > 0 ? options->workers : TND_PARALLEL_WAITS;
    workers = workers < TND_PARALLEL_WAITS ? workers : TND_PARALLEL_WAITS;
    self->workers = workers > self->workers ? workers : self->workers;
    for (size_t i = 0; i < options->ops.count; i++) {
        const tnd_part_t *op = &options->ops.items[i];
        self->ops = tnd_grow(self->ops, self->count, &self->room[0], sizeof *self->ops);
        self->owners = tnd_grow(self->owners, self->count, &self->room[1], sizeof *self->owners);
        self->ops[self->count] = *op;
        self->owners[self->count++] = owner;
        self->any = self->any || tnd_op_of(tnd_op_spec_of(op->table))->learn != NULL;
    }
}

static void begin(adaptation_t *self, const tnd_plan_t *plan, tnd_stream_t *stream)
{
    *self = (adaptation_t){.plan = plan, .stream = stream};
    self->reader = first_reader(plan, stream->chain);
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

static void end(adaptation_t *self)
{
    free(self->ops);
    free(self->owners);
}

/*  The operations [from, to), for rows of a schema.  `runs`: rows follow. */
static tnd_status_t open_some(adaptation_t *self, size_t from, size_t to, const tnd_schema_t *in,
                              bool runs, tnd_chain_t **chain_p, tnd_error_t *error)
{
    const tnd_part_list_t ops = {self->ops + from, to - from};
    self->scope.runs = self->scope.adapting = runs;
    self->scope.adapted = self->stream->adapted;
    /* Rows follow on several threads, of which the call knows one. */
    return tnd_chain_open(chain_p, &ops, self->skip_bad, in, &self->scope, runs ? NULL : self->call,
                          error);
}

/*  The first `count` operations, to look at them. */
static tnd_status_t open_chain(adaptation_t *self, size_t count, tnd_chain_t **chain_p,
                               tnd_error_t *error)
{
    return open_some(self, 0, count, &self->stream->read, false, chain_p, error);
}

/*  The operations before each stop, and the rows that are under way there. */
typedef struct {
    tnd_chain_t *chains[TND_CHAIN_STOPS_MAX];
    size_t count;
    tnd_block_pool_t *block_pool;
    tnd_pool_t *pool;
    uint64_t seed;
    tnd_block_t *in, *out[TND_CHAIN_STOPS_MAX]; /* out NULL: a row was bad */
} strand_t;

/*  The rows of one part, of which operations learn. */
typedef struct {
    tnd_training_rows_t *rows;
    tnd_chain_t *learners; /* all operations */
    tnd_chain_stops_t stops;
    strand_t *strands; /* as many as the preprocessor has workers */
    size_t strand_count;
} pass_t;

/*  `bad`: the row is, of an operation that refuses rows; else a limit is reached there. */
static tnd_status_t fail_row(adaptation_t *self, pass_t *pass, uint64_t position, size_t operation,
                             bool bad, const char *why, tnd_error_t *error)
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
    strand_t *self = (strand_t *)context + index;
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

/*  Lets operations learn of the rows of a block at one stop. */
static tnd_status_t learn_at(adaptation_t *self, pass_t *pass, const strand_t *strand, size_t stop,
                             tnd_error_t *error)
{
    tnd_error_t why;
    uint32_t row = 0;
    size_t failed = 0;
    if (strand->out[stop] == NULL) {
        const char *reason;
        uint64_t position =
            strand->in->note.first + tnd_chain_failed(strand->chains[stop], &reason);
        failed = (stop > 0 ? pass->stops.at[stop - 1] : 0) + failed_operation(reason);
        return fail_row(self, pass, position, failed, true, strchr(reason, '\t') + 1, error);
    }
    const tnd_block_note_t *note = &strand->out[stop]->note;
    tnd_status_t status =
        tnd_chain_learn(pass->learners, &pass->stops, stop, strand->out[stop], &row, &failed, &why);
    if (status == TND_OK)
        return TND_OK;
    return fail_row(self, pass, note->first + (note->origin != NULL ? note->origin[row] : row),
                    failed, status == TND_REFUSED, why.text, error);
}

static tnd_status_t learn_block(adaptation_t *self, pass_t *pass, const strand_t *strand,
                                tnd_error_t *error)
{
    for (size_t stop = 0; stop < strand->count; stop++)
        TND_TRY(learn_at(self, pass, strand, stop, error));
    return tnd_block_intact(strand->in, 0, strand->in->note.rows, error);
}

/*  Reads a block for each strand; *count_p: how many there are. */
static tnd_status_t read_blocks(pass_t *pass, size_t *count_p, tnd_error_t *error)
{
    for (*count_p = 0; *count_p < pass->strand_count; ++*count_p) {
        strand_t *strand = &pass->strands[*count_p];
        TND_TRY(tnd_training_rows_next(pass->rows, &strand->in, error));
        if (strand->in == NULL)
            return TND_OK;
    }
    return TND_OK;
}

/*  Whatever the number of threads, operations learn of the blocks in their order. */
static tnd_status_t learn_all(adaptation_t *self, pass_t *pass, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    for (size_t count = 1; count > 0 && status == TND_OK;) {
        status = read_blocks(pass, &count, error);
        if (status == TND_OK)
            tnd_parallel(count, run_strand, pass->strands);
        for (size_t i = 0; i < count; i++) {
            strand_t *strand = &pass->strands[i];
            if (status == TND_OK)
                status = learn_block(self, pass, strand, error);
            for (size_t stop = 0; stop < strand->count; stop++)
                tnd_block_drop(&strand->out[stop]);
            tnd_block_drop(&strand->in);
        }
        tnd_guarded_work_count(self->work, tnd_training_rows_done(pass->rows),
                               tnd_training_rows_all(pass->rows), "rows");
    }
    return status;
}

static tnd_status_t check_draws(adaptation_t *self, const pass_t *pass, const tnd_chain_t *chain,
                                size_t first, tnd_error_t *error)
{
    int drawn = tnd_chain_draws(chain);
    if (drawn < 0)
        return TND_OK;
    size_t operation = first + (size_t)drawn;
    self->culprit = self->owners[operation];
    return tnd_fail_about(error, self->ops[operation].value,
                          "`%s` is random and comes before `%s`, whose `auto` is computed once of "
                          "all rows; move it after that operation",
                          self->ops[operation].table->name,
                          self->ops[pass->stops.at[pass->stops.count - 1]].table->name);
}

static tnd_status_t open_strand(adaptation_t *self, const pass_t *pass, strand_t *strand,
                                tnd_error_t *error)
{
    const tnd_schema_t *in = &self->stream->read;
    size_t from = 0, made = 0;
    strand->block_pool = tnd_block_pool_new();
    strand->seed = self->plan->seed;
    for (; strand->count < pass->stops.count; strand->count++) {
        tnd_chain_t **chain = &strand->chains[strand->count];
        size_t to = pass->stops.at[strand->count];
        self->culprit = self->owners[from];
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

static tnd_status_t compute(adaptation_t *self, pass_t *pass, tnd_error_t *error)
{
    pass->strands = tnd_allocate_zeroed(self->workers, sizeof *pass->strands);
    while (pass->strand_count < self->workers)
        TND_TRY(open_strand(self, pass, &pass->strands[pass->strand_count++], error));
    return learn_all(self, pass, error);
}

static void end_pass(pass_t *self)
{
    for (size_t i = 0; i < self->strand_count; i++) {
        strand_t *strand = &self->strands[i];
        for (size_t stop = 0; stop < TND_CHAIN_STOPS_MAX; stop++)
            tnd_chain_close(&strand->chains[stop]);
        tnd_pool_destroy(&strand->pool);
        tnd_block_pool_destroy(&strand->block_pool);
    }
    free(self->strands);
    tnd_chain_close(&self->learners);
    tnd_training_rows_close(&self->rows);
}

/*  A hash of the rows, and of what is done to them before they are learned of. */
static tnd_status_t hash_rows(adaptation_t *self, const pass_t *pass, uint64_t *hash_p,
                              tnd_error_t *error)
{
    tnd_chain_t *before;
    size_t last = pass->stops.at[pass->stops.count - 1];
    TND_TRY(open_chain(self, last, &before, error));
    const uint64_t all[] = {tnd_training_rows_hash(pass->rows), tnd_chain_content(before),
                            self->skip_bad};
    tnd_chain_close(&before);
    *hash_p = XXH3_64bits(all, sizeof all);
    for (size_t i = 0; i < last; i++) {
        uint64_t key = tnd_chain_key_of(&self->ops[i]);
        *hash_p = XXH3_64bits_withSeed(&key, sizeof key, *hash_p);
    }
    return TND_OK;
}

/*  Adds what operation `index` has learned to `learned`, and stores it. */
static tnd_status_t take(adaptation_t *self, const pass_t *pass, size_t index, uint32_t lane,
                         uint64_t rows, tnd_adapted_t **learned, tnd_error_t *error)
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
static bool load(const adaptation_t *self, const pass_t *pass, uint32_t lane, uint64_t rows,
                 tnd_adapted_t **learned)
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

/*  Whether there is a checkpoint to resume from; a host without the folder sees none. */
static bool resumes(const tnd_checkpoint_options_t *checkpoint)
{
    uint64_t *steps;
    size_t count;
    tnd_error_t ignored; /* is reported by the run, which lists them as well */
    bool found = false;
    if (checkpoint == NULL || strcmp(checkpoint->resume, "none") == 0)
        return false;
    if (strcmp(checkpoint->resume, "latest") != 0)
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
static bool may_use_stored(const adaptation_t *self, const tnd_shared_part_t *part)
{
    bool files = part->facts.file_count > 0;
    for (size_t i = 0; i < part->facts.file_count; i++)
        files =
            files && part->facts.files[i].kind != TND_DATA_SOURCE && !part->facts.files[i].program;
    return files || self->plan->unread || resumes(self->plan->checkpoint);
}

static tnd_status_t run_pass(adaptation_t *self, pass_t *pass, const tnd_shared_part_t *part,
                             uint32_t lane, tnd_adapted_t **learned_p, tnd_error_t *error)
{
    uint64_t rows;
    tnd_adapted_t *stored = NULL;
    TND_TRY(open_chain(self, self->count, &pass->learners, error));
    tnd_chain_find_stops(pass->learners, tnd_chain_unknown(pass->learners), &pass->stops);
    TND_TRY(hash_rows(self, pass, &rows, error));
    bool there = may_use_stored(self, part) && load(self, pass, lane, rows, &stored);
    if (there)
        tnd_adapted_merge(learned_p, stored);
    tnd_adapted_free(&stored);
    if (there || self->plan->unread)
        return TND_OK;
    TND_TRY(compute(self, pass, error));
    for (size_t i = 0; i < self->count; i++)
        if (tnd_chain_learns(pass->learners, &pass->stops, i) &&
            take(self, pass, i, lane, rows, learned_p, error) != TND_OK) {
            self->culprit = self->owners[i];
            return TND_FAILED;
        }
    return TND_OK;
}

/*  Lets operations learn of the rows of one part. */
static tnd_status_t learn_part(adaptation_t *self, const tnd_shared_part_t *part,
                               tnd_adapted_t **learned_p, tnd_error_t *error)
{
    pass_t pass = {.rows = NULL};
    uint32_t lane = part->lane == TND_LANES_MAX ? 0 : part->lane;
    tnd_status_t status = tnd_training_rows_open(&pass.rows, self->plan, self->reader, self->stream,
                                                 self->shared, part, error);
    if (status == TND_OK)
        status = run_pass(self, &pass, part, lane, learned_p, error);
    end_pass(&pass);
    return status;
}

/*  The operations before others are known with the rows of all lanes alone. */
static tnd_status_t check_lanes(adaptation_t *self, size_t operation, tnd_error_t *error)
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
static bool blame_repeated(adaptation_t *self)
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
static tnd_status_t learn_some(adaptation_t *self, bool *more_p, tnd_error_t *error)
{
    tnd_chain_t *chain;
    tnd_adapted_t *learned = NULL;
    *more_p = false;
    /* What is wrong with an operation of one preprocessor is reported where the stream is derived. */
    if (open_chain(self, self->count, &chain, error) != TND_OK)
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

static tnd_status_t adapt(const tnd_plan_t *plan, const tnd_instance_t *reader,
                          tnd_guarded_call_t *call, const void *shared, tnd_stream_t *stream,
                          const tnd_instance_t **culprit_p, tnd_error_t *error)
{
    adaptation_t self;
    begin(&self, plan, stream);
    self.reader = reader;
    self.shared = shared;
    self.call = call;
    self.culprit = reader;
    tnd_status_t status = TND_OK;
    for (bool more = self.any; more && status == TND_OK;)
        status = learn_some(&self, &more, error);
    *culprit_p = self.culprit;
    end(&self);
    return status;
}

/*  The chain of the whole plan that trains what a reader of a part of it is for. */
static uint32_t trained_by(const tnd_plan_t *plan, const tnd_instance_t *reader, uint32_t *chain_p)
{
    uint32_t i = 0;
    while (strcmp(plan->instances[i].actor, reader->actor) != 0)
        i++;
    *chain_p = plan->instances[i].chain;
    return tnd_plan_trains(plan, *chain_p);
}

/*  A part of a plan that only evaluates: the rows that train are opened as well. */
static tnd_status_t adapt_elsewhere(const tnd_plan_t *plan, uint32_t chain,
                                    tnd_guarded_call_t *call, tnd_adapted_t **adapted_p,
                                    tnd_error_t *error)
{
    const tnd_instance_t *reader = first_reader(plan, chain), *culprit = reader;
    tnd_stream_t stream = {.chain = chain};
    void *shared;
    TND_TRY(tnd_shared_source_open(plan, reader, call, &stream, &shared, error));
    tnd_status_t status = adapt(plan, reader, call, shared, &stream, &culprit, error);
    tnd_shared_source_close(reader, shared);
    *adapted_p = stream.adapted;
    return status;
}

tnd_status_t tnd_adaptation_run(const tnd_plan_t *plan, const tnd_instance_t *reader,
                                tnd_guarded_call_t *call, const void *shared, tnd_stream_t *stream,
                                const tnd_instance_t **culprit_p, tnd_error_t *error)
{
    uint32_t chain = stream->chain, trains = tnd_plan_trains(plan, chain);
    if (plan->whole != NULL) {
        trains = trained_by(plan->whole, reader, &chain);
        if (trains != chain)
            return adapt_elsewhere(plan->whole, trains, call, &stream->adapted, error);
    }
    return trains == chain ? adapt(plan, reader, call, shared, stream, culprit_p, error) : TND_OK;
}

void tnd_adaptation_show(const tnd_plan_t *plan, const tnd_stream_t *stream, const char *indent,
                         FILE *out)
{
    adaptation_t self;
    tnd_stream_t own = *stream;
    tnd_chain_t *chain;
    tnd_error_t error;
    begin(&self, plan, &own);
    if (self.any && open_chain(&self, self.count, &chain, &error) == TND_OK) {
        tnd_chain_show_adapted(chain, indent, out);
        tnd_chain_close(&chain);
    }
    end(&self);
}
