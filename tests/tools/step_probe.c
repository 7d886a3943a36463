/*  tests/tools/step_probe.c - a step that fails, crashes, exits or never returns where its options
 * say. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tundish/tundish.h>
#include <unistd.h>

typedef struct {
    uint64_t fail_at, crash_at, hang_at, exit_at, rare_at;
    bool save_fails, means, crash_evaluate;
} probe_t;

static uint64_t option(const char *options, const char *name)
{
    const char *at = strstr(options, name);
    at = at != NULL ? strpbrk(at, "0123456789") : NULL;
    return at != NULL ? strtoull(at, NULL, 10) : UINT64_MAX;
}

static tnd_status_t probe_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    (void)replica;
    probe_t *probe = malloc(sizeof *probe);
    if (probe == NULL)
        return TND_FAILED;
    *probe = (probe_t){option(options, "fail_at"),       option(options, "crash_at"),
                       option(options, "hang_at"),       option(options, "exit_at"),
                       option(options, "rare_at"),       strstr(options, "save_fails") != NULL,
                       strstr(options, "means") != NULL, strstr(options, "crash_evaluate") != NULL};
    *model_p = probe;
    return TND_OK;
}

/*  The mean of column y, times the number of the epoch from 1 on: a report for each row. */
static void report_means(const probe_t *probe, tnd_replica_t *replica)
{
    const int64_t *y = tnd_replica_column(replica, "y");
    for (size_t i = 0; i < tnd_replica_rows(replica); i++)
        tnd_replica_report(replica, "y", (double)y[i] * (double)(tnd_replica_epoch(replica) + 1),
                           1);
    if (tnd_replica_step(replica) == probe->rare_at)
        tnd_replica_report(replica, "rare", 1, 1);
}

static tnd_status_t probe_step(void *model, tnd_replica_t *replica)
{
    const probe_t *probe = model;
    if (tnd_replica_step(replica) == probe->crash_at &&
        tnd_replica_id(replica) ==
            (uint32_t)atoi(getenv("PROBE_REPLICA") ? getenv("PROBE_REPLICA") : "0"))
        raise(SIGSEGV);
    while (tnd_replica_step(replica) == probe->hang_at)
        pause();
    if (tnd_replica_step(replica) == probe->exit_at)
        exit(3);
    if (tnd_replica_step(replica) == probe->fail_at) {
        tnd_replica_error(replica, "the probe fails as it was told");
        return TND_FAILED;
    }
    if (probe->means) {
        report_means(probe, replica);
        return TND_OK;
    }
    if (getenv("PROBE_METRIC") != NULL)
        tnd_replica_report(replica, getenv("PROBE_METRIC"), 1, 1);
    tnd_replica_report(replica, "size", (double)tnd_replica_rows(replica), 1);
    return TND_OK;
}

static tnd_status_t probe_evaluate(void *model, tnd_replica_t *replica)
{
    const probe_t *probe = model;
    if (probe->crash_evaluate)
        raise(SIGSEGV);
    return probe_step(model, replica);
}

static tnd_status_t probe_load(void *model, const char *file)
{
    (void)model;
    return access(file, R_OK) == 0 ? TND_OK : TND_FAILED;
}

static tnd_status_t probe_save(void *model, const char *file)
{
    const probe_t *probe = model;
    const char *folder = getenv("PROBE_SAVE_FAILS_IN");
    bool fails = probe->save_fails || (folder != NULL && strstr(file, folder) == file);
    FILE *out = fopen(file, "w");
    if (out != NULL)
        fputs("a model", out);
    if (out != NULL && fclose(out) == 0 && !fails)
        return TND_OK;
    errno = ENOSPC;
    return TND_FAILED;
}

TND_API extern const tnd_step_ops_t tnd_step_probe;
const tnd_step_ops_t tnd_step_probe = {
    .abi = TND_ABI,
    .name = "probe",
    .open = probe_open,
    .step = probe_step,
    .evaluate = probe_evaluate,
    .save = probe_save,
    .load = probe_load,
    .close = free,
};
