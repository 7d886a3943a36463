/*  runtime/resources/guarded_call.c - calls on threads that it abandons when they hang. */
#include "runtime/resources/guarded_call.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/core/host/hang_watch.h"
#include "runtime/observe/thread_state.h"

/*  Reads of fewer bytes do not count as progress: they may be of a folder or a library. */
static const uint64_t read_least = 64 << 10;

/*  What one thread does. */
typedef struct tnd_guarded_work {
    tnd_guarded_call_t *call;
    struct tnd_guarded_work *next;
    pid_t thread;
    const tnd_instance_t *instance;
    tnd_diagnostic_code_t code;
    const void *about;
    char what[128];
    uint64_t since_ns; /* 0: not in user code */
    tnd_hang_watch_t watch;
    bool opens; /* data, as follows */
    tnd_open_progress_t progress;
    tnd_open_pace_t pace;
    uint64_t begun_ns; /* with this instance */
    bool asked;        /* for reports, so that `read` is known */
    uint64_t read;     /* bytes, then */
} word_t;

/*  An additional error of a thread. */
typedef struct told {
    struct told *next;
    const tnd_instance_t *instance;
    tnd_diagnostic_code_t code;
    tnd_error_t error;
} told_t;

struct tnd_guarded_call {
    tnd_guarded_call_fn *work;
    void (*done)(void *context);
    void *context;
    tnd_arena_t *arena;
    tnd_diagnostics_t *found;
    pthread_t thread;
    _Atomic bool over;
    pthread_mutex_t lock; /* guards the lists */
    word_t *words;
    told_t *told, **told_end; /* in the order in which they were reported */
    uint64_t reports;
};

static void *call_main(void *context)
{
    tnd_guarded_call_t *self = context;
    tnd_thread_begin("facts");
    self->work(self->context, self, self->found);
    atomic_store(&self->over, true);
    if (self->done != NULL)
        self->done(self->context);
    return NULL;
}

static void free_call(tnd_guarded_call_t *self)
{
    pthread_mutex_destroy(&self->lock);
    tnd_arena_destroy(&self->arena);
    free(self);
}

tnd_status_t tnd_guarded_call_begin(tnd_guarded_call_t **self_p, tnd_guarded_call_fn *work,
                                    void (*done)(void *context), void *context, tnd_error_t *error)
{
    tnd_guarded_call_t *self = tnd_allocate_zeroed(1, sizeof *self);
    *self = (tnd_guarded_call_t){.work = work, .done = done, .context = context};
    self->told_end = &self->told;
    self->arena = tnd_arena_new();
    self->found = tnd_diagnostics_new(self->arena);
    pthread_mutex_init(&self->lock, NULL);
    tnd_status_t status =
        tnd_thread_create(&self->thread, "the opening of data", call_main, self, error);
    *self_p = status == TND_OK ? self : NULL;
    if (status != TND_OK)
        free_call(self);
    return status;
}

bool tnd_guarded_call_done(const tnd_guarded_call_t *self)
{
    return atomic_load(&self->over);
}

static void report(const word_t *word, uint64_t hung_after_ns, tnd_diagnostics_t *diagnostics)
{
    tnd_error_t error;
    char where[240], name[220] = "";
    tnd_thread_state_describe(word->thread, where, sizeof where);
    if (word->opens && word->progress.file[0] != '\0')
        tnd_open_progress_name(&word->progress, name, sizeof name);
    (void)tnd_fail_about(&error, word->about,
                         "%s hangs%s%s: tried before the start, it takes longer than %" PRIu64
                         " ms (hung_after): %s",
                         word->what, name[0] != '\0' ? " while it opens " : "", name,
                         hung_after_ns / 1000000, where);
    tnd_placement_report(word->instance, word->code, &error, diagnostics);
}

static bool hangs(word_t *word, uint64_t hung_after_ns, uint64_t now)
{
    if (!tnd_hang_watch_look(&word->watch, word->since_ns, hung_after_ns, now))
        return false;
    tnd_thread_progress_t progress;
    tnd_thread_state_progress(word->thread, &progress);
    return tnd_hang_watch_judge(&word->watch, &progress, hung_after_ns);
}

bool tnd_guarded_call_hangs(tnd_guarded_call_t *self, uint64_t hung_after_ns, uint64_t now,
                            tnd_diagnostics_t *diagnostics)
{
    word_t *word;
    pthread_mutex_lock(&self->lock);
    for (word = self->words; word != NULL && !hangs(word, hung_after_ns, now); word = word->next)
        continue;
    if (word != NULL)
        report(word, hung_after_ns, diagnostics);
    pthread_mutex_unlock(&self->lock);
    return word != NULL;
}

bool tnd_guarded_call_end(tnd_guarded_call_t **self_p, uint64_t wait_ns,
                          tnd_diagnostics_t *diagnostics)
{
    tnd_guarded_call_t *self = *self_p;
    if (self == NULL)
        return true;
    uint64_t until = tnd_clock_read(CLOCK_REALTIME) + wait_ns;
    struct timespec deadline = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    int failed = tnd_guarded_call_done(self) ? pthread_join(self->thread, NULL)
                                             : pthread_timedjoin_np(self->thread, NULL, &deadline);
    if (failed != 0)
        return false;
    *self_p = NULL;
    if (diagnostics != NULL)
        tnd_diagnostics_add_all(diagnostics, self->found);
    for (told_t *told = self->told, *next; told != NULL; told = next) {
        next = told->next;
        if (diagnostics != NULL)
            tnd_placement_report(told->instance, told->code, &told->error, diagnostics);
        free(told);
    }
    for (word_t *word = self->words, *next; word != NULL; word = next) {
        next = word->next;
        free(word);
    }
    free_call(self);
    return true;
}

/* --- what is at work -------------------------------------------------------------------------- */

/*  The entry of the calling thread. */
static word_t *own_word(tnd_guarded_call_t *self)
{
    pid_t thread = gettid();
    word_t *word = self->words;
    while (word != NULL && word->thread != thread)
        word = word->next;
    if (word != NULL)
        return word;
    word = tnd_allocate_zeroed(1, sizeof *word);
    word->call = self;
    word->thread = thread;
    word->next = self->words;
    self->words = word;
    return word;
}

void tnd_guarded_call_enter(tnd_guarded_call_t *self, const tnd_instance_t *instance,
                            tnd_diagnostic_code_t code)
{
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    word_t *word = own_word(self);
    word->instance = instance;
    word->code = code;
    word->begun_ns = tnd_clock_now();
    word->since_ns = 0;
    word->opens = false;
    pthread_mutex_unlock(&self->lock);
}

/*  The calling thread begins something else, under the lock. */
static word_t *begin_work(tnd_guarded_call_t *self, const void *about, const char *what)
{
    word_t *word = own_word(self);
    word->about = about;
    snprintf(word->what, sizeof word->what, "%s", what);
    word->since_ns = tnd_clock_now();
    return word;
}

void tnd_guarded_call_at(tnd_guarded_call_t *self, const void *about, const char *format, ...)
{
    if (self == NULL)
        return;
    char what[sizeof((word_t *)NULL)->what];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&self->lock);
    (void)begin_work(self, about, what);
    self->reports++;
    pthread_mutex_unlock(&self->lock);
}

/*  To begin is not progress, and neither is what the thread read before. */
tnd_guarded_work_t *tnd_guarded_call_opens(tnd_guarded_call_t *self, const void *about,
                                           const char *what)
{
    if (self == NULL)
        return NULL;
    pthread_mutex_lock(&self->lock);
    word_t *word = begin_work(self, about, what);
    word->opens = true;
    word->asked = false;
    word->pace = tnd_open_pace(-1, word->begun_ns);
    word->progress = (tnd_open_progress_t){.actor = ""};
    snprintf(word->progress.actor, sizeof word->progress.actor, "%s", word->instance->actor);
    tnd_open_progress_doing(&word->progress, NULL, what);
    pthread_mutex_unlock(&self->lock);
    return word;
}

void tnd_guarded_work_count(tnd_guarded_work_t *self, uint64_t done, uint64_t all, const char *unit)
{
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->call->lock);
    tnd_open_progress_count(&self->progress, done, all, unit);
    uint64_t now = tnd_clock_now();
    tnd_open_pace_note(&self->pace, &self->progress, now);
    if (self->since_ns != 0) {
        self->since_ns = now;
        self->call->reports++;
    }
    pthread_mutex_unlock(&self->call->lock);
}

void tnd_guarded_work_doing(tnd_guarded_work_t *self, const char *doing, const char *file)
{
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->call->lock);
    tnd_open_progress_doing(&self->progress, doing, file);
    pthread_mutex_unlock(&self->call->lock);
}

uint64_t tnd_guarded_call_reports(tnd_guarded_call_t *self)
{
    pthread_mutex_lock(&self->lock);
    for (word_t *word = self->words; word != NULL; word = word->next) {
        if (!word->opens || word->since_ns == 0)
            continue;
        uint64_t read = tnd_thread_state_read(word->thread);
        if (word->asked && read < word->read + read_least)
            continue;
        self->reports += word->asked;
        word->asked = true;
        word->read = read;
    }
    uint64_t reports = self->reports;
    pthread_mutex_unlock(&self->lock);
    return reports;
}

void tnd_guarded_call_write(tnd_guarded_call_t *self, FILE *out)
{
    pthread_mutex_lock(&self->lock);
    for (word_t *word = self->words; word != NULL; word = word->next)
        if (word->opens && word->since_ns != 0)
            tnd_open_progress_write(&word->progress, out);
    pthread_mutex_unlock(&self->lock);
}

/*  What a thread does, for people. */
static void show_work(const word_t *word, uint64_t now, char *text, size_t room)
{
    char doing[128];
    const tnd_open_progress_t *progress = &word->progress;
    if (!word->opens) { /* `what` has the comma of a longer sentence */
        size_t length = strlen(word->what);
        length -= length > 0 && word->what[length - 1] == ',';
        snprintf(text, room, "%s: trying %.*s", word->instance->actor, (int)length, word->what);
        return;
    }
    tnd_open_progress_print(progress, &word->pace, now, doing, sizeof doing);
    bool named = strstr(doing, progress->file) != NULL;
    snprintf(text, room, "%s: %s%s%s", progress->actor, doing, named ? "" : ", now ",
             named ? "" : progress->file);
}

uint64_t tnd_guarded_call_show(tnd_guarded_call_t *self, uint64_t now, char *text, size_t room)
{
    const word_t *first = NULL;
    pthread_mutex_lock(&self->lock);
    for (const word_t *word = self->words; word != NULL; word = word->next)
        if (word->since_ns != 0 && (first == NULL || word->begun_ns < first->begun_ns))
            first = word;
    uint64_t begun_ns = first != NULL ? first->begun_ns : 0;
    if (first != NULL)
        show_work(first, now, text, room);
    pthread_mutex_unlock(&self->lock);
    return begun_ns;
}

void tnd_guarded_call_tell(tnd_guarded_call_t *self, const tnd_error_t *error)
{
    if (self == NULL)
        return;
    told_t *told = tnd_allocate_zeroed(1, sizeof *told);
    pthread_mutex_lock(&self->lock);
    const word_t *word = own_word(self);
    *told = (told_t){.instance = word->instance, .code = word->code, .error = *error};
    *self->told_end = told;
    self->told_end = &told->next;
    pthread_mutex_unlock(&self->lock);
}

void tnd_guarded_call_leave(tnd_guarded_call_t *self)
{
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    own_word(self)->since_ns = 0;
    pthread_mutex_unlock(&self->lock);
}
