/*  tools/top/watched_run.c - looks at one run again and again, until it has ended. */
#include "tools/top/watched_run.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void tnd_watched_run_begin(tnd_watched_run_t *self, const char *name, tnd_remote_hosts_t *hosts,
                           uint64_t patience_ns)
{
    *self =
        (tnd_watched_run_t){.name = name, .hosts = hosts, .patience_ns = patience_ns, .file = -1};
}

/*  Whether this is the run that is watched, or one to begin with. */
static bool is_watched(const tnd_watched_run_t *self, const tnd_inspected_t *process)
{
    if (self->snapshot != NULL)
        return process->session == self->snapshot->session &&
               strcmp(process->run, self->snapshot->run) == 0;
    return !process->killed && (self->name == NULL || strcmp(process->run, self->name) == 0);
}

const tnd_inspected_t *tnd_watched_run_process(const tnd_watched_run_t *self)
{
    const tnd_inspected_t *found = NULL;
    for (uint32_t p = 0; self->after != NULL && p < self->after->count; p++) {
        const tnd_inspected_t *process = &self->after->processes[p];
        if (!is_watched(self, process))
            continue;
        bool newer = found == NULL || (found->killed && !process->killed) ||
                     (found->killed == process->killed &&
                      process->record.page->started_ns > found->record.page->started_ns);
        if (newer)
            found = process;
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
    if (self->ended)
        return;
    tnd_inspection_destroy(&self->before);
    self->before = self->after;
    self->after = tnd_remote_hosts_look(self->hosts, true, self->patience_ns);
    const tnd_inspected_t *process = tnd_watched_run_process(self);
    if (process == NULL) {
        if (self->snapshot != NULL)
            take_end(self);
        return;
    }
    const tnd_inspection_t *before = self->before != NULL ? self->before : self->after;
    tnd_top_snapshot_t *snapshot = tnd_top_snapshot_new(before, self->after, process);
    tnd_top_snapshot_destroy(&self->snapshot);
    self->snapshot = snapshot;
    self->ended = process->killed && process->record.page->host == 0;
    hold_file(self, process);
}

void tnd_watched_run_free(tnd_watched_run_t *self)
{
    tnd_inspection_destroy(&self->before);
    tnd_inspection_destroy(&self->after);
    tnd_top_snapshot_destroy(&self->snapshot);
    if (self->file >= 0)
        close(self->file);
    self->file = -1;
}
