/*  actors/python/interpreter_pool.h - interpreters that several threads use, one at a time each.
 *
 *  A process of Python ends with the thread that started it.  So a thread of the pool starts all of them,
 *  and lives until the pool is closed.  A thread takes an interpreter, calls it, and gives it back; if
 *  all are in use another one is started.
 *
 *  Threads: any, but for open and close. */
#ifndef TND_ACTORS_PYTHON_INTERPRETER_POOL_H
#define TND_ACTORS_PYTHON_INTERPRETER_POOL_H

#include "actors/python/interpreter.h"

typedef struct tnd_interpreter_pool tnd_interpreter_pool_t;

enum { TND_INTERPRETERS_MAX = 64 };

/*  Starts the first interpreter; `terms` as of tnd_interpreter_open.  Errors: TND_FAILED. */
tnd_status_t tnd_interpreter_pool_open(tnd_interpreter_pool_t **self_p,
                                       const tnd_interpreter_terms_t *terms,
                                       tnd_error_t *error) TND_CHECKED;
/*  None may be in use.  Sets *self_p to NULL; *self_p may be NULL. */
void tnd_interpreter_pool_close(tnd_interpreter_pool_t **self_p);

/*  Waits for one if TND_INTERPRETERS_MAX are in use.  Errors: TND_FAILED if another cannot start. */
tnd_status_t tnd_interpreter_pool_take(tnd_interpreter_pool_t *self,
                                       tnd_interpreter_t **interpreter_p,
                                       tnd_error_t *error) TND_CHECKED;
void tnd_interpreter_pool_give(tnd_interpreter_pool_t *self, tnd_interpreter_t *interpreter);

/*  As tnd_interpreter_restart, of one that the caller has taken. */
tnd_status_t tnd_interpreter_pool_restart(tnd_interpreter_pool_t *self,
                                          tnd_interpreter_t *interpreter,
                                          tnd_error_t *error) TND_CHECKED;

#endif
