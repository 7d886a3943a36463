/*  runtime/interface/device_reduction.h - what a device does for reductions of values in its memory.
 *
 *  Work for reductions is put into a *queue* of the device's own and done in its order: copies from and to the
 *  host, and nodes of the reduction tree.  A queue waits for what a stream of the user has been given so far,
 *  and a stream waits for a queue, without a thread of the host; a thread asks whether the work up to a *mark*
 *  is done.  A device without streams has done its work when the call returns.
 *
 *  Memory is allocated in *areas* and with queues.  No other call allocates or waits; what is not done yet
 *  returns TND_AGAIN.
 *
 *  Addresses of values are the device's, aligned to their type.
 *
 *  Threads: those of a queue one at a time; the rest any.
 *  Errors: TND_FAILED with a text that begins with the name of the device. */
#ifndef TND_RUNTIME_INTERFACE_DEVICE_REDUCTION_H
#define TND_RUNTIME_INTERFACE_DEVICE_REDUCTION_H

#include "runtime/base/status.h"
#include "runtime/core/numeric/reduction_tree.h"

struct tnd_device;

/*  Of one queue: they are recorded again and again. */
enum { TND_QUEUE_MARKS = 4 };

typedef struct {
    uintptr_t stream; /* its handle, as tnd_stream_handle_t; 0 without streams */
    void *own;        /* the device's */
} tnd_device_queue_t;

/*  Memory of the host, page-locked if the device copies from it, and of the device; without memory of its own
 *  both are the same, and have as many bytes. */
typedef struct {
    void *host, *device;
    size_t host_bytes, device_bytes;
    void *own; /* the device's */
} tnd_device_area_t;

typedef struct {
    /*  `scratch`: bytes of the device's memory for nodes of more than 16 leaves; 0: there are none.  At least
     *  TND_DEVICE_SCRATCH if any. */
    tnd_status_t (*open)(struct tnd_device *self, size_t scratch, tnd_device_queue_t *queue,
                         tnd_error_t *error);
    /*  Waits for its work. */
    void (*close)(struct tnd_device *self, tnd_device_queue_t *queue);
    tnd_status_t (*allocate)(struct tnd_device *self, size_t host_bytes, size_t device_bytes,
                             tnd_device_area_t *area, tnd_error_t *error);
    /*  No work uses it any more. */
    void (*release)(struct tnd_device *self, tnd_device_area_t *area);
    /*  Whether all of that memory is allocated on this device.  Errors: TND_FAILED with the reason if not. */
    tnd_status_t (*holds)(struct tnd_device *self, const void *memory, size_t bytes,
                          tnd_error_t *error);
    /*  The queue waits for what is in the stream so far / the stream for what is in the queue so far. */
    tnd_status_t (*follow)(struct tnd_device *self, const tnd_device_queue_t *queue,
                           uintptr_t stream, tnd_error_t *error);
    tnd_status_t (*precede)(struct tnd_device *self, const tnd_device_queue_t *queue,
                            uintptr_t stream, tnd_error_t *error);
    /*  The host's side is in an area. */
    tnd_status_t (*copy_out)(struct tnd_device *self, const tnd_device_queue_t *queue, void *host,
                             const void *device, size_t bytes, tnd_error_t *error);
    tnd_status_t (*copy_in)(struct tnd_device *self, const tnd_device_queue_t *queue, void *device,
                            const void *host, size_t bytes, tnd_error_t *error);
    /*  Elements begin ... begin + count - 1 of a node's value to `out`, which gets the first of them there:
     *  as tnd_reduction_tree_partial does, or as tnd_reduction_tree_root.  Some input has rows.  `out` may be
     *  where those elements of an input of the same type are. */
    tnd_status_t (*reduce)(struct tnd_device *self, const tnd_device_queue_t *queue,
                           const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                           size_t count, void *out, tnd_error_t *error);
    /*  Records mark `number` after what is in the queue so far / whether that is done. */
    tnd_status_t (*mark)(struct tnd_device *self, const tnd_device_queue_t *queue, uint32_t number,
                         tnd_error_t *error);
    tnd_status_t (*reached)(struct tnd_device *self, const tnd_device_queue_t *queue,
                            uint32_t number, tnd_error_t *error);
} tnd_device_reduction_t;

/*  The leaves of a node that needs no scratch memory, and the least bytes of that. */
enum { TND_DEVICE_LEAVES = 16, TND_DEVICE_SCRATCH = 1 << 20 };

#endif
