/*  tests/transport/device/cuda_header.c - compares transport/cuda/cuda_calls.def with NVIDIA's cuda.h, by
 *  compiling it.  The types in the parameters of the calls are those of the header here. */
#include <cuda.h>

/*  The header of CUDA 13 means a second version, which drivers before 12.8 do not have. */
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end);

typedef struct {
    unsigned char bytes[16];
} tnd_cuda_uuid_t;

#define TYPE(name, type)                                                                           \
    _Static_assert(sizeof(name) == sizeof(type) && _Alignof(name) == _Alignof(type), #name);
#define CONSTANT(name, value) _Static_assert(name == (value), #name);
/*  A name without its version is a macro of the header, whose text differs. */
#define EXPANDED(text) #text
#define TEXT(name) EXPANDED(name)
#define CALL(kind, name, parameters)                                                               \
    _Static_assert(sizeof #name == sizeof TEXT(name), #name);                                      \
    _Static_assert(_Generic(&name, CUresult(*) parameters : 1, default : 0), #name);
#include "transport/cuda/cuda_calls.def"
