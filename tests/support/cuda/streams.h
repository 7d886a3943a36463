/*  tests/support/cuda/streams.h - streams, and the work in them.
 *
 *  Work that is put into a stream waits there.  It runs when something demands it: the program waits
 *  for the stream, or asked long enough for an event after it, or another stream that runs waits for
 *  it.  Now and then a stream runs as far as it can at once.
 *
 *  Work that could run has begun: what it will write is poisoned.
 *
 *  If work runs before other work that was requested earlier, in another stream, and touches the
 *  same memory, then nothing in the program orders them, which is a violation.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_STREAMS_H
#define TND_TESTS_SUPPORT_CUDA_STREAMS_H

#include "transport/cuda/cuda_driver.h"

enum { TOUCHES = 17 };

/*  Memory that work reads or writes, by the addresses that the program has. */
typedef struct {
    uintptr_t at;
    size_t bytes;
    bool writes;
} touch_t;

/*  A copy, a kernel, an event...: the first member of a struct of its own, made by calloc. */
typedef struct work work_t;
struct work {
    const char *name;
    touch_t touches[TOUCHES];
    /*  Returns false if it cannot be done yet.  `demanded`: it may make others run first. */
    bool (*run)(work_t *self, bool demanded);
    void (*poison)(work_t *self); /* NULL: nothing is written */
    void (*end)(work_t *self);    /* releases what it has, not itself; NULL: nothing */
    /* The rest is the stream's. */
    CUstream stream;
    work_t *next;
    uint64_t number; /* in the order of requests in its context */
    bool begun;
};

/*  The stream of `context` with that handle, or that one of CUDA's numbers means.
 *  Errors: CUDA_ERROR_INVALID_HANDLE. */
CUresult hostile_stream(CUcontext context, CUstream handle, CUstream *stream_p);

/*  The stream takes `work`, and frees it when it is done. */
void hostile_stream_put(CUstream stream, work_t *work);

/*  Runs the work up to that number.  false: some of it cannot be done yet. */
bool hostile_stream_run(CUstream stream, uint64_t number);

/*  Waits until all work is done that is in the stream. */
CUresult hostile_stream_wait(CUstream stream);

/*  A violation if work that has not run touches the memory. */
void hostile_streams_check_free(const struct CUctx_st *context, const void *memory, size_t bytes);

CUcontext hostile_stream_context(const struct CUstream_st *stream);

/*  Frees what is left of a context; the number of streams that were not destroyed. */
unsigned hostile_streams_end(CUcontext context);

#endif
