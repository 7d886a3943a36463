/*  runtime/option/custom.c - sources and operations of programs and plugins as parts of a graph. */
#include "runtime/option/custom.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/plugin.h"

enum { SOURCE_CAPS = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS };

typedef enum { GIVEN_SOURCE, GIVEN_OP } sort_t;

typedef struct part {
    struct part *next;
    sort_t sort;
    const char *plugin; /* name of the plugin; NULL: from a program */
    void *library;
    union {
        tnd_source_spec_t source;
        tnd_op_spec_t op;
    } spec;
} part_t;

struct tnd_custom {
    tnd_arena_t *arena;
    const char *directory;
    tnd_parts_fn *lists[2]; /* by sort */
    part_t *parts;
};

static const tnd_option_t options[] = {
    {TND_OPTION_NAMED("*", tnd_custom_options_t, options, VALUE, GRAPH), .fallback = "",
     .help = "its own options"},
};

static const char *const sort_names[] = {[GIVEN_SOURCE] = "source", [GIVEN_OP] = "op"};

tnd_custom_t *tnd_custom_new(tnd_arena_t *arena, const char *directory, tnd_parts_fn *sources,
                             tnd_parts_fn *ops)
{
    tnd_custom_t *self = tnd_arena_take(arena, sizeof *self);
    self->arena = arena;
    self->directory = directory;
    self->lists[GIVEN_SOURCE] = sources;
    self->lists[GIVEN_OP] = ops;
    return self;
}

void tnd_custom_close(tnd_custom_t *self)
{
    for (part_t *part = self != NULL ? self->parts : NULL; part != NULL; part = part->next)
        tnd_plugin_close(&part->library);
}

static const tnd_table_t *table_of(const part_t *part)
{
    return part->sort == GIVEN_SOURCE ? &part->spec.source.table : &part->spec.op.table;
}

static sort_t sort_of(const tnd_custom_t *self, tnd_parts_fn *parts)
{
    return parts == self->lists[GIVEN_SOURCE] ? GIVEN_SOURCE : GIVEN_OP;
}

const tnd_table_t *tnd_custom_part(const tnd_custom_t *self, tnd_parts_fn *parts, size_t index)
{
    for (const part_t *part = self != NULL ? self->parts : NULL; part != NULL; part = part->next)
        if (part->plugin == NULL && part->sort == sort_of(self, parts) && index-- == 0)
            return table_of(part);
    return NULL;
}

const char *tnd_custom_plugins(const tnd_custom_t *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    for (const part_t *part = self->parts; part != NULL; part = part->next)
        if (part->plugin != NULL)
            fprintf(out, "plugin %s %s %016" PRIx64 "\n", sort_names[part->sort], part->plugin,
                    part->sort == GIVEN_SOURCE ? part->spec.source.build : part->spec.op.build);
    fclose(out);
    const char *kept = tnd_arena_text(self->arena, text, size);
    free(text);
    return kept;
}

static bool is_taken(const tnd_custom_t *self, tnd_parts_fn *parts, const char *name)
{
    for (size_t i = 0; parts(i) != NULL; i++)
        if (strcmp(parts(i)->name, name) == 0)
            return true;
    for (size_t i = 0; tnd_custom_part(self, parts, i) != NULL; i++)
        if (strcmp(tnd_custom_part(self, parts, i)->name, name) == 0)
            return true;
    return false;
}

static part_t *add(tnd_custom_t *self, sort_t sort, const char *name)
{
    part_t *part = tnd_arena_take(self->arena, sizeof *part);
    part->sort = sort;
    tnd_table_t table = {
        .name = tnd_arena_text(self->arena, name, strlen(name)),
        .help =
            sort == GIVEN_SOURCE ? "A source of this program." : "An operation of this program.",
        TND_OPTIONS(options, tnd_custom_options_t),
        .reflects = true,
    };
    *(sort == GIVEN_SOURCE ? &part->spec.source.table : &part->spec.op.table) = table;
    part->next = self->parts;
    self->parts = part;
    return part;
}

static tnd_status_t check_source(const tnd_source_ops_t *ops, const char *name, tnd_error_t *error)
{
    if (ops->abi != TND_ABI)
        return tnd_fail(error, "source `%s` was built for version %u of its table, not %u", name,
                        ops->abi, TND_ABI);
    if (ops->open == NULL || ops->read == NULL)
        return tnd_fail(error, "source `%s` lacks open or read", name);
    return TND_OK;
}

static tnd_status_t check_op(const tnd_op_ops_t *ops, const char *name, tnd_error_t *error)
{
    if (ops->abi != TND_ABI)
        return tnd_fail(error, "operation `%s` was built for version %u of its table, not %u", name,
                        ops->abi, TND_ABI);
    if (ops->open == NULL || ops->apply == NULL)
        return tnd_fail(error, "operation `%s` lacks open or apply", name);
    return TND_OK;
}

static tnd_status_t check_name(const tnd_custom_t *self, tnd_parts_fn *parts, const char *name,
                               tnd_error_t *error)
{
    const char *sort = sort_of(self, parts) == GIVEN_SOURCE ? "a source" : "an operation";
    if (name == NULL || !tnd_options_is_name(name) || strcmp(name, "plugin") == 0)
        return tnd_fail(error, "`%s` cannot be the name of %s", name != NULL ? name : "", sort);
    if (is_taken(self, parts, name))
        return tnd_fail(error, "there is %s `%s` already: give yours another name", sort, name);
    return TND_OK;
}

tnd_status_t tnd_custom_source(tnd_custom_t *self, const tnd_source_ops_t *ops, void *shared,
                               tnd_error_t *error)
{
    TND_TRY(check_name(self, self->lists[GIVEN_SOURCE], ops->name, error));
    TND_TRY(check_source(ops, ops->name, error));
    part_t *part = add(self, GIVEN_SOURCE, ops->name);
    part->spec.source.caps = ops->caps & SOURCE_CAPS;
    part->spec.source.custom = ops;
    part->spec.source.shared = shared;
    return TND_OK;
}

tnd_status_t tnd_custom_op(tnd_custom_t *self, const tnd_op_ops_t *ops, void *shared,
                           tnd_error_t *error)
{
    TND_TRY(check_name(self, self->lists[GIVEN_OP], ops->name, error));
    TND_TRY(check_op(ops, ops->name, error));
    part_t *part = add(self, GIVEN_OP, ops->name);
    part->spec.op.caps = ops->caps;
    part->spec.op.custom = ops;
    part->spec.op.shared = shared;
    return TND_OK;
}

const tnd_table_t *tnd_custom_plugin(tnd_custom_t *self, tnd_parts_fn *parts, const char *name,
                                     tnd_error_t *error)
{
    sort_t sort = sort_of(self, parts);
    const void *table = NULL;
    void *library = NULL;
    for (const part_t *part = self->parts; part != NULL; part = part->next)
        if (part->plugin != NULL && part->sort == sort && strcmp(part->plugin, name) == 0)
            return table_of(part);
    if (tnd_plugin_load(&library, &table, self->directory, sort_names[sort], name, false, error) !=
        TND_OK)
        return NULL;
    uint64_t build = 0;
    tnd_status_t status =
        sort == GIVEN_SOURCE ? check_source(table, name, error) : check_op(table, name, error);
    if (status == TND_OK)
        status = tnd_plugin_build(table, &build, error);
    if (status != TND_OK) {
        tnd_plugin_close(&library);
        return NULL;
    }
    part_t *part = add(self, sort, name);
    part->plugin = table_of(part)->name;
    part->library = library;
    if (sort == GIVEN_SOURCE) {
        part->spec.source.custom = table;
        part->spec.source.build = build;
        part->spec.source.caps = part->spec.source.custom->caps & SOURCE_CAPS;
    } else {
        part->spec.op.custom = table;
        part->spec.op.build = build;
        part->spec.op.caps = part->spec.op.custom->caps;
    }
    return table_of(part);
}
