/*  runtime/launch/mpich.c - processes that mpirun of MPICH or of Intel starts. */
#include "runtime/launch/launch_internal.h"

/*  `srun --mpi=pmi2` sets PMI_RANK too, and then Slurm has more to tell. */
static bool mpich_owns(const char *const *environment)
{
    return tnd_variable(environment, "MPI_LOCALRANKID") != NULL ||
           tnd_variable(environment, "SLURM_STEP_ID") == NULL;
}

static tnd_status_t mpich_read(const char *const *environment, tnd_launch_t *launch,
                               tnd_error_t *error)
{
    static const tnd_rank_names_t names = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
                                           "MPI_LOCALNRANKS"};
    TND_TRY(tnd_launch_ranks(environment, &names, launch, error));
    tnd_launch_lead_locally(launch);
    launch->by_parent = true;
    return TND_OK;
}

const tnd_launcher_t tnd_launcher_mpich = {
    .name = "mpich",
    .start = "`mpirun` of MPICH",
    .marks = {"PMI_RANK"},
    .owns = mpich_owns,
    .read = mpich_read,
};
