/*  actors/batcher_spec.c - the options and ports of a batcher. */
#include "actors/batcher.h"

#include "runtime/registry.h"

static const tnd_option_t options[] = {
    {.name = "size",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .unit = "rows",
     .range = "1..1073741824",
     .offset = offsetof(tnd_batcher_options_t, size),
     .help = "rows of a global batch"},
    {.name = "replicas",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .unit = "replicas",
     .fallback = "1",
     .range = "1..65536",
     .offset = offsetof(tnd_batcher_options_t, replicas),
     .help = "logical consumers that a global batch is divided among"},
    {.name = "split",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "rebatch_v2",
     .choices = "rebatch_v2|rebatch_legacy",
     .offset = offsetof(tnd_batcher_options_t, split),
     .help = "which of TensorFlow's two divisions among replicas"},
    {.name = "remainder",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_GRAPH,
     .fallback = "keep",
     .choices = "keep|drop|pad",
     .offset = offsetof(tnd_batcher_options_t, remainder),
     .help = "what becomes of a last batch with fewer rows: kept, dropped, or padded with rows of "
             "weight 0"},
    {.name = "span_epochs",
     .type = TND_OPTION_BOOL,
     .role = TND_ROLE_GRAPH,
     .fallback = "false",
     .offset = offsetof(tnd_batcher_options_t, span_epochs),
     .help = "whether a batch may hold rows of two epochs"},
    {.name = "block",
     .type = TND_OPTION_EXTENT,
     .role = TND_ROLE_TUNE,
     .fallback = "",
     .offset = offsetof(tnd_batcher_options_t, block),
     .help = "how much of the stream travels in one message; by default it follows from links and "
             "rows"},
};

const tnd_kind_spec_t tnd_kind_batcher_spec;
const tnd_kind_spec_t tnd_kind_batcher_spec = {
    .table = {.name = "batcher",
              .help = "restores the order, cuts global batches and divides them among replicas",
              TND_OPTIONS(options),
              .size = sizeof(tnd_batcher_options_t)},
    .instances = TND_INSTANCE_LANE,
    .inlets = {{.name = "in", .flow = TND_FLOW_ROWS, .required = true}},
    .inlet_count = 1,
    .outlets = {{.name = "out", .flow = TND_FLOW_BATCH, .required = true}},
    .outlet_count = 1,
};
