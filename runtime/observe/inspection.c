/*  runtime/observe/inspection.c - shows the actors of all runs on this machine. */
#include "runtime/observe/inspection.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/clock.h"
#include "runtime/base/limits.h"
#include "runtime/observe/process.h"
#include "runtime/pages/page_folders.h"
#include "runtime/text/printable.h"
#include "runtime/touch/touch.h"

/*  The most records of a file; a run has far fewer actors, hosts and edges. */
enum { COUNT_MAX = 4096, EDGES_MAX = 1 << 18, RINGS_MAX = 1 << 17 };

static const char other_version[] = "it is of another version of tundish";
static const char other_run[] = "it is of another run";

typedef struct {
    tnd_inspection_t *made;
    const char *run;             /* NULL: all */
    int process;                 /* whose file alone is wanted; 0: of all */
    const tnd_inspected_t *same; /* only running processes of its run; NULL: of all */
    tnd_look_t look;
    size_t room;
    FILE *unread;
    uint32_t others;   /* files of other versions are reported in one line */
    uint32_t version;  /* of the first one */
    char example[512]; /* its path */
} walk_t;

/*  Adds a line about a file or folder; its name may be another user's choice. */
static void report(walk_t *walk, const char *path, const char *what, const char *why)
{
    char line[800];
    snprintf(line, sizeof line, "%s: %s%s", path, what, why);
    fprintf(walk->unread, "%s\n", tnd_printable(line, sizeof line));
}

/*  Validates a page, which any process may have written. */
static void bound(tnd_statistics_t *page)
{
    (void)tnd_printable(page->actor, sizeof page->actor);
    (void)tnd_printable(page->kind, sizeof page->kind);
    if ((page->state & 0xff) > TND_STATE_FAILED)
        page->state = TND_STATE_NEW;
    if (page->peer_count > TND_PAGE_PEERS)
        page->peer_count = 0;
    for (unsigned p = 0; p < TND_PAGE_PEERS; p++) {
        unsigned char byte;
        memcpy(&byte, &page->upstream[p], 1);
        page->upstream[p] = byte == 1;
    }
    page->device_count = tnd_least(page->device_count, TND_PAGE_DEVICES);
    for (uint64_t d = 0; d < page->device_count; d++) {
        (void)tnd_printable(page->devices[d].name, sizeof page->devices[d].name);
        if ((page->devices[d].state & 0xff) >= TND_DEVICE_STATES)
            page->devices[d].state = TND_DEVICE_IDLE;
    }
}

/*  Copies a page without the devices that it does not have, most of which have none, to zeroed
 *  memory; returns false if it was cut. */
static bool take_page(int file, off_t at, tnd_statistics_t *page)
{
    const size_t front = offsetof(tnd_statistics_t, devices);
    if (pread(file, page, front, at) != (ssize_t)front)
        return false;
    size_t devices = (size_t)tnd_least(page->device_count, TND_PAGE_DEVICES);
    size_t rest = devices * sizeof page->devices[0];
    if (rest > 0 && pread(file, page->devices, rest, at + (off_t)front) != (ssize_t)rest)
        return false;
    bound(page);
    if (page->actor[0] == '\0') /* of another host */
        memset(page, 0, front + rest);
    return true;
}

/*  Copies what follows the pages of the actors; returns false if it was cut. */
static bool take_record(int file, const tnd_pages_shape_t *shape, tnd_look_t look,
                        tnd_inspected_t *process)
{
    tnd_pages_shape_t wanted = *shape;
    wanted.rings = 0; /* event_reader.h reads them */
    process->rings_at =
        (shape->actors + (uint64_t)1) * TND_PAGE_BYTES + tnd_run_record_bytes(&wanted);
    process->tap_at = (shape->actors + (uint64_t)1) * TND_PAGE_BYTES + tnd_run_record_bytes(shape);
    if (look < TND_LOOK_DETAILS)
        wanted.details = wanted.timings = 0;
    if (look < TND_LOOK_HISTORIES)
        wanted.histories = 0;
    size_t size = tnd_run_record_bytes(&wanted);
    off_t at = (off_t)(shape->actors + (uint64_t)1) * TND_PAGE_BYTES;
    process->record_memory = tnd_allocate_zeroed(size, 1);
    if (pread(file, process->record_memory, size, at) != (ssize_t)size)
        return false;
    process->record = tnd_run_record_at(process->record_memory, &wanted);
    if (look < TND_LOOK_HISTORIES)
        process->record.histories = NULL;
    if (look < TND_LOOK_DETAILS) {
        process->record.details = NULL;
        process->record.timings = NULL;
    }
    process->record.rings = NULL;
    process->record.shape.rings = shape->rings;
    tnd_run_record_bound(&process->record);
    return true;
}

/*  A copy ends before the rings. */
static bool has_room(const tnd_pages_shape_t *shape, bool is_copy, uint64_t file_bytes)
{
    tnd_pages_shape_t whole = *shape;
    whole.rings = is_copy ? 0 : shape->rings;
    if (shape->actors > COUNT_MAX || shape->hosts > COUNT_MAX || shape->edges > EDGES_MAX ||
        shape->histories > shape->actors || shape->details > shape->histories ||
        shape->rings > RINGS_MAX || shape->timings > shape->rings ||
        (shape->notes != 0 && shape->notes != TND_RUN_NOTES_KINDS))
        return false;
    return file_bytes >=
           ((uint64_t)shape->actors + 1) * TND_PAGE_BYTES + tnd_run_record_bytes(&whole);
}

/*  Why a file is not shown, or NULL.  `run`: of which run it must be; NULL: of any.  A copy is of a
 *  process of another machine. */
static const char *take_pages(int file, const char *run, tnd_look_t look, bool is_copy,
                              tnd_inspected_t *process)
{
    union {
        tnd_pages_header_t is;
        char bytes[TND_PAGE_BYTES];
    } header;
    struct stat facts;
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
        return "it is not a regular file";
    if (facts.st_size > TND_PAGES_FILE_MAX)
        return "it is larger than the statistics of any run";
    process->foreign = facts.st_uid != geteuid();
    if (pread(file, header.bytes, TND_PAGE_BYTES, 0) != TND_PAGE_BYTES ||
        memcmp(header.is.magic, "TNDPAGES", sizeof header.is.magic) != 0)
        return "it is not of tundish";
    if (header.is.version != TND_PAGES_VERSION || header.is.actor_bytes != sizeof(tnd_statistics_t))
        return other_version;
    const tnd_pages_shape_t *shape = &header.is.shape;
    if (!has_room(shape, is_copy, (uint64_t)facts.st_size))
        return "it is cut";
    if (header.is.record_bytes != tnd_run_record_bytes(shape))
        return other_version;
    (void)tnd_printable(header.is.run, sizeof header.is.run);
    (void)tnd_printable(header.is.host, sizeof header.is.host);
    if (run != NULL && strcmp(header.is.run, run) != 0)
        return other_run;
    memcpy(process->run, header.is.run, sizeof process->run);
    memcpy(process->host, header.is.host, sizeof process->host);
    process->session = header.is.session;
    process->process = header.is.process;
    process->killed_by = header.is.killed_by < NSIG ? (int)header.is.killed_by : 0;
    process->actors = tnd_allocate_zeroed(shape->actors + 1u, sizeof *process->actors);
    for (uint32_t i = 0; i < shape->actors; i++) {
        tnd_statistics_t *page = &process->actors[process->count];
        if (!take_page(file, (off_t)(i + 1) * TND_PAGE_BYTES, page))
            return "it was cut while it was read";
        uint64_t last = tnd_statistics_last(page);
        process->last_ns = last > process->last_ns ? last : process->last_ns;
        process->count += page->actor[0] != '\0';
    }
    if (!take_record(file, shape, look, process))
        return "it was cut while it was read";
    process->last_ns = tnd_pages_last(process->last_ns, process->record.page);
    /* If the number belongs to another process, that process runs in a container. */
    char state;
    if (!is_copy && tnd_process_start(process->process, &state) == header.is.process_start) {
        process->stopped = tnd_process_is_stopped(state);
        process->here = true;
    }
    return NULL;
}

static void forget(tnd_inspected_t *process)
{
    free(process->actors);
    free(process->record_memory);
    *process = (tnd_inspected_t){.process = 0};
}

/*  Whether a file may be of the wanted run: only its name is known in all versions. */
static bool may_be_wanted(const walk_t *walk, const char *name)
{
    char start[80];
    int length =
        snprintf(start, sizeof start, "tundish-%.60s-", walk->run != NULL ? walk->run : "");
    return walk->run == NULL || strncmp(name, start, (size_t)length) == 0;
}

/*  The header begins alike in all versions. */
static void note_other(walk_t *walk, const tnd_inspected_t *process, int file, const char *name)
{
    uint32_t version = 0;
    bool known = pread(file, &version, sizeof version, offsetof(tnd_pages_header_t, version)) ==
                 sizeof version;
    if (walk->others++ == 0) {
        walk->version = known ? version : 0;
        snprintf(walk->example, sizeof walk->example, "%s", process->path);
        (void)tnd_printable(walk->example, sizeof walk->example);
    }
    walk->made->others += !process->killed && may_be_wanted(walk, name);
}

static void report_others(const walk_t *walk)
{
    if (walk->others == 0)
        return;
    fprintf(walk->unread, "%" PRIu32 " page file%s of another version of tundish: not shown, ",
            walk->others, walk->others == 1 ? "" : "s");
    if (walk->version == TND_PAGES_VERSION)
        fprintf(walk->unread, "such as %s\n", walk->example);
    else
        fprintf(walk->unread, "such as %s (its statistics have version %" PRIu32 ", not %d)\n",
                walk->example, walk->version, TND_PAGES_VERSION);
}

/*  Reads the header alone if only some files are wanted. */
static bool is_wanted(const walk_t *walk, int file, bool killed)
{
    tnd_pages_header_t header;
    if (walk->process == 0 && walk->same == NULL)
        return true;
    if (killed || pread(file, &header, sizeof header, 0) != sizeof header)
        return false;
    return walk->same != NULL ? header.session == walk->same->session
                              : header.process == walk->process;
}

static void take_file(walk_t *walk, int folder, const char *path, const char *name)
{
    tnd_inspected_t process = {0};
    snprintf(process.path, sizeof process.path, "%s/%s", path, name);
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        if (errno != ENOENT)
            report(walk, process.path, "cannot be read: ", strerror(errno));
        return;
    }
    /* Checked before reading: a process that ends meanwhile was alive. */
    process.killed = flock(file, LOCK_SH | LOCK_NB) == 0;
    if (!is_wanted(walk, file, process.killed)) {
        close(file);
        return;
    }
    if (process.killed)
        tnd_touch_forget(folder, file);
    const char *why = take_pages(file, walk->run, walk->look, false, &process);
    if (why == other_run) {
        close(file);
        return;
    }
    struct stat facts;
    bool ended = why == NULL && process.record.page->outcome != 0;
    if (process.killed && (fstat(file, &facts) != 0 || facts.st_nlink == 0))
        why = ""; /* it has just ended normally */
    else if (process.killed && ended && unlinkat(folder, name, 0) == 0)
        why = ""; /* after the end of its run, of an actor that hung */
    else if (process.killed && (why != NULL || tnd_pages_are_old(process.last_ns, tnd_clock_now())))
        (void)unlinkat(folder, name, 0);
    if (why == other_version)
        note_other(walk, &process, file, name);
    close(file);
    if (why != NULL) {
        if (*why != '\0' && why != other_version)
            report(walk, process.path, "not shown: ", why);
        forget(&process);
        return;
    }
    tnd_inspection_t *made = walk->made;
    made->processes = tnd_grow(made->processes, made->count, &walk->room, sizeof *made->processes);
    made->processes[made->count++] = process;
}

static void take_folder(walk_t *walk, const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        if (errno != ENOENT)
            report(walk, path, "cannot be read: ", strerror(errno));
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (tnd_pages_named(entry->d_name))
            take_file(walk, dirfd(folder), path, entry->d_name);
    closedir(folder);
}

/*  Folders of other users in /tmp, if they are readable. */
static void take_others(walk_t *walk)
{
    static tnd_pages_users_t known;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    size_t count = tnd_pages_users_list(&known, "/tmp", getuid(), tnd_clock_now()), hidden = 0;
    char first[40] = "", path[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "/tmp/tundish-%u", (unsigned)known.users[i]);
        if (hidden == 0)
            snprintf(first, sizeof first, "%.39s", path);
        if (access(path, R_OK | X_OK) == 0)
            take_folder(walk, path);
        else if (errno != ENOENT)
            hidden++;
    }
    pthread_mutex_unlock(&lock);
    snprintf(path, sizeof path, "%s and %zu more", first, hidden - 1);
    if (hidden == 1)
        report(walk, first, "the runs of another user are not shown", "");
    else if (hidden > 1)
        report(walk, path, "the runs of other users are not shown", "");
}

static int in_order(const void *left, const void *right)
{
    const tnd_inspected_t *a = left, *b = right;
    int order = strcmp(a->run, b->run);
    order = order != 0 ? order : (a->session > b->session) - (a->session < b->session);
    order = order != 0 ? order : strcmp(a->host, b->host);
    return order != 0 ? order : (a->process > b->process) - (a->process < b->process);
}

tnd_inspection_t *tnd_inspection_new(tnd_look_t look)
{
    return tnd_inspection_of_run(NULL, look);
}

/*  The processes of a run are often in one group, whose files are then read once. */
static void take_limits(const tnd_inspection_t *look)
{
    char last[1024] = "", names[sizeof last];
    tnd_group_limits_t limits = {.cores = 0};
    for (uint32_t p = 0; p < look->count; p++) {
        tnd_inspected_t *process = &look->processes[p];
        if (!process->here)
            continue;
        tnd_group_names("", process->process, names, sizeof names);
        if (strcmp(names, last) != 0)
            tnd_group_limits_of("", process->process, &limits);
        memcpy(last, names, sizeof last);
        process->processors = tnd_processors_allowed_of(process->process);
        process->cores = limits.cores;
        process->throttled_ns = limits.throttled_ns;
        snprintf(process->cores_by, sizeof process->cores_by, "%s", limits.cores_by);
    }
}

static tnd_inspection_t *inspect(walk_t walk)
{
    tnd_inspection_t *self = tnd_allocate_zeroed(1, sizeof *self);
    size_t size = 0;
    walk.made = self;
    walk.unread = tnd_memory_stream(&self->unread, &size);
    tnd_pages_folders_t folders;
    size_t count = tnd_pages_folders(&folders);
    tnd_machine_load_read("", &self->load);
    self->now_ns = tnd_clock_now();
    for (size_t i = 0; i < count; i++)
        take_folder(&walk, folders.path[i]);
    if (walk.process == 0 && walk.same == NULL)
        take_others(&walk);
    report_others(&walk);
    fclose(walk.unread);
    tnd_inspection_sort(self);
    if (walk.look > TND_LOOK_NOW)
        take_limits(self);
    return self;
}

tnd_inspection_t *tnd_inspection_of_run(const char *run, tnd_look_t look)
{
    return inspect((walk_t){.run = run, .look = look});
}

tnd_inspection_t *tnd_inspection_of_self(tnd_look_t look)
{
    tnd_inspection_t *own = inspect((walk_t){.process = (int)getpid(), .look = TND_LOOK_NOW});
    if (own->count == 0)
        return own;
    tnd_inspection_t *self =
        inspect((walk_t){.run = own->processes[0].run, .same = &own->processes[0], .look = look});
    tnd_inspection_destroy(&own);
    return self;
}

void tnd_inspected_bound(tnd_inspected_t *self)
{
    (void)tnd_printable(self->path, sizeof self->path);
    (void)tnd_printable(self->run, sizeof self->run);
    (void)tnd_printable(self->host, sizeof self->host);
    for (uint32_t a = 0; a < self->count; a++)
        bound(&self->actors[a]);
    tnd_run_record_bound(&self->record);
}

void tnd_inspection_move(tnd_inspection_t *self, tnd_inspected_t *process)
{
    self->processes = tnd_resize(self->processes, self->count + (size_t)1, sizeof *self->processes);
    self->processes[self->count++] = *process;
    *process = (tnd_inspected_t){0};
}

void tnd_inspection_sort(tnd_inspection_t *self)
{
    if (self->count > 0)
        qsort(self->processes, self->count, sizeof *self->processes, in_order);
}

const char *tnd_inspected_copy(tnd_inspected_t *self, int file, tnd_look_t look)
{
    *self = (tnd_inspected_t){.process = 0};
    const char *why = take_pages(file, NULL, look, true, self);
    if (why != NULL)
        forget(self);
    return why;
}

tnd_inspection_t *tnd_inspection_of_file(int file)
{
    tnd_inspected_t process = {0};
    if (take_pages(file, NULL, TND_LOOK_NOW, false, &process) != NULL) {
        forget(&process);
        return NULL;
    }
    tnd_inspection_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->now_ns = tnd_clock_now();
    self->count = 1;
    self->processes = tnd_allocate(1, sizeof *self->processes);
    self->processes[0] = process;
    return self;
}

void tnd_inspection_destroy(tnd_inspection_t **self_p)
{
    tnd_inspection_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t p = 0; p < self->count; p++) {
        free(self->processes[p].actors);
        free(self->processes[p].record_memory);
    }
    free(self->processes);
    free(self->unread);
    free(self);
}

const char *tnd_inspected_state(const tnd_inspected_t *self)
{
    return self->killed           ? "killed"
           : self->stopped        ? "stopped"
           : self->silent_ns != 0 ? "silent"
                                  : NULL;
}

bool tnd_inspection_has(const tnd_inspection_t *self, const char *run, bool killed)
{
    for (uint32_t p = 0; p < self->count; p++)
        if (self->processes[p].killed == killed && strcmp(self->processes[p].run, run) == 0)
            return true;
    return false;
}

bool tnd_inspection_runs(const tnd_inspection_t *self, const tnd_inspected_t *process)
{
    for (uint32_t p = 0; p < self->count; p++)
        if (!self->processes[p].killed && tnd_inspected_same(&self->processes[p], process))
            return true;
    return false;
}

bool tnd_inspected_same(const tnd_inspected_t *a, const tnd_inspected_t *b)
{
    return a->session == b->session && strcmp(a->run, b->run) == 0;
}

const tnd_inspected_t *tnd_inspection_leader(const tnd_inspection_t *self,
                                             const tnd_inspected_t *process)
{
    const tnd_inspected_t *found = process;
    for (uint32_t p = 0; p < self->count; p++) {
        const tnd_inspected_t *other = &self->processes[p];
        /* A process that replaced a killed leader leads. */
        if (tnd_inspected_same(other, process) && other->record.page->state != 0 &&
            (found->record.page->state == 0 || found->killed))
            found = other;
    }
    return found;
}

const tnd_statistics_t *tnd_inspection_find(const tnd_inspection_t *self,
                                            const tnd_inspected_t *process, const char *actor)
{
    for (uint32_t p = 0; p < self->count; p++) {
        const tnd_inspected_t *other = &self->processes[p];
        if (strcmp(other->path, process->path) != 0)
            continue;
        for (uint32_t a = 0; a < other->count; a++)
            if (strcmp(other->actors[a].actor, actor) == 0)
                return &other->actors[a];
    }
    return NULL;
}

int tnd_pages_death(int process)
{
    uint64_t by = 0;
    int file = tnd_pages_open_child(process);
    if (file < 0)
        return 0;
    bool known = pread(file, &by, sizeof by, offsetof(tnd_pages_header_t, killed_by)) == sizeof by;
    close(file);
    return known && by < 128 ? (int)by : 0;
}
