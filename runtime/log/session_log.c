/*  runtime/log/session_log.c - delivers the log records of a session to the program. */
#include "runtime/log/session_log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/thread.h"

enum { RECORDS = 256, NAME = 64, TEXT = 800 };

typedef struct {
    tnd_log_level_t level;
    char host[NAME], actor[NAME], text[TEXT];
} entry_t;

struct tnd_session_log {
    pthread_t thread;
    pthread_mutex_t calling; /* held while the program's function runs; taken before `lock` */
    pthread_mutex_t lock;    /* guards the rest */
    pthread_cond_t changed;
    entry_t *entries; /* a ring */
    size_t first, count;
    uint64_t dropped;
    tnd_log_level_t least;
    tnd_log_fn *log;
    void *user;
    bool started, stopping;
};

static void write_line(const tnd_log_line_t *record, void *user)
{
    static const char *const words[] = {"debug", "info", "warning", "error"};
    (void)user;
    fprintf(stderr, "tundish: %s: %s %s: %s\n", words[record->level], record->host, record->actor,
            record->text);
}

static void free_log(tnd_session_log_t *self)
{
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    pthread_mutex_destroy(&self->calling);
    free(self->entries);
    free(self);
}

static void *deliver_all(void *context);

tnd_status_t tnd_session_log_new(tnd_session_log_t **self_p, tnd_error_t *error)
{
    tnd_session_log_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->entries = tnd_allocate(RECORDS, sizeof *self->entries);
    self->least = TND_LOG_WARNING;
    self->log = write_line;
    pthread_mutex_init(&self->calling, NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    tnd_status_t status = tnd_thread_create_without_signals(&self->thread, "the log of the session",
                                                            deliver_all, self, error);
    *self_p = status == TND_OK ? self : NULL;
    if (status != TND_OK)
        free_log(self);
    return status;
}

void tnd_session_log_take(tnd_session_log_t *self, const tnd_log_line_t *record)
{
    pthread_mutex_lock(&self->lock);
    if (record->level < self->least || self->log == NULL) {
        /* Not wanted. */
    } else if (self->count == RECORDS) {
        self->dropped++;
    } else {
        entry_t *entry = &self->entries[(self->first + self->count++) % RECORDS];
        entry->level = record->level;
        snprintf(entry->host, sizeof entry->host, "%s", record->host);
        snprintf(entry->actor, sizeof entry->actor, "%s", record->actor);
        snprintf(entry->text, sizeof entry->text, "%s", record->text);
        pthread_cond_signal(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
}

/*  Takes the next record; false once there is none and none will follow. */
static bool take_next(tnd_session_log_t *self, entry_t *entry)
{
    pthread_mutex_lock(&self->lock);
    while (!self->started || (self->count == 0 && self->dropped == 0 && !self->stopping))
        pthread_cond_wait(&self->changed, &self->lock);
    bool any = self->count > 0 || self->dropped > 0;
    if (self->count > 0) {
        *entry = self->entries[self->first];
        self->first = (self->first + 1) % RECORDS;
        self->count--;
    } else if (any) {
        *entry = (entry_t){.level = TND_LOG_WARNING, .host = "-", .actor = "log"};
        snprintf(entry->text, sizeof entry->text,
                 "%" PRIu64 " records were dropped: they came faster than the program took them",
                 self->dropped);
        self->dropped = 0;
    }
    pthread_mutex_unlock(&self->lock);
    return any;
}

static void deliver(tnd_session_log_t *self, const entry_t *entry)
{
    tnd_log_line_t record = {
        .level = entry->level, .host = entry->host, .actor = entry->actor, .text = entry->text};
    pthread_mutex_lock(&self->calling);
    pthread_mutex_lock(&self->lock);
    tnd_log_fn *log = record.level >= self->least ? self->log : NULL;
    void *user = self->user;
    pthread_mutex_unlock(&self->lock);
    if (log != NULL)
        log(&record, user);
    pthread_mutex_unlock(&self->calling);
}

static void *deliver_all(void *context)
{
    tnd_session_log_t *self = context;
    entry_t entry;
    tnd_thread_name("log");
    while (take_next(self, &entry))
        deliver(self, &entry);
    return NULL;
}

void tnd_session_log_start(tnd_session_log_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->started = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void tnd_session_log_set(tnd_session_log_t *self, tnd_log_level_t least, tnd_log_fn *log,
                         void *user)
{
    pthread_mutex_lock(&self->calling);
    pthread_mutex_lock(&self->lock);
    self->least = least;
    self->log = log;
    self->user = user;
    pthread_mutex_unlock(&self->lock);
    pthread_mutex_unlock(&self->calling);
}

void tnd_session_log_destroy(tnd_session_log_t **self_p)
{
    tnd_session_log_t *self = *self_p;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->started = self->stopping = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    free_log(self);
    *self_p = NULL;
}
