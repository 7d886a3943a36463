/*  actors/python/interpreter.h - a process of Python that calls a function of the user on tiles of rows.
 *
 *  The process runs actors/python/worker.py, which is part of this library: it needs nothing but
 *  NumPy, and no file of Tundish.  Rows are passed in shared memory, which only grows; a socket has
 *  the messages, lists of words of 64 bits:
 *
 *      the first      0, bytes of a text in JSON at the start of the memory, bytes of the memory; 2 in
 *                     place of 0: of a process of which others become copies (interpreter_copy.h)
 *      a request      1, rows, bytes of the memory, where the rest of it is free, offset of the keys
 *                     of the rows or 0; then by column that goes in: offset of the rows, offset of
 *                     their lengths or 0, bytes
 *      a reply        0, rows, offset of how many rows each became or 0; then by column that was made:
 *                     offset of the rows, offset of their lengths or 0
 *      a refusal      1, then a text
 *      progress       2: of a call with several parts, which then has the whole time again
 *
 *  The process ends with the thread that opened it, or, if it is a copy of another one, with that; and with
 *  the interpreter's `close`.  What it prints goes to stderr.
 *
 *  Threads: one at a time, and the one that opened it outlives it. */
#ifndef TND_ACTORS_PYTHON_INTERPRETER_H
#define TND_ACTORS_PYTHON_INTERPRETER_H

#include "runtime/base/status.h"

typedef struct tnd_interpreter tnd_interpreter_t;

enum { TND_INTERPRETER_WORDS = 512 };

typedef struct {
    const char *program;          /* "python3", searched in PATH, or a path */
    const char *directory;        /* of the topology */
    const char *name;             /* of the function, for the list of processes */
    const char *setup;            /* the text in JSON */
    uint64_t limit_ns;            /* a call that takes longer hangs, and the process is killed */
    uint64_t start_ns;            /* likewise its start, which imports the module */
    void (*renew)(void *context); /* a call has made progress */
    void *context;
    bool serves; /* it imports the module, and then only copies of it are made */
    /*  One that serves, and outlives it: it is a copy of that, if that still makes one.  NULL: it is not. */
    const tnd_interpreter_t *server;
} tnd_interpreter_terms_t;

/*  How a call ended. */
typedef enum {
    TND_CALL_DONE,
    TND_CALL_REFUSED, /* by the function, with a reason */
    TND_CALL_DIED,    /* the process ended, with how it did */
    TND_CALL_HUNG     /* it was killed because it took too long */
} tnd_call_end_t;

/*  Starts the process and waits until the function can be called.  `terms` and its texts must stay
 *  valid until close.  Errors: TND_FAILED; the text names the interpreter and what is missing. */
tnd_status_t tnd_interpreter_open(tnd_interpreter_t **self_p, const tnd_interpreter_terms_t *terms,
                                  tnd_error_t *error) TND_CHECKED;
/*  Ends the process.  Sets *self_p to NULL; *self_p may be NULL. */
void tnd_interpreter_close(tnd_interpreter_t **self_p);

/*  The versions of Python and NumPy, for people. */
const char *tnd_interpreter_versions(const tnd_interpreter_t *self);

/*  Makes the shared memory at least so large; returns where it is until the next such call or
 *  tnd_interpreter_call.  Errors: NULL, with the reason. */
uint8_t *tnd_interpreter_memory(tnd_interpreter_t *self, size_t bytes, tnd_error_t *error);
/*  The memory, and how many bytes it has. */
const uint8_t *tnd_interpreter_reply(const tnd_interpreter_t *self, size_t *bytes_p);

/*  Sends a request of `count` words, of which this sets the first and the third, and waits for the reply:
 *  *count_p words, at most TND_INTERPRETER_WORDS.  The process must run. */
tnd_call_end_t tnd_interpreter_call(tnd_interpreter_t *self, uint64_t *request, size_t count,
                                    uint64_t *reply, size_t *count_p, tnd_error_t *error);

/*  Starts the process again after it has ended; ends it first if it runs. */
tnd_status_t tnd_interpreter_restart(tnd_interpreter_t *self, tnd_error_t *error) TND_CHECKED;

#endif
