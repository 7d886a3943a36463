/*  tools/process/run_lines.c - the writers of stdout and stderr. */
#include "tools/process/run_lines.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"

static bool is_same_file(int one, int other)
{
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

tnd_status_t tnd_run_lines_begin(tnd_run_lines_t *self, tnd_error_t *error)
{
    fflush(stdout);
    TND_TRY(tnd_line_writer_new(&self->err, STDERR_FILENO, error));
    self->out = self->err;
    if (is_same_file(STDOUT_FILENO, STDERR_FILENO) ||
        tnd_line_writer_new(&self->out, STDOUT_FILENO, error) == TND_OK)
        return TND_OK;
    int reason;
    (void)tnd_line_writer_close(&self->err, tnd_clock_now(), &reason);
    self->out = NULL;
    return TND_FAILED;
}

void tnd_run_lines_await(tnd_run_lines_t *self, uint64_t until_ns)
{
    if (self->err != NULL)
        tnd_line_writer_await(self->err, until_ns);
    if (self->out != NULL)
        tnd_line_writer_await(self->out, until_ns);
}

bool tnd_run_lines_end(tnd_run_lines_t *self, uint64_t until_ns)
{
    int out = 0, err = 0;
    if (self->out != self->err)
        (void)tnd_line_writer_close(&self->out, until_ns, &out);
    self->out = NULL;
    (void)tnd_line_writer_close(&self->err, until_ns, &err);
    return out == 0 || out == EPIPE;
}
