/*  runtime/launch/openmpi.c - processes that mpirun of Open MPI starts. */
#include "runtime/launch/launch_internal.h"

static tnd_status_t openmpi_read(const char *const *environment, tnd_launch_t *launch,
                                 tnd_error_t *error)
{
    static const tnd_rank_names_t names = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                           "OMPI_COMM_WORLD_LOCAL_RANK",
                                           "OMPI_COMM_WORLD_LOCAL_SIZE"};
    TND_TRY(tnd_launch_ranks(environment, &names, launch, error));
    tnd_launch_lead_locally(launch);
    return tnd_variable_text(environment, "PMIX_NAMESPACE", launch->job, sizeof launch->job, error);
}

const tnd_launcher_t tnd_launcher_openmpi = {
    .name = "openmpi",
    .start = "`mpirun` of Open MPI",
    .marks = {"OMPI_COMM_WORLD_RANK"},
    .read = openmpi_read,
};
