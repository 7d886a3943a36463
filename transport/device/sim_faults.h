/*  transport/device/sim_faults.h - what is wrong with a simulated device, as a file says while it runs.
 *
 *  Tests write the file to see how a run ends, or goes on, when a device misbehaves.  It has one
 *  fault per line; others are ignored.  Without the file nothing is wrong.
 *
 *      slow 10      each copy takes ten times as long
 *      late 20ms    each copy takes so much longer
 *      hang         no copy ends
 *      stall        no work of a step ends
 *      lost         the device fails, and does not come back
 *
 *  Threads: one at a time. */
#ifndef TND_TRANSPORT_DEVICE_SIM_FAULTS_H
#define TND_TRANSPORT_DEVICE_SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t slow, late_ns; /* slow: a factor, 1 without the fault */
    bool hang, stall, lost; /* lost: since it was first seen */
    uint64_t looked_ns;
} tnd_sim_faults_t;

void tnd_sim_faults_init(tnd_sim_faults_t *self);
/*  Reads the file again if that was last done a while ago. */
void tnd_sim_faults_look(tnd_sim_faults_t *self, const char *path, uint64_t now);

#endif
