/*  runtime/feed/dlpack.h - the structs of DLPack, by which frameworks exchange tensors.
 *
 *  Written from its specification, https://dmlc.github.io/dlpack/latest/c_api.html, with its names
 *  and numbers.  Every release of DLPack reads DLManagedTensor; those from 1.0 on also read
 *  DLManagedTensorVersioned, which says that a tensor is read-only. */
#ifndef TND_RUNTIME_FEED_DLPACK_H
#define TND_RUNTIME_FEED_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1, DL_CUDA = 2 };                                           /* DLDeviceType */
enum { DL_CUDA_LEGACY_STREAM = 1 };                                         /* what None means */
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 }; /* DLDataTypeCode */

typedef struct {
    void *data;
    struct {
        int32_t device_type, device_id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* NULL: packed */
    uint64_t byte_offset;
} dl_tensor_t;

typedef struct dl_managed_tensor {
    dl_tensor_t dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct dl_managed_tensor *self);
} dl_managed_tensor_t;

enum { DL_READ_ONLY = 1 }; /* DLPACK_FLAG_BITMASK_READ_ONLY */

typedef struct dl_managed_tensor_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct dl_managed_tensor_versioned *self);
    uint64_t flags;
    dl_tensor_t dl_tensor;
} dl_managed_tensor_versioned_t;

#endif
