/*  runtime/data/loader.h - brings whole files into the page cache, from begin to end.
 *
 *  A thread asks for large pieces, a few at a time, while others use the files. It fails silently:
 *  the thread that reads the bytes later reports the error.
 *
 *  Threads: new and destroy on one; begin on any. */
#ifndef TND_RUNTIME_DATA_LOADER_H
#define TND_RUNTIME_DATA_LOADER_H

#include <stddef.h>

typedef struct tnd_loader tnd_loader_t;

tnd_loader_t *tnd_loader_new(void);
/*  Before begin; copies the path. */
void tnd_loader_add(tnd_loader_t *self, const char *path);
/*  Starts the thread, the first time. */
void tnd_loader_begin(tnd_loader_t *self);
/*  Stops and waits for the thread, which takes as long as one piece. */
void tnd_loader_destroy(tnd_loader_t **self_p);

#endif
