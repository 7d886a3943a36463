/*  runtime/option/spec.c - names of flows. */
#include "runtime/option/spec.h"

const char *tnd_flow_name(tnd_flow_t flow)
{
    return flow == TND_FLOW_BATCH    ? "batches"
           : flow == TND_FLOW_VALUES ? "values to reduce"
                                     : "rows";
}
