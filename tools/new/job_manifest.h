/*  tools/new/job_manifest.h - the manifest of an Indexed Job of Kubernetes that runs topology files.
 *
 *  It has three objects: a ConfigMap with the files, a headless Service by which the pods have names,
 *  and the Job, whose pods are the ranks of a launcher (runtime/launch/kubernetes.c).
 *
 *  Threads: any. */
#ifndef TND_TOOLS_NEW_JOB_MANIFEST_H
#define TND_TOOLS_NEW_JOB_MANIFEST_H

#include <stdio.h>

#include "tools/launch/sent_run.h"

enum { TND_JOB_NAME = 53, TND_JOB_FILES_BYTES = 1 << 20 };

typedef struct {
    char name[TND_JOB_NAME]; /* of the Job, for tnd_job_manifest_name */
    uint32_t pods;
    bool resumes; /* the topology has checkpoints */
} tnd_job_manifest_t;

/*  Makes a name of Kubernetes of the name of a run. */
void tnd_job_manifest_name(tnd_job_manifest_t *self, const char *run);
/*  Errors: TND_FAILED if the files are too large for a ConfigMap, or have equal names in it. */
tnd_status_t tnd_job_manifest_check(const tnd_sent_run_t *files, tnd_error_t *error) TND_CHECKED;
void tnd_job_manifest_print(const tnd_job_manifest_t *self, const tnd_sent_run_t *files, FILE *out);

#endif
