/*  tools/bench/reduce/allreduce_shared.c - the bound of a reduction between processes of a machine.
 *
 *  Four processes copy their f32 values into shared memory.  Each adds its quarter of the elements
 *  along the tree (0 + 1) + (2 + 3), and copies the whole result out.
 *  Usage: allreduce_shared BYTES WARM COUNT; see allreduce_bound.h. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/bench/reduce/allreduce_bound.h"

enum { YIELDS = 200 };

typedef struct {
    _Atomic uint32_t arrived, turn;
} common_t;

typedef struct {
    bound_member_t base;
    common_t *common;
    float *inputs[BOUND_PROCESSES], *result;
} member_t;

/*  Others may need this processor, and a sleeper is woken late: it yields first, then sleeps. */
static void meet(bound_member_t *base)
{
    common_t *common = ((member_t *)base)->common;
    uint32_t turn = atomic_load(&common->turn);
    if (atomic_fetch_add(&common->arrived, 1) + 1 == BOUND_PROCESSES) {
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

static void reduce(bound_member_t *base)
{
    member_t *self = (member_t *)base;
    size_t bytes = base->count * sizeof *base->own, begin = bound_quarter(base, base->number);
    const float *from[BOUND_PROCESSES];
    for (int p = 0; p < BOUND_PROCESSES; p++)
        from[p] = self->inputs[p] + begin;
    memcpy(self->inputs[base->number], base->own, bytes);
    meet(base);
    bound_add(self->result + begin, from, bound_quarter(base, base->number + 1) - begin);
    meet(base);
    memcpy(base->own, self->result, bytes);
}

static void open_memory(bound_member_t *base)
{
    member_t *self = (member_t *)base;
    size_t bytes = base->count * sizeof *base->own;
    self->common = bound_share(sizeof *self->common);
    for (int p = 0; p < BOUND_PROCESSES; p++)
        self->inputs[p] = bound_share(bytes);
    self->result = bound_share(bytes);
}

int main(int argc, char **argv)
{
    static const bound_way_t way = {.open = open_memory, .reduce = reduce, .meet = meet};
    member_t self = {0};
    return bound_run(argc, argv, &way, &self.base);
}
