/*  runtime/launch/launched_host.c - which host of a plan a launched process is. */
#include "runtime/launch/launched_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { SHOWN_MAX = 3 }; /* hosts of an overlay that an error shows */

static bool is_launched(const tnd_plan_host_t *host)
{
    return !host->isolated && !host->spare;
}

static uint32_t count_hosts(const tnd_plan_t *plan)
{
    uint32_t count = 0;
    for (uint32_t h = 0; h < plan->host_count; h++)
        count += is_launched(&plan->hosts[h]);
    return count;
}

static bool find_name(const tnd_plan_t *plan, const char *name, uint32_t *host_p)
{
    for (uint32_t h = 0; h < plan->host_count; h++) {
        if (!is_launched(&plan->hosts[h]) || strcmp(plan->hosts[h].name, name) != 0)
            continue;
        *host_p = h;
        return true;
    }
    return false;
}

/*  `worker0` is the host of worker 0; the only chief may also be `chief`. */
static bool find_task(const tnd_plan_t *plan, const char *type, uint32_t index, uint32_t *host_p)
{
    char name[32];
    snprintf(name, sizeof name, "%s%" PRIu32, type, index);
    return find_name(plan, name, host_p) ||
           (strcmp(type, "chief") == 0 && find_name(plan, type, host_p));
}

static bool are_named(const tnd_plan_t *plan, const char *type, uint32_t count)
{
    uint32_t host;
    for (uint32_t i = 0; i < count; i++)
        if (!find_task(plan, type, i, &host))
            return false;
    return true;
}

static bool goes_by_name(const tnd_launch_tasks_t *tasks, const tnd_plan_t *plan)
{
    return tasks->type != NULL && are_named(plan, "chief", tasks->chiefs) &&
           are_named(plan, "worker", tasks->workers) && are_named(plan, "ps", tasks->servers);
}

static void find_rank(const tnd_plan_t *plan, uint32_t rank, uint32_t *host_p)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (is_launched(&plan->hosts[h]) && rank-- == 0)
            *host_p = h;
}

/*  The names of the actors once, or only those with a role. */
static void write_actors(const tnd_plan_t *plan, tnd_role_t role, bool all, FILE *out)
{
    const char *before = "";
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        bool again = !all && instance->kind->role != role;
        for (uint32_t j = 0; j < i && !again; j++)
            again = strcmp(plan->instances[j].actor, instance->actor) == 0;
        if (again)
            continue;
        fprintf(out, "%s%s", before, instance->actor);
        before = ", ";
    }
}

/*  The hosts beside the first get replicas, if the graph has enough, or else workers. */
static void write_overlay(const tnd_launch_t *launch, const tnd_plan_t *plan, FILE *out)
{
    bool here = launch->local_size == launch->size;
    tnd_role_t role = TND_ROLE_WORKER;
    if (plan->chain_count > 0 && plan->chains[0].replicas >= launch->size)
        role = TND_ROLE_FEEDER;
    fprintf(out, "%shosts:", here ? "" : "insecure: true\n");
    for (uint32_t r = 0; r < launch->size && r < SHOWN_MAX; r++) {
        fprintf(out, "\n  host%" PRIu32 ": {address: %s, %sactors: [", r,
                here ? "127.0.0.1" : "ADDRESS", r == 0 ? "port: 7100, " : "");
        write_actors(plan, role, r == 0, out);
        fputs("]}", out);
    }
    if (launch->size > SHOWN_MAX)
        fprintf(out, "\n  # and so on up to host%" PRIu32, launch->size - 1);
}

static tnd_status_t refuse_one_host(const tnd_launch_t *launch, const tnd_plan_t *plan,
                                    tnd_error_t *error)
{
    char *overlay = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&overlay, &size);
    write_overlay(launch, plan, out);
    fclose(out);
    (void)tnd_fail(
        error,
        "%s started %" PRIu32 " processes, but this topology has one host: pass an "
        "overlay such as the following, or set TUNDISH_LAUNCH=none for runs of one process\n%s",
        tnd_launcher_name(launch->launcher), launch->size, overlay);
    free(overlay);
    return TND_FAILED;
}

static tnd_status_t refuse_count(const tnd_launch_t *launch, const tnd_plan_t *plan, uint32_t hosts,
                                 tnd_error_t *error)
{
    char names[160] = "";
    size_t used = 0;
    for (uint32_t h = 0; h < plan->host_count && used < sizeof names; h++)
        if (is_launched(&plan->hosts[h]))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", plan->hosts[h].name);
    return tnd_fail(error,
                    "%s started %" PRIu32 " process%s, but this topology has %" PRIu32
                    " hosts (%s): start %" PRIu32
                    " processes, one for each host, or change `hosts:`",
                    tnd_launcher_name(launch->launcher), launch->size,
                    launch->size == 1 ? "" : "es", hosts, names, hosts);
}

tnd_status_t tnd_launched_host(const tnd_launch_t *launch, const tnd_plan_t *plan, uint32_t *host_p,
                               tnd_error_t *error)
{
    uint32_t hosts = count_hosts(plan);
    if (launch->evaluates)
        return tnd_fail(error, "TF_CONFIG: the task is an `evaluator`, which has no host: `tundish "
                               "run` evaluates each new checkpoint there; for a program that runs "
                               "all of a graph, set TUNDISH_LAUNCH=none");
    if (hosts == 1 && launch->size > 1)
        return refuse_one_host(launch, plan, error);
    if (hosts != launch->size)
        return refuse_count(launch, plan, hosts, error);
    if (goes_by_name(&launch->tasks, plan)) {
        (void)find_task(plan, launch->tasks.type, launch->tasks.index, host_p);
        return TND_OK;
    }
    if (launch->tasks.servers > 0)
        return tnd_fail(error, "TF_CONFIG has tasks `ps`, which go by name: name the hosts of the "
                               "topology chief, worker0, ps0 and so on");
    find_rank(plan, launch->rank, host_p);
    return TND_OK;
}

const char *tnd_launched_text(const tnd_launch_t *launch, const tnd_plan_t *plan, uint32_t host,
                              char *text, size_t room)
{
    char known[256], at[300] = "";
    const char *machine = plan->leader_machine != NULL ? plan->leader_machine : "";
    const tnd_plan_host_t *leader = &plan->hosts[0];
    if (plan->rest_count > 0 && plan->host_count > 1 && leader->port != 0)
        snprintf(at, sizeof at, " at %s:%" PRIu32, leader->address, leader->port);
    snprintf(text, room, "%s is host %s (%s); %s%s%s leads%s",
             tnd_launch_text(launch, known, sizeof known), plan->hosts[host].name,
             plan->hosts[host].address, leader->name, *machine != '\0' ? " on " : "", machine, at);
    return text;
}
