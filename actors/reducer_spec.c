/*  actors/reducer_spec.c - the options and ports of a reducer; what it computes is said by those
 * who post.
 */
#include "actors/reducer.h"

#include "runtime/option/registry.h"

static const tnd_option_t options[] = {
    {.name = "weight",
     .type = TND_OPTION_COLUMN,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .offset = offsetof(tnd_reducer_options_t, weight),
     .help = "the column by whose sum a mean weighs each replica, instead of by its rows"},
};

const tnd_kind_spec_t tnd_kind_reducer_spec;
const tnd_kind_spec_t tnd_kind_reducer_spec = {
    .table = {.name = "reducer",
              .help = "reduces what replicas post over a fixed tree: sum, mean, minimum, maximum, "
                      "gather",
              TND_OPTIONS(options),
              .size = sizeof(tnd_reducer_options_t)},
    .instances = TND_INSTANCE_ONE,
    .inlets =
        {{.name = "in", .flow = TND_FLOW_VALUES, .required = true, .several = true, .call = true}},
    .inlet_count = 1,
};
