/*  runtime/option/spec.c - names of flows. */
#include "runtime/option/spec.h"

#include "runtime/core/protocol/message_kind.h"

_Static_assert(TND_MSG_FACTS <= TND_ACCEPT_MAX,
               "a set of TND_ACCEPT has a bit for each kind before those between hosts");

const char *tnd_flow_name(tnd_flow_t flow)
{
    return flow == TND_FLOW_BATCH    ? "batches"
           : flow == TND_FLOW_VALUES ? "values to reduce"
                                     : "rows";
}
