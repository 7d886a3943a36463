/*  runtime/option/plugin.h - finds and loads shared objects that users write.
 *
 *  A plugin is FILE.so, which exports a const table `tnd_WHAT_NAME`.  The first field of the table
 *  is the version it was built for.  A user names it by NAME, if the file has the same name, or by
 *  FILE.NAME.  The search order is: the folder that the caller names, $TUNDISH_PLUGIN_PATH, the
 *  folder of the program, the installed tree of the library or program, the install folder of the
 *  build.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OPTION_PLUGIN_H
#define TND_RUNTIME_OPTION_PLUGIN_H

#include "runtime/base/status.h"

/*  Loads the table `name`; `what` is "step", "source" or "op".  The caller closes *library_p by
 *  tnd_plugin_close when nothing of it is in use.  With `stays` the library remains loaded after
 *  that, because loading again can take seconds.  `folder` may be NULL.  Errors: TND_FAILED if the
 *  plugin is not found, cannot be loaded, lacks its symbol or has another version; the text lists
 *  the folders, and there is nothing to close. */
tnd_status_t tnd_plugin_load(void **library_p, const void **table_p, const char *folder,
                             const char *what, const char *name, bool stays,
                             tnd_error_t *error) TND_CHECKED;
/*  A hash of the file that has the table of a plugin: builds of one source differ in it.  Never 0.
 *  Errors: TND_FAILED if the file cannot be read any more. */
tnd_status_t tnd_plugin_build(const void *table, uint64_t *build_p, tnd_error_t *error) TND_CHECKED;
/*  Sets *library_p to NULL.  *library_p may be NULL. */
void tnd_plugin_close(void **library_p);

#endif
