/*  tools/launch/requeue.c - queues a job of Slurm again after a drain. */
#include "tools/launch/requeue.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/topology/settings.h"
#include "tools/cli/command.h"

static const char *find_job(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    return job != NULL && *job != '\0' ? job : NULL;
}

int tnd_requeue_check(const tnd_plan_t *plan)
{
    if (find_job() == NULL)
        return tnd_usage_error("run", "--requeue: SLURM_JOB_ID is not set: only a job of Slurm can "
                                      "be queued again");
    if (plan->checkpoint == NULL || strcmp(plan->checkpoint->resume, "none") == 0)
        return tnd_usage_error("run", "--requeue: the next start would begin at the first step: "
                                      "write --resume too");
    return TND_EXIT_OK;
}

tnd_status_t tnd_requeue(tnd_error_t *error)
{
    const char *job = find_job();
    char *words[] = {(char *)"scontrol", (char *)"requeue", (char *)job, NULL};
    pid_t child;
    int status, why = posix_spawnp(&child, words[0], NULL, NULL, words, environ);
    if (why != 0)
        return tnd_fail(error, "cannot run `scontrol requeue %s`: %s", job, strerror(why));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return TND_OK;
    return tnd_fail(
        error,
        "`scontrol requeue %s` failed: unless Slurm has queued the job again itself, as it "
        "does after the loss of a node, submit it again to resume from the checkpoint",
        job);
}
