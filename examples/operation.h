/*  examples/operation.h - the tables of operation.c, for a program that links them in. */
#ifndef OPERATION_H
#define OPERATION_H

#include <tundish/tundish.h>

extern TND_API const tnd_source_ops_t tnd_source_ramp;
extern TND_API const tnd_op_ops_t tnd_op_jitter;

#endif
