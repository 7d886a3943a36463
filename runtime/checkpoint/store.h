/*  runtime/checkpoint/store.h - checkpoints on disk.
 *
 *  A checkpoint is the state of the model after a step and the cursor that resumes after it, one
 *  unit over all hosts:
 *
 *      DIR/step-00000500/model-0       what the step's `save` wrote for replica 0, and so on; one
 *                                      of replicas that share a model, that of the first
 *      DIR/step-00000500/manifest      cursor, fingerprint, keys of the graph, data files
 *                                      (data_table.h), metrics of the epoch so far
 *                                      (epoch_metrics.h), size and hash of every part; text
 *
 *  Every file is written under another name, synced and renamed; the manifest comes last.  A folder
 *  without a manifest is not a checkpoint.  Parts are checked against the sizes and hashes of the
 *  manifest.  The hashes detect damage but not forgery.
 *
 *  Hosts may share DIR or have one each: a host reads only the parts of its replicas, and only the
 *  leader reads manifests.
 *
 *  Threads: any.  The functions wait for the disk. */
#ifndef TND_RUNTIME_CHECKPOINT_STORE_H
#define TND_RUNTIME_CHECKPOINT_STORE_H

#include "runtime/core/checkpoint.h"
#include "runtime/core/stream/cursor.h"
#include "runtime/notes/validations.h"

enum { TND_STORE_PATH = 1024 };

typedef struct {
    tnd_cursor_t cursor;
    tnd_epoch_metrics_t sums;      /* of the steps before the cursor */
    tnd_validations_t validations; /* made until then; owned */
    bool lacks_sums;               /* it was written by a version without them */
    char *graph;                   /* the keys of the graph, a line each; owned; NULL: none */
    char *data; /* the lines of a data table, whose hash is cursor.data; owned; NULL: none */
    uint32_t replicas;
    tnd_saved_t *parts; /* by replica; owned */
} tnd_manifest_t;

/*  What a run resumes from, for hosts that load parts. */
typedef struct {
    char dir[TND_STORE_PATH];
    uint64_t step;  /* number of steps done; 0: the run begins at the start */
    bool is_others; /* the manifest may be in a folder of another host */
    uint32_t replicas;
    tnd_saved_t *parts; /* by replica */
} tnd_resume_t;

/*  Whether the file of a replica's part is in the folder, damaged or not. */
bool tnd_store_has_part(const tnd_resume_t *resume, uint32_t replica);
/*  Finds another replica's part in the folder that has the same bytes, as those of synchronous replicas
 *  have; false: there is none. */
bool tnd_store_find_equal(const tnd_resume_t *resume, uint32_t replica, char path[TND_STORE_PATH]);
/*  The path of the part of a replica, after checking its size and hash: its own, or that of the nearest
 *  replica before it, whose model it shared.  Where that is missing, as on a host that has carried other
 *  replicas, a part with the same bytes. */
tnd_status_t tnd_store_check(const tnd_resume_t *resume, uint32_t replica,
                             char path[TND_STORE_PATH], tnd_error_t *error) TND_CHECKED;

/*  A lock on DIR: only one run at a time writes there. */
typedef struct tnd_store tnd_store_t;

/*  Creates the folder if necessary and locks it.  Errors: TND_FAILED if it cannot be created or
 *  written, or another run uses it. */
tnd_status_t tnd_store_open(tnd_store_t **self_p, const char *dir, tnd_error_t *error) TND_CHECKED;
void tnd_store_close(tnd_store_t **self_p);
/*  Whether the folder is the one that was locked: it, or its file `lock`, may have been removed. */
bool tnd_store_holds(const tnd_store_t *self);
/*  Whether a run writes there now. */
bool tnd_store_is_locked(const char *dir);
/*  Creates and locks the folder again.  Errors: those of tnd_store_open; nothing changes. */
tnd_status_t tnd_store_lock_again(tnd_store_t *self, tnd_error_t *error) TND_CHECKED;

/*  Creates the folder of the checkpoint after `step` steps. */
tnd_status_t tnd_store_begin(const char *dir, uint64_t step, tnd_error_t *error) TND_CHECKED;
/*  The path where a replica's model is written, and its path once it is sealed. */
void tnd_store_draft_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                          uint32_t replica);
void tnd_store_part_path(char path[TND_STORE_PATH], const char *dir, uint64_t step,
                         uint32_t replica);
/*  Measures a written model, syncs and renames it.  On failure it is removed. */
tnd_status_t tnd_store_seal(const char *dir, uint64_t step, uint32_t replica, tnd_saved_t *part,
                            tnd_error_t *error) TND_CHECKED;
/*  Measures an existing part. */
tnd_status_t tnd_store_measure(const char *dir, uint64_t step, uint32_t replica, tnd_saved_t *part,
                               tnd_error_t *error) TND_CHECKED;

/*  Writes the manifest, which completes the checkpoint. */
tnd_status_t tnd_store_commit(const char *dir, const tnd_manifest_t *manifest,
                              tnd_error_t *error) TND_CHECKED;
/*  Reads the manifest of `step` without checking its parts.  Errors: TND_FAILED if it is missing,
 *  torn, damaged or of another version; the text names the file. */
tnd_status_t tnd_store_read(const char *dir, uint64_t step, tnd_manifest_t *manifest,
                            tnd_error_t *error) TND_CHECKED;
/*  Whether there is a manifest of `step`, valid or not. */
bool tnd_store_has(const char *dir, uint64_t step);
/*  As tnd_store_read, for any file. */
tnd_status_t tnd_manifest_read(const char *file, tnd_manifest_t *manifest,
                               tnd_error_t *error) TND_CHECKED;
void tnd_manifest_free(tnd_manifest_t *self);

/*  Whether there is a model. */
bool tnd_saved_is(const tnd_saved_t *self);
bool tnd_saved_equal(const tnd_saved_t *a, const tnd_saved_t *b);

/*  The steps that have a folder in DIR, complete or not, in descending order; the caller frees
 *  them.  None if DIR does not exist. */
tnd_status_t tnd_store_list(const char *dir, uint64_t **steps_p, size_t *count_p,
                            tnd_error_t *error) TND_CHECKED;
/*  Removes a checkpoint, complete or not, the manifest first; other files remain. */
void tnd_store_forget(const char *dir, uint64_t step);
/*  Removes those of fewer than `below` steps, but for that of `best`. */
void tnd_store_forget_below(const char *dir, uint64_t below, uint64_t best);

#endif
