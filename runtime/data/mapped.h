/*  runtime/data/mapped.h - which addresses are mapped files, and which of their pages are lost.
 *
 *  A page that the file no longer has, because it shrank, or that its disk cannot give raises
 *  SIGBUS on the thread that reads it.  The handler of this module marks the mapping as lost from
 *  there on, maps zeros in place of the lost pages and lets the thread continue.  So a function
 *  that reads rows of a mapped file calls tnd_mapped_check after it has read them and before
 *  anything uses them.  While nothing is lost that costs one load.
 *
 *  Signals belong to the process, and so do the list of mappings and the handler, which the first
 *  mapping installs.  It passes every SIGBUS that is not about one of these mappings on to the
 *  handler that was installed before it.  A handler that is installed later calls tnd_mapped_rescue
 *  first, or the handler that it found.
 *
 *  System calls that are given a lost page fail with EFAULT, and libzmq, whose thread blocks
 *  signals, does not survive that: pages of files are never handed to it.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_DATA_MAPPED_H
#define TND_RUNTIME_DATA_MAPPED_H

#include <signal.h>

#include "runtime/base/status.h"

enum { TND_MAPPING_PATH_MAX = 1024 };

typedef struct tnd_mapped tnd_mapped_t;

/*  Lists a mapping and installs the handler if it is the first; `path` is cut if it is longer than
 *  TND_MAPPING_PATH_MAX.  tnd_mapped_remove, before the pages are unmapped. */
tnd_mapped_t *tnd_mapped_add(const void *data, size_t size, const char *path);
void tnd_mapped_remove(tnd_mapped_t *self);

/*  Installs the handler.  A program's own handler comes before it if it is installed later. */
void tnd_mapped_guard(void);
/*  What the handler does.  False: the signal is not about a page of a listed mapping, or nothing
 *  could be mapped in its place.  Async-signal-safe. */
bool tnd_mapped_rescue(const siginfo_t *info);

/*  TND_FAILED: some of these bytes are lost, and zeros were read instead; the text names the file
 *  and the offset.  Bytes that are not in a mapped file are never lost. */
tnd_status_t tnd_mapped_check(const void *data, size_t size, tnd_error_t *error) TND_CHECKED;
/*  Whether there is a mapping that has lost pages. */
bool tnd_mapped_any_lost(void);

#endif
