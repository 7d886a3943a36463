/*  tools/cli/line_writer.c - writes lines to a file, a pipe or a terminal on its own thread. */
#include "tools/cli/line_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/resources/process_memory.h"
#include "tools/cli/output.h"

/*  A write of a file is short, so that a slow one is seen to progress. */
enum { OPEN_AGAIN_MS = 50, STREAM_BYTES = 16 << 10, WRITE_BYTES = 64 << 10 };

/*  Of stdout, stderr and the metrics. */
_Static_assert(3 * (TND_LINES_BYTES + STREAM_BYTES + WRITE_BYTES) <= TND_OBSERVER_BYTES,
               "the memory sum has these lines");

/*  A file or device that takes nothing for longer than this stalls. */
static const uint64_t stall_ns = 1000000000;

/*  The time that a stopped thread has to return from its write. */
static const uint64_t stop_wait_ns = 100000000;

struct tnd_line_writer {
    pthread_t thread;
    FILE *stream;
    char *path; /* of a file that was opened here; NULL: the caller owns the descriptor */
    int file;   /* -1: a FIFO without a reader */
    int stop;   /* readable: leave at once */
    bool drops, is_socket, is_regular;
    off_t written,
        whole; /* of a regular file opened here: its bytes, and the bytes of its whole lines */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t filled, emptied;
    char *bytes; /* a ring of TND_LINES_BYTES */
    size_t begin, used;
    uint64_t dropped;
    uint64_t moved_ns; /* when lines were last written, or the first was queued */
    int reason;
    bool closing, stopping, left; /* left: the thread is about to end */
};

static uint64_t lines_in(const char *bytes, size_t size)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

/* --- the thread ------------------------------------------------------------------------------- */

/*  Waits until a FIFO has a reader; false: the thread is to stop. */
static bool await_reader(tnd_line_writer_t *self)
{
    struct pollfd stop = {.fd = self->stop, .events = POLLIN};
    while (self->file < 0) {
        self->file = open(self->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (self->file < 0 && errno != ENXIO && errno != EINTR)
            return true; /* the write reports the error */
        if (self->file < 0 && poll(&stop, 1, OPEN_AGAIN_MS) > 0)
            return false;
    }
    return true;
}

/*  Writes some of the bytes; -1: the write failed (errno), or the thread is to stop (errno 0). */
static ssize_t write_some(tnd_line_writer_t *self, const char *bytes, size_t size)
{
    if (!self->drops)
        return write(self->file, bytes, size < WRITE_BYTES ? size : WRITE_BYTES);
    struct pollfd files[] = {{.fd = self->file, .events = POLLOUT},
                             {.fd = self->stop, .events = POLLIN}};
    bool goes_on = await_reader(self);
    if (goes_on && self->file < 0)
        return -1;
    files[0].fd = self->file;
    if (goes_on && poll(files, 2, -1) < 0)
        return errno == EINTR ? 0 : -1;
    if (!goes_on || files[1].revents != 0) {
        errno = 0;
        return -1;
    }
    /* A pipe that is writable has room for this many. */
    size = size < PIPE_BUF ? size : PIPE_BUF;
    ssize_t got = self->is_socket ? send(self->file, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : write(self->file, bytes, size);
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : got;
}

/*  Truncates a file after its last whole line. */
static void cut_line(tnd_line_writer_t *self)
{
    if (self->is_regular && self->path != NULL && ftruncate(self->file, self->whole) != 0)
        self->whole = self->written; /* then the rest stays */
}

static void count_written(tnd_line_writer_t *self, const char *bytes, size_t size)
{
    const char *last = memrchr(bytes, '\n', size);
    if (last != NULL)
        self->whole = self->written + (last - bytes) + 1;
    self->written += (off_t)size;
}

static void *writer_main(void *context)
{
    tnd_line_writer_t *self = context;
    pthread_setname_np(pthread_self(), "lines");
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (self->used == 0 && !self->closing)
            pthread_cond_wait(&self->filled, &self->lock);
        if (self->used == 0 || self->stopping || self->reason != 0)
            break;
        size_t size = TND_LINES_BYTES - self->begin;
        size = size < self->used ? size : self->used;
        const char *bytes = self->bytes + self->begin;
        pthread_mutex_unlock(&self->lock);
        ssize_t got = write_some(self, bytes, size);
        int reason = got < 0 && errno != EINTR ? errno : 0;
        if (got > 0)
            count_written(self, bytes, (size_t)got);
        pthread_mutex_lock(&self->lock);
        if (got > 0) {
            self->begin = (self->begin + (size_t)got) % TND_LINES_BYTES;
            self->used -= (size_t)got;
            self->moved_ns = tnd_clock_now();
            self->begin = self->used == 0 ? 0 : self->begin;
        }
        self->reason = reason;
        if (reason != 0)
            cut_line(self);
        pthread_cond_broadcast(&self->emptied);
    }
    self->left = true;
    pthread_cond_broadcast(&self->emptied);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* --- the interface ---------------------------------------------------------------------------- */

static ssize_t put_bytes(void *cookie, const char *bytes, size_t size)
{
    tnd_line_writer_put(cookie, bytes, size);
    return (ssize_t)size;
}

static void free_writer(tnd_line_writer_t *self)
{
    close(self->stop);
    free(self->path);
    free(self->bytes);
    pthread_cond_destroy(&self->filled);
    pthread_cond_destroy(&self->emptied);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static tnd_status_t start(tnd_line_writer_t **self_p, int file, const char *path, bool is_fifo,
                          tnd_error_t *error)
{
    tnd_line_writer_t *self = tnd_allocate_zeroed(1, sizeof *self);
    struct stat is = {0};
    self->file = file;
    self->path = path != NULL ? tnd_copy_string(path) : NULL;
    if (file >= 0)
        (void)fstat(file, &is);
    self->is_socket = S_ISSOCK(is.st_mode);
    self->is_regular = S_ISREG(is.st_mode);
    self->drops =
        is_fifo || S_ISFIFO(is.st_mode) || self->is_socket || (file >= 0 && isatty(file) == 1);
    self->bytes = tnd_allocate(1, TND_LINES_BYTES);
    self->stop = eventfd(0, EFD_CLOEXEC);
    int reason = errno;
    self->stream =
        tnd_require_memory(fopencookie(self, "w", (cookie_io_functions_t){.write = put_bytes}));
    setvbuf(self->stream, NULL, _IOLBF, STREAM_BYTES);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->filled, NULL);
    tnd_condition_init_monotonic(&self->emptied);
    tnd_status_t status =
        self->stop < 0 ? tnd_fail(error, "cannot write lines: no eventfd: %s", strerror(reason))
                       : tnd_thread_create_without_signals(&self->thread, "lines that are written",
                                                           writer_main, self, error);
    *self_p = self;
    if (status == TND_OK)
        return TND_OK;
    *self_p = NULL;
    fclose(self->stream);
    free_writer(self);
    return status;
}

/*  Locks a file and removes what it has, unless another process still writes it. */
static tnd_status_t take_file(int file, const char *path, bool adds, tnd_error_t *error)
{
    struct stat is;
    if (fstat(file, &is) != 0 || !S_ISREG(is.st_mode))
        return TND_OK;
    TND_TRY(tnd_output_lock(file, path, error));
    return adds || ftruncate(file, 0) == 0
               ? TND_OK
               : tnd_fail(error, "%s: cannot be written: %s", path, strerror(errno));
}

tnd_status_t tnd_line_writer_open(tnd_line_writer_t **self_p, const char *path, bool adds,
                                  tnd_error_t *error)
{
    struct stat is;
    bool is_fifo = stat(path, &is) == 0 && S_ISFIFO(is.st_mode);
    if (is_fifo && access(path, W_OK) != 0)
        return tnd_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    int file =
        is_fifo ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (adds ? O_APPEND : 0), 0666);
    if (file < 0 && !is_fifo)
        return tnd_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    tnd_status_t status = is_fifo ? TND_OK : take_file(file, path, adds, error);
    if (status == TND_OK && !is_fifo)
        status = tnd_output_probe(file, path, error);
    if (status != TND_OK) {
        close(file);
        return status;
    }
    status = start(self_p, file, path, is_fifo, error);
    if (status != TND_OK && file >= 0)
        close(file);
    return status;
}

tnd_status_t tnd_line_writer_new(tnd_line_writer_t **self_p, int file, tnd_error_t *error)
{
    return start(self_p, file, NULL, false, error);
}

/*  Waits for room in the queue of a file that does not stall. */
static void await_room(tnd_line_writer_t *self, size_t size)
{
    int late = 0;
    while (late == 0 && self->reason == 0 && size > TND_LINES_BYTES - self->used) {
        uint64_t until_ns = self->moved_ns + stall_ns;
        struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
        late = pthread_cond_timedwait(&self->emptied, &self->lock, &until);
    }
}

void tnd_line_writer_put(tnd_line_writer_t *self, const char *lines, size_t size)
{
    pthread_mutex_lock(&self->lock);
    if (!self->drops)
        await_room(self, size);
    if (self->used == 0)
        self->moved_ns = tnd_clock_now();
    if (self->reason != 0 || size > TND_LINES_BYTES - self->used) {
        self->dropped += self->reason == 0 ? lines_in(lines, size) : 0;
    } else {
        size_t end = (self->begin + self->used) % TND_LINES_BYTES;
        size_t first = TND_LINES_BYTES - end;
        first = first < size ? first : size;
        memcpy(self->bytes + end, lines, first);
        memcpy(self->bytes, lines + first, size - first);
        self->used += size;
        pthread_cond_signal(&self->filled);
    }
    pthread_mutex_unlock(&self->lock);
}

void tnd_line_writer_await(tnd_line_writer_t *self, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&self->lock);
    while (self->used > 0 && self->reason == 0 &&
           pthread_cond_timedwait(&self->emptied, &self->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&self->lock);
}

FILE *tnd_line_writer_stream(tnd_line_writer_t *self)
{
    return self->stream;
}

uint64_t tnd_line_writer_dropped(tnd_line_writer_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t dropped = self->dropped;
    pthread_mutex_unlock(&self->lock);
    return dropped;
}

uint64_t tnd_line_writer_waits_since(tnd_line_writer_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t since = self->used > 0 ? self->moved_ns : 0;
    pthread_mutex_unlock(&self->lock);
    return since;
}

int tnd_line_writer_reason(tnd_line_writer_t *self)
{
    pthread_mutex_lock(&self->lock);
    int reason = self->reason;
    pthread_mutex_unlock(&self->lock);
    return reason;
}

/*  False: the thread still runs at that time. */
static bool join(tnd_line_writer_t *self, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&self->lock);
    while (!self->left && pthread_cond_timedwait(&self->emptied, &self->lock, &until) == 0)
        continue;
    bool left = self->left;
    pthread_mutex_unlock(&self->lock);
    return left && pthread_join(self->thread, NULL) == 0;
}

/*  Stops the thread; false: it is inside a write that does not return. */
static bool stop(tnd_line_writer_t *self)
{
    uint64_t one = 1;
    pthread_mutex_lock(&self->lock);
    self->stopping = true;
    pthread_mutex_unlock(&self->lock);
    if (write(self->stop, &one, sizeof one) != (ssize_t)sizeof one)
        abort();
    return join(self, tnd_clock_now() + stop_wait_ns);
}

uint64_t tnd_line_writer_close(tnd_line_writer_t **self_p, uint64_t until_ns, int *reason_p)
{
    tnd_line_writer_t *self = *self_p;
    *self_p = NULL;
    fclose(self->stream);
    pthread_mutex_lock(&self->lock);
    self->closing = true;
    pthread_cond_signal(&self->filled);
    pthread_mutex_unlock(&self->lock);
    bool ended =
        self->drops ? join(self, until_ns) || stop(self) : pthread_join(self->thread, NULL) == 0;
    pthread_mutex_lock(&self->lock);
    *reason_p = self->reason;
    uint64_t dropped = self->dropped;
    for (size_t i = 0; i < self->used && self->reason == 0; i++)
        dropped += self->bytes[(self->begin + i) % TND_LINES_BYTES] == '\n';
    pthread_mutex_unlock(&self->lock);
    if (!ended) {
        pthread_detach(self->thread); /* the thread may still use it: freed at exit */
        return dropped;
    }
    if (self->path != NULL && self->file >= 0 && close(self->file) != 0 && *reason_p == 0)
        *reason_p = errno;
    free_writer(self);
    return dropped;
}
