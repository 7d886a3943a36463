/*  actors/cache/store_folder.h - the folder of a cache's store, named after all that its rows depend
 *  on: options of the actors before the cache, the identity of the data, the numeric probe, the
 *  schema, and the lane if lanes have samples of their own.
 *
 *  The order of rows is not among them, because rows are stored by sample.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_CACHE_STORE_FOLDER_H
#define TND_ACTORS_CACHE_STORE_FOLDER_H

#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

/*  A folder in `dir` for the cache that is instance `index`; the caller frees it. */
char *tnd_store_folder(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                       const char *dir);

#endif
