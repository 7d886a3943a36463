/*  tools/report/absent_run.h - says that a run was not found, and where it was looked for.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_ABSENT_RUN_H
#define TND_TOOLS_REPORT_ABSENT_RUN_H

#include <stddef.h>

/*  Writes "no run `NAME` on this machine (looked in FOLDER, FOLDER)"; `run` is NULL: of any
 *  name.  A run whose XDG_RUNTIME_DIR is another folder is not found.  If `leader` is not NULL, it
 *  was looked for at that address instead.  Returns `text`. */
const char *tnd_absent_run_text(const char *run, const char *leader, char *text, size_t room);

#endif
