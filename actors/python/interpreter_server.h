/*  actors/python/interpreter_server.h - the process that has imported a module, of which interpreters are copies.
 *
 *  Several interpreters of a module share the memory of what it imports, and it is imported once.  A
 *  module whose import leaves threads, files or processes cannot be copied, nor can one that is not
 *  imported in half the time that an interpreter has to start: then each interpreter imports it.  The
 *  process is shared by all actors of this process that name the same interpreter, folder and module.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PYTHON_INTERPRETER_SERVER_H
#define TND_ACTORS_PYTHON_INTERPRETER_SERVER_H

#include "actors/python/interpreter.h"

typedef struct tnd_interpreter_server tnd_interpreter_server_t;

/*  Sets terms->server, to NULL if copies cannot be made, and waits until that is known.  Its interpreters
 *  are closed before tnd_interpreter_server_leave. */
tnd_interpreter_server_t *tnd_interpreter_server_use(tnd_interpreter_terms_t *terms);
/*  Ends the process with its last user.  Sets *self_p to NULL; *self_p may be NULL. */
void tnd_interpreter_server_leave(tnd_interpreter_server_t **self_p);

#endif
