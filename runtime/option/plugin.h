/*  runtime/option/plugin.h - shared objects that users write: where they are found, what must be in
 * them.
 *
 *  A plugin is FILE.so, which exports a const table `tnd_WHAT_NAME` whose first field is the
 * version it was built for.  It is asked for by NAME, which is then the name of the file too, or by
 *  FILE.NAME, for a file with several tables.  Looked for in the folder that the caller names, then
 *  in those of $TUNDISH_PLUGIN_PATH, then beside the program, then in the installed tree that
 * library or program is part of, then where the library was to be installed.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_OPTION_PLUGIN_H
#define TND_RUNTIME_OPTION_PLUGIN_H

#include "runtime/base/status.h"

/*  Loads the table of `name`, "step", "source" or "op" as `what` says.  *library_p is to be closed
 *  by tnd_plugin_close when nothing of it is in use; one that `stays` is kept loaded even then, for
 *  it is needed again soon and some take seconds to load.  `folder` may be NULL.  TND_FAILED: it is
 *  nowhere, cannot be loaded, lacks its symbol or is of another version; the text says where it was
 *  looked for, and nothing is to be closed.
 */
tnd_status_t tnd_plugin_load(void **library_p, const void **table_p, const char *folder,
                             const char *what, const char *name, bool stays,
                             tnd_error_t *error) TND_CHECKED;
/*  Sets *library_p to NULL, which is allowed in it. */
void tnd_plugin_close(void **library_p);

#endif
