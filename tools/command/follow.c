/*  tools/command/follow.c - `tundish follow`: shows every hop of one position. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tools/cli/command.h"
#include "tools/events/event_text.h"
#include "tools/events/event_watch.h"
#include "tools/events/hops.h"

typedef struct {
    const tnd_request_t *request;
    tnd_hops_t hops;
    uint64_t zero_ns;
} follow_t;

static bool take(void *context, const tnd_event_entry_t *entry)
{
    follow_t *follow = context;
    if (!tnd_hops_take(&follow->hops, &entry->event, strcmp(entry->kind, "batcher") == 0))
        return true;
    if (follow->zero_ns == 0)
        follow->zero_ns = entry->event.end_ns;
    if (follow->request->json)
        tnd_event_print_json(stdout, entry);
    else
        tnd_event_print(stdout, entry, follow->zero_ns);
    return !follow->hops.committed;
}

static int begin(void *context, const tnd_event_stream_t *stream)
{
    (void)context;
    tnd_event_check_stopped("follow", stream, NULL);
    return -1;
}

static int follow(const tnd_request_t *request)
{
    if (request->sample == UINT64_MAX)
        return tnd_usage_error("follow", "--sample POSITION is missing");
    follow_t self = {.request = request,
                     .hops = {.position = request->sample, .partial = request->last}};
    tnd_event_watch_t watch = {
        .command = "follow",
        .request = request,
        .run = request->file_count > 0 ? request->files[0] : NULL,
        .past = true,
        .take = take,
        .begin = begin,
        .context = &self,
    };
    int code = tnd_event_watch(&watch);
    if (code != TND_EXIT_OK || self.hops.found)
        return code;
    if (watch.missed > 0)
        tnd_complain("follow",
                     "position %" PRIu64 " is not in the recorded events; %" PRIu64
                     " events before "
                     "them are not recorded any more, so it may have passed",
                     request->sample, watch.missed);
    else
        tnd_complain("follow", "position %" PRIu64 " did not pass", request->sample);
    return TND_EXIT_FAILED;
}

const tnd_command_t tnd_command_follow;
const tnd_command_t tnd_command_follow = {
    .name = "follow",
    .operands = "[RUN]",
    .summary = "shows every hop of one position, from its ticket to the commit of its step",
    .arguments = (const char *const[]){"--sample", "--duration", "--last", "--json", NULL},
    .details =
        "Prints the events of the tickets and blocks that contain --sample POSITION, attempts\n"
        "included, then those of the step that it becomes a part of, until the step is\n"
        "committed.  It begins with the recorded events, so a position that passed a moment ago\n"
        "is found too.  It follows the first lane and epoch in which a ticket asks for the\n"
        "position; with --last also a way whose beginning is not recorded any more.  Times are\n"
        "seconds since the first event.  With buckets, the step may be another one.\n",
    .codes = "  0   shown\n"
             "  1   the run does not exist here, or the position did not pass in time,\n"
             "      or is not recorded any more\n"
             "  2   usage\n",
    .operands_max = 1,
    .run = follow,
};
