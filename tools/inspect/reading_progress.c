/*  tools/inspect/reading_progress.c - shows on stderr how far a command is with reading data files. */
#include "tools/inspect/reading_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"

static const uint64_t first_after_ns = 500000000, plain_every_ns = 3000000000,
                      draw_every_ns = 100000000;

void tnd_reading_progress_init(tnd_reading_progress_t *self)
{
    uint64_t now = tnd_clock_now();
    *self = (tnd_reading_progress_t){.terminal = tnd_terminal_look(STDERR_FILENO),
                                     .pace = tnd_open_pace(0, now)};
    self->next_ns = now + (self->terminal.line ? first_after_ns : plain_every_ns);
    pthread_mutex_init(&self->lock, NULL);
}

/*  Call it with the lock, as what follows. */
static void clear(tnd_reading_progress_t *self)
{
    if (self->drawn)
        fputs("\r\033[K", stderr);
    self->drawn = false;
}

static void show(tnd_reading_progress_t *self)
{
    char text[256];
    uint64_t now = tnd_clock_now();
    if (now < self->next_ns)
        return;
    tnd_open_pace_note(&self->pace, &self->progress, now);
    tnd_open_progress_print(&self->progress, &self->pace, now, text, sizeof text);
    if (self->terminal.line)
        fprintf(stderr, "\r\033[K%.*s", (int)self->terminal.columns - 1, text);
    else
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
    self->drawn = self->terminal.line;
    self->next_ns = now + (self->terminal.line ? draw_every_ns : plain_every_ns);
}

/*  Something else is done from now on. */
static void begin(tnd_reading_progress_t *self, const char *doing)
{
    if (strcmp(self->progress.doing, doing) == 0)
        return;
    self->progress = (tnd_open_progress_t){0};
    tnd_open_progress_doing(&self->progress, doing, NULL);
    self->pace = tnd_open_pace(0, tnd_clock_now());
}

static void on_doing(void *reporter, const char *what, const char *file)
{
    tnd_reading_progress_t *self = reporter;
    pthread_mutex_lock(&self->lock);
    if (what != NULL)
        begin(self, what);
    tnd_open_progress_doing(&self->progress, NULL, file);
    pthread_mutex_unlock(&self->lock);
}

static void on_progress(void *reporter, uint64_t done, uint64_t all, const char *unit)
{
    tnd_reading_progress_t *self = reporter;
    pthread_mutex_lock(&self->lock);
    tnd_open_progress_count(&self->progress, done, all, unit);
    show(self);
    pthread_mutex_unlock(&self->lock);
}

void tnd_reading_progress_attach(tnd_reading_progress_t *self, tnd_source_scope_t *scope)
{
    scope->context.progress = on_progress;
    scope->context.reporter = self;
    scope->doing = on_doing;
}

void tnd_reading_progress_records(void *context, uint64_t done, uint64_t all)
{
    tnd_reading_progress_t *self = context;
    pthread_mutex_lock(&self->lock);
    begin(self, "reading");
    tnd_open_progress_count(&self->progress, done, all, "records");
    show(self);
    pthread_mutex_unlock(&self->lock);
}

void tnd_reading_progress_clear(tnd_reading_progress_t *self)
{
    pthread_mutex_lock(&self->lock);
    clear(self);
    fflush(stderr);
    pthread_mutex_unlock(&self->lock);
}

void tnd_reading_progress_end(tnd_reading_progress_t *self)
{
    tnd_reading_progress_clear(self);
    pthread_mutex_destroy(&self->lock);
}
