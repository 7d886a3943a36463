/*  tools/choice/absent_run.h - says that a run was not found, and where it was looked for.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CHOICE_ABSENT_RUN_H
#define TND_TOOLS_CHOICE_ABSENT_RUN_H

#include "runtime/observe/inspection.h"

/*  Writes "no run `NAME` on this machine (looked in FOLDER, FOLDER)"; `run` is NULL: of any
 *  name.  A run whose XDG_RUNTIME_DIR is another folder is not found.  If `leader` is not NULL, it
 *  was looked for at that address instead.  `look`, in which it was not found, says whether processes
 *  of another version are here, which may be its own.  Returns `text`. */
const char *tnd_absent_run_text(const char *run, const char *leader, const tnd_inspection_t *look,
                                char *text, size_t room);

#endif
