/*  actors/reader/shared_source.h - a source, opened once for all readers of a host.
 *
 *  With `shard: file` each lane has its own files, with `shard: source` its own source, and each
 *  lane that is read on the host is opened as a part.  Otherwise there is one part for all lanes.
 *
 *  Threads: as the hooks facts, list and unshare of runtime/interface/kind.h; type and part on any.
 */
#ifndef TND_ACTORS_READER_SHARED_SOURCE_H
#define TND_ACTORS_READER_SHARED_SOURCE_H

#include "runtime/interface/kind.h"
#include "runtime/interface/source.h"
#include "runtime/resources/guarded_call.h"

typedef struct {
    uint32_t lane; /* TND_LANES_MAX: all lanes */
    tnd_source_facts_t facts;
    void *state;          /* of the open source */
    uint64_t (*whole)[2]; /* with `verify: full`: a hash of all bytes of each file */
} tnd_shared_part_t;

/*  The hooks facts, list and unshare of the reader. */
tnd_status_t tnd_shared_source_open(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                    tnd_guarded_call_t *call, tnd_stream_t *stream, void **shared_p,
                                    tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_shared_source_list(const tnd_plan_t *plan, const tnd_instance_t *instance,
                                    const void *shared, tnd_data_table_t *table,
                                    tnd_error_t *error) TND_CHECKED;
void tnd_shared_source_close(const tnd_instance_t *instance, void *shared);

/*  The calling thread works on the data of a reader, at `what`, as tnd_guarded_call_opens. */
tnd_guarded_work_t *tnd_shared_source_work(tnd_guarded_call_t *call, const tnd_instance_t *reader,
                                           const char *what);

const tnd_source_t *tnd_shared_source_type(const void *shared);
/*  The parts in turn; NULL after the last. */
const tnd_shared_part_t *tnd_shared_source_at(const void *shared, uint32_t index);
/*  The part that `lane` reads. */
const tnd_shared_part_t *tnd_shared_source_part(const void *shared, uint32_t lane);

#endif
