/*  actors/op/custom.h - an operation that a program or a plugin gave, as one of ours.
 *
 *  Threads: as runtime/interface/operation.h says. */
#ifndef TND_ACTORS_OP_CUSTOM_H
#define TND_ACTORS_OP_CUSTOM_H

#include "runtime/interface/operation.h"

/*  The functions of every spec with a `custom` table. */
extern const tnd_op_t tnd_op_custom;

#endif
