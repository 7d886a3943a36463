/*  actors/op/op_list.c - the list of operations. */
#include "actors/op/custom.h"
#include "actors/op/ops.h"

static const tnd_op_t *const ops[] = {
#define OP(name, file) &tnd_op_##name,
#include "actors/op/ops.def"
#undef OP
    NULL};

const tnd_op_t *tnd_op_of(const tnd_op_spec_t *spec)
{
    if (spec->custom != NULL)
        return &tnd_op_custom;
    for (const tnd_op_t *const *op = ops; *op != NULL; op++)
        if ((*op)->spec == spec)
            return *op;
    return NULL;
}
