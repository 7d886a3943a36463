/*  actors/registry.c - the lists of sources and operations, as the runtime asks for them. */
#include "runtime/option/registry.h"

#include "actors/op/ops.h"
#include "actors/source/sources.h"

static const tnd_source_spec_t *const sources[] = {
#define SOURCE(name, file) &tnd_source_##name##_spec,
#include "actors/source/sources.def"
#undef SOURCE
    NULL};

static const tnd_op_spec_t *const ops[] = {
#define OP(name, file) &tnd_op_##name##_spec,
#include "actors/op/ops.def"
#undef OP
    NULL};

const tnd_source_spec_t *const *tnd_registry_sources(size_t *count_p)
{
    *count_p = sizeof sources / sizeof sources[0] - 1;
    return sources;
}

const tnd_op_spec_t *const *tnd_registry_ops(size_t *count_p)
{
    *count_p = sizeof ops / sizeof ops[0] - 1;
    return ops;
}
