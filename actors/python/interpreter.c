/*  actors/python/interpreter.c - a process of Python that calls a function of the user. */
#include "actors/python/interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/python/interpreter_copy.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/clock.h"

/*  worker.py, as text. */
extern const char tnd_python_worker[];

/*  The first and the last of the file descriptors of the process: socket, memory, program. */
enum { SOCKET_THERE = 3, PROGRAM_THERE = 5 };
enum {
    MEMORY_LEAST = 1 << 20,
    PATIENCE_MS = 1000,
    REQUEST_SETUP = 0,
    REQUEST_CALL = 1,
    REQUEST_SERVE = 2,
    REPLY_REFUSED = 1,
    REPLY_PROGRESS = 2
};

/*  Runs worker.py; the list of processes shows this and the name of the function.  The folder that the
 *  run was started in has no modules of Python's own: tokenize.py there is one of the user. */
static const char start[] =
    "import sys; sys.path[:] = [place for place in sys.path if place]; "
    "exec(compile(open(5, closefd=False).read(), 'tundish.worker', 'exec'))";

struct tnd_interpreter {
    const tnd_interpreter_terms_t *terms;
    pid_t pid;   /* 0: it does not run */
    int process; /* -1: the system has no such descriptors, and the end of the socket must do */
    int leash;   /* of a copy; -1: the process is a child of this one */
    int socket, memory, program;
    uint8_t *map;
    size_t size;
    char versions[160];
};

/* --- shared memory ---------------------------------------------------------------------------- */

/*  Maps what the memory has become. */
static bool map_memory(tnd_interpreter_t *self, size_t size)
{
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->memory, 0);
    if (map == MAP_FAILED)
        return false;
    if (self->map != NULL)
        munmap(self->map, self->size);
    self->map = map;
    self->size = size;
    return true;
}

uint8_t *tnd_interpreter_memory(tnd_interpreter_t *self, size_t bytes, tnd_error_t *error)
{
    size_t size = tnd_power_of_two(bytes < MEMORY_LEAST ? MEMORY_LEAST : bytes);
    if (size > self->size &&
        (ftruncate(self->memory, (off_t)size) != 0 || !map_memory(self, size))) {
        (void)tnd_fail(error, "cannot pass %zu bytes to Python: no shared memory: %s", bytes,
                       strerror(errno));
        return NULL;
    }
    return self->map;
}

const uint8_t *tnd_interpreter_reply(const tnd_interpreter_t *self, size_t *bytes_p)
{
    *bytes_p = self->size;
    return self->map;
}

/*  The process may have made it larger, never smaller: the file is sealed. */
static bool follow_memory(tnd_interpreter_t *self)
{
    struct stat facts;
    return fstat(self->memory, &facts) == 0 &&
           ((size_t)facts.st_size <= self->size || map_memory(self, (size_t)facts.st_size));
}

/*  The file stays from one process to the next. */
static tnd_status_t make_memory(tnd_interpreter_t *self, tnd_error_t *error)
{
    self->memory = memfd_create("tundish rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (self->memory < 0 || fcntl(self->memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return tnd_fail(error, "cannot start Python: no shared memory: %s", strerror(errno));
    return tnd_interpreter_memory(self, MEMORY_LEAST, error) != NULL ? TND_OK : TND_FAILED;
}

/* --- the process ------------------------------------------------------------------------------ */

/*  A file with worker.py. */
static int program_file(void)
{
    size_t size = strlen(tnd_python_worker);
    int file = memfd_create("tundish worker", MFD_CLOEXEC);
    if (file >= 0 &&
        (write(file, tnd_python_worker, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0)) {
        close(file);
        return -1;
    }
    return file;
}

/*  The streams and files of the process.  Each file is first copied above all that are named, because it
 *  may have the number that another one is to have. */
static void add_files(posix_spawn_file_actions_t *actions, const int files[3])
{
    int above = PROGRAM_THERE;
    for (int i = 0; i < 3; i++)
        above = files[i] > above ? files[i] : above;
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(actions, files[i], above + 1 + i);
    for (int i = 0; i < 3; i++) {
        posix_spawn_file_actions_adddup2(actions, above + 1 + i, SOCKET_THERE + i);
        posix_spawn_file_actions_addclose(actions, above + 1 + i);
    }
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
}

/*  A process group of its own: Ctrl-C in the terminal does not reach it. */
static int spawn(tnd_interpreter_t *self, int socket, int program)
{
    const char *words[] = {self->terms->program, "-c", start, self->terms->name, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    add_files(&actions, (const int[]){socket, self->memory, program});
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int why = posix_spawnp(&self->pid, words[0], &actions, &attributes,
                           (char *const *)(uintptr_t)words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (why != 0)
        self->pid = 0;
    return why;
}

/*  Adds where the function of the user was when the process crashed: Python has written its stack after
 *  the program, `  File "PATH", line N in NAME` for each call, the last of them first. */
static void add_place(const tnd_interpreter_t *self, char *how, size_t room)
{
    static const char frame[] = "  File \"";
    char stack[4096] = "", *last = NULL;
    ssize_t size = pread(self->program, stack, sizeof stack - 1, (off_t)strlen(tnd_python_worker));
    stack[size > 0 ? size : 0] = '\0';
    for (char *at = strstr(stack, frame); at != NULL; at = strstr(at + 1, frame)) {
        if (strncmp(at + strlen(frame), "tundish.worker\"", strlen("tundish.worker\"")) == 0)
            break;
        last = at + strlen(frame);
    }
    if (last == NULL)
        return;
    const char *slash = last;
    for (const char *at = last; *at != '"' && *at != '\0'; at++)
        slash = *at == '/' ? at + 1 : slash;
    size_t used = strlen(how), name = strcspn(slash, "\"");
    snprintf(how + used, room - used, " in %.*s%.*s", (int)name, slash,
             (int)strcspn(slash + name + 1, "\n"), slash + name + 1);
}

/*  Waits for the process, which has ended or is killed now. */
static int await_end(const tnd_interpreter_t *self)
{
    int status = 0;
    if (self->leash >= 0)
        return tnd_interpreter_copy_end(self->leash);
    while (waitpid(self->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/*  The same, and describes its end. */
static void reap(tnd_interpreter_t *self, char *how, size_t room)
{
    if (self->pid == 0)
        return;
    /* A function may have left processes in its group. */
    kill(-self->pid, SIGKILL);
    int status = await_end(self);
    self->pid = 0;
    if (status == TND_COPY_END_UNKNOWN)
        snprintf(how, room, "ended with the process that had imported its module");
    else if (WIFSIGNALED(status))
        snprintf(how, room, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, room, "ended with exit code %d", WEXITSTATUS(status));
    add_place(self, how, room);
    if (self->process >= 0)
        close(self->process);
    if (self->leash >= 0)
        close(self->leash);
    close(self->socket);
    close(self->program);
}

/* --- messages --------------------------------------------------------------------------------- */

/*  Waits for a message, or the end of the process. */
static tnd_call_end_t await_reply(tnd_interpreter_t *self, uint64_t limit_ns)
{
    struct pollfd files[] = {{.fd = self->socket, .events = POLLIN},
                             {.fd = self->process, .events = POLLIN}};
    uint64_t until = tnd_clock_now() + limit_ns;
    for (;;) {
        uint64_t now = tnd_clock_now();
        if (now >= until)
            return TND_CALL_HUNG;
        uint64_t left = (until - now) / 1000000 + 1;
        if (poll(files, 2, left > 60000 ? 60000 : (int)left) < 0)
            continue; /* EINTR */
        if ((files[0].revents & POLLIN) != 0)
            return TND_CALL_DONE;
        if (files[0].revents != 0 || files[1].revents != 0)
            return TND_CALL_DIED;
    }
}

static tnd_call_end_t lose(tnd_interpreter_t *self, bool hung, bool starts, uint64_t limit_ns,
                           tnd_error_t *error)
{
    char how[256] = "";
    /* One that ended by itself may need a moment until it can be waited for. */
    struct pollfd file = {.fd = self->process, .events = POLLIN};
    if (!hung)
        (void)poll(&file, 1, PATIENCE_MS);
    reap(self, how, sizeof how);
    if (hung)
        (void)tnd_fail(error,
                       "%s%s takes longer than %.3g s (three quarters of hung_after), and its "
                       "Python (%s) was killed",
                       starts ? "to import " : "", self->terms->name, 1e-9 * (double)limit_ns,
                       self->terms->program);
    else
        (void)tnd_fail(error, "%s: its Python (%s) %s", self->terms->name, self->terms->program,
                       how);
    return hung ? TND_CALL_HUNG : TND_CALL_DIED;
}

/*  A refusal: the text after the first word. */
static tnd_call_end_t refuse(const uint64_t *reply, size_t size, tnd_error_t *error)
{
    (void)tnd_fail(error, "%.*s", (int)(size - sizeof *reply), (const char *)(reply + 1));
    return TND_CALL_REFUSED;
}

static tnd_call_end_t exchange(tnd_interpreter_t *self, const uint64_t *request, size_t count,
                               uint64_t limit_ns, uint64_t *reply, size_t *size_p,
                               tnd_error_t *error)
{
    size_t bytes = count * sizeof *request;
    bool starts = request[0] != REQUEST_CALL;
    if (self->pid == 0) {
        (void)tnd_fail(error, "%s: its Python (%s) does not run", self->terms->name,
                       self->terms->program);
        return TND_CALL_DIED;
    }
    if (send(self->socket, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        return lose(self, false, starts, limit_ns, error);
    ssize_t size;
    for (;;) {
        tnd_call_end_t end = await_reply(self, limit_ns);
        if (end != TND_CALL_DONE)
            return lose(self, end == TND_CALL_HUNG, starts, limit_ns, error);
        size = recv(self->socket, reply, TND_INTERPRETER_WORDS * sizeof *reply, 0);
        if (size < (ssize_t)sizeof *reply || !follow_memory(self))
            return lose(self, false, starts, limit_ns, error);
        if (reply[0] != REPLY_PROGRESS)
            break;
        self->terms->renew(self->terms->context);
    }
    *size_p = (size_t)size;
    return reply[0] == REPLY_REFUSED ? refuse(reply, (size_t)size, error) : TND_CALL_DONE;
}

tnd_call_end_t tnd_interpreter_call(tnd_interpreter_t *self, uint64_t *request, size_t count,
                                    uint64_t *reply, size_t *count_p, tnd_error_t *error)
{
    size_t size;
    request[0] = REQUEST_CALL;
    request[2] = self->size;
    tnd_call_end_t end = exchange(self, request, count, self->terms->limit_ns, reply, &size, error);
    *count_p = end == TND_CALL_DONE ? size / sizeof *reply : 0;
    return end;
}

/*  Tells the process what it calls. */
static tnd_status_t set_up(tnd_interpreter_t *self, tnd_error_t *error)
{
    uint64_t reply[TND_INTERPRETER_WORDS];
    size_t size = strlen(self->terms->setup);
    uint8_t *memory = tnd_interpreter_memory(self, size, error);
    if (memory == NULL)
        return TND_FAILED;
    memcpy(memory, self->terms->setup, size);
    const uint64_t request[] = {self->terms->serves ? REQUEST_SERVE : REQUEST_SETUP, size,
                                self->size};
    if (exchange(self, request, 3, self->terms->start_ns, reply, &size, error) != TND_CALL_DONE)
        return TND_FAILED;
    snprintf(self->versions, sizeof self->versions, "%.*s", (int)(size - sizeof *reply),
             (const char *)(reply + 1));
    return TND_OK;
}

/*  Starts the process: a copy of another one if there is one to copy.  Returns an errno, or 0. */
static int begin(tnd_interpreter_t *self, int socket, int program)
{
    const tnd_interpreter_t *server = self->terms->server;
    self->leash = -1;
    if (server != NULL &&
        tnd_interpreter_copy(server->socket, (const int[]){socket, self->memory, program},
                             &self->pid, &self->leash))
        return 0;
    return spawn(self, socket, program);
}

tnd_status_t tnd_interpreter_restart(tnd_interpreter_t *self, tnd_error_t *error)
{
    char how[256];
    reap(self, how, sizeof how);
    int ends[2], program = program_file();
    if (program < 0)
        return tnd_fail(error, "cannot start Python: no memory for its program: %s",
                        strerror(errno));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        close(program);
        return tnd_fail(error, "cannot start Python: no socket: %s", strerror(errno));
    }
    self->program = program;
    int why = begin(self, ends[1], program);
    close(ends[1]);
    self->socket = ends[0];
    if (why == 0) {
        self->process = pidfd_open(self->pid, 0);
        tnd_status_t status = set_up(self, error);
        if (status != TND_OK)
            reap(self, how, sizeof how);
        return status;
    }
    close(ends[0]);
    close(program);
    return tnd_fail(
        error,
        "cannot start the interpreter `%s` for %s: %s; name another one by `python:` at the "
        "top of the topology, or by TUNDISH_PYTHON",
        self->terms->program, self->terms->name, strerror(why));
}

tnd_status_t tnd_interpreter_open(tnd_interpreter_t **self_p, const tnd_interpreter_terms_t *terms,
                                  tnd_error_t *error)
{
    tnd_interpreter_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->terms = terms;
    tnd_status_t status = make_memory(self, error);
    if (status == TND_OK)
        status = tnd_interpreter_restart(self, error);
    if (status != TND_OK)
        tnd_interpreter_close(&self);
    *self_p = self;
    return status;
}

void tnd_interpreter_close(tnd_interpreter_t **self_p)
{
    tnd_interpreter_t *self = *self_p;
    char how[256];
    *self_p = NULL;
    if (self == NULL)
        return;
    reap(self, how, sizeof how);
    if (self->map != NULL)
        munmap(self->map, self->size);
    if (self->memory >= 0)
        close(self->memory);
    free(self);
}

const char *tnd_interpreter_versions(const tnd_interpreter_t *self)
{
    return self->versions;
}
