/*  runtime/launch/slurm.c - tasks of a job step, which srun starts. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/launch/hostlist.h"
#include "runtime/launch/launch_internal.h"

/*  Numbers from here on are those of shells that salloc and sbatch start. */
static const uint32_t reserved_steps = 0xfffffff0;

static bool slurm_owns(const char *const *environment)
{
    return strtoull(tnd_variable(environment, "SLURM_STEP_ID"), NULL, 10) < reserved_steps;
}

static tnd_status_t read_leader(const char *const *environment, tnd_launch_t *launch,
                                tnd_error_t *error)
{
    const char *text = tnd_variable(environment, "SLURM_STEP_NODELIST");
    tnd_hostlist_t list;
    tnd_error_t why;
    if (text == NULL)
        return TND_OK;
    if (tnd_hostlist_read(&list, text, &why) != TND_OK)
        return tnd_fail(error, "SLURM_STEP_NODELIST=%.64s: %s", text, why.text);
    snprintf(launch->leader, sizeof launch->leader, "%s", list.names[0]);
    if (list.count == 1)
        launch->local_size = launch->size;
    tnd_hostlist_free(&list);
    return TND_OK;
}

static tnd_status_t slurm_read(const char *const *environment, tnd_launch_t *launch,
                               tnd_error_t *error)
{
    static const tnd_rank_names_t names = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
                                           NULL};
    TND_TRY(tnd_launch_ranks(environment, &names, launch, error));
    TND_TRY(read_leader(environment, launch, error));
    TND_TRY(tnd_variable_text(environment, "SLURMD_NODENAME", launch->machine,
                              sizeof launch->machine, error));
    TND_TRY(tnd_variable_text(environment, "SLURM_JOB_ID", launch->job, sizeof launch->job, error));
    TND_TRY(tnd_variable_number(environment, "SLURM_STEP_ID", 0, 0, &launch->step, error));
    return tnd_variable_number(environment, "SLURM_RESTART_COUNT", 0, 0, &launch->restarts, error);
}

const tnd_launcher_t tnd_launcher_slurm = {
    .name = "slurm",
    .start = "`srun`",
    .leader_by = "SLURM_STEP_NODELIST",
    .marks = {"SLURM_STEP_ID"},
    .owns = slurm_owns,
    .read = slurm_read,
};
