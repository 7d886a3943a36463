/*  actors/chain/chain_open.c - opens the operations of a preprocessor and lays out their memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/chain/chain_adapt.h"
#include "actors/chain/chain_internal.h"
#include "runtime/base/allocation.h"

enum { TILE_BYTES = 16 * 1024, TILE_ROWS_MAX = 1024, EXPANSION_MAX = 65536 };

static void *take_memory(size_t size)
{
    size = tnd_round_up(size + 1, TND_BUFFER_ALIGN);
    return memset(tnd_allocate_aligned(TND_BUFFER_ALIGN, size), 0, size);
}

/*  What its `auto` options are, if that is known. */
static void find_adapted(const tnd_chain_t *self, stage_t *stage, tnd_op_facts_t *facts)
{
    if (stage->op->learn == NULL || self->scope == NULL)
        return;
    stage->key = tnd_chain_key_of(stage->part);
    facts->adapted = tnd_adapted_find(self->scope->adapted, stage->key, &facts->adapted_count);
}

/*  Values are found by the name and the options. */
static tnd_status_t check_again(const tnd_chain_t *self, const stage_t *stage, tnd_error_t *error)
{
    for (const stage_t *other = self->stages; stage->adapts && other < stage; other++)
        if (other->adapts && other->key == stage->key)
            return tnd_fail_about(
                error, stage->part->value,
                "operations %zu and %zu are the same `%s` with `auto`; one of the "
                "two is enough",
                (size_t)(other - self->stages) + 1, (size_t)(stage - self->stages) + 1,
                stage->part->table->name);
    return TND_OK;
}

/*  Keeps what the operation depends on. */
static tnd_status_t take_adapted(tnd_chain_t *self, stage_t *stage, const tnd_op_facts_t *facts,
                                 tnd_error_t *error)
{
    stage->adapts = facts->adapts;
    stage->known = facts->adapts && facts->adapted_count > 0;
    stage->unknown = facts->adapts && !stage->known ? facts->unknown : 0;
    TND_TRY(check_again(self, stage, error));
    for (size_t i = 0; stage->known && i < facts->adapted_count; i++)
        self->facts.content = XXH3_64bits_withSeed(
            facts->adapted[i].text, strlen(facts->adapted[i].text), self->facts.content);
    if (!facts->adapts || stage->known || self->scope == NULL || !self->scope->runs ||
        self->scope->adapting)
        return TND_OK;
    return tnd_fail_about(error, stage->part->value,
                          "`%s` has an option that is `auto`, whose value is computed of the rows "
                          "that train; the chain that trains the models has no operation with the "
                          "same options",
                          stage->part->table->name);
}

static tnd_status_t open_stage(tnd_chain_t *self, size_t index, const tnd_part_t *part,
                               tnd_op_facts_t *facts, tnd_error_t *error)
{
    stage_t *stage = &self->stages[index];
    const stage_t *before = index > 0 ? stage - 1 : NULL;
    tnd_error_t why;
    stage->part = part;
    stage->spec = tnd_op_spec_of(part->table);
    stage->op = tnd_op_of(stage->spec);
    assert(stage->op != NULL);
    stage->state = take_memory(stage->op->state_bytes);
    *facts = (tnd_op_facts_t){.scope = self->scope,
                              .caps = stage->spec->caps,
                              .rows_max = 1,
                              .growth_max = 1,
                              .growth_usual = 1};
    memset(facts->passes, -1, sizeof facts->passes);
    find_adapted(self, stage, facts);
    const tnd_schema_t *in = before != NULL ? &before->schema : &self->in;
    tnd_chain_tell(self, index);
    if (stage->op->open(stage->state, part->options, in, facts, &why) != TND_OK) {
        free(stage->state);
        /* An operation that knows the very place in its options says so. */
        return tnd_fail_about(error, why.about != NULL ? why.about : part->value,
                              "operation %zu, `%s`: %s", index + 1, part->table->name, why.text);
    }
    self->count++;
    stage->caps = facts->caps;
    stage->reads = facts->reads;
    stage->name = facts->name != NULL ? facts->name : stage->spec->table.name;
    self->facts.caps |= stage->caps;
    if (facts->tile_bytes > self->tile_bytes)
        self->tile_bytes = facts->tile_bytes;
    if (facts->tile_rows != 0 && facts->tile_rows < self->tile_rows)
        self->tile_rows = facts->tile_rows;
    stage->draws = ((stage->caps & TND_OP_RANDOM) != 0 && !facts->steady) || facts->numbered;
    stage->schema = facts->schema;
    memcpy(stage->passes, facts->passes, sizeof stage->passes);
    self->facts.content = self->facts.content * 31 + facts->content;
    TND_TRY(take_adapted(self, stage, facts, error));
    self->facts.loaded += facts->loaded;
    self->facts.decoding += facts->decoding;
    self->facts.growth_max *= facts->growth_max;
    self->facts.growth_usual *= facts->growth_usual;
    uint64_t rows_max = (uint64_t)facts->rows_max * (before != NULL ? before->rows_max : 1);
    if (rows_max > EXPANSION_MAX)
        return tnd_fail_about(error, part->value,
                              "operation %zu, `%s`: one row may become %llu; at most %d", index + 1,
                              part->table->name, (unsigned long long)rows_max, EXPANSION_MAX);
    stage->rows_max = (uint32_t)rows_max;
    return TND_OK;
}

/*  Follows columns that come in through one operation: those it looks at are needed, those it
 *  passes on take their new place. */
static void follow(tnd_chain_t *self, const tnd_op_facts_t *facts)
{
    int passed[TND_COLUMNS_MAX];
    memcpy(passed, self->passed, sizeof passed);
    for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
        if ((facts->reads >> i & 1) != 0 && passed[i] >= 0)
            self->needed[passed[i]] = true;
    for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
        self->passed[i] = facts->passes[i] >= 0 ? passed[facts->passes[i]] : -1;
}

/*  Finds the columns of fixed shape that pass from the operation that makes them to the end, where
 *  no row is left out or repeated on the way. */
static void find_leaving(tnd_chain_t *self)
{
    int8_t leaves[TND_COLUMNS_MAX];
    for (int i = 0; i < TND_COLUMNS_MAX; i++)
        leaves[i] = tnd_chain_schema(self)->columns[i].ragged ? -1 : (int8_t)i;
    for (size_t s = self->count; s > 0; s--) {
        stage_t *stage = &self->stages[s - 1];
        memcpy(stage->leaves, leaves, sizeof leaves);
        memset(leaves, -1, sizeof leaves);
        if ((stage->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0)
            continue;
        for (uint32_t i = 0; i < stage->schema.count; i++)
            if (stage->passes[i] >= 0)
                leaves[stage->passes[i]] = stage->leaves[i];
    }
}

/*  Those of users may fail whatever they say. */
static bool may_fail(const tnd_chain_t *self)
{
    bool custom = false;
    for (size_t i = 0; i < self->count; i++)
        custom = custom || self->stages[i].spec->custom != NULL;
    return custom || (self->facts.caps & TND_OP_FAILS) != 0;
}

static tnd_status_t open_stages(tnd_chain_t *self, const tnd_part_list_t *ops, tnd_error_t *error)
{
    for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
        self->passed[i] = i < self->in.count ? (int)i : -1;
    for (size_t i = 0; i < ops->count; i++) {
        tnd_op_facts_t facts;
        TND_TRY(open_stage(self, i, &ops->items[i], &facts, error));
        follow(self, &facts);
    }
    find_leaving(self);
    /* Where rows are left out, no column can be passed on whole. */
    if (self->skip_bad && may_fail(self))
        self->facts.caps |= TND_OP_DROPS;
    if ((self->facts.caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0)
        for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
            if (self->passed[i] >= 0) {
                self->needed[self->passed[i]] = true;
                self->passed[i] = -1;
            }
    return TND_OK;
}

/*  Lays out the memory of tiles of so many rows; with `base` NULL only adds it up. */
static size_t lay_out(tnd_chain_t *self, uint8_t *base, size_t rows)
{
    size_t used = 0;
    self->sample = (uint64_t *)(void *)tnd_chain_carve(base, &used, rows * sizeof(uint64_t));
    self->origin = (uint32_t *)(void *)tnd_chain_carve(base, &used, rows * sizeof(uint32_t));
    for (uint32_t i = 0; i < self->in.count; i++)
        if (self->needed[i])
            self->gathered[i] = tnd_chain_carve(base, &used, rows * self->in_bytes[i]);
    for (size_t s = 0; s < self->count; s++) {
        stage_t *stage = &self->stages[s];
        size_t most = rows * stage->rows_max;
        stage->sample = (uint64_t *)(void *)tnd_chain_carve(base, &used, most * sizeof(uint64_t));
        stage->origin = (uint32_t *)(void *)tnd_chain_carve(base, &used, most * sizeof(uint32_t));
        for (uint32_t i = 0; i < stage->schema.count; i++)
            if (stage->passes[i] < 0 && stage->leaves[i] < 0)
                stage->columns[i] = tnd_chain_carve(
                    base, &used, most * tnd_chain_cell_bytes(&stage->schema.columns[i]));
    }
    return used;
}

/*  Of a row of what a stage makes. */
static size_t made_bytes(const stage_t *stage)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < stage->schema.count; i++)
        if (stage->passes[i] < 0)
            bytes += tnd_chain_cell_bytes(&stage->schema.columns[i]);
    return bytes;
}

static void prepare(tnd_chain_t *self)
{
    const tnd_schema_t *out = tnd_chain_schema(self);
    self->out = tnd_buffer_new(sizeof *out);
    memcpy(tnd_buffer_data(self->out), out, sizeof *out);
    tnd_buffer_seal(self->out);
    for (uint32_t i = 0; i < self->in.count; i++)
        self->in_bytes[i] = tnd_chain_cell_bytes(&self->in.columns[i]);
    for (uint32_t i = 0; i < out->count; i++)
        self->out_bytes[i] = tnd_chain_cell_bytes(&out->columns[i]);
    size_t one = 0;
    for (uint32_t i = 0; i < self->in.count; i++)
        one += self->needed[i] ? self->in_bytes[i] : 0;
    for (size_t s = 0; s + 1 < self->count; s++)
        one += self->stages[s].rows_max * made_bytes(&self->stages[s]);
    size_t rows = one == 0 ? TILE_ROWS_MAX : self->tile_bytes / one;
    self->tile_rows = rows < 1 ? 1 : (uint32_t)tnd_least(rows, self->tile_rows);
    self->scratch = take_memory(lay_out(self, NULL, self->tile_rows));
    lay_out(self, self->scratch, self->tile_rows);
}

tnd_status_t tnd_chain_open(tnd_chain_t **self_p, const tnd_part_list_t *ops, bool skip_bad,
                            const tnd_schema_t *in, const tnd_op_scope_t *scope,
                            tnd_guarded_call_t *call, tnd_error_t *error)
{
    tnd_chain_t *self = take_memory(sizeof *self);
    self->in = *in;
    self->skip_bad = skip_bad;
    self->scope = scope;
    self->tile_bytes = TILE_BYTES;
    self->tile_rows = TILE_ROWS_MAX;
    self->call = call;
    self->facts.growth_max = self->facts.growth_usual = 1;
    self->stages = take_memory((ops->count + 1) * sizeof *self->stages);
    tnd_status_t status = open_stages(self, ops, error);
    tnd_running_part_set(NULL, 0);
    if (status != TND_OK) {
        tnd_chain_close(&self);
        return status;
    }
    prepare(self);
    *self_p = self;
    return TND_OK;
}

void tnd_chain_close(tnd_chain_t **self_p)
{
    tnd_chain_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++) {
        if (self->stages[i].op->close != NULL)
            self->stages[i].op->close(self->stages[i].state);
        free(self->stages[i].state);
    }
    tnd_buffer_drop(&self->out);
    tnd_bad_rows_free(&self->bad);
    tnd_room_fini(&self->room);
    free(self->scratch);
    free(self->stages);
    free(self);
}

const tnd_schema_t *tnd_chain_schema(const tnd_chain_t *self)
{
    return self->count > 0 ? &self->stages[self->count - 1].schema : &self->in;
}

bool tnd_chain_empty(const tnd_chain_t *self)
{
    return self->count == 0;
}

const tnd_chain_facts_t *tnd_chain_facts(const tnd_chain_t *self)
{
    return &self->facts;
}

int tnd_chain_draws(const tnd_chain_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->stages[i].draws)
            return (int)i;
    return -1;
}

uint32_t tnd_chain_rows_max(const tnd_chain_t *self)
{
    return self->count > 0 ? self->stages[self->count - 1].rows_max : 1;
}

uint32_t tnd_chain_failed(const tnd_chain_t *self, const char **why_p)
{
    assert(self->bad.count > 0);
    *why_p = self->bad.why;
    return self->bad.offsets[self->bad.count - 1];
}
