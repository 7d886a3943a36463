/*  actors/python/interpreter_copy.h - an interpreter as a copy of a process that has imported its module.
 *
 *  The process forks for each request, and stays the parent of the copy; a socket to it, the leash, has the
 *  process id of the copy, then how it ended.  The process ends the copy when the leash is closed, and does
 *  not wait for it before, so its id is not used again meanwhile.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PYTHON_INTERPRETER_COPY_H
#define TND_ACTORS_PYTHON_INTERPRETER_COPY_H

#include <stdbool.h>
#include <sys/types.h>

/*  How a copy ended whose parent has ended, too. */
enum { TND_COPY_END_UNKNOWN = -1 };

/*  Asks the process at the other end of `server` for a copy with these files as its socket, memory and
 *  program, which stay the caller's.  The caller closes *leash_p.  False: it makes none. */
bool tnd_interpreter_copy(int server, const int files[3], pid_t *pid_p, int *leash_p);

/*  Waits for the end of a copy that has ended, or is killed; returns its status as waitpid does, or
 *  TND_COPY_END_UNKNOWN. */
int tnd_interpreter_copy_end(int leash);

#endif
