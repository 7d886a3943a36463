/*  tools/machine/machine_use.h - how much of the machine is in use, between two looks.
 *
 *  It is that of the machine on which the looks are taken, all its programs included.
 *
 *  Threads: any.  Units: bytes, shares of 1. */
#ifndef TND_TOOLS_MACHINE_MACHINE_USE_H
#define TND_TOOLS_MACHINE_MACHINE_USE_H

#include <stdio.h>

#include "runtime/observe/inspection.h"

/*  Less than 0: not known. */
typedef struct {
    double busy;           /* of the time of all processors of the machine */
    double disk;           /* likewise: idle while a thread waited for a disk */
    uint64_t memory, used; /* 0: not known */
    double read, written;  /* of all disks, a second */
} tnd_machine_use_t;

enum { TND_MACHINE_USE_TEXT = 120 };

tnd_machine_use_t tnd_machine_use(const tnd_inspection_t *before, const tnd_inspection_t *after);
/*  "cpu 97 %, memory 61 %, disks 12.0 MB/s in, 3.1 out"; what is not known is left out.
 *  Returns `text`. */
const char *tnd_machine_use_text(const tnd_machine_use_t *self, char text[TND_MACHINE_USE_TEXT]);
/*  Writes a member "machine". */
void tnd_machine_use_json(const tnd_machine_use_t *self, FILE *out);

#endif
