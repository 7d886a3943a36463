/*  tools/top/watched_run.c - looks at one run again and again, until it has ended. */
#include "tools/top/watched_run.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tools/choice/run_choice.h"
#include "tools/cli/json.h"
#include "tools/report/run_json.h"

void tnd_watched_run_begin(tnd_watched_run_t *self, const char *name, tnd_remote_hosts_t *hosts,
                           uint64_t patience_ns)
{
    *self = (tnd_watched_run_t){.name = name,
                                .hosts = hosts,
                                .what = TND_LOOK_HISTORIES,
                                .patience_ns = patience_ns,
                                .file = -1};
    tnd_run_choice_t choice;
    tnd_run_choice_read(&choice, name);
    if (choice.session != 0)
        tnd_watched_run_choose(self, choice.name, choice.session);
}

/*  Whether this is the run that is watched. */
static bool is_watched(const tnd_watched_run_t *self, const tnd_inspected_t *process)
{
    return self->snapshot != NULL && process->session == self->snapshot->session &&
           strcmp(process->run, self->snapshot->run) == 0;
}

/*  Whether this is a run to begin with. */
static bool is_wanted(const tnd_watched_run_t *self, const tnd_inspected_t *process)
{
    if (self->chosen != 0)
        return process->session == self->chosen && strcmp(process->run, self->chosen_run) == 0;
    return self->name == NULL || strcmp(process->run, self->name) == 0;
}

/*  The process that lives, or else was killed last, of those that `fits`. */
static const tnd_inspected_t *choose(const tnd_watched_run_t *self,
                                     bool (*fits)(const tnd_watched_run_t *self,
                                                  const tnd_inspected_t *process))
{
    const tnd_inspected_t *found = NULL;
    for (uint32_t p = 0; self->after != NULL && p < self->after->count; p++) {
        const tnd_inspected_t *process = &self->after->processes[p];
        if (!fits(self, process))
            continue;
        uint64_t begun = process->record.page->started_ns;
        bool newer = found == NULL || (found->killed && !process->killed) ||
                     (found->killed == process->killed && begun > found->record.page->started_ns);
        if (newer)
            found = process;
    }
    return found;
}

const tnd_inspected_t *tnd_watched_run_process(const tnd_watched_run_t *self)
{
    const tnd_inspected_t *found = self->snapshot != NULL ? choose(self, is_watched) : NULL;
    if (self->snapshot == NULL || self->found_dead) {
        const tnd_inspected_t *other = choose(self, is_wanted);
        if (found == NULL || (found->killed && other != NULL && !other->killed))
            found = other;
    } else if (self->ended && self->follows) {
        const tnd_inspected_t *next = choose(self, is_wanted);
        if (next != NULL && !next->killed && !is_watched(self, next))
            found = next;
    }
    return found != NULL ? tnd_inspection_leader(self->after, found) : NULL;
}

/*  Files of other machines cannot be opened here. */
static void hold_file(tnd_watched_run_t *self, const tnd_inspected_t *process)
{
    if (self->file >= 0 || process->machine[0] != '\0')
        return;
    self->file = open(process->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static void close_file(tnd_watched_run_t *self)
{
    if (self->file >= 0)
        close(self->file);
    self->file = -1;
}

/*  The files of a run that ended are removed, but an open one can be read. */
static void take_end(tnd_watched_run_t *self)
{
    tnd_inspection_t *last = self->file >= 0 ? tnd_inspection_of_file(self->file) : NULL;
    tnd_top_snapshot_end(self->snapshot, last);
    tnd_inspection_destroy(&last);
    self->ended = true;
}

void tnd_watched_run_look(tnd_watched_run_t *self)
{
    if (self->ended && !self->found_dead && !self->follows && !self->lists)
        return;
    tnd_inspection_destroy(&self->before);
    self->before = self->after;
    self->after = tnd_remote_hosts_look(self->hosts, self->lists ? NULL : self->name,
                                        self->open != NULL ? TND_LOOK_DETAILS : self->what,
                                        self->patience_ns);
    const tnd_inspected_t *process = tnd_watched_run_process(self);
    if (process == NULL) {
        if (self->snapshot != NULL && !self->ended)
            take_end(self);
        if (self->snapshot != NULL)
            tnd_top_snapshot_take_runs(
                self->snapshot, self->before != NULL ? self->before : self->after, self->after);
        return;
    }
    if (!is_watched(self, process)) {
        self->found_dead = process->killed;
        close_file(self);
    }
    const tnd_inspection_t *before = self->before != NULL ? self->before : self->after;
    tnd_top_snapshot_t *snapshot = tnd_top_snapshot_new(before, self->after, process);
    tnd_top_snapshot_destroy(&self->snapshot);
    self->snapshot = snapshot;
    tnd_top_close_up_destroy(&self->close_up);
    if (self->open != NULL)
        self->close_up = tnd_top_close_up_new(self->after, process, self->open);
    snapshot->close_up = self->close_up;
    self->ended = process->killed && process->record.page->host == 0;
    hold_file(self, process);
}

void tnd_watched_run_choose(tnd_watched_run_t *self, const char *run, uint64_t session)
{
    snprintf(self->chosen_run, sizeof self->chosen_run, "%s", run);
    self->chosen = session;
    self->name = NULL;
    self->ended = self->found_dead = false;
    tnd_top_snapshot_destroy(&self->snapshot);
    tnd_top_close_up_destroy(&self->close_up);
    close_file(self);
}

void tnd_watched_run_json(const tnd_watched_run_t *self, FILE *out)
{
    const tnd_inspected_t *process = tnd_watched_run_process(self);
    const tnd_inspection_t *before = self->before != NULL ? self->before : self->after;
    fputs("\"runs\":[", out);
    if (process != NULL)
        tnd_run_json_run(out, self->after, process);
    fputs("],\"processes\":[", out);
    bool any = false;
    for (uint32_t p = 0; process != NULL && p < self->after->count; p++) {
        if (!tnd_inspected_same(&self->after->processes[p], process))
            continue;
        fputs(any ? "," : "", out);
        tnd_run_json_process(out, before, self->after, &self->after->processes[p]);
        any = true;
    }
    fputs("],\"unread\":[", out);
    tnd_json_lines(out, self->after->unread);
    fputs("]", out);
    const tnd_machine_use_t use = tnd_machine_use(before, self->after);
    tnd_machine_use_json(&use, out);
}

void tnd_watched_run_free(tnd_watched_run_t *self)
{
    tnd_inspection_destroy(&self->before);
    tnd_inspection_destroy(&self->after);
    tnd_top_snapshot_destroy(&self->snapshot);
    tnd_top_close_up_destroy(&self->close_up);
    close_file(self);
}
