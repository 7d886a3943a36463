/*  runtime/feed/dlpack.h - the structs of DLPack, by which frameworks exchange tensors.
 *
 *  Written from its specification, https://dmlc.github.io/dlpack/latest/c_api.html, with its names
 *  and numbers.  Every release of DLPack reads DLManagedTensor. */
#ifndef TND_RUNTIME_FEED_DLPACK_H
#define TND_RUNTIME_FEED_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1 };                                                        /* DLDeviceType */
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

#endif
