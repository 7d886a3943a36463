/*  tools/remote/remote_stream.c - a command that prints looks of another machine. */
#include "tools/remote/remote_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "tools/remote/remote_look.h"

/*  How long after its end a command is started again, and how long it may take to end. */
static const uint64_t again_after_ns = 5000000000, end_within_ns = 200000000;

/*  A command that floods is read no further in one look. */
enum { READ_BYTES = 1 << 16, READS_MAX = 256, EXIT_USAGE = 2, EXIT_NOT_FOUND = 127 };

struct tnd_remote_stream {
    char **words;
    char machine[64];
    pid_t pid;    /* 0: it does not run */
    int out, err; /* -1: closed */
    uint64_t started_ns, ended_ns, heard_ns;
    int status; /* as from waitpid, when it ended last */
    char *part; /* of the line that arrives */
    char *line; /* the newest whole one, which `heard_ns` belongs to */
    size_t part_size, part_room, line_size, line_room;
    char said[256]; /* the end of what it wrote to stderr */
    size_t said_size;
    char end[512];     /* how it ended last; "": it has not since its newest line */
    tnd_error_t error; /* why its newest line cannot be read */
};

/* --- the command ------------------------------------------------------------------------------ */

/*  Runs in the child, between fork and exec. */
static void become(char *const *words, int out, int err, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_NOT_FOUND);
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
    _exit(EXIT_NOT_FOUND);
}

static void close_file(int *file_p)
{
    if (*file_p >= 0)
        close(*file_p);
    *file_p = -1;
}

static void start(tnd_remote_stream_t *self)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    pid_t parent = getpid();
    self->started_ns = tnd_clock_now();
    self->said_size = self->part_size = 0;
    self->said[0] = '\0';
    bool piped = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    pid_t pid = piped ? fork() : -1;
    if (pid == 0)
        become(self->words, out[1], err[1], parent);
    close_file(&out[1]);
    close_file(&err[1]);
    if (pid < 0) {
        snprintf(self->end, sizeof self->end, "cannot start `%s`: %s", self->words[0],
                 strerror(errno));
        close_file(&out[0]);
        close_file(&err[0]);
        self->ended_ns = self->started_ns;
        return;
    }
    setpgid(pid, pid); /* here too, so that it is true before a signal is sent */
    self->pid = pid;
    self->out = out[0];
    self->err = err[0];
    fcntl(self->out, F_SETFL, O_NONBLOCK);
    fcntl(self->err, F_SETFL, O_NONBLOCK);
}

tnd_remote_stream_t *tnd_remote_stream_new(char **words, const char *machine)
{
    tnd_remote_stream_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->words = words;
    self->out = self->err = -1;
    snprintf(self->machine, sizeof self->machine, "%s", machine);
    start(self);
    return self;
}

void tnd_remote_stream_end(tnd_remote_stream_t *self)
{
    close_file(&self->out);
    close_file(&self->err);
    if (self->pid > 0)
        (void)kill(-self->pid, SIGTERM);
}

void tnd_remote_stream_destroy(tnd_remote_stream_t **self_p)
{
    tnd_remote_stream_t *self = *self_p;
    *self_p = NULL;
    tnd_remote_stream_end(self);
    uint64_t end = tnd_clock_now() + end_within_ns;
    while (self->pid > 0 && waitpid(self->pid, &self->status, WNOHANG) == 0) {
        if (tnd_clock_now() > end)
            (void)kill(-self->pid, SIGKILL);
        (void)poll(NULL, 0, 5);
    }
    for (size_t i = 0; self->words[i] != NULL; i++)
        free(self->words[i]);
    free(self->words);
    free(self->part);
    free(self->line);
    free(self);
}

bool tnd_remote_stream_runs(const tnd_remote_stream_t *self, char *const *words)
{
    size_t i = 0;
    while (words[i] != NULL && self->words[i] != NULL && strcmp(words[i], self->words[i]) == 0)
        i++;
    return words[i] == NULL && self->words[i] == NULL;
}

bool tnd_remote_stream_is_open(const tnd_remote_stream_t *self)
{
    /* Without output it is not reaped yet, so that how it ended is not known. */
    return self->out >= 0 || self->pid > 0;
}

uint64_t tnd_remote_stream_started(const tnd_remote_stream_t *self)
{
    return self->started_ns;
}

uint64_t tnd_remote_stream_heard(const tnd_remote_stream_t *self)
{
    return self->heard_ns;
}

/* --- what it prints --------------------------------------------------------------------------- */

nfds_t tnd_remote_stream_poll(const tnd_remote_stream_t *self, struct pollfd *files)
{
    nfds_t count = 0;
    if (self->out >= 0)
        files[count++] = (struct pollfd){.fd = self->out, .events = POLLIN};
    if (self->err >= 0)
        files[count++] = (struct pollfd){.fd = self->err, .events = POLLIN};
    return count;
}

/*  Adds bytes to the line that arrives. */
static void take_part(tnd_remote_stream_t *self, const char *bytes, size_t size)
{
    if (self->part_size + size > TND_REMOTE_LINE_MAX) {
        snprintf(self->end, sizeof self->end, "`%s` prints lines of more than %d MiB",
                 self->words[0], TND_REMOTE_LINE_MAX >> 20);
        self->part_size = 0;
        tnd_remote_stream_end(self);
        return;
    }
    if (self->part_size + size > self->part_room) {
        self->part_room = 2 * (self->part_size + size);
        self->part = tnd_resize(self->part, self->part_room, 1);
    }
    if (size > 0)
        memcpy(self->part + self->part_size, bytes, size);
    self->part_size += size;
}

/*  The line that arrived replaces the newest, unless it is a greeting of the other machine. */
static void take_line(tnd_remote_stream_t *self, uint64_t now)
{
    char *spare = self->line;
    size_t room = self->line_room;
    bool is_look = self->part_size > 0 && self->part[0] == '{';
    if (is_look) {
        self->line = self->part, self->line_size = self->part_size;
        self->line_room = self->part_room;
        self->part = spare, self->part_room = room;
        self->heard_ns = now;
        self->end[0] = '\0';
    }
    self->part_size = 0;
}

static void take(tnd_remote_stream_t *self, const char *bytes, size_t size, uint64_t now)
{
    for (const char *end; (end = memchr(bytes, '\n', size)) != NULL && self->out >= 0;) {
        size_t length = (size_t)(end - bytes);
        take_part(self, bytes, length);
        take_line(self, now);
        bytes += length + 1, size -= length + 1;
    }
    take_part(self, bytes, size);
}

static void take_said(tnd_remote_stream_t *self, const char *bytes, size_t size)
{
    const size_t room = sizeof self->said - 1;
    if (size > room)
        bytes += size - room, size = room;
    size_t kept = self->said_size + size > room ? room - size : self->said_size;
    memmove(self->said, self->said + self->said_size - kept, kept);
    memcpy(self->said + kept, bytes, size);
    self->said_size = kept + size;
    self->said[self->said_size] = '\0';
}

/*  The last line that it wrote to stderr, printable. */
static void last_words(const tnd_remote_stream_t *self, char *text, size_t room)
{
    size_t end = self->said_size;
    while (end > 0 && strchr("\r\n ", self->said[end - 1]) != NULL)
        end--;
    size_t begin = end;
    while (begin > 0 && self->said[begin - 1] != '\n')
        begin--;
    snprintf(text, room, "%.*s", (int)(end - begin), self->said + begin);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at == 127)
            *at = '?';
}

static void describe_end(const tnd_remote_stream_t *self, char *text, size_t room)
{
    char said[200];
    last_words(self, said, sizeof said);
    const char *colon = said[0] != '\0' ? ": " : "";
    if (WIFSIGNALED(self->status))
        snprintf(text, room, "`%s` was killed by signal %d%s%s", self->words[0],
                 WTERMSIG(self->status), colon, said);
    else if (WEXITSTATUS(self->status) == EXIT_USAGE && self->heard_ns == 0)
        snprintf(text, room,
                 "the tundish there is older than this one, or `%s` was used wrongly%s%s; install "
                 "the same version on both machines",
                 self->words[0], colon, said);
    else if (WEXITSTATUS(self->status) == EXIT_NOT_FOUND)
        snprintf(text, room, "`%s` found no command to run%s%s; is tundish in the PATH there?",
                 self->words[0], colon, said);
    else
        snprintf(text, room, "`%s` ended with %d%s%s", self->words[0], WEXITSTATUS(self->status),
                 colon, said);
}

/*  Reads a pipe until it is empty; closes it at its end. */
static void drain(tnd_remote_stream_t *self, int *file_p, uint64_t now)
{
    char bytes[READ_BYTES];
    for (unsigned i = 0; i < READS_MAX && *file_p >= 0; i++) {
        ssize_t got = read(*file_p, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            close_file(file_p);
        else if (file_p == &self->out)
            take(self, bytes, (size_t)got, now);
        else
            take_said(self, bytes, (size_t)got);
    }
}

void tnd_remote_stream_read(tnd_remote_stream_t *self, uint64_t now)
{
    if (self->pid == 0 && now >= self->ended_ns + again_after_ns)
        start(self);
    drain(self, &self->err, now);
    drain(self, &self->out, now);
    if (self->pid > 0 && self->out < 0 && waitpid(self->pid, &self->status, WNOHANG) > 0) {
        drain(self, &self->err, now);
        close_file(&self->err);
        self->pid = 0;
        self->ended_ns = now;
        if (self->end[0] == '\0')
            describe_end(self, self->end, sizeof self->end);
    }
}

tnd_inspection_t *tnd_remote_stream_look(tnd_remote_stream_t *self)
{
    tnd_inspection_t *look = NULL;
    if (self->heard_ns == 0)
        return NULL;
    self->error.text[0] = '\0';
    if (tnd_remote_look_read(self->line, self->line_size, self->machine, self->heard_ns, &look,
                             &self->error) != TND_OK)
        return NULL;
    return look;
}

/* --- why there is none ------------------------------------------------------------------------ */

static uint64_t heard_or_started(const tnd_remote_stream_t *self)
{
    return self->heard_ns != 0 ? self->heard_ns : self->started_ns;
}

bool tnd_remote_stream_is_silent(const tnd_remote_stream_t *self, uint64_t now,
                                 uint64_t patience_ns)
{
    return self->end[0] != '\0' || now >= heard_or_started(self) + patience_ns;
}

void tnd_remote_stream_problem(const tnd_remote_stream_t *self, uint64_t now, uint64_t patience_ns,
                               char *text, size_t room)
{
    uint64_t since = heard_or_started(self);
    double silence = now > since ? (double)(now - since) * 1e-9 : 0;
    text[0] = '\0';
    if (self->error.text[0] != '\0' || self->end[0] != '\0')
        snprintf(text, room, "%s", self->end[0] != '\0' ? self->end : self->error.text);
    else if (now >= since + patience_ns && self->heard_ns == 0)
        snprintf(text, room, "no answer by `%s` for %.1f s", self->words[0], silence);
    else if (now >= since + patience_ns)
        snprintf(text, room, "no answer by `%s` since its last one, %.1f s ago", self->words[0],
                 silence);
}
