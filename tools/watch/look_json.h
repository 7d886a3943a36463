/*  tools/watch/look_json.h - a look at a watched run, as one line of JSON.
 *
 *  It has the members of `tundish ps --json` and, beside them, the verdict, how the run ended, and
 *  what happened since the previous look.  They are described by tests/tools/watch.schema.json.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_WATCH_LOOK_JSON_H
#define TND_TOOLS_WATCH_LOOK_JSON_H

#include "tools/top/watched_run.h"

/*  `parts`: what tnd_watched_run_json wrote when the run was last seen. */
void tnd_look_json(const tnd_watched_run_t *run, const char *parts, FILE *out);

#endif
