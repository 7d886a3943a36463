/*  actors/reducer_spec.c - the ports of a reducer; what it computes is said by those who post. */
#include "runtime/registry.h"

const tnd_kind_spec_t tnd_kind_reducer_spec;
const tnd_kind_spec_t tnd_kind_reducer_spec = {
    .table = {.name = "reducer",
              .help = "reduces what replicas post over a fixed tree: sum, mean, minimum, maximum"},
    .instances = TND_INSTANCE_ONE,
    .inlets =
        {{.name = "in", .flow = TND_FLOW_VALUES, .required = true, .several = true, .call = true}},
    .inlet_count = 1,
};
