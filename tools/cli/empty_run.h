/*  tools/cli/empty_run.h - why a run that ended well has fed no step.
 *
 *  Threads: any; pure. */
#ifndef TND_TOOLS_CLI_EMPTY_RUN_H
#define TND_TOOLS_CLI_EMPTY_RUN_H

#include <stddef.h>

#include "runtime/core/stream/ledger.h"

/*  What became of the rows, and the options that drop rows, which `drops` names, into `text`, cut if
 *  need be; returns text. */
const char *tnd_empty_run_text(const tnd_ledger_t *ledger, const char *drops, char *text,
                               size_t room);

#endif
