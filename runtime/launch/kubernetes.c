/*  runtime/launch/kubernetes.c - pods of an Indexed Job. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/launch/launch_internal.h"

/*  The host name of a pod is JOB-INDEX. */
static void read_job(const char *const *environment, tnd_launch_t *launch)
{
    const char *name = tnd_variable(environment, "HOSTNAME");
    char end[16];
    int length = snprintf(end, sizeof end, "-%" PRIu32, launch->rank);
    size_t whole = name != NULL ? strlen(name) : 0;
    if (whole > (size_t)length && strcmp(name + whole - length, end) == 0)
        snprintf(launch->job, sizeof launch->job, "%.*s", (int)(whole - (size_t)length), name);
}

static tnd_status_t kubernetes_read(const char *const *environment, tnd_launch_t *launch,
                                    tnd_error_t *error)
{
    static const tnd_rank_names_t names = {"JOB_COMPLETION_INDEX", "TUNDISH_HOSTS", NULL, NULL};
    TND_TRY(tnd_launch_ranks(environment, &names, launch, error));
    read_job(environment, launch);
    launch->named_late = true;
    return TND_OK;
}

const tnd_launcher_t tnd_launcher_kubernetes = {
    .name = "kubernetes",
    .start = "an Indexed Job that sets TUNDISH_HOSTS to its completions",
    .marks = {"JOB_COMPLETION_INDEX", "TUNDISH_HOSTS"},
    .read = kubernetes_read,
};
