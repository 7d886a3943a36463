/*  actors/python/interpreter_pool.c - interpreters that several threads use. */
#include "actors/python/interpreter_pool.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/thread.h"

/*  What the thread of the pool does for another, which waits. */
typedef struct job {
    struct job *next;
    tnd_interpreter_t *interpreter; /* that starts again; NULL: a new one starts, and is set */
    tnd_status_t status;
    tnd_error_t *error;
    bool done;
} job_t;

struct tnd_interpreter_pool {
    const tnd_interpreter_terms_t *terms;
    pthread_t owner;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    job_t *jobs;
    bool ends;
    uint32_t count, starting, idle;
    tnd_interpreter_t *all[TND_INTERPRETERS_MAX], *free[TND_INTERPRETERS_MAX];
};

static void do_job(tnd_interpreter_pool_t *self, job_t *job)
{
    job->status = job->interpreter == NULL
                      ? tnd_interpreter_open(&job->interpreter, self->terms, job->error)
                      : tnd_interpreter_restart(job->interpreter, job->error);
}

static void *own(void *context)
{
    tnd_interpreter_pool_t *self = context;
    tnd_thread_name("python starts");
    pthread_mutex_lock(&self->lock);
    while (!self->ends) {
        job_t *job = self->jobs;
        if (job == NULL) {
            pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        self->jobs = job->next;
        pthread_mutex_unlock(&self->lock);
        do_job(self, job);
        pthread_mutex_lock(&self->lock);
        job->done = true;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    for (uint32_t i = 0; i < self->count; i++)
        tnd_interpreter_close(&self->all[i]);
    return NULL;
}

/*  Has the thread of the pool do a job; the lock is held. */
static tnd_status_t await(tnd_interpreter_pool_t *self, job_t *job)
{
    job->next = self->jobs;
    self->jobs = job;
    pthread_cond_broadcast(&self->changed);
    while (!job->done)
        pthread_cond_wait(&self->changed, &self->lock);
    return job->status;
}

/*  Starts another one, which the caller has taken; the lock is held. */
static tnd_status_t add(tnd_interpreter_pool_t *self, tnd_interpreter_t **interpreter_p,
                        tnd_error_t *error)
{
    job_t job = {.error = error};
    self->starting++;
    tnd_status_t status = await(self, &job);
    self->starting--;
    if (status == TND_OK)
        *interpreter_p = self->all[self->count++] = job.interpreter;
    return status;
}

tnd_status_t tnd_interpreter_pool_take(tnd_interpreter_pool_t *self,
                                       tnd_interpreter_t **interpreter_p, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    pthread_mutex_lock(&self->lock);
    while (self->idle == 0 && self->count + self->starting == TND_INTERPRETERS_MAX)
        pthread_cond_wait(&self->changed, &self->lock);
    if (self->idle > 0)
        *interpreter_p = self->free[--self->idle];
    else
        status = add(self, interpreter_p, error);
    pthread_mutex_unlock(&self->lock);
    return status;
}

void tnd_interpreter_pool_give(tnd_interpreter_pool_t *self, tnd_interpreter_t *interpreter)
{
    pthread_mutex_lock(&self->lock);
    self->free[self->idle++] = interpreter;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

tnd_status_t tnd_interpreter_pool_restart(tnd_interpreter_pool_t *self,
                                          tnd_interpreter_t *interpreter, tnd_error_t *error)
{
    job_t job = {.interpreter = interpreter, .error = error};
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = await(self, &job);
    pthread_mutex_unlock(&self->lock);
    return status;
}

tnd_status_t tnd_interpreter_pool_open(tnd_interpreter_pool_t **self_p,
                                       const tnd_interpreter_terms_t *terms, tnd_error_t *error)
{
    tnd_interpreter_pool_t *self = tnd_allocate_zeroed(1, sizeof *self);
    tnd_interpreter_t *first;
    self->terms = terms;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    *self_p = self;
    if (tnd_thread_create_without_signals(&self->owner, "the interpreters of Python", own, self,
                                          error) != TND_OK) {
        free(self);
        *self_p = NULL;
        return TND_FAILED;
    }
    if (tnd_interpreter_pool_take(self, &first, error) == TND_OK) {
        tnd_interpreter_pool_give(self, first);
        return TND_OK;
    }
    tnd_interpreter_pool_close(self_p);
    return TND_FAILED;
}

void tnd_interpreter_pool_close(tnd_interpreter_pool_t **self_p)
{
    tnd_interpreter_pool_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->ends = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->owner, NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
}
