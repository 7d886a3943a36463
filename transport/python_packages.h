/*  transport/python_packages.h - finds files of packages that are installed for Python.
 *
 *  Looks in the packages of the active virtual environment, of the python3 that PATH has, of this user,
 *  and of the system.  No interpreter runs.
 *
 *  Threads: any, while none changes the environment. */
#ifndef TND_TRANSPORT_PYTHON_PACKAGES_H
#define TND_TRANSPORT_PYTHON_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

/*  Writes the path of the first file that matches a pattern of glob(), such as "jax_plugins/x/x.so";
 *  patterns end with NULL.  A folder of packages is searched for all of them before the next one. */
bool tnd_python_packages_find(const char *const *patterns, char *path, size_t room);

#endif
