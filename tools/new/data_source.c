/*  tools/new/data_source.c - a source over given data files. */
#include "tools/new/data_source.h"

#include <stdlib.h>
#include <string.h>

#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"
#include "runtime/text/yaml.h"

const tnd_table_t *tnd_data_source_table(const char *name)
{
    for (size_t i = 0;; i++) {
        const tnd_table_t *table = tnd_registry_source_table(i);
        if (table == NULL || strcmp(table->name, name) == 0)
            return table;
    }
}

bool tnd_data_source_takes(const tnd_table_t *table, const char *option)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (strcmp(table->options[i].name, option) == 0)
            return true;
    return false;
}

static tnd_status_t fail_unknown(tnd_arena_t *arena, const char *written, tnd_error_t *error)
{
    const char *names = "";
    for (size_t i = 0; tnd_registry_source_table(i) != NULL; i++)
        names = tnd_arena_format(arena, "%s%s%s", names, i > 0 ? ", " : "",
                                 tnd_registry_source_table(i)->name);
    return tnd_fail(error, "'%s' names no source; sources are %s", written, names);
}

/*  Splits `csv: {header: true}` into the name and the map of its options. */
static tnd_status_t parse(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics, const char *written,
                          const tnd_table_t **table_p, tnd_value_t **map_p, tnd_error_t *error)
{
    tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
    *origin = (tnd_origin_t){.name = "--as", .text = written, .size = strlen(written)};
    const tnd_value_t *value = tnd_yaml_parse(arena, diagnostics, origin, 0);
    const char *sentence = tnd_diagnostics_sentence(diagnostics);
    if (*sentence != '\0')
        return tnd_fail(error, "%s", sentence);
    *map_p = tnd_value_map(arena, (tnd_mark_t){.origin = origin, .line = 1, .column = 1});
    const char *name = NULL;
    if (value->type == TND_VALUE_SCALAR)
        name = value->text;
    if (value->type == TND_VALUE_MAP && value->count == 1) {
        name = value->entries[0].key;
        if (value->entries[0].value->type == TND_VALUE_MAP)
            *map_p = value->entries[0].value;
    }
    *table_p = name != NULL ? tnd_data_source_table(name) : NULL;
    return *table_p != NULL ? TND_OK : fail_unknown(arena, written, error);
}

tnd_status_t tnd_data_source_name(const char **name_p, tnd_arena_t *arena, const char *written,
                                  tnd_error_t *error)
{
    const tnd_table_t *table;
    tnd_value_t *map;
    TND_TRY(parse(arena, tnd_diagnostics_new(arena), written, &table, &map, error));
    *name_p = table->name;
    return TND_OK;
}

tnd_status_t tnd_data_source_choose(tnd_data_source_t *self, tnd_arena_t *arena,
                                    const char *written, const char *const *paths, size_t count,
                                    const char *const more[2], tnd_error_t *error)
{
    const tnd_table_t *table;
    tnd_value_t *map;
    tnd_mark_t nowhere = {0};
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    *self = (tnd_data_source_t){0};
    TND_TRY(parse(arena, context.diagnostics, written, &table, &map, error));
    tnd_value_t *files = tnd_value_list(arena, nowhere);
    for (size_t i = 0; i < count; i++) {
        if (strstr(paths[i], "${") != NULL)
            return tnd_fail(error, "%s: a path with ${ } cannot be written in a topology",
                            paths[i]);
        tnd_value_t *path = tnd_value_scalar(arena, nowhere, paths[i]);
        path->quoted = true;
        tnd_value_append(arena, files, path);
    }
    tnd_value_put(arena, map, tnd_data_source_takes(table, "files") ? "files" : "x", nowhere,
                  files);
    if (more != NULL)
        tnd_value_put(arena, map, more[0], nowhere, tnd_value_scalar(arena, nowhere, more[1]));
    self->source = tnd_source_of(tnd_source_spec_of(table));
    self->options = tnd_options_parse(&context, table, map, table->name, nowhere);
    if (self->options == NULL)
        return tnd_fail(error, "%s", tnd_diagnostics_sentence(context.diagnostics));
    return TND_OK;
}

const void *tnd_data_source_option(const tnd_data_source_t *self, const char *name)
{
    const tnd_table_t *table = &self->source->spec->table;
    for (size_t i = 0; i < table->option_count; i++)
        if (strcmp(table->options[i].name, name) == 0)
            return (const char *)self->options + table->options[i].offset;
    return NULL;
}

tnd_status_t tnd_data_source_open(tnd_data_source_t *self, const tnd_source_scope_t *scope,
                                  tnd_error_t *error)
{
    self->state = tnd_allocate_zeroed(1, self->source->state_bytes + 1);
    tnd_status_t status =
        self->source->open(self->state, self->options, scope, &self->facts, error);
    if (status != TND_OK) {
        free(self->state);
        self->state = NULL;
    }
    return status;
}

void tnd_data_source_close(tnd_data_source_t *self)
{
    if (self->state != NULL)
        self->source->close(self->state);
    free(self->state);
    self->state = NULL;
}
