/*  tests/runtime/topology/registry_fake.c - a few sources and operations, so that what is tested is
 *  the language and not the list of the day. */
#include <stdio.h>

#include "runtime/option/registry.h"
#include "runtime/tundish/tundish.h"

typedef struct {
    tnd_pairs_t columns;
} idx_t;

static const tnd_option_t idx_options[] = {
    {.name = "*",
     .type = TND_OPTION_PATH,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(idx_t, columns),
     .help = "a column and its file"},
};

static const tnd_source_spec_t idx = {
    .table = {.name = "idx", .help = "IDX files", TND_OPTIONS(idx_options, idx_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
};

static const tnd_source_spec_t pipe = {.table = {.name = "pipe", .help = "standard input"}};

typedef struct {
    const char *column;
    int to;
    tnd_numbers_t range;
} scale_t;

static const tnd_option_t scale_options[] = {
    {.name = "column",
     .type = TND_OPTION_COLUMN,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(scale_t, column),
     .help = "what is scaled"},
    {.name = "to",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "f32",
     .choices = "f32|f64",
     .offset = offsetof(scale_t, to),
     .help = "the type of the result"},
    {.name = "range",
     .type = TND_OPTION_F64S,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .offset = offsetof(scale_t, range),
     .help = "least and greatest value"},
};

static const tnd_op_spec_t scale = {
    .table = {.name = "scale",
              .help = "maps the range of a column to another",
              TND_OPTIONS(scale_options, scale_t)},
};

typedef struct {
    const char *column;
    int op;
    double value;
} filter_t;

static const tnd_option_t filter_options[] = {
    {.name = "column",
     .type = TND_OPTION_COLUMN,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(filter_t, column),
     .help = "what is compared"},
    {.name = "op",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .choices = "eq|ne|lt|le|gt|ge",
     .offset = offsetof(filter_t, op),
     .help = "the comparison"},
    {.name = "value",
     .type = TND_OPTION_F64,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(filter_t, value),
     .help = "what it is compared with"},
};

static const tnd_op_spec_t filter = {
    .table = {.name = "filter",
              .help = "keeps rows by a comparison",
              TND_OPTIONS(filter_options, filter_t)},
    .caps = TND_OP_DROPS,
};

static const tnd_source_spec_t *const sources[] = {&idx, &pipe};
static const tnd_op_spec_t *const ops[] = {&filter, &scale};

const tnd_source_spec_t *const *tnd_registry_sources(size_t *count_p)
{
    *count_p = sizeof sources / sizeof sources[0];
    return sources;
}

const tnd_op_spec_t *const *tnd_registry_ops(size_t *count_p)
{
    *count_p = sizeof ops / sizeof ops[0];
    return ops;
}

/*  This machine has none but processors, unless the program has devices. */
__attribute__((weak)) uint32_t tnd_registry_auto_devices(const char **kind_p, char *why,
                                                         size_t room)
{
    (void)kind_p;
    snprintf(why, room, "this test has no other");
    return 0;
}
