/*  tools/remote/remote_hosts.c - looks at the hosts of runs on other machines. */
#include "tools/remote/remote_hosts.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/plan/machine.h"
#include "tools/remote/leader_link.h"
#include "tools/remote/remote_command.h"
#include "tools/remote/remote_presence.h"
#include "tools/remote/remote_stream.h"

enum { STREAMS_MAX = 256 };

/*  Hosts answer by the leader every 150 ms, without a command that has to start. */
static const uint64_t leader_patience_ns = 1500000000;

/*  A host that was found in a run page. */
typedef struct {
    char name[64], address[64];
    bool here;         /* its address is one of this machine */
    uint32_t stream;   /* UINT32_MAX: none */
    tnd_error_t error; /* why it has none */
} remote_host_t;

struct tnd_remote_hosts {
    const char *via, *address; /* of the leader */
    tnd_leader_link_t *leader; /* instead of `via`; NULL: none */
    remote_host_t *hosts;
    size_t count, room;
    tnd_remote_stream_t *streams[STREAMS_MAX];
    uint32_t stream_count;
};

tnd_status_t tnd_remote_hosts_new(tnd_remote_hosts_t **self_p, const char *via, const char *leader,
                                  tnd_error_t *error)
{
    tnd_leader_link_t *link = NULL;
    *self_p = NULL;
    if (via != NULL && leader != NULL)
        return tnd_fail(error, "--via and --leader are two ways to the same hosts: give one");
    if (via != NULL)
        TND_TRY(tnd_remote_command_check(via, error));
    if (leader != NULL)
        TND_TRY(tnd_leader_link_new(&link, leader, error));
    *self_p = tnd_allocate_zeroed(1, sizeof **self_p);
    (*self_p)->via = via;
    (*self_p)->address = leader;
    (*self_p)->leader = link;
    return TND_OK;
}

void tnd_remote_hosts_destroy(tnd_remote_hosts_t **self_p)
{
    tnd_remote_hosts_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    tnd_leader_link_destroy(&self->leader);
    for (uint32_t s = 0; s < self->stream_count; s++)
        tnd_remote_stream_end(self->streams[s]);
    for (uint32_t s = 0; s < self->stream_count; s++)
        tnd_remote_stream_destroy(&self->streams[s]);
    free(self->hosts);
    free(self);
}

const char *tnd_remote_hosts_leader(const tnd_remote_hosts_t *self)
{
    return self->address;
}

/* --- which hosts are asked -------------------------------------------------------------------- */

static remote_host_t *find(const tnd_remote_hosts_t *self, const tnd_host_record_t *record)
{
    for (size_t h = 0; h < self->count; h++)
        if (strcmp(self->hosts[h].name, record->name) == 0 &&
            strcmp(self->hosts[h].address, record->address) == 0)
            return &self->hosts[h];
    return NULL;
}

/*  A stream with these words; several hosts of one machine share it. */
static uint32_t stream_of(tnd_remote_hosts_t *self, const char *address, char **words,
                          tnd_error_t *error)
{
    for (uint32_t s = 0; s < self->stream_count; s++)
        if (tnd_remote_stream_runs(self->streams[s], words)) {
            tnd_remote_command_free(words);
            return s;
        }
    if (self->stream_count == STREAMS_MAX) {
        tnd_remote_command_free(words);
        (void)tnd_fail(error, "at most %d machines are asked", STREAMS_MAX);
        return UINT32_MAX;
    }
    self->streams[self->stream_count] = tnd_remote_stream_new(words, address);
    return self->stream_count++;
}

static remote_host_t *add(tnd_remote_hosts_t *self, const tnd_host_record_t *record)
{
    self->hosts = tnd_grow(self->hosts, self->count, &self->room, sizeof *self->hosts);
    remote_host_t *host = &self->hosts[self->count++];
    *host = (remote_host_t){.stream = UINT32_MAX, .here = tnd_machine_has(record->address)};
    snprintf(host->name, sizeof host->name, "%s", record->name);
    snprintf(host->address, sizeof host->address, "%s", record->address);
    if (host->here)
        return host;
    static const char *const look[] = {"ps", "--stream", "--pages", "--interval=100ms", NULL};
    char **words = tnd_remote_command_new(self->via, host->name, host->address, look, &host->error);
    if (words != NULL)
        host->stream = stream_of(self, host->address, words, &host->error);
    return host;
}

static bool has_process(const tnd_inspection_t *look, const tnd_inspected_t *process,
                        const char *host)
{
    for (uint32_t p = 0; p < look->count; p++)
        if (tnd_inspected_same(&look->processes[p], process) &&
            strcmp(look->processes[p].host, host) == 0)
            return true;
    return false;
}

/*  Whether a host of a run may have a process on another machine.  Isolated workers are on the
 *  machine of the host that starts them. */
static bool is_asked(const tnd_inspection_t *look, const tnd_inspected_t *process,
                     const tnd_host_record_t *host)
{
    return host->parent == UINT32_MAX && host->address[0] != '\0' &&
           !(host->spare != 0 && host->process == 0) && !has_process(look, process, host->name);
}

/*  The next run of `look`, as the process of it that knows most; NULL: there is none. */
static const tnd_inspected_t *next_run(const tnd_inspection_t *look, uint32_t *at_p)
{
    while (*at_p < look->count) {
        uint32_t p = (*at_p)++;
        if (p > 0 && tnd_inspected_same(&look->processes[p], &look->processes[p - 1]))
            continue;
        return tnd_inspection_leader(look, &look->processes[p]);
    }
    return NULL;
}

static void start(tnd_remote_hosts_t *self, const tnd_inspection_t *look)
{
    const tnd_inspected_t *run;
    for (uint32_t at = 0; (run = next_run(look, &at)) != NULL;)
        for (uint32_t h = 0; h < run->record.shape.hosts; h++)
            if (!run->foreign && is_asked(look, run, &run->record.hosts[h]) &&
                find(self, &run->record.hosts[h]) == NULL)
                (void)add(self, &run->record.hosts[h]);
}

/* --- waiting for answers ---------------------------------------------------------------------- */

static bool is_awaited(const tnd_remote_stream_t *stream, uint64_t from, uint64_t now)
{
    uint64_t last = tnd_remote_stream_heard(stream);
    uint64_t since = last != 0 ? last : tnd_remote_stream_started(stream);
    return tnd_remote_stream_is_open(stream) && last < from && now < since + TND_REMOTE_PATIENCE_NS;
}

/*  Reads what has arrived.  Returns whether an answer is awaited. */
static bool read_all(tnd_remote_hosts_t *self, uint64_t from)
{
    bool awaited = false;
    uint64_t now = tnd_clock_now();
    for (uint32_t s = 0; s < self->stream_count; s++) {
        tnd_remote_stream_read(self->streams[s], now);
        awaited = awaited || is_awaited(self->streams[s], from, now);
    }
    return awaited;
}

static void wait_for_answers(tnd_remote_hosts_t *self, uint64_t wait_ns)
{
    struct pollfd *files = tnd_allocate_zeroed(2 * self->stream_count + 1u, sizeof *files);
    uint64_t from, end;
    (void)read_all(self, 0); /* what was printed before this look */
    from = tnd_clock_now();
    end = from + wait_ns;
    while (read_all(self, from) && tnd_clock_now() < end) {
        nfds_t count = 0;
        for (uint32_t s = 0; s < self->stream_count; s++)
            count += tnd_remote_stream_poll(self->streams[s], files + count);
        /* Short, because patience with a silent host may end in between. */
        (void)poll(files, count, 20);
    }
    free(files);
}

/* --- adding what they print ------------------------------------------------------------------- */

/*  Whether a run of this machine has the process, which is not of this machine itself. */
static bool is_wanted(const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    bool same_run = false;
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *other = &look->processes[p];
        bool same = tnd_inspected_same(other, process);
        if (same && strcmp(other->host, process->host) == 0 && other->process == process->process)
            return false;
        same_run = same_run || same;
    }
    return same_run;
}

static void add_answers(tnd_remote_hosts_t *self, tnd_inspection_t *look)
{
    for (uint32_t s = 0; s < self->stream_count; s++) {
        const tnd_remote_stream_t *stream = self->streams[s];
        tnd_inspection_t *answer = tnd_remote_stream_look(self->streams[s]);
        if (answer == NULL)
            continue;
        bool silent = tnd_remote_stream_is_silent(stream, look->now_ns, TND_REMOTE_PATIENCE_NS);
        for (uint32_t p = 0; p < answer->count; p++) {
            if (!is_wanted(look, &answer->processes[p]))
                continue;
            answer->processes[p].silent_ns = silent ? tnd_remote_stream_heard(stream) : 0;
            tnd_inspection_move(look, &answer->processes[p]);
        }
        tnd_inspection_destroy(&answer);
    }
    tnd_inspection_sort(look);
}

/*  Writes why a host is not shown, or not as it is now; nothing if all is well. */
static void print_host(FILE *out, const tnd_remote_hosts_t *self, const remote_host_t *remote,
                       const tnd_inspection_t *look, const tnd_inspected_t *run,
                       const tnd_host_record_t *host)
{
    bool shown = has_process(look, run, host->name), silent = false;
    char why[512] = "";
    if (remote->stream == UINT32_MAX) {
        snprintf(why, sizeof why, "%s", remote->error.text);
    } else {
        const tnd_remote_stream_t *stream = self->streams[remote->stream];
        silent = tnd_remote_stream_is_silent(stream, look->now_ns, TND_REMOTE_PATIENCE_NS);
        tnd_remote_stream_problem(stream, look->now_ns, TND_REMOTE_PATIENCE_NS, why, sizeof why);
    }
    bool is_new =
        host->presence == TND_PRESENCE_UP && look->now_ns < host->since_ns + TND_REMOTE_PATIENCE_NS;
    bool absent =
        is_new || host->presence == TND_PRESENCE_EXPECTED || host->presence == TND_PRESENCE_LEFT;
    bool heard =
        remote->stream != UINT32_MAX && tnd_remote_stream_heard(self->streams[remote->stream]) != 0;
    if (why[0] == '\0' && heard && !shown && !absent && tnd_inspection_runs(look, run))
        snprintf(why, sizeof why,
                 "no process of run %s is there for this user: it has ended, or another user "
                 "started it",
                 run->run);
    if (why[0] == '\0')
        return;
    fprintf(out, "host %s (%s): %s", host->name, host->address, why);
    tnd_remote_presence_print(out, host, look->now_ns);
    if (shown && silent)
        fputs("; it is shown as it was", out);
    fputs("\n", out);
}

static void print_problems(const tnd_remote_hosts_t *self, tnd_inspection_t *look)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    const tnd_inspected_t *run;
    fputs(look->unread, out);
    for (uint32_t at = 0; (run = next_run(look, &at)) != NULL;)
        for (uint32_t h = 0; h < run->record.shape.hosts; h++) {
            const tnd_host_record_t *host = &run->record.hosts[h];
            const remote_host_t *remote = find(self, host);
            if (remote != NULL && !remote->here && host->parent == UINT32_MAX)
                print_host(out, self, remote, look, run, host);
        }
    fclose(out);
    free(look->unread);
    look->unread = text;
}

tnd_inspection_t *tnd_remote_hosts_look(tnd_remote_hosts_t *self, const char *run, tnd_look_t what,
                                        uint64_t wait_ns)
{
    if (self->leader != NULL)
        return tnd_leader_link_look(self->leader, what, wait_ns, leader_patience_ns);
    tnd_inspection_t *look = tnd_inspection_of_run(run, what);
    if (self->via == NULL)
        return look;
    start(self, look);
    if (self->stream_count > 0) {
        wait_for_answers(self, wait_ns);
        tnd_inspection_destroy(&look);
        look = tnd_inspection_of_run(run, what);
    }
    add_answers(self, look);
    print_problems(self, look);
    return look;
}
