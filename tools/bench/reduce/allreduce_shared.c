/*  tools/bench/reduce/allreduce_shared.c - the bound of a reduction between processes of a machine.
 *
 *  Four processes copy their f32 values into shared memory.  Each adds its quarter of the elements
 *  along the tree (0 + 1) + (2 + 3), and copies the whole result out.
 *  Usage: allreduce_shared BYTES WARM COUNT; prints seconds and processor seconds per reduction, and
 *  the seconds of a memcpy of as many bytes. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/bench.h"

enum { PROCESSES = 4, YIELDS = 200 };

typedef struct {
    _Atomic uint32_t arrived, turn;
    double seconds, cpu_seconds[PROCESSES];
} common_t;

typedef struct {
    common_t *common;
    float *inputs[PROCESSES], *result, *own;
    size_t count;
    uint32_t number;
} member_t;

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    return memory;
}

/*  Others may need this processor, and a sleeper is woken late: it yields first, then sleeps. */
static void meet(common_t *common)
{
    uint32_t turn = atomic_load(&common->turn);
    if (atomic_fetch_add(&common->arrived, 1) + 1 == PROCESSES) {
        atomic_store(&common->arrived, 0);
        atomic_fetch_add(&common->turn, 1);
        (void)syscall(SYS_futex, &common->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        return;
    }
    for (int i = 0; i < YIELDS && atomic_load(&common->turn) == turn; i++)
        sched_yield();
    while (atomic_load(&common->turn) == turn)
        (void)syscall(SYS_futex, &common->turn, FUTEX_WAIT, turn, NULL, NULL, 0);
}

static void add(const member_t *self, size_t begin, size_t end)
{
    const float *a = self->inputs[0], *b = self->inputs[1], *c = self->inputs[2],
                *d = self->inputs[3];
    float *out = self->result;
    for (size_t i = begin; i < end; i++)
        out[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

static void reduce(const member_t *self)
{
    size_t bytes = self->count * sizeof *self->own;
    memcpy(self->inputs[self->number], self->own, bytes);
    meet(self->common);
    add(self, self->count * self->number / PROCESSES, self->count * (self->number + 1) / PROCESSES);
    meet(self->common);
    memcpy(self->own, self->result, bytes);
}

static void run(const member_t *self, int warm, int reductions)
{
    for (size_t i = 0; i < self->count; i++)
        self->own[i] = 0.0f;
    for (int i = 0; i < warm; i++)
        reduce(self);
    meet(self->common);
    double cpu = bench_cpu_seconds();
    uint64_t begin = tnd_clock_now();
    for (int i = 0; i < reductions; i++)
        reduce(self);
    self->common->cpu_seconds[self->number] = bench_cpu_seconds() - cpu;
    meet(self->common);
    if (self->number == 0)
        self->common->seconds = (double)(tnd_clock_now() - begin) * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    size_t bytes = strtoull(argv[1], NULL, 10);
    int warm = atoi(argv[2]), reductions = atoi(argv[3]);
    member_t self = {.common = share(sizeof *self.common), .count = bytes / sizeof *self.own};
    double copy = bench_copy_seconds(bytes), cpu = 0;
    for (int i = 0; i < PROCESSES; i++)
        self.inputs[i] = share(bytes);
    self.result = share(bytes);
    for (self.number = 0; self.number < PROCESSES; self.number++)
        if (fork() == 0) {
            self.own = malloc(bytes);
            if (self.own == NULL)
                _exit(1);
            run(&self, warm, reductions);
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        if (wait(&status) < 0 || status != 0)
            return 1;
    }
    for (int i = 0; i < PROCESSES; i++)
        cpu += self.common->cpu_seconds[i];
    printf("{\"seconds\":%.9f,\"cpu_seconds\":%.9f,\"copy_seconds\":%.9f}\n",
           self.common->seconds / reductions, cpu / reductions, copy);
    return 0;
}
