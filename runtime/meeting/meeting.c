/*  runtime/meeting/meeting.c - the processes of a launcher meet before the plan. */
#include "runtime/meeting/meeting.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/drain_signals.h"
#include "runtime/launch/launched_host.h"
#include "runtime/meeting/attendance.h"
#include "runtime/meeting/meeting_file.h"
#include "runtime/meeting/meeting_place.h"

/*  How long a process that cannot take part looks for others to tell. */
static const uint64_t decline_ns = 2000000000;

/*  The last words have a time to leave. */
static const uint64_t linger_ns = 2000000000;

/*  How long rank 0 has to answer before it is looked whether its ports are those of other programs. */
static const uint64_t foreign_wait_ns = 1000000000;

/*  How much longer than others rank 0 may take to end a session whose hosts were lost. */
static const uint64_t session_end_ns = 20000000000;

static tnd_meeting_end_t meet(tnd_attendance_t *self, bool again)
{
    self->context = self->network->create();
    self->until_ns = tnd_clock_now() + self->plan->start_timeout_ns;
    self->foreign_ns = tnd_clock_now() + foreign_wait_ns;
    if (again && self->own.process.rank > 0)
        self->until_ns += session_end_ns;
    tnd_meeting_end_t end =
        self->own.process.rank == 0 ? tnd_attendance_lead(self) : tnd_attendance_follow(self);
    bool has_words = self->is_reached || self->own.process.rank == 0;
    if (self->hub != NULL)
        tnd_hub_close(&self->hub, has_words ? linger_ns : 0);
    self->network->destroy(&self->context); /* and with it the port is free */
    return end;
}

/*  Without those that are missing, ranks are counted again. */
static void renumber(tnd_launch_t *launch, const tnd_roster_list_t *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->processes[i].rank == launch->rank) {
            launch->rank = i;
            break;
        }
    launch->size = list->count;
}

void tnd_meeting_expect(tnd_graph_t *graph, const tnd_launch_t *launch)
{
    if (launch->launcher != NULL && launch->size > 1)
        tnd_graph_launched(graph, &(tnd_roster_list_t){.count = launch->size});
}

static tnd_meeting_end_t check_insecure(const tnd_attendance_t *self,
                                        const tnd_meeting_place_t *place)
{
    if (place->is_local || self->plan->admission.insecure)
        return TND_MEETING_HELD;
    (void)tnd_fail(self->error,
                   "the processes are on several machines, and their connections are not secured: "
                   "in a network that you trust, add `insecure: true`");
    return TND_MEETING_TOPOLOGY;
}

/*  What is kept of a meeting while the run goes on. */
typedef struct {
    tnd_liveness_t *liveness;
    tnd_meeting_place_t place; /* of the file of rank 0 */
    char folder[PATH_MAX];
    uint64_t life; /* 0: nothing has to be removed */
} kept_t;

static void end_kept(void *context)
{
    kept_t *kept = context;
    tnd_error_t error;
    tnd_liveness_destroy(&kept->liveness);
    if (kept->life != 0)
        (void)tnd_meeting_file_remove(&kept->place, kept->life, &error);
    free(kept);
}

/*  A process that comes late finds the run by the file, and waits for its next start. */
static void keep_file(const tnd_attendance_t *self, kept_t *kept)
{
    kept->place = *self->place;
    kept->life = self->file.life;
    snprintf(kept->folder, sizeof kept->folder, "%s", self->place->folder);
    kept->place.folder = kept->folder;
}

static void keep(tnd_attendance_t *self, tnd_graph_t *graph)
{
    kept_t *kept = tnd_allocate_zeroed(1, sizeof *kept);
    kept->liveness = self->list.liveness = self->liveness;
    if (self->place->folder != NULL && self->own.process.rank == 0 && self->plan->restarts.run > 0)
        keep_file(self, kept);
    tnd_graph_undo_at_end(graph, end_kept, kept);
}

static bool spans_machines(const tnd_roster_list_t *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        if (strcmp(list->processes[i].machine, list->processes[0].machine) != 0)
            return true;
    return false;
}

/*  What rank 0 tells of its address, or of another process of its rank. */
static void take_hint(const tnd_attendance_t *self, tnd_launch_t *launch)
{
    const tnd_meeting_place_t *place = self->place;
    if (self->warning[0] != '\0')
        snprintf(launch->hint, sizeof launch->hint, "%s", self->warning);
    else if (place->own_name[0] != '\0' && self->own.process.rank == 0 &&
             spans_machines(&self->list))
        snprintf(
            launch->hint, sizeof launch->hint,
            "warning: %.80s is %s on this machine, which others cannot reach: it is skipped, and "
            "they use %s; remove the name from that line of /etc/hosts, or write --leader",
            place->own_name, place->leader, self->list.processes[0].address);
}

static unsigned next_number(void)
{
    static _Atomic unsigned held;
    return atomic_fetch_add(&held, 1);
}

/*  Tells the others, or rank 0, instead of taking part. */
static void decline(tnd_attendance_t *self, const char *why)
{
    tnd_plan_t brief = *self->plan;
    brief.start_timeout_ns = decline_ns;
    self->plan = &brief;
    snprintf(self->own.declines, sizeof self->own.declines, "%.*s", (int)strcspn(why, "\n"), why);
    (void)meet(self, false);
    tnd_liveness_destroy(&self->liveness);
    free((void *)self->list.processes);
}

/*  The first line of a graph's errors that is one. */
static const char *first_error(const tnd_graph_t *graph)
{
    const char *line = tnd_graph_errors(graph), *next;
    while ((next = strchr(line, '\n')) != NULL) {
        const char *mark = strstr(line, " error[");
        if (mark != NULL && mark < next)
            break;
        line = next + 1;
    }
    return line;
}

void tnd_meeting_decline(const tnd_network_t *network, tnd_graph_t *graph,
                         const tnd_launch_t *launch, const tnd_meeting_wish_t *wish)
{
    const tnd_plan_t *plan = tnd_graph_outline(graph);
    tnd_meeting_place_t place;
    tnd_error_t error;
    tnd_attendance_t self = {.network = network, .plan = plan, .place = &place, .error = &error};
    if (launch->launcher == NULL || launch->size < 2 || launch->evaluates || plan->rest_count == 0)
        return;
    if (tnd_meeting_place_find(&place, launch, plan, wish, next_number(), &error) != TND_OK ||
        place.job[0] == '\0' || check_insecure(&self, &place) != TND_MEETING_HELD ||
        tnd_meeting_place_facts(&place, launch, plan, &self.own, &error) != TND_OK)
        return;
    decline(&self, first_error(graph));
}

tnd_meeting_end_t tnd_meeting_hold(const tnd_network_t *network, tnd_graph_t *graph,
                                   tnd_launch_t *launch, const tnd_meeting_wish_t *wish,
                                   tnd_error_t *error)
{
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_meeting_place_t place;
    tnd_attendance_t self = {.network = network,
                             .plan = plan,
                             .place = &place,
                             .is_ended = wish->is_ended,
                             .error = error};
    uint32_t host;
    if (plan->rest_count == 0 || launch->launcher == NULL || launch->size == 1)
        return TND_MEETING_HELD;
    if (tnd_launched_host(launch, plan, &host, error) != TND_OK)
        return TND_MEETING_PLACE;
    tnd_status_t found = tnd_meeting_place_find(&place, launch, plan, wish, next_number(), error);
    if (found != TND_OK && tnd_attendance_is_ended(&self))
        return tnd_attendance_end(&self, TND_MEETING_ENDED, "drained before the start");
    if (found != TND_OK)
        return found == TND_AGAIN ? TND_MEETING_MISSED : TND_MEETING_PLACE;
    tnd_meeting_end_t end = check_insecure(&self, &place);
    if (end != TND_MEETING_HELD)
        return end;
    if (tnd_meeting_place_facts(&place, launch, plan, &self.own, error) != TND_OK) {
        tnd_error_t why = *error, none;
        self.error = &none;
        decline(&self, why.text);
        return TND_MEETING_TOPOLOGY;
    }
    end = meet(&self, wish->again);
    if (end != TND_MEETING_HELD) {
        tnd_liveness_destroy(&self.liveness);
        return end;
    }
    keep(&self, graph);
    renumber(launch, &self.list);
    self.list.own = &self.own;
    take_hint(&self, launch);
    tnd_graph_launched(graph, &self.list);
    free((void *)self.list.processes);
    error->text[0] = '\0';
    return tnd_graph_check(graph) == TND_OK ? TND_MEETING_HELD : TND_MEETING_TOPOLOGY;
}

tnd_status_t tnd_meeting_attend(const tnd_network_t *network, tnd_graph_t *graph,
                                tnd_launch_t *launch)
{
    tnd_error_t error;
    if (tnd_launch_read(launch, (const char *const *)environ, NULL, &error) != TND_OK) {
        tnd_graph_fail(graph, error.text);
        return TND_FAILED;
    }
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    if (plan == NULL || plan->rest_count > 0)
        tnd_meeting_expect(graph, launch);
    const tnd_meeting_wish_t wish = {.is_ended = tnd_drain_signals_came};
    if (tnd_graph_plan(graph) == NULL && tnd_graph_check(graph) != TND_OK) {
        tnd_meeting_decline(network, graph, launch, &wish);
        return TND_FAILED;
    }
    tnd_meeting_end_t end = tnd_meeting_hold(network, graph, launch, &wish, &error);
    if (end != TND_MEETING_HELD && error.text[0] != '\0')
        tnd_graph_fail(graph, error.text);
    return end == TND_MEETING_HELD ? TND_OK : end == TND_MEETING_ENDED ? TND_STOPPED : TND_FAILED;
}
