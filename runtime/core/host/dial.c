/*  runtime/core/host/dial.c - what an actor does about a peer when its host has heard where all listen. */
#include "runtime/core/host/dial.h"

tnd_dial_t tnd_dial_of(uint64_t dialled, uint64_t announced)
{
    if (announced == 0)
        return TND_DIAL_LATER;
    return announced == dialled ? TND_DIAL_AGAIN : TND_DIAL_ANEW;
}
