/*  runtime/interface/device.h - the interface of a device, which steps compute on.
 *
 *  Rows are gathered into the host's side of a stage, the memory of one slot for one replica.  The
 *  device copies them to its own side, casts them on the way if the feeder asks for it, and the
 *  step reads them there.  On a processor both sides are the same memory.
 *
 *  Work on a device is asynchronous.  `upload` starts a copy and returns.  A *stream* is a queue of
 *  work on the device, as the user's framework has them; `await` makes one wait for a copy on the
 *  device, without a thread of the host, and `mark` records that one reads a stage.  A stage may
 *  be filled again when `uploaded` returns TND_OK; the device itself delays the next copy into its
 *  side until all readers that were marked have finished.
 *
 *  All memory is allocated before the stream of rows starts.  After that no call allocates,
 *  registers memory or waits: what is not done yet returns TND_AGAIN.
 *
 *  One file in transport/device/ and one line in devices.def make a device, which is found by name.
 *
 *  Threads: open, stage and close on any, one at a time.  unstage, mark, await and facts on any,
 *  also while others are called.  upload, uploaded and finished on one thread at a time per device
 *  (its copy thread, or the thread of its steps if it has no memory of its own).
 *
 *  Errors: TND_FAILED with a text that begins with the name of the device.  After an error of the
 *  device itself (it was lost, a kernel failed) all further calls fail with the same text. */
#ifndef TND_RUNTIME_INTERFACE_DEVICE_H
#define TND_RUNTIME_INTERFACE_DEVICE_H

#include "runtime/base/status.h"
#include "runtime/core/numeric/row_cast.h"
#include "runtime/interface/device_reduction.h"

typedef struct tnd_device tnd_device_t;

/*  TND_STAGE_PIECES: of one upload, at most; one per column. */
enum { TND_STAGE_ALIGN = 64, TND_STAGE_PIECES = 64 };

/*  What a device can do. */
enum {
    TND_DEVICE_OWN_MEMORY = 1, /* its side is not the host's: uploads copy */
    TND_DEVICE_CASTS = 2,      /* uploads cast on the device; otherwise the host casts before */
    TND_DEVICE_POINTERS = 4,   /* `device` of a stage is an address that other libraries may read */
    TND_DEVICE_STREAMS = 8,    /* await and mark take streams of other libraries */
    TND_DEVICE_ANY_THREAD = 16, /* steps may run on another thread each time */
    TND_DEVICE_RAW_ROWS = 32,   /* rows that are cast take the memory of the host's side there, too,
                                 with TND_STAGE_ALIGN bytes for each piece */
    TND_DEVICE_TIMES = 64,      /* it times the work of steps: `work_ns` of its facts */
    TND_DEVICE_REDUCES = 128    /* it reduces values in its memory: `reduction` */
};

/*  The memory of one slot for one replica, aligned to TND_STAGE_ALIGN on both sides. */
typedef struct {
    void *host;   /* rows are gathered here; page-locked if the device copies from it */
    void *device; /* steps read here; `host` without TND_DEVICE_OWN_MEMORY; NULL if opaque */
    size_t host_bytes, device_bytes;
    void *own; /* the device's */
} tnd_stage_t;

/*  Rows of one column, packed, and their place in the device's side of a stage.  `from` is in the
 *  host's side of the stage, or lent: page-locked memory that stays unchanged until `uploaded`
 *  returns TND_OK. */
typedef struct {
    const void *from;
    size_t to; /* bytes; a multiple of TND_STAGE_ALIGN */
    uint64_t rows;
    size_t row_bytes;           /* of one row of `from` */
    const tnd_row_cast_t *cast; /* NULL: bytes are copied.  `prepare` was called with each before */
} tnd_stage_piece_t;

/*  A queue of work on the device: a handle of its own interface, such as a CUstream. */
typedef uintptr_t tnd_stream_handle_t;

/*  Calls that a device made to its driver, by kind. */
typedef enum {
    TND_DEVICE_CALL_ALLOCATE, /* memory, streams, events, modules; also registers memory */
    TND_DEVICE_CALL_FREE,
    TND_DEVICE_CALL_SYNCHRONIZE, /* waits on the host for the device */
    TND_DEVICE_CALL_COPY,
    TND_DEVICE_CALL_LAUNCH,
    TND_DEVICE_CALL_EVENT, /* records, asks, or makes a stream wait */
    TND_DEVICE_CALL_KINDS,
} tnd_device_call_t;

/*  Texts are empty and numbers 0 if unknown. */
typedef struct {
    char name[64], bus[32], uuid[48];
    uint64_t memory, memory_free; /* bytes */
    int32_t numa_node;            /* -1: unknown */
    uint64_t bytes_moved;         /* from the host since it was opened */
    uint64_t link_ns;             /* time in which a copy was under way, as far as it was seen */
    /*  With TND_DEVICE_TIMES: time in which streams worked on the rows of stages, from an `await` to the
     *  `mark` after it, by the device's own events; several at a time count once.  And the host's
     *  monotonic time up to which it is counted. */
    uint64_t work_ns, worked_until_ns;
    uint64_t calls[TND_DEVICE_CALL_KINDS];
} tnd_device_facts_t;

/*  How a device is opened. */
typedef struct {
    /*  The model of the device `sim`, from the option of the feeder; 0: its default. */
    uint64_t link_bytes_per_s, link_latency_ns, memory_bytes;
    uint64_t step_ns;       /* that each step works on the device */
    const char *fault_file; /* that says what is wrong with it; NULL: nothing */
} tnd_device_config_t;

#define TND_DEVICES_ANY UINT32_MAX

typedef struct {
    const char *name;    /* "cpu" names cpu:0, cpu:1 ... */
    const char *meant;   /* a word of other systems for such devices; NULL: none */
    uint32_t can;        /* TND_DEVICE_OWN_MEMORY and so on */
    int32_t dlpack_type; /* DLDeviceType of DLPack; only with TND_DEVICE_POINTERS */
    bool preferred;      /* `auto` means all devices of this kind, if there are any */
    /*  The usable devices of this machine; TND_DEVICES_ANY: no limit.  If 0, `why` is the reason. */
    uint32_t (*count)(char *why, size_t room);
    /*  The number of the device that has a name of its own, such as "GPU-5a1f...".  NULL: devices
     *  of this kind have numbers only. */
    tnd_status_t (*find)(const char *name, uint32_t *ordinal_p, tnd_error_t *error);
    tnd_status_t (*open)(tnd_device_t **self_p, uint32_t ordinal, const tnd_device_config_t *config,
                         tnd_error_t *error);
    /*  Called after the last unstage: long after the run if a program keeps tensors. */
    void (*close)(tnd_device_t **self_p);
    /*  Compiles or loads what a cast needs, before the start.  NULL without TND_DEVICE_CASTS. */
    tnd_status_t (*prepare)(tnd_device_t *self, const tnd_row_cast_t *cast, tnd_error_t *error);
    /*  Memory of zeros on both sides.  Without TND_DEVICE_OWN_MEMORY the device's side is the host's,
     *  and both numbers are equal.  The pages of the first `warm` bytes of the host's side are
     *  present when the stream starts; the others take memory when they are written, if the device
     *  can do that. */
    tnd_status_t (*stage)(tnd_device_t *self, size_t host_bytes, size_t device_bytes, size_t warm,
                          tnd_stage_t *stage, tnd_error_t *error);
    /*  Waits for all work on the stage. */
    void (*unstage)(tnd_device_t *self, tnd_stage_t *stage);
    /*  Starts to copy the pieces, after all readers of the stage that were marked.  At most one
     *  upload per stage is under way. */
    tnd_status_t (*upload)(tnd_device_t *self, tnd_stage_t *stage, const tnd_stage_piece_t *pieces,
                           size_t count, tnd_error_t *error);
    /*  TND_AGAIN until the last upload of the stage is complete: the host's side and lent memory may
     *  then change. */
    tnd_status_t (*uploaded)(tnd_device_t *self, tnd_stage_t *stage, tnd_error_t *error);
    /*  Where the piece is that was last uploaded to `to`; NULL if it has no address.  If this is
     *  NULL, it is at `device` + `to`, always. */
    const void *(*address)(tnd_device_t *self, const tnd_stage_t *stage, size_t to);
    /*  The stream on which the steps of this device work; 0 without streams. */
    tnd_stream_handle_t (*stream)(tnd_device_t *self);
    /*  Makes a stream wait until the last upload of the stage is complete. */
    tnd_status_t (*await)(tnd_device_t *self, tnd_stage_t *stage, tnd_stream_handle_t stream,
                          tnd_error_t *error);
    /*  Records that what was put into a stream so far reads the stage. */
    tnd_status_t (*mark)(tnd_device_t *self, tnd_stage_t *stage, tnd_stream_handle_t stream,
                         tnd_error_t *error);
    /*  TND_AGAIN until all readers of the stage that were marked have finished. */
    tnd_status_t (*finished)(tnd_device_t *self, tnd_stage_t *stage, tnd_error_t *error);
    void (*facts)(tnd_device_t *self, tnd_device_facts_t *facts);
    const tnd_device_reduction_t *reduction; /* NULL without TND_DEVICE_REDUCES */
} tnd_device_ops_t;

/*  Every implementation begins with this. */
struct tnd_device {
    const tnd_device_ops_t *ops;
    uint32_t ordinal;
};

/*  The devices of this build; devices.c defines it from the list. */
const tnd_device_ops_t *const *tnd_registry_devices(size_t *count_p);

/*  What devices of that name's kind can do; 0 if the kind is unknown. */
uint32_t tnd_device_can(const char *name);

/*  Whether this machine has a device; opens none.  Errors: TND_FAILED as tnd_device_open, with a
 *  text about `written`, the name itself or the range that it is of, "cpu:[0-3]". */
tnd_status_t tnd_device_check(const char *name, const char *written,
                              tnd_error_t *error) TND_CHECKED;

/*  Opens a device by name: "cpu:1", or "cpu" for the first.  Errors: TND_FAILED if its type is
 *  unknown or this machine does not have it. */
tnd_status_t tnd_device_open(tnd_device_t **self_p, const char *name,
                             const tnd_device_config_t *config, tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_device_close(tnd_device_t **self_p);

#endif
