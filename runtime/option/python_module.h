/*  runtime/option/python_module.h - finds the source of a module of Python, for its hash.
 *
 *  Hosts compare the hash without an interpreter.  A module that is installed as a package is not
 *  found here, and has none.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OPTION_PYTHON_MODULE_H
#define TND_RUNTIME_OPTION_PYTHON_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  Whether `call` is MODULE:NAME, in which both are names with dots between them. */
bool tnd_python_call_is_valid(const char *call);

/*  Finds the file of the module of a call, as an interpreter does: first in `directory` (NULL: the
 *  current one), then in the folders of TUNDISH_PYTHONPATH, which is that of a program in Python, and
 *  of PYTHONPATH.  Returns its hash, never 0, and its path; 0: it is in none of them, or cannot be
 *  read. */
uint64_t tnd_python_module_hash(const char *directory, const char *call, char *path, size_t room);

#endif
