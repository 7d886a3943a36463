/*  actors/reader_spec.c - the options and ports of a reader. */
#include "actors/reader.h"

#include "runtime/registry.h"

static const tnd_option_t options[] = {
    {.name = "source",
     .type = TND_OPTION_PART,
     .role = TND_ROLE_GRAPH,
     .parts = tnd_registry_source_table,
     .offset = offsetof(tnd_reader_options_t, source),
     .help = "what is read, `{FORMAT: {options}}`"},
    {.name = "shuffle",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "none",
     .choices = "none|global|tensorflow",
     .offset = offsetof(tnd_reader_options_t, shuffle),
     .help = "the order of an epoch: as stored, a permutation of all samples, or TensorFlow's own "
             "index_shuffle"},
    {.name = "epochs",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .unit = "epochs",
     .fallback = "1",
     .range = "1..4294967294",
     .choices = "forever=4294967295",
     .offset = offsetof(tnd_reader_options_t, epochs),
     .help = "passes over the data"},
    {.name = "shard",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "index",
     .choices = "index|file",
     .offset = offsetof(tnd_reader_options_t, shard),
     .help = "how lanes divide the data: by position, or by file so that only the host which has "
             "a file reads it"},
    {.name = "workers",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_PLACE,
     .unit = "readers",
     .fallback = "1",
     .range = "1..64",
     .offset = offsetof(tnd_reader_options_t, workers),
     .help = "readers a lane, for a source that can read any index"},
};

const tnd_kind_spec_t tnd_kind_reader_spec;
const tnd_kind_spec_t tnd_kind_reader_spec = {
    .table = {.name = "reader",
              .help = "reads samples from a source, in the order of the stream",
              TND_OPTIONS(options),
              .size = sizeof(tnd_reader_options_t)},
    .instances = TND_INSTANCE_LANE,
    .outlets = {{.name = "out", .flow = TND_FLOW_ROWS, .required = true}},
    .outlet_count = 1,
};
