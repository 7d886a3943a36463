/*  runtime/launch/hand.c - processes whose variables a script of the user sets. */
#include "runtime/launch/launch_internal.h"

static tnd_status_t hand_read(const char *const *environment, tnd_launch_t *launch,
                              tnd_error_t *error)
{
    static const tnd_rank_names_t names = {"TUNDISH_RANK", "TUNDISH_HOSTS", NULL, NULL};
    TND_TRY(tnd_launch_ranks(environment, &names, launch, error));
    TND_TRY(tnd_variable_text(environment, "TUNDISH_LEADER", launch->leader, sizeof launch->leader,
                              error));
    return tnd_variable_text(environment, "TUNDISH_JOB", launch->job, sizeof launch->job, error);
}

const tnd_launcher_t tnd_launcher_hand = {
    .name = "hand",
    .start = "a script that sets TUNDISH_RANK and TUNDISH_HOSTS",
    .leader_by = "TUNDISH_LEADER",
    .marks = {"TUNDISH_RANK"},
    .read = hand_read,
};
