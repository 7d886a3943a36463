/*  tools/cli/log.c - the log of a run: stderr, one line per record. */
#include "tools/cli/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/text/diagnostic.h"
#include "tools/cli/json.h"
#include "tools/cli/terminal.h"

/*  The values of --log-level, by tnd_log_level_t. */
static const char *const names[] = {"debug", "info", "warn", "error"};
/*  The words in the log. */
static const char *const words[] = {"debug", "info", "warning", "error"};

static const uint64_t repeat_ns = 1000000000;

bool tnd_log_init(tnd_log_t *self, const char *command, const tnd_log_options_t *options)
{
    *self = (tnd_log_t){.level = options->quiet ? TND_LOG_ERROR : TND_LOG_WARNING,
                        .json = options->json};
    pthread_mutex_init(&self->lock, NULL);
    if (options->level == NULL)
        return true;
    tnd_nearest_t nearest = {.word = options->level};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], options->level) == 0) {
            self->level = (tnd_log_level_t)i;
            return true;
        }
        tnd_nearest_offer(&nearest, names[i]);
    }
    tnd_usage_error(command, "--log-level takes error, warn, info or debug, not '%s'%s%s%s",
                    options->level, nearest.best != NULL ? "; did you mean " : "",
                    nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "?" : "");
    return false;
}

static FILE *stream_of(const tnd_log_t *self)
{
    return self->writer != NULL ? tnd_line_writer_stream(self->writer) : stderr;
}

/*  Prints the last record; `count` is the number of its repetitions, 0 for the first time. */
static void print(const tnd_log_t *self, unsigned count)
{
    FILE *out = stream_of(self);
    flockfile(out);
    if (self->json) {
        uint64_t now = tnd_clock_read(CLOCK_REALTIME);
        fprintf(out, "{\"time\":%" PRIu64 ".%06" PRIu64 ",\"host\":", now / 1000000000u,
                now / 1000u % 1000000u);
        tnd_json_text(out, self->last_host);
        tnd_json_member(out, "actor", self->last_actor);
        fprintf(out, ",\"level\":\"%s\",\"text\":", names[self->last_level]);
        tnd_json_text(out, self->last_text);
        fprintf(out, ",\"count\":%u}\n", count > 0 ? count : 1);
    } else {
        /* The progress line is on the screen; it is drawn again. */
        if (isatty(STDERR_FILENO) == 1 && tnd_terminal_look(STDOUT_FILENO).line)
            fputs("\r\033[K", out);
        fprintf(out, "%s %s %s %s", self->last_host, self->last_actor, words[self->last_level],
                self->last_text);
        if (count == 1)
            fputs(" (once more)", out);
        else if (count > 1)
            fprintf(out, " (%u times more)", count);
        fputc('\n', out);
    }
    fflush(out);
    funlockfile(out);
}

/*  Reports that lines were dropped before the next one. */
static void say_dropped(tnd_log_t *self)
{
    uint64_t dropped = self->writer != NULL ? tnd_line_writer_dropped(self->writer) : 0;
    if (dropped == self->dropped_said)
        return;
    fprintf(stream_of(self),
            self->json ? "{\"dropped\":%" PRIu64 "}\n"
                       : "%" PRIu64 " lines were dropped here: stderr was not read\n",
            dropped - self->dropped_said);
    if (tnd_line_writer_dropped(self->writer) == dropped)
        self->dropped_said = dropped;
}

static void say_repeated(tnd_log_t *self)
{
    if (self->repeated > 0)
        print(self, self->repeated);
    self->repeated = 0;
}

void tnd_log_take(tnd_log_t *self, tnd_log_level_t level, const char *host, const char *actor,
                  const char *text)
{
    if (level < self->level)
        return;
    pthread_mutex_lock(&self->lock);
    if (self->shown_ns != 0 && self->last_level == level && strcmp(self->last_host, host) == 0 &&
        strcmp(self->last_actor, actor) == 0 &&
        strncmp(self->last_text, text, sizeof self->last_text - 1) == 0) {
        self->repeated++;
    } else {
        say_repeated(self);
        self->last_level = level;
        snprintf(self->last_host, sizeof self->last_host, "%s", host);
        snprintf(self->last_actor, sizeof self->last_actor, "%s", actor);
        snprintf(self->last_text, sizeof self->last_text, "%s", text);
        self->shown_ns = tnd_clock_now();
        say_dropped(self);
        print(self, 0);
    }
    pthread_mutex_unlock(&self->lock);
}

void tnd_log_tick(tnd_log_t *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t now = tnd_clock_now();
    if (self->repeated > 0 && now - self->shown_ns >= repeat_ns) {
        say_repeated(self);
        self->shown_ns = now;
    }
    pthread_mutex_unlock(&self->lock);
}

void tnd_log_end(tnd_log_t *self)
{
    pthread_mutex_lock(&self->lock);
    say_repeated(self);
    pthread_mutex_unlock(&self->lock);
}

void tnd_log_say(tnd_log_t *self, tnd_log_level_t level, const char *host, const char *command,
                 const char *text)
{
    if (self->json)
        tnd_log_take(self, level, host, command, text);
    else if (self->writer == NULL)
        tnd_complain(command, "%s", text);
    else
        fprintf(tnd_line_writer_stream(self->writer), "tundish %s: %s\n", command, text);
}

void tnd_log_complain(tnd_log_t *self, const char *host, const char *command, const char *format,
                      ...)
{
    char text[640];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tnd_log_say(self, TND_LOG_ERROR, host, command, text);
}
