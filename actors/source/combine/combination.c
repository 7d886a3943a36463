/*  actors/source/combine/combination.c - opens sources of sources and describes them. */
#include "actors/source/combine/combination.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"

bool tnd_combination_check(const tnd_part_list_t *list, tnd_parts_fault_t *fault)
{
    *fault = (tnd_parts_fault_t){.item = list->count,
                                 .help = "name the sources: `[{npy: {...}}, {npy: {...}}]`"};
    if (list->count == 0)
        return tnd_fail(&fault->why, "the list is empty") == TND_OK;
    if (list->count <= TND_CHOICES_SOURCES_MAX)
        return true;
    fault->help = "combine some of them to one, and these";
    return tnd_fail(&fault->why, "%zu sources, and a list has at most %d", list->count,
                    TND_CHOICES_SOURCES_MAX) == TND_OK;
}

static tnd_status_t open_one(tnd_combination_t *self, const tnd_part_t *part,
                             const tnd_source_scope_t *scope, tnd_error_t *error)
{
    TND_TRY(tnd_subsource_open(&self->sources[self->opened], part, scope, error));
    const tnd_source_facts_t *facts = &self->sources[self->opened++].facts;
    self->random = self->random && (facts->caps & TND_SOURCE_RANDOM) != 0;
    return TND_OK;
}

tnd_status_t tnd_combination_open(tnd_combination_t *self, const tnd_part_list_t *list,
                                  const tnd_part_t *selector, const tnd_source_scope_t *scope,
                                  tnd_error_t *error)
{
    tnd_source_scope_t each = *scope;
    size_t all = list->count + (selector != NULL);
    each.room = scope->room != 0 ? scope->room / all + 1 : 0;
    *self = (tnd_combination_t){.sources = tnd_allocate_zeroed(all, sizeof *self->sources),
                                .count = (uint32_t)list->count,
                                .random = true};
    tnd_status_t status = TND_OK;
    for (size_t i = 0; i < list->count && status == TND_OK; i++)
        status = open_one(self, &list->items[i], &each, error);
    each.pattern = TND_PATTERN_FORWARD;
    if (selector != NULL && status == TND_OK)
        status = open_one(self, selector, &each, error);
    if (status != TND_OK)
        tnd_combination_close(self);
    return status;
}

void tnd_combination_close(tnd_combination_t *self)
{
    for (uint32_t i = 0; i < self->opened; i++)
        tnd_subsource_close(&self->sources[i]);
    free(self->sources);
    free(self->files);
    free(self->notes);
    free(self->file_rows);
    tnd_choices_free(&self->choices);
    *self = (tnd_combination_t){0};
}

void tnd_combination_find_choice(const tnd_combination_t *self, uint64_t index, uint32_t *source_p,
                                 uint64_t *row_p)
{
    tnd_choices_find(&self->choices, index, source_p, row_p);
}

/*  Makes both schemas as long as the longer, where columns are ragged. */
static void match_lengths(tnd_schema_t *one, tnd_schema_t *other)
{
    for (uint32_t i = 0; i < one->count && i < other->count; i++) {
        uint64_t *a = one->columns[i].shape, *b = other->columns[i].shape;
        if (one->columns[i].ragged && other->columns[i].ragged)
            *a = *b = *a > *b ? *a : *b;
    }
}

tnd_status_t tnd_combination_same_schema(tnd_combination_t *self, tnd_error_t *error)
{
    self->schema = self->sources[0].facts.schema;
    for (uint32_t i = 1; i < self->count; i++) {
        tnd_schema_t other = self->sources[i].facts.schema;
        char texts[2][256];
        tnd_error_t differs;
        match_lengths(&self->schema, &other);
        if (tnd_schema_compare(&self->schema, &other, &differs) == TND_OK)
            continue;
        return tnd_fail_about(error, self->sources[i].part->value,
                              "source %u, `%s`, has %s, but the first has %s: all need the same "
                              "columns; choose other columns, or other names in its options",
                              i + 1, self->sources[i].part->table->name,
                              tnd_schema_text(&other, texts[0], sizeof texts[0]),
                              tnd_schema_text(&self->schema, texts[1], sizeof texts[1]));
    }
    return TND_OK;
}

static void add_file(tnd_combination_t *self, size_t *room, const tnd_source_file_t *file)
{
    self->files = tnd_grow(self->files, self->file_count, room, sizeof *self->files);
    self->files[self->file_count++] = *file;
}

/*  Beside files, a source without files is listed by its name, rows and identity. */
static void list_files(tnd_combination_t *self)
{
    size_t room = 0, files = 0;
    for (uint32_t i = 0; i < self->opened; i++)
        files += self->sources[i].facts.file_count;
    if (files == 0)
        return;
    for (uint32_t i = 0; i < self->opened; i++) {
        const tnd_source_facts_t *facts = &self->sources[i].facts;
        const tnd_source_file_t lone = {.path = self->sources[i].part->table->name,
                                        .size = facts->count,
                                        .ends = facts->identity,
                                        .kind = TND_DATA_SOURCE};
        for (size_t f = 0; f < facts->file_count; f++)
            add_file(self, &room, &facts->files[f]);
        if (facts->file_count == 0)
            add_file(self, &room, &lone);
    }
}

tnd_status_t tnd_combination_hash(const void *state, size_t place, uint64_t hash[2],
                                  tnd_error_t *error)
{
    const tnd_combination_t *self = state;
    const tnd_subsource_t *source = self->sources;
    for (; source->facts.file_count == 0 || place >= source->facts.file_count; source++)
        place -= source->facts.file_count > 0 ? source->facts.file_count : 1;
    return source->source->hash(source->state, place, hash, error);
}

/*  What a source adds to the facts of all. */
static void add_facts(const tnd_source_facts_t *of, tnd_source_facts_t *facts)
{
    facts->caps &= of->caps;
    facts->identity =
        XXH3_64bits_withSeed(&of->identity, sizeof of->identity, facts->identity + of->count);
    if (of->found != 0)
        facts->found = XXH3_64bits_withSeed(&of->found, sizeof of->found, facts->found);
    facts->loaded += of->loaded;
    if (of->mapped + of->read > facts->mapped + facts->read)
        facts->access = of->access;
    facts->mapped += of->mapped;
    facts->read += of->read;
}

void tnd_combination_facts(tnd_combination_t *self, const tnd_source_scope_t *scope,
                           tnd_source_facts_t *facts)
{
    *facts = (tnd_source_facts_t){
        .schema = self->schema,
        .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
        .count = self->rows,
        .allocates = true,
        .lists = self->schema.count + tnd_schema_ragged(&self->schema),
        .room = scope->room,
    };
    list_files(self);
    facts->files = self->files;
    facts->file_count = self->file_count;
    for (uint32_t i = 0; i < self->opened; i++) {
        const tnd_subsource_t *source = &self->sources[i];
        const tnd_source_facts_t *of = &source->facts;
        bool written = tnd_source_writes(source->source, of);
        size_t copied = written ? tnd_schema_row_bytes(&of->schema) : of->copied;
        uint32_t ahead = self->random && source->source->ahead_rows != NULL
                             ? source->source->ahead_rows(source->state)
                             : 0;
        add_facts(of, facts);
        for (size_t n = 0; n < of->note_count; n++) {
            self->notes =
                tnd_grow(self->notes, self->note_count, &self->note_room, sizeof *self->notes);
            self->notes[self->note_count++] = of->notes[n];
        }
        self->ahead = ahead > self->ahead ? ahead : self->ahead;
        facts->copied = copied > facts->copied ? copied : facts->copied;
        facts->lists = of->lists > facts->lists ? of->lists : facts->lists;
    }
    facts->loaded += tnd_choices_bytes(&self->choices);
    if (!self->random)
        facts->copied = tnd_schema_row_bytes(&self->schema);
    facts->notes = self->notes;
    facts->note_count = self->note_count;
}

/*  ------------------------------------------------------------------------------------ in order */

tnd_status_t tnd_combination_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                                  tnd_error_t *error)
{
    tnd_combination_t *self = state;
    if (index[0] == 0) {
        for (uint32_t i = 0; i < self->opened; i++)
            tnd_subsource_rewind(&self->sources[i]);
        self->rewind(self);
    }
    for (size_t i = 0; i < rows->count; i++) {
        const tnd_block_t *block;
        uint32_t row;
        tnd_status_t status = self->next(self, &block, &row, error);
        if (status == TND_END || status == TND_REFUSED)
            rows->count = i;
        if (status != TND_OK)
            return status;
        tnd_subsource_copy(block, row, rows, 0, i);
    }
    return TND_OK;
}

void tnd_combination_source_close(void *state)
{
    tnd_combination_close(state);
}
