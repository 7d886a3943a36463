/*  tests/support/cuda/host_functions.c - functions of the host in streams.
 *
 *  Each runs on a thread of its own, as those of CUDA run on a thread of the driver. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/streams.h"

typedef struct {
    void (*function)(void *);
    void *argument;
    unsigned holders; /* the work, and the thread */
    bool started, done;
} host_call_t;

typedef struct {
    work_t work;
    host_call_t *call;
} host_work_t;

static void let_go(host_call_t *call)
{
    if (--call->holders == 0)
        free(call);
}

static void *call_main(void *context)
{
    host_call_t *call = context;
    call->function(call->argument);
    hostile_lock();
    call->done = true;
    let_go(call);
    hostile_progress();
    hostile_unlock();
    return NULL;
}

static bool run(work_t *work, bool demanded)
{
    host_call_t *call = ((host_work_t *)work)->call;
    pthread_t thread;
    if (demanded && !call->started) {
        call->started = true;
        call->holders++;
        if (pthread_create(&thread, NULL, call_main, call) != 0)
            abort();
        pthread_detach(thread);
    }
    return call->done;
}

static void end(work_t *work)
{
    let_go(((host_work_t *)work)->call);
}

static CUresult put(CUstream handle, void (*function)(void *), void *argument)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    host_call_t *call = calloc(1, sizeof *call);
    *call = (host_call_t){.function = function, .argument = argument, .holders = 1};
    host_work_t *self = calloc(1, sizeof *self);
    *self = (host_work_t){.work = {.name = "a function of the host", .run = run, .end = end},
                          .call = call};
    hostile_stream_put(stream, &self->work);
    return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *), void *argument)
{
    HOSTILE_CALL(cuLaunchHostFunc, put(stream, function, argument));
}
