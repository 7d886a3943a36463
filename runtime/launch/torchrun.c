/*  runtime/launch/torchrun.c - processes that torchrun starts. */
#include "runtime/launch/launch_internal.h"

static tnd_status_t torchrun_read(const char *const *environment, tnd_launch_t *launch,
                                  tnd_error_t *error)
{
    static const tnd_rank_names_t names = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
    TND_TRY(tnd_launch_ranks(environment, &names, launch, error));
    TND_TRY(tnd_variable_text(environment, "MASTER_ADDR", launch->leader, sizeof launch->leader,
                              error));
    TND_TRY(tnd_variable_port(environment, "MASTER_PORT", &launch->port, error));
    /* The agent listens there, or else torch.distributed in the program of rank 0 will. */
    launch->port_taken = launch->port != 0;
    TND_TRY(tnd_variable_text(environment, "TORCHELASTIC_RUN_ID", launch->job, sizeof launch->job,
                              error));
    return tnd_variable_number(environment, "TORCHELASTIC_RESTART_COUNT", 0, 0, &launch->restarts,
                               error);
}

const tnd_launcher_t tnd_launcher_torchrun = {
    .name = "torchrun",
    .start = "`torchrun --no_python`",
    .leader_by = "MASTER_ADDR",
    .marks = {"RANK", "WORLD_SIZE", "MASTER_ADDR"},
    .read = torchrun_read,
};
