/*  runtime/launch/launch.c - finds the launcher of an environment. */
#include "runtime/launch/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/launch/launch_internal.h"
#include "runtime/text/diagnostic.h"

static const tnd_launcher_t *const launchers[] = {
#define LAUNCHER(name) &tnd_launcher_##name,
#include "runtime/launch/launchers.def"
#undef LAUNCHER
};

enum { COUNT = sizeof launchers / sizeof launchers[0] };

const char *tnd_launcher_name(const tnd_launcher_t *self)
{
    return self != NULL ? self->name : "none";
}

const char *tnd_launcher_leader_by(const tnd_launcher_t *self)
{
    return self != NULL && self->leader_by != NULL ? self->leader_by : "";
}

/*  The first variable that is not set; NULL: all are. */
static const char *find_missing(const tnd_launcher_t *self, const char *const *environment)
{
    for (size_t m = 0; self->marks[m] != NULL; m++)
        if (tnd_variable(environment, self->marks[m]) == NULL)
            return self->marks[m];
    return NULL;
}

static bool is_present(const tnd_launcher_t *self, const char *const *environment)
{
    return find_missing(self, environment) == NULL &&
           (self->owns == NULL || self->owns(environment));
}

static tnd_status_t read_by(tnd_launch_t *self, const tnd_launcher_t *launcher,
                            const char *const *environment, tnd_error_t *error)
{
    *self = (tnd_launch_t){.launcher = launcher};
    TND_TRY(launcher->read(environment, self, error));
    if (self->size == 0)
        *self = (tnd_launch_t){.size = 1};
    return TND_OK;
}

/*  A script of a job with several tasks runs once; srun starts the tasks. */
static void set_hint(tnd_launch_t *self, const char *const *environment)
{
    const char *tasks = tnd_variable(environment, "SLURM_NTASKS");
    if (self->launcher != NULL)
        return;
    if (tasks != NULL && strtoul(tasks, NULL, 10) > 1)
        snprintf(self->hint, sizeof self->hint,
                 "the Slurm job has %.20s tasks, but this process was not started by srun: write "
                 "`srun` before the command",
                 tasks);
    else if (tnd_variable(environment, "JOB_COMPLETION_INDEX") != NULL)
        snprintf(self->hint, sizeof self->hint,
                 "the pod has JOB_COMPLETION_INDEX, but not TUNDISH_HOSTS: set it to the "
                 "completions of the Job for a run of all its pods");
}

static tnd_status_t find(tnd_launch_t *self, const char *const *environment, tnd_error_t *error)
{
    for (size_t i = 0; i < COUNT && self->launcher == NULL; i++)
        if (is_present(launchers[i], environment))
            TND_TRY(read_by(self, launchers[i], environment, error));
    set_hint(self, environment);
    return TND_OK;
}

static tnd_status_t refuse_unknown(const char *wanted, tnd_error_t *error)
{
    char names[160] = "auto, none";
    size_t used = strlen(names);
    tnd_nearest_t nearest = {.word = wanted};
    for (size_t i = 0; i < COUNT; i++) {
        tnd_nearest_offer(&nearest, launchers[i]->name);
        used += (size_t)snprintf(names + used, sizeof names - used, ", %s", launchers[i]->name);
    }
    if (nearest.best != NULL)
        return tnd_fail(error, "no launcher is named '%.64s'; did you mean '%s'?", wanted,
                        nearest.best);
    return tnd_fail(error, "no launcher is named '%.64s'; write one of: %s", wanted, names);
}

static tnd_status_t read_wanted(tnd_launch_t *self, const char *const *environment,
                                const char *wanted, tnd_error_t *error)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(launchers[i]->name, wanted) != 0)
            continue;
        const char *missing = find_missing(launchers[i], environment);
        if (missing != NULL)
            return tnd_fail(error, "%s was asked for, but %s is not set: it is set by %s", wanted,
                            missing, launchers[i]->start);
        return read_by(self, launchers[i], environment, error);
    }
    return refuse_unknown(wanted, error);
}

tnd_status_t tnd_launch_read(tnd_launch_t *self, const char *const *environment, const char *wanted,
                             tnd_error_t *error)
{
    *self = (tnd_launch_t){.size = 1};
    if (wanted == NULL)
        wanted = tnd_variable(environment, "TUNDISH_LAUNCH");
    if (wanted == NULL || strcmp(wanted, "auto") == 0)
        return find(self, environment, error);
    return strcmp(wanted, "none") == 0 ? TND_OK : read_wanted(self, environment, wanted, error);
}

const char *tnd_launch_text(const tnd_launch_t *self, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "%s", tnd_launcher_name(self->launcher));
    if (self->launcher == NULL)
        return text;
    if (self->job[0] != '\0' && used < room)
        used += (size_t)snprintf(text + used, room - used, " job %s", self->job);
    if (used < room && self->evaluates)
        snprintf(text + used, room - used, ", evaluator beside %" PRIu32 " process%s", self->size,
                 self->size == 1 ? "" : "es");
    else if (used < room)
        snprintf(text + used, room - used, ", rank %" PRIu32 " of %" PRIu32, self->rank,
                 self->size);
    return text;
}
