/*  tests/support/cuda/memory.c - allocates and frees; finds what an address belongs to. */
#include "tests/support/cuda/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/settings.h"
#include "tests/support/cuda/streams.h"
#include "tests/support/cuda/violation.h"

enum { PAGE = 4096, ALIGN = 256 };

typedef struct allocation {
    struct allocation *next;
    CUcontext context;
    uint8_t *seen, *work; /* its first byte, as the program and as the driver have it */
    size_t bytes, mapped; /* `mapped` in front of a page that may not be accessed */
    bool host, portable;
} allocation_t;

static allocation_t *all;

static size_t rounded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* --- maps ------------------------------------------------------------------------------------- */

/*  Pages of a file without a name, or of nothing, and one after them that may not be accessed. */
static uint8_t *map(size_t mapped, int file, int protection)
{
    int flags = MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    uint8_t *base =
        mmap(NULL, mapped + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (mmap(base, mapped, protection, flags | MAP_FIXED, file, 0) == MAP_FAILED) {
        munmap(base, mapped + PAGE);
        return NULL;
    }
    return base;
}

static void unmap(const allocation_t *self)
{
    uint8_t *seen = self->seen + rounded(self->bytes, ALIGN) - self->mapped;
    uint8_t *work = self->work + rounded(self->bytes, ALIGN) - self->mapped;
    munmap(seen, self->mapped + PAGE);
    if (work != seen)
        munmap(work, self->mapped + PAGE);
}

static bool map_both(allocation_t *self)
{
    int file = self->host ? -1 : memfd_create("cuda", MFD_CLOEXEC);
    uint8_t *seen = NULL, *work = NULL;
    if (!self->host && (file < 0 || ftruncate(file, (off_t)self->mapped) != 0))
        abort();
    work = map(self->mapped, file, PROT_READ | PROT_WRITE);
    seen = self->host ? work : map(self->mapped, file, PROT_NONE);
    if (file >= 0)
        close(file);
    if (work == NULL || seen == NULL)
        return false;
    self->seen = seen + self->mapped - rounded(self->bytes, ALIGN);
    self->work = work + self->mapped - rounded(self->bytes, ALIGN);
    memset(self->work, POISON, rounded(self->bytes, ALIGN));
    return true;
}

static CUresult allocate(allocation_t **made_p, size_t bytes, bool host, bool portable)
{
    CUcontext context;
    HOSTILE_TRY(hostile_current(&context));
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > hostile_settings()->memory - (host ? 0 : hostile_memory_used(context)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation_t *self = calloc(1, sizeof *self);
    *self = (allocation_t){.next = all,
                           .context = context,
                           .bytes = bytes,
                           .mapped = rounded(bytes, PAGE),
                           .host = host,
                           .portable = portable};
    if (!map_both(self))
        abort();
    *made_p = all = self;
    return CUDA_SUCCESS;
}

/* --- looks ------------------------------------------------------------------------------------ */

static allocation_t *find(const void *at, size_t bytes)
{
    for (allocation_t *i = all; i != NULL; i = i->next)
        if ((const uint8_t *)at >= i->seen && (const uint8_t *)at + bytes <= i->seen + i->bytes)
            return i;
    return NULL;
}

void *hostile_memory_at(const struct CUctx_st *context, CUdeviceptr at, size_t bytes,
                        const char *what)
{
    const uint8_t *seen = (const uint8_t *)(uintptr_t)at;
    const allocation_t *of = find(seen, bytes);
    if (of == NULL || of->host || of->context != context)
        hostile_violation("%s of %zu bytes at %p: not memory of device %d", what, bytes,
                          (const void *)seen, context->device);
    return of->work + (seen - of->seen);
}

bool hostile_memory_is_pinned(const struct CUctx_st *context, const void *at, size_t bytes)
{
    const allocation_t *of = find(at, bytes);
    return of != NULL && of->host && (of->portable || of->context == context);
}

/*  As an H200 counts it: what is larger than its pages of 2 MiB has some of its own. */
static uint64_t pages_of(size_t bytes)
{
    const uint64_t page = 2 << 20;
    return bytes < page ? bytes : (bytes + page - 1) / page * page;
}

uint64_t hostile_memory_used(const struct CUctx_st *context)
{
    uint64_t used = 0;
    for (const allocation_t *i = all; i != NULL; i = i->next)
        if (i->context == context && !i->host)
            used += pages_of(i->bytes);
    return used;
}

/* --- frees ------------------------------------------------------------------------------------ */

/*  The bytes from the end to the next multiple of the alignment are unused. */
static void check_end(const allocation_t *self)
{
    for (size_t i = self->bytes; i < rounded(self->bytes, ALIGN); i++)
        if (self->work[i] != POISON)
            hostile_violation("%zu bytes of %s memory were written beyond their end", self->bytes,
                              self->host ? "page-locked" : "the device's");
}

static void drop(allocation_t **at)
{
    allocation_t *self = *at;
    check_end(self);
    *at = self->next;
    unmap(self);
    free(self);
}

static CUresult release(const void *memory, bool host)
{
    CUcontext context;
    CUresult result = hostile_current(&context);
    if (result == CUDA_ERROR_INVALID_CONTEXT)
        return result;
    for (allocation_t **at = &all; *at != NULL; at = &(*at)->next)
        if ((*at)->seen == memory && (*at)->host == host) {
            hostile_streams_check_free((*at)->context, memory, (*at)->bytes);
            drop(at);
            return result;
        }
    hostile_violation("%p is freed, which is not %s memory", memory,
                      host ? "page-locked" : "a device's");
}

unsigned hostile_memory_end(const struct CUctx_st *context)
{
    unsigned count = 0;
    for (allocation_t **at = &all; *at != NULL;)
        if ((*at)->context == context) {
            drop(at);
            count++;
        } else {
            at = &(*at)->next;
        }
    return count;
}

/* --- calls ------------------------------------------------------------------------------------ */

static CUresult allocate_device(CUdeviceptr *memory, size_t bytes)
{
    allocation_t *made;
    CUresult result = allocate(&made, bytes, false, false);
    if (result == CUDA_SUCCESS)
        *memory = (CUdeviceptr)(uintptr_t)made->seen;
    return result;
}

static CUresult allocate_host(void **memory, size_t bytes, unsigned flags)
{
    allocation_t *made;
    CUresult result = allocate(&made, bytes, true, (flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    if (result == CUDA_SUCCESS)
        *memory = made->seen;
    return result;
}

static CUresult get_info(size_t *free_bytes, size_t *total)
{
    CUcontext context;
    CUresult result = hostile_current(&context);
    if (result == CUDA_SUCCESS) {
        *total = hostile_settings()->memory;
        *free_bytes = *total - hostile_memory_used(context);
    }
    return result;
}

/*  Of memory that it does not know, it tells nothing. */
static CUresult tell(unsigned count, const CUpointer_attribute *asked, void **values,
                     CUdeviceptr memory)
{
    CUcontext context;
    const allocation_t *of = find((const void *)(uintptr_t)memory, 1);
    HOSTILE_TRY(hostile_current(&context));
    for (unsigned i = 0; i < count; i++)
        switch (asked[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)values[i] = of == NULL ? 0 : of->host ? 1 : CU_MEMORYTYPE_DEVICE;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)values[i] = of == NULL ? -2 : of->context->device;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *)values[i] = of == NULL ? 0 : (uintptr_t)of->seen;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *)values[i] = of == NULL ? 0 : of->bytes;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
        }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                CUdeviceptr memory)
{
    HOSTILE_CALL(cuPointerGetAttributes, tell(count, attributes, values, memory));
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    HOSTILE_CALL(cuMemAlloc_v2, allocate_device(memory, bytes));
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    HOSTILE_CALL(cuMemHostAlloc, allocate_host(memory, bytes, flags));
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    HOSTILE_CALL(cuMemFree_v2, release((const void *)(uintptr_t)memory, false));
}

CUresult cuMemFreeHost(void *memory)
{
    HOSTILE_CALL(cuMemFreeHost, release(memory, true));
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    HOSTILE_CALL(cuMemGetInfo_v2, get_info(free_bytes, total));
}
