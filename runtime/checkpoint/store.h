/*  runtime/checkpoint/store.h - checkpoints on disk.
 *
 *  A checkpoint is the state of the model after a step and the cursor that goes on behind it, one
 *  unit over all hosts:
 *
 *      DIR/step-00000500/model-0       what the step's `save` wrote for replica 0, and so on
 *      DIR/step-00000500/manifest      cursor, fingerprint, data files (data_table.h), size and
 *                                      hash of every part; text
 *
 *  Every file is written beside its place, made durable and renamed; the manifest comes last.  So
 *  a folder without a manifest is no checkpoint, whatever else is in it, and one whose parts do
 *  not have the sizes and hashes of its manifest is found out.  The hashes find damage, they keep
 *  nobody from forging one.
 *
 *  Hosts may share DIR or have one each: a host looks only at the parts of the replicas that it
 *  carries, the leader alone at manifests.
 *
 *  Threads: any; the functions wait for the disk.
 */
#ifndef TND_RUNTIME_CHECKPOINT_STORE_H
#define TND_RUNTIME_CHECKPOINT_STORE_H

#include "runtime/core/checkpoint.h"
#include "runtime/core/order/cursor.h"

enum { TND_STORE_PATH = 1024 };

typedef struct {
    tnd_cursor_t cursor;
    char *graph; /* the keys of the graph, a line each; owned; NULL: none */
    char *data;  /* the lines of a data table, whose hash is cursor.data; owned; NULL: none */
    uint32_t replicas;
    tnd_saved_t *parts; /* by replica; owned */
} tnd_manifest_t;

/*  What a run goes on from, as far as whoever loads parts must know. */
typedef struct {
    char dir[TND_STORE_PATH];
    uint64_t step; /* how many are behind it; 0: the run begins at the start */
    uint32_t replicas;
    tnd_saved_t *parts; /* by replica */
} tnd_resume_t;

/*  Where the part of a replica lies, if it is what was kept. */
tnd_status_t tnd_store_check(const tnd_resume_t *resume, uint32_t replica,
                             char path[TND_STORE_PATH], tnd_error_t *error) TND_CHECKED;

/*  A claim on DIR: one run at a time writes there. */
typedef struct tnd_store tnd_store_t;

/*  Makes the folder if it is not there, and claims it.  TND_FAILED: it cannot be made or written,
 *  or another run has it.
 */
tnd_status_t tnd_store_open(tnd_store_t **self_p, const char *dir, tnd_error_t *error) TND_CHECKED;
void tnd_store_close(tnd_store_t **self_p);

/*  Makes the folder of the checkpoint behind `step` steps. */
tnd_status_t tnd_store_begin(const char *dir, uint64_t step, tnd_error_t *error) TND_CHECKED;
/*  Where a replica's model is to be written, and where it lies once it is sealed. */
void tnd_store_draft_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                          uint32_t replica);
void tnd_store_part_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                         uint32_t replica);
/*  Measures what was written, makes it durable and puts it in its place.  On failure nothing is
 *  left of it.
 */
tnd_status_t tnd_store_seal(const char *dir, uint64_t step, uint32_t replica, tnd_saved_t *part,
                            tnd_error_t *error) TND_CHECKED;
/*  Measures a part that is there. */
tnd_status_t tnd_store_measure(const char *dir, uint64_t step, uint32_t replica, tnd_saved_t *part,
                               tnd_error_t *error) TND_CHECKED;

/*  Writes the manifest: from here on the checkpoint counts. */
tnd_status_t tnd_store_commit(const char *dir, const tnd_manifest_t *manifest,
                              tnd_error_t *error) TND_CHECKED;
/*  Reads the manifest of `step`.  TND_FAILED: it is missing, torn, damaged or of another version;
 *  the text names the file.  Whether its parts are whole is another question.
 */
tnd_status_t tnd_store_read(const char *dir, uint64_t step, tnd_manifest_t *manifest,
                            tnd_error_t *error) TND_CHECKED;
/*  Whether there is a manifest of `step`, whole or not. */
bool tnd_store_has(const char *dir, uint64_t step);
/*  The same as tnd_store_read of any file. */
tnd_status_t tnd_manifest_read(const char *file, tnd_manifest_t *manifest,
                               tnd_error_t *error) TND_CHECKED;
void tnd_manifest_free(tnd_manifest_t *self);

/*  Whether there is a model. */
bool tnd_saved_is(const tnd_saved_t *self);
bool tnd_saved_equal(const tnd_saved_t *a, const tnd_saved_t *b);

/*  The steps that have a folder in DIR, whole or not, in descending order; the caller frees them.
 *  A folder that is not there has none.
 */
tnd_status_t tnd_store_list(const char *dir, uint64_t **steps_p, size_t *count_p,
                            tnd_error_t *error) TND_CHECKED;
/*  Removes a checkpoint or what there is of it, the manifest first; other files stay. */
void tnd_store_forget(const char *dir, uint64_t step);

#endif
