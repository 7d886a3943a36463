/*  actors/feeder_spec.c - the options and ports of a feeder. */
#include "actors/feeder.h"

#include "runtime/option/registry.h"

static const tnd_option_t step_options[] = {
    {.name = "plugin",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(tnd_step_options_t, plugin),
     .help = "the step's name; it is in NAME.so"},
    {.name = "*",
     .type = TND_OPTION_VALUE,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(tnd_step_options_t, options),
     .help = "the plugin's own options"},
};

static const tnd_table_t step_table = {
    .name = "step",
    .help = "what computes on a batch",
    TND_OPTIONS(step_options),
    .size = sizeof(tnd_step_options_t),
};

static const tnd_table_t *step_at(size_t index)
{
    return index == 0 ? &step_table : NULL;
}

static const tnd_option_t options[] = {
    {.name = "depth",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_TUNE,
     .unit = "batches",
     .fallback = "auto",
     .range = "1..1024",
     .choices = "auto=0",
     .offset = offsetof(tnd_feeder_options_t, depth),
     .help = "batches prepared ahead of the step; auto: as many as 4 MiB, or a 16th of `memory:`, "
             "have room for, from 2 to 256"},
    {.name = "spare",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_TUNE,
     .unit = "batches",
     .fallback = "2",
     .range = "0..1024",
     .offset = offsetof(tnd_feeder_options_t, spare),
     .help = "batches kept in memory for programs that hold tensors of earlier steps (DLPack)"},
    {.name = "gather",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_TUNE,
     .unit = "threads",
     .fallback = "auto",
     .range = "1..64",
     .choices = "auto=0",
     .offset = offsetof(tnd_feeder_options_t, gather),
     .help = "threads that gather the rows of large batches and compute their digest, the feeder's "
             "own included; auto: one for each 256 KiB of a batch, on at most half of the "
             "processors, and no more than 8"},
    {.name = "devices",
     .type = TND_OPTION_STRINGS,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(tnd_feeder_options_t, devices),
     .help = "the devices of each host that feeds, such as [cpu:0, cpu:1]; by default cpu:0"},
    {.name = "step",
     .type = TND_OPTION_TABLE,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .parts = step_at,
     .offset = offsetof(tnd_feeder_options_t, step),
     .help =
         "what computes on a batch, `{plugin: NAME, ...}`; without one it is fed and discarded"},
    {.name = "after",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .offset = offsetof(tnd_feeder_options_t, after),
     .help = "the feeder whose models are evaluated on this chain once it has ended"},
    {.name = "digest",
     .type = TND_OPTION_BOOL,
     .role = TND_ROLE_TUNE,
     .fallback = "true",
     .offset = offsetof(tnd_feeder_options_t, digest),
     .help = "whether the digest of the stream is computed"},
};

const tnd_kind_spec_t tnd_kind_feeder_spec;
const tnd_kind_spec_t tnd_kind_feeder_spec = {
    .table = {.name = "feeder",
              .help = "hands batches to devices and runs the step on them",
              TND_OPTIONS(options),
              .size = sizeof(tnd_feeder_options_t)},
    .instances = TND_INSTANCE_HOST,
    .inlets = {{.name = "in", .flow = TND_FLOW_BATCH, .required = true, .connects = true}},
    .inlet_count = 1,
    .outlets =
        {{.name = "out", .flow = TND_FLOW_VALUES, .several = true, .connects = true, .call = true}},
    .outlet_count = 1,
};
