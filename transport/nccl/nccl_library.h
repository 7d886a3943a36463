/*  transport/nccl/nccl_library.h - NCCL, NVIDIA's library of collectives, if this machine has it.
 *
 *  It is looked for at run time; nothing of NVIDIA's is needed to build.  nccl_calls.def lists what is
 *  used of its interface.
 *
 *  Two copies of it in one process corrupt each other, and frameworks load their own.  So the copy that is
 *  loaded already is used; else the file that TUNDISH_NCCL names, what the loader finds, or that of
 *  Python's packages, in this order.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_NCCL_NCCL_LIBRARY_H
#define TND_TRANSPORT_NCCL_NCCL_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/status.h"

/*  What members of a communicator meet by. */
typedef struct {
    char internal[128];
} tnd_nccl_id_t;

/*  The configuration of a communicator. */
typedef struct {
#define MEMBER(type, name) type name;
#include "transport/nccl/nccl_config.def"
#undef MEMBER
} tnd_nccl_config_t;

enum { TND_NCCL_UNDEFINED = INT_MIN };

#define TYPE(name, type) typedef type name;
#define CONSTANT(name, value)
#define CALL(result, name, parameters)
#include "transport/nccl/nccl_calls.def"
#undef TYPE
#undef CONSTANT
#undef CALL

#define TYPE(name, type)
#define CONSTANT(name, value) name = value,
#define CALL(result, name, parameters)
enum {
#include "transport/nccl/nccl_calls.def"
};
#undef CONSTANT
#undef CALL
#define CONSTANT(name, value)

/*  The library, with each call under its own name. */
typedef struct {
    int version; /* 21903 is 2.19.3 */
    char path[PATH_MAX];
#define CALL(result, name, parameters) result(*name) parameters;
#include "transport/nccl/nccl_calls.def"
#undef CALL
} tnd_nccl_library_t;
#undef TYPE
#undef CONSTANT

/*  The library; it stays loaded until the process ends.  Errors: TND_FAILED with the reason if it is not
 *  found or cannot be used; the same at each call. */
tnd_status_t tnd_nccl_library(const tnd_nccl_library_t **library_p, tnd_error_t *error) TND_CHECKED;

/*  Whether a library was found, after the first call of that: a machine need not have one, but one that
 *  cannot be used is there in vain. */
bool tnd_nccl_library_found(void);

/*  A non-blocking communicator, all else as NCCL decides. */
tnd_nccl_config_t tnd_nccl_config(void);

/*  Writes "2.19.3".  Returns `text`. */
const char *tnd_nccl_version_text(int version, char *text, size_t room);

/*  Writes "ncclAllReduce failed: unhandled cuda error: out of memory (1)", with the library's own words
 *  about the last failure in this process, if it has any.  Returns `text`. */
const char *tnd_nccl_failure(const tnd_nccl_library_t *library, const char *call,
                             ncclResult_t result, char *text, size_t room);

#endif
