/*  tools/faults/fault_injector.c - injects faults into the processes and connections of one run. */
#include "tools/faults/fault_injector.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "tools/faults/process_tree.h"

/*  A slow process runs for 4 ms of every 24. */
static const uint64_t slow_stop_ns = 20000000, slow_run_ns = 4000000;

/*  The largest size of a file, in bytes, while the disk is full. */
enum { DISK_FULL = 16, END_TIMEOUT_MS = 10000 };

static void send_signal(int process, int number)
{
    if (process >= 0)
        (void)pidfd_send_signal(process, number, NULL, 0);
}

static void limit_files(tnd_fault_injector_t *self, rlim_t bytes)
{
    const tnd_plan_t *plan = self->sandbox->plan;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        pid_t pid;
        int process = tnd_process_tree_open(self->up, plan->hosts[h].name, &pid);
        struct rlimit limit;
        if (process < 0)
            continue;
        if (prlimit(pid, RLIMIT_FSIZE, NULL, &limit) == 0) {
            limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
            (void)prlimit(pid, RLIMIT_FSIZE, &limit, NULL);
        }
        close(process);
    }
}

/*  What is wrong with the simulated devices now (transport/device/sim_faults.h); `slow` and `late`
 *  also if that begins now. */
static void write_device_faults(const tnd_fault_injector_t *self, bool slow, bool late)
{
    FILE *out = fopen(self->sandbox->device_faults, "we");
    if (out == NULL)
        return;
    if (slow || tnd_fault_injector_lasts(self, TND_FAULT_DEVICE_SLOW))
        fputs("slow 10\nlate 2ms\n", out);
    if (late || tnd_fault_injector_lasts(self, TND_FAULT_COPIES_LATE))
        fputs("hang\n", out);
    if (self->device_lost)
        fputs("lost\n", out);
    fclose(out);
}

void tnd_fault_injector_renew(tnd_fault_injector_t *self)
{
    self->device_lost = false;
    write_device_faults(self, false, false);
}

static void end_fault(tnd_fault_injector_t *self, uint32_t index)
{
    tnd_lasting_fault_t ended = self->lasting[index], *lasting = &ended;
    self->lasting[index] = self->lasting[--self->lasting_count];
    switch (lasting->fault.kind) {
    case TND_FAULT_PAUSE:
    case TND_FAULT_STOP:
    case TND_FAULT_SLOW:
        send_signal(lasting->process, SIGCONT);
        break;
    case TND_FAULT_SHUT_OFF:
        (void)tnd_relay_shut(self->sandbox->relay,
                             tnd_sandbox_relayed_host(self->sandbox, lasting->fault.host), false);
        break;
    case TND_FAULT_DISK_FULL:
        limit_files(self, RLIM_INFINITY);
        break;
    case TND_FAULT_DEVICE_SLOW:
    case TND_FAULT_COPIES_LATE:
        write_device_faults(self, false, false);
        break;
    default:
        break;
    }
    if (lasting->process >= 0)
        close(lasting->process);
}

bool tnd_fault_injector_lasts(const tnd_fault_injector_t *self, tnd_fault_schedule_kind_t kind)
{
    bool found = false;
    for (uint32_t i = 0; i < self->lasting_count && !found; i++)
        found = self->lasting[i].fault.kind == kind;
    return found;
}

void tnd_fault_injector_end_all(tnd_fault_injector_t *self)
{
    while (self->lasting_count > 0)
        end_fault(self, self->lasting_count - 1);
}

/*  Waits until a process that is not our child has ended and released its ports and files. */
static void wait_for_end(int process)
{
    struct pollfd file = {.fd = process, .events = POLLIN};
    (void)poll(&file, 1, END_TIMEOUT_MS);
    close(process);
}

void tnd_fault_injector_kill_all(tnd_fault_injector_t *self)
{
    const tnd_plan_t *plan = self->sandbox->plan;
    int *processes = tnd_allocate_zeroed(plan->host_count, sizeof *processes);
    pid_t pid;
    for (uint32_t h = 0; h < plan->host_count; h++)
        processes[h] = tnd_process_tree_open(self->up, plan->hosts[h].name, &pid);
    send_signal(self->up_process, SIGKILL);
    for (uint32_t h = 0; h < plan->host_count; h++)
        send_signal(processes[h], SIGKILL);
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (processes[h] >= 0)
            wait_for_end(processes[h]);
    free(processes);
}

static bool break_connections(tnd_fault_injector_t *self, const tnd_fault_t *fault)
{
    tnd_sandbox_t *sandbox = self->sandbox;
    tnd_relay_fault_t how = TND_RELAY_CUT;
    if (fault->kind == TND_FAULT_HALF_OPEN)
        how = fault->far ? TND_RELAY_CUT_TARGET : TND_RELAY_CUT_DIALER;
    else if (fault->kind == TND_FAULT_SILENT)
        how = TND_RELAY_SWALLOW;
    return tnd_relay_fail(sandbox->relay, tnd_sandbox_relayed_host(sandbox, fault->host), how,
                          fault->control ? sandbox->port : 0, sandbox->port) > 0;
}

/*  False, and nothing is changed: the host has no connection now. */
static bool shut_off(tnd_sandbox_t *sandbox, uint32_t host)
{
    uint32_t relayed = tnd_sandbox_relayed_host(sandbox, host);
    if (tnd_relay_shut(sandbox->relay, relayed, true) > 0)
        return true;
    (void)tnd_relay_shut(sandbox->relay, relayed, false);
    return false;
}

/*  False: its target does not exist now. */
static bool hit(tnd_fault_injector_t *self, const tnd_fault_t *fault, int *process_p)
{
    tnd_sandbox_t *sandbox = self->sandbox;
    pid_t pid;
    switch (fault->kind) {
    case TND_FAULT_CUT:
    case TND_FAULT_HALF_OPEN:
    case TND_FAULT_SILENT:
        return break_connections(self, fault);
    case TND_FAULT_SHUT_OFF:
        return shut_off(sandbox, fault->host);
    case TND_FAULT_DISK_FULL:
        limit_files(self, DISK_FULL);
        return true;
    case TND_FAULT_KILL_ALL:
        tnd_fault_injector_kill_all(self);
        return true;
    case TND_FAULT_DEVICE_SLOW:
    case TND_FAULT_COPIES_LATE:
    case TND_FAULT_DEVICE_LOST:
        self->device_lost = self->device_lost || fault->kind == TND_FAULT_DEVICE_LOST;
        write_device_faults(self, fault->kind == TND_FAULT_DEVICE_SLOW,
                            fault->kind == TND_FAULT_COPIES_LATE);
        return true;
    default:
        break;
    }
    *process_p = tnd_process_tree_open(self->up, sandbox->plan->hosts[fault->host].name, &pid);
    if (*process_p < 0)
        return false;
    bool kills = fault->kind == TND_FAULT_KILL || fault->kind == TND_FAULT_KILL_FINAL;
    send_signal(*process_p, kills ? SIGKILL : SIGSTOP);
    return true;
}

bool tnd_fault_injector_inject(tnd_fault_injector_t *self, const tnd_fault_t *fault, uint64_t now)
{
    int process = -1;
    if (self->lasting_count == TND_FAULTS_LASTING_MAX || !hit(self, fault, &process))
        return false;
    if (fault->lasts_ns > 0)
        self->lasting[self->lasting_count++] =
            (tnd_lasting_fault_t){.fault = *fault,
                                  .process = process,
                                  .end_ns = now + fault->lasts_ns,
                                  .turn_ns = now + slow_stop_ns,
                                  .stopped = true};
    else if (process >= 0)
        close(process);
    return true;
}

uint64_t tnd_fault_injector_tend(tnd_fault_injector_t *self, uint64_t now)
{
    uint64_t wake = UINT64_MAX;
    for (uint32_t i = 0; i < self->lasting_count;) {
        tnd_lasting_fault_t *lasting = &self->lasting[i];
        if (lasting->end_ns <= now) {
            end_fault(self, i);
            continue;
        }
        wake = lasting->end_ns < wake ? lasting->end_ns : wake;
        if (lasting->fault.kind == TND_FAULT_SLOW) {
            if (lasting->turn_ns <= now) {
                lasting->stopped = !lasting->stopped;
                send_signal(lasting->process, lasting->stopped ? SIGSTOP : SIGCONT);
                lasting->turn_ns = now + (lasting->stopped ? slow_stop_ns : slow_run_ns);
            }
            wake = lasting->turn_ns < wake ? lasting->turn_ns : wake;
        }
        i++;
    }
    return wake;
}
