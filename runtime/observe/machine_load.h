/*  runtime/observe/machine_load.h - how busy processors, memory and disks of this machine are.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OBSERVE_MACHINE_LOAD_H
#define TND_RUNTIME_OBSERVE_MACHINE_LOAD_H

#include <stdint.h>

/*  Zeroed: not known. */
typedef struct {
    uint32_t processors; /* that the reader may use */
    uint32_t runnable;   /* threads of the machine that run or are ready to, this one included */
    double load;         /* the same, as a mean of the last minute */
    /*  Of all processors since the machine was started, in a unit of its own. */
    uint64_t ticks, idle_ticks;
    uint64_t disk_ticks;    /* of those that are idle: while a thread waited for a disk */
    uint64_t memory, free;  /* bytes; free: what programs can have, caches included */
    uint64_t read, written; /* bytes of its disks since it was started */
} tnd_machine_load_t;

/*  `root` is where /proc is: "" for this machine's. */
void tnd_machine_load_read(const char *root, tnd_machine_load_t *load);

#endif
