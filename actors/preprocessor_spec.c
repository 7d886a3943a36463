/*  actors/preprocessor_spec.c - the options and ports of a preprocessor. */
#include "actors/preprocessor.h"

#include "runtime/option/registry.h"

static const tnd_option_t options[] = {
    {.name = "ops",
     .type = TND_OPTION_PARTS,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .parts = tnd_registry_op_table,
     .offset = offsetof(tnd_preprocessor_options_t, ops),
     .help = "what is done to each row, in this order, `[{OPERATION: {options}}, ...]`; by default "
             "nothing"},
    {.name = "workers",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_PLACE,
     .unit = "workers",
     .fallback = "1",
     .range = "1..1024",
     .choices = "auto=0",
     .offset = offsetof(tnd_preprocessor_options_t, workers),
     .help = "interchangeable copies on each host: only speed; `auto` is one, until the number can "
             "change in a run"},
    {.name = "on_error",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "stop",
     .choices = "stop|skip|quarantine",
     .offset = offsetof(tnd_preprocessor_options_t, on_error),
     .help = "a row that an operation refuses, or that ends its worker again and again: fails the "
             "run, is left out and counted, or is also set aside, see `quarantine` of the reader"},
    {.name = "isolate",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_PLACE,
     .fallback = "thread",
     .choices = "thread|process",
     .offset = offsetof(tnd_preprocessor_options_t, isolate),
     .help = "where it runs: in processes of its own a crash does not take the host with it"},
};

const tnd_kind_spec_t tnd_kind_preprocessor_spec;
const tnd_kind_spec_t tnd_kind_preprocessor_spec = {
    .table = {.name = "preprocessor",
              .help = "applies a chain of operations to each row",
              TND_OPTIONS(options),
              .size = sizeof(tnd_preprocessor_options_t)},
    .instances = TND_INSTANCE_WORKER,
    .inlets = {{.name = "in", .flow = TND_FLOW_ROWS, .required = true, .connects = true}},
    .inlet_count = 1,
    .outlets = {{.name = "out", .flow = TND_FLOW_ROWS, .required = true, .connects = true}},
    .outlet_count = 1,
};
