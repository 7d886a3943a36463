/*  actors/op/ops.c - the list of operations, as the runtime asks for it. */
#include "runtime/registry.h"

#define OP(name) extern const tnd_op_spec_t tnd_op_##name##_spec;
#include "actors/op/ops.def"
#undef OP

static const tnd_op_spec_t *const ops[] = {
#define OP(name) &tnd_op_##name##_spec,
#include "actors/op/ops.def"
#undef OP
    NULL};

const tnd_op_spec_t *const *tnd_registry_ops(size_t *count_p)
{
    *count_p = sizeof ops / sizeof ops[0] - 1;
    return ops;
}
