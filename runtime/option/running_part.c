/*  runtime/option/running_part.c - which part of the topology the calling thread runs. */
#include "runtime/option/running_part.h"

static _Thread_local const tnd_part_t *running;
static _Thread_local size_t place;

void tnd_running_part_set(const tnd_part_t *part, size_t number)
{
    running = part;
    place = number;
}

const tnd_part_t *tnd_running_part(size_t *number_p)
{
    *number_p = place;
    return running;
}
