/*  Covers what each launcher sets, as its own manual and trials with it say. */
#include "runtime/launch/launch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { VARIABLES = 12 };

/*  The facts in one line; the error if there is one. */
static const char *facts(const char *const *environment, const char *wanted)
{
    static char text[640];
    char known[256];
    tnd_launch_t launch;
    tnd_error_t error;
    if (tnd_launch_read(&launch, environment, wanted, &error) != TND_OK) {
        snprintf(text, sizeof text, "error: %s", error.text);
        return text;
    }
    snprintf(text, sizeof text, "%s; local %d of %d; leader %s:%u%s; restarts %u; %s",
             tnd_launch_text(&launch, known, sizeof known), (int)launch.local_rank,
             (int)launch.local_size, launch.leader, launch.port, launch.port_taken ? " taken" : "",
             launch.restarts, launch.hint);
    return text;
}

#define SLURM                                                                                      \
    "SLURM_JOB_ID=17", "SLURM_NTASKS=4", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4",              \
        "SLURM_STEP_NODELIST=c[2-3]"
#define TORCHRUN "RANK=3", "WORLD_SIZE=4", "MASTER_ADDR=c2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2"

Test(launch, reads_what_each_launcher_sets)
{
    static const struct {
        const char *environment[VARIABLES], *facts;
    } cases[] = {
        {{"HOME=/", "RANKS=3"}, "none; local 0 of 0; leader :0; restarts 0; "},
        {{SLURM, "SLURM_PROCID=2", "SLURM_LOCALID=1", "SLURM_RESTART_COUNT=1"},
         "slurm job 17, rank 2 of 4; local 1 of -1; leader c2:0; restarts 1; "},
        {{"SLURM_JOB_ID=17", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2",
          "SLURM_STEP_NODELIST=c2"},
         "slurm job 17, rank 1 of 2; local -1 of 2; leader c2:0; restarts 0; "},
        {{TORCHRUN, "MASTER_PORT=29500", "TORCHELASTIC_RUN_ID=a", "TORCHELASTIC_RESTART_COUNT=2",
          "TORCHELASTIC_USE_AGENT_STORE=True"},
         "torchrun job a, rank 3 of 4; local 1 of 2; leader c2:29500 taken; restarts 2; "},
        {{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1",
          "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=312"},
         "openmpi job 312, rank 1 of 2; local 1 of 2; leader 127.0.0.1:0; restarts 0; "},
        {{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0",
          "OMPI_COMM_WORLD_LOCAL_SIZE=1"},
         "openmpi, rank 1 of 2; local 0 of 1; leader :0; restarts 0; "},
        {{"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"},
         "mpich, rank 1 of 2; local 1 of 2; leader 127.0.0.1:0; restarts 0; "},
        {{"JOB_COMPLETION_INDEX=2", "TUNDISH_HOSTS=3", "HOSTNAME=train-2"},
         "kubernetes job train, rank 2 of 3; local -1 of -1; leader :0; restarts 0; "},
        {{"TUNDISH_RANK=0", "TUNDISH_HOSTS=2", "TUNDISH_LEADER=a.example", "TUNDISH_JOB=j"},
         "hand job j, rank 0 of 2; local -1 of -1; leader a.example:0; restarts 0; "},
        /* A launcher that was started by another. */
        {{SLURM, "SLURM_PROCID=0", TORCHRUN},
         "torchrun, rank 3 of 4; local 1 of 2; leader c2:0; restarts 0; "},
        {{SLURM, "SLURM_PROCID=0", "PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALRANKID=1"},
         "mpich, rank 3 of 4; local 1 of -1; leader :0; restarts 0; "},
        /* `srun --mpi=pmi2` sets PMI_RANK. */
        {{SLURM, "SLURM_PROCID=3", "PMI_RANK=3", "PMI_SIZE=4"},
         "slurm job 17, rank 3 of 4; local -1 of -1; leader c2:0; restarts 0; "},
        /* A variable without a value counts as absent. */
        {{"TF_CONFIG=", "RANK=", "WORLD_SIZE=2", "MASTER_ADDR=a"},
         "none; local 0 of 0; leader :0; restarts 0; "},
        {{"TUNDISH_LAUNCH=none", TORCHRUN}, "none; local 0 of 0; leader :0; restarts 0; "},
        {{"TUNDISH_LAUNCH=torchrun", "PMI_RANK=0", "PMI_SIZE=1", TORCHRUN},
         "torchrun, rank 3 of 4; local 1 of 2; leader c2:0; restarts 0; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = facts(cases[i].environment, NULL);
        cr_expect_str_eq(found, cases[i].facts, "case %zu: %s", i, found);
    }
}

#define HINT                                                                                       \
    "none; local 0 of 0; leader :0; restarts 0; the Slurm job has 4 tasks, but this process was "  \
    "not started by srun: write `srun` before the command"

Test(launch, scripts_of_slurm_are_one_process)
{
    static const struct {
        const char *environment[VARIABLES], *facts;
    } cases[] = {
        /* A batch script, salloc, and the shell that salloc may start in a step of its own. */
        {{"SLURM_JOB_ID=17", "SLURM_NTASKS=4", "SLURM_PROCID=0"}, HINT},
        {{"SLURM_JOB_ID=17", "SLURM_NTASKS=4"}, HINT},
        {{"SLURM_JOB_ID=17", "SLURM_NTASKS=4", "SLURM_STEP_ID=4294967290", "SLURM_PROCID=0"}, HINT},
        {{"SLURM_JOB_ID=17", "SLURM_NTASKS=1", "SLURM_PROCID=0"},
         "none; local 0 of 0; leader :0; restarts 0; "},
        {{"JOB_COMPLETION_INDEX=2"},
         "none; local 0 of 0; leader :0; restarts 0; the pod has JOB_COMPLETION_INDEX, but not "
         "TUNDISH_HOSTS: set it to the completions of the Job for a run of all its pods"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = facts(cases[i].environment, "auto");
        cr_expect_str_eq(found, cases[i].facts, "case %zu: %s", i, found);
    }
}

Test(launch, errors_name_variable_value_and_what_to_write)
{
    static const struct {
        const char *wanted, *environment[VARIABLES], *error;
    } cases[] = {
        {"auto",
         {"RANK=4", "WORLD_SIZE=4", "MASTER_ADDR=a"},
         "RANK=4: write a rank from 0 to 3, because WORLD_SIZE=4"},
        {"auto",
         {"RANK=x", "WORLD_SIZE=4", "MASTER_ADDR=a"},
         "RANK=x: write a whole number from 0 to 4294967294"},
        {"auto",
         {"RANK=-1", "WORLD_SIZE=4", "MASTER_ADDR=a"},
         "RANK=-1: write a whole number from 0 to 4294967294"},
        {"auto",
         {"RANK=0", "WORLD_SIZE=0", "MASTER_ADDR=a"},
         "WORLD_SIZE=0: write a whole number from 1 to 4294967294"},
        {"auto",
         {"RANK=0", "WORLD_SIZE=4294967295", "MASTER_ADDR=a"},
         "WORLD_SIZE=4294967295: write a whole number from 1 to 4294967294"},
        {"auto",
         {"RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=a", "MASTER_PORT=65536"},
         "MASTER_PORT=65536: write a whole number from 1 to 65535"},
        {"auto", {"TUNDISH_RANK=0"}, "TUNDISH_HOSTS is not set: write a whole number from 1"},
        {"auto", {"PMI_RANK=0"}, "PMI_SIZE is not set: write a whole number from 1"},
        {"auto",
         {"PMI_RANK=0", "PMI_SIZE=4", "MPI_LOCALRANKID=2", "MPI_LOCALNRANKS=2"},
         "MPI_LOCALRANKID=2: write a rank from 0 to 1, because MPI_LOCALNRANKS=2"},
        {"auto",
         {"SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1",
          "SLURM_STEP_NODELIST=c[2-1]"},
         "SLURM_STEP_NODELIST=c[2-1]: character 3: the range ends before it begins"},
        {"slurm",
         {"SLURM_JOB_ID=17", "SLURM_NTASKS=4"},
         "slurm was asked for, but SLURM_STEP_ID is not set: it is set by `srun`"},
        {"slrum", {NULL}, "no launcher is named 'slrum'; did you mean 'slurm'?"},
        {"pbs",
         {NULL},
         "no launcher is named 'pbs'; write one of: auto, none, tf_config, torchrun, openmpi, "
         "mpich, slurm, kubernetes, hand"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = facts(cases[i].environment, cases[i].wanted);
        cr_expect_eq(strncmp(found, "error: ", 7), 0, "case %zu: %s", i, found);
        cr_expect_str_eq(found + 7, cases[i].error, "case %zu: %s", i, found);
    }
}
