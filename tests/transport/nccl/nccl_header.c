/*  tests/transport/nccl/nccl_header.c - compares transport/nccl/nccl_calls.def and nccl_config.def with NCCL's
 *  header, by compiling it.  The types in the parameters of the calls are those of the header here. */
#include <stddef.h>

#include <nccl.h>

/*  As transport/nccl/nccl_library.h has them. */
typedef struct {
    char internal[128];
} tnd_nccl_id_t;
typedef struct {
#define MEMBER(type, name) type name;
#include "transport/nccl/nccl_config.def"
#undef MEMBER
} tnd_nccl_config_t;

#define MEMBER(type, name)                                                                         \
    _Static_assert(offsetof(ncclConfig_t, name) == offsetof(tnd_nccl_config_t, name), #name);      \
    _Static_assert(_Generic(((ncclConfig_t *)0)->name, type : 1, default : 0), #name);
#include "transport/nccl/nccl_config.def"
_Static_assert(sizeof(ncclConfig_t) >= sizeof(tnd_nccl_config_t),
               "later versions only add members");
_Static_assert(NCCL_CONFIG_UNDEF_INT == INT_MIN, "TND_NCCL_UNDEFINED");

/*  What has this type here, the configuration, is compared above. */
#define SIZE_OF(name) (_Generic((name *)0, ncclConfig_t * : 0, default : sizeof(name)))
#define TYPE(name, type) _Static_assert(SIZE_OF(name) == 0 || sizeof(name) == sizeof(type), #name);
#define CONSTANT(name, value) _Static_assert((name) == (value), #name);
#define CALL(result, name, parameters)                                                             \
    _Static_assert(_Generic(&name, result(*) parameters : 1, default : 0), #name);
#include "transport/nccl/nccl_calls.def"
