/*  runtime/base/library.h - loads a shared library that the user named.
 *
 *  dlopen() maps a file that is cut off as if it were whole: the process then dies of SIGBUS.  So
 *  the file is checked first.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_LIBRARY_H
#define TND_RUNTIME_BASE_LIBRARY_H

#include <stddef.h>

/*  As dlopen().  `path` is that of a file, with a slash, or a name for the loader's search.
 *  Errors: NULL, and the reason, without the path, in `why`. */
void *tnd_library_load(const char *path, int flags, char *why, size_t room);

#endif
