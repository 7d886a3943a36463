/*  tests/actors/parsed.h - sources and operations as a topology file would choose them. */
#ifndef TND_TESTS_ACTORS_PARSED_H
#define TND_TESTS_ACTORS_PARSED_H

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"
#include "runtime/text/yaml.h"

typedef struct {
    tnd_part_t source;
    tnd_part_list_t ops;
} parsed_parts_t;

static const tnd_option_t parsed_options[] = {
    {.name = "source",
     .type = TND_OPTION_PART,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .parts = tnd_registry_source_table,
     .offset = offsetof(parsed_parts_t, source),
     .help = "a source"},
    {.name = "ops",
     .type = TND_OPTION_PARTS,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .parts = tnd_registry_op_table,
     .offset = offsetof(parsed_parts_t, ops),
     .help = "operations"},
};

static const tnd_table_t parsed_table = {
    .name = "parts", .help = "a source or operations", TND_OPTIONS(parsed_options, parsed_parts_t)};

/*  Parses "source: {...}" or "ops: [...]"; fails the test if the text is wrong. */
static inline const parsed_parts_t *parse_parts(tnd_arena_t *arena, const char *text)
{
    tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
    *origin = (tnd_origin_t){
        .name = "test", .text = tnd_arena_text(arena, text, strlen(text)), .size = strlen(text)};
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    tnd_value_t *value = tnd_yaml_parse(arena, context.diagnostics, origin, 0);
    const parsed_parts_t *parts = NULL;
    if (value != NULL)
        parts = tnd_options_parse(&context, &parsed_table, value, "parts",
                                  (tnd_mark_t){.origin = origin});
    if (parts == NULL)
        tnd_diagnostics_print(context.diagnostics, stderr);
    cr_assert_not_null(parts, "%s", text);
    return parts;
}

#endif
