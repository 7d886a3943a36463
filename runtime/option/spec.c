/*  runtime/option/spec.c - words for what passes through ports. */
#include "runtime/option/spec.h"

const char *tnd_flow_name(tnd_flow_t flow)
{
    return flow == TND_FLOW_BATCH    ? "batches"
           : flow == TND_FLOW_VALUES ? "values to reduce"
                                     : "rows";
}
