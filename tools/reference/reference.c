/*  tools/reference/reference.c - the chapters of the reference, and their facts. */
#include "tools/reference/reference.h"

#include <string.h>

#include "actors/op/image/picture_steps.h"
#include "actors/optimizer/optimizers.h"
#include "actors/reader/order_options.h"
#include "runtime/option/registry.h"
#include "runtime/plan/placement.h"
#include "runtime/tundish/tundish.h"

static const tnd_table_t *kind_at(size_t index)
{
    size_t count;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    return index < count ? &kinds[index]->table : NULL;
}

static const tnd_table_t *other_at(size_t index)
{
    return index == 0 ? &tnd_settings_table : index == 1 ? &tnd_host_table : NULL;
}

static const tnd_chapter_t chapters[] = {
    {.name = "kinds",
     .one = "kind",
     .title = "what an actor is: `NAME: {kind: KIND, ...}` under `actors:`",
     .at = kind_at},
    {.name = "sources",
     .one = "source",
     .title = "what a reader reads: `source: {SOURCE: {...}}`",
     .at = tnd_registry_source_table},
    {.name = "operations",
     .other = "ops",
     .one = "operation",
     .title = "what a preprocessor does to each row: `ops: [{OPERATION: {...}}, ...]`",
     .at = tnd_registry_op_table},
    {.name = "maps",
     .one = "map of an order",
     .title = "the order of rows: `order: [{MAP: {...}}, ...]` of a reader",
     .at = tnd_order_map_table},
    {.name = "steps",
     .one = "step of decode_image",
     .title = "what gives decoded pictures one shape: `then: [{STEP: {...}}, ...]` of decode_image",
     .at = tnd_picture_step_table},
    {.name = "optimizers",
     .one = "optimizer",
     .title = "what applies gradients: `optimizer: {OPTIMIZER: {...}}` of parameters",
     .at = tnd_optimizer_table},
    {.name = "others",
     .one = "part of a topology",
     .title = "the file itself, and the hosts of an overlay",
     .at = other_at},
};

const tnd_chapter_t *tnd_reference_chapter(size_t index)
{
    return index < sizeof chapters / sizeof chapters[0] ? &chapters[index] : NULL;
}

const tnd_chapter_t *tnd_reference_chapter_find(const char *name)
{
    for (size_t i = 0; i < sizeof chapters / sizeof chapters[0]; i++)
        if (strcmp(chapters[i].name, name) == 0 ||
            (chapters[i].other != NULL && strcmp(chapters[i].other, name) == 0))
            return &chapters[i];
    return NULL;
}

const tnd_table_t *tnd_reference_find(const tnd_chapter_t *chapter, const char *name)
{
    for (size_t i = 0; chapter->at(i) != NULL; i++)
        if (strcmp(chapter->at(i)->name, name) == 0)
            return chapter->at(i);
    return NULL;
}

typedef struct {
    tnd_arena_t *arena;
    void (*visit)(void *context, const char *path, const tnd_option_t *option);
    void *context;
} visitor_t;

static void visit_table(const visitor_t *self, const tnd_table_t *table, const char *path)
{
    for (size_t i = 0; i < table->option_count; i++) {
        const tnd_option_t *option = &table->options[i];
        const char *name = tnd_arena_format(self->arena, "%s.%s", path,
                                            tnd_option_is_any(option) ? "NAME" : option->name);
        self->visit(self->context, name, option);
        if (option->table != NULL)
            visit_table(self, option->table, name);
    }
}

void tnd_reference_each(void (*visit)(void *context, const char *path, const tnd_option_t *option),
                        void *context)
{
    visitor_t self = {.arena = tnd_arena_new(), .visit = visit, .context = context};
    for (size_t c = 0; c < sizeof chapters / sizeof chapters[0]; c++)
        for (size_t i = 0; chapters[c].at(i) != NULL; i++)
            visit_table(&self, chapters[c].at(i), chapters[c].at(i)->name);
    tnd_arena_destroy(&self.arena);
}

static const char *instances_text(tnd_instance_rule_t rule)
{
    static const char *const texts[] = {
        [TND_INSTANCE_ONE] = "One instance per graph.",
        [TND_INSTANCE_LANE] = "One instance per lane.",
        [TND_INSTANCE_WORKER] = "Any number of instances on any hosts; it has no state.",
        [TND_INSTANCE_HOST] = "One instance on each host where it is placed.",
    };
    return texts[rule];
}

static const char *kind_facts(tnd_arena_t *arena, const tnd_kind_spec_t *kind)
{
    const char *text = "";
    for (size_t i = 0; i < kind->inlet_count; i++)
        text = tnd_arena_format(arena, "%s%s%s", text, i > 0 ? " and " : "Takes ",
                                tnd_flow_name(kind->inlets[i].flow));
    for (size_t i = 0; i < kind->outlet_count; i++)
        text = tnd_arena_format(arena, "%s%s%s", text,
                                i > 0                   ? " and "
                                : kind->inlet_count > 0 ? ", gives "
                                                        : "Gives ",
                                tnd_flow_name(kind->outlets[i].flow));
    return tnd_arena_format(arena, "%s%s%s", text, *text != '\0' ? ". " : "",
                            instances_text(kind->instances));
}

static const char *source_facts(uint32_t caps)
{
    if ((caps & TND_SOURCE_RANDOM) != 0)
        return "Reads any row at any time: it can be shuffled, and read by several workers.";
    if ((caps & TND_SOURCE_REWINDS) != 0)
        return "Reads only from the start, any number of times: it cannot be shuffled.";
    return "Can be read once, from its start.";
}

static const char *op_facts(tnd_arena_t *arena, uint32_t caps)
{
    static const struct {
        uint32_t cap;
        const char *text;
    } facts[] = {
        {TND_OP_DROPS, "It may leave rows out."},
        {TND_OP_EXPANDS, "It may make several rows of one."},
        {TND_OP_RANDOM, "It draws random numbers, by seed, epoch and sample."},
        {TND_OP_FAILS, "It may refuse a row, which is then bad."},
    };
    const char *text = "";
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if ((caps & facts[i].cap) != 0)
            text = tnd_arena_format(arena, "%s%s%s", text, *text != '\0' ? " " : "", facts[i].text);
    return text;
}

const char *tnd_reference_facts(tnd_arena_t *arena, const tnd_chapter_t *chapter,
                                const tnd_table_t *table)
{
    if (chapter->at == kind_at)
        return kind_facts(arena, (const tnd_kind_spec_t *)(const void *)table);
    if (chapter->at == tnd_registry_source_table)
        return source_facts(tnd_source_spec_of(table)->caps);
    if (chapter->at == tnd_registry_op_table)
        return op_facts(arena, tnd_op_spec_of(table)->caps);
    return "";
}

const char *tnd_reference_role(tnd_option_role_t role)
{
    static const char *const names[] = {[TND_ROLE_GRAPH] = "graph",
                                        [TND_ROLE_PLACE] = "place",
                                        [TND_ROLE_SECURE] = "secure",
                                        [TND_ROLE_TUNE] = "tune"};
    return names[role];
}

const char *tnd_reference_live(const tnd_option_t *option)
{
    return option->live != TND_LIVE_NOT ? "; `tundish set` changes it in a run" : "";
}

const char *tnd_reference_role_meaning(tnd_option_role_t role)
{
    static const char *const meanings[] = {
        [TND_ROLE_GRAPH] =
            "changes the stream or what is computed from it; an overlay may not change it",
        [TND_ROLE_PLACE] = "determines a placement; an overlay may change it",
        [TND_ROLE_SECURE] = "determines who may connect; an overlay may change it",
        [TND_ROLE_TUNE] = "changes only speed, memory and timeouts; an overlay may change it",
    };
    return meanings[role];
}

const char *tnd_reference_type(tnd_option_type_t type)
{
    static const char *const names[] = {
        [TND_OPTION_BOOL] = "bool",     [TND_OPTION_U64] = "u64",
        [TND_OPTION_I64] = "i64",       [TND_OPTION_F64] = "f64",
        [TND_OPTION_F64S] = "f64s",     [TND_OPTION_STRING] = "text",
        [TND_OPTION_STRINGS] = "texts", [TND_OPTION_ENUM] = "choice",
        [TND_OPTION_BYTES] = "bytes",   [TND_OPTION_DURATION] = "duration",
        [TND_OPTION_EXTENT] = "extent", [TND_OPTION_INTERVAL] = "interval",
        [TND_OPTION_COLUMN] = "column", [TND_OPTION_COLUMNS] = "columns",
        [TND_OPTION_PATH] = "path",     [TND_OPTION_PATHS] = "paths",
        [TND_OPTION_TABLE] = "table",   [TND_OPTION_PART] = "part",
        [TND_OPTION_PARTS] = "parts",   [TND_OPTION_MAP] = "map",
        [TND_OPTION_VALUE] = "value",   [TND_OPTION_RATE] = "rate",
        [TND_OPTION_PERIOD] = "period",
    };
    return names[type];
}

#define TOPIC(name) extern const char tnd_topic_##name[];
#include "tools/reference/topics/topics.def"
#undef TOPIC

static const tnd_topic_t topics[] = {
#define TOPIC(name) {#name, tnd_topic_##name},
#include "tools/reference/topics/topics.def"
#undef TOPIC
};

const tnd_topic_t *tnd_topic(size_t index)
{
    return index < sizeof topics / sizeof topics[0] ? &topics[index] : NULL;
}
