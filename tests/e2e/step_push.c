/*  tests/e2e/step_push.c - a step without state: a linear model whose parameters an actor holds.
 *
 *  Columns `x` (f32, some numbers a row) and `y` (f32).  Parameters: a weight for each number, then the
 *  bias.  The gradient is that of half the mean square error, in f32, row by row.  With `slow: R` replica R
 *  takes `sleep_us` longer for each step.  With `wrong: N`, step `at` pushes what it must not: 1 a number
 *  too few, 2 a NaN, 3 twice, 4 nothing, 5 to another actor, 6 f64.  $PUSH_DIES `STEP` kills the process
 *  that computes that step, $PUSH_SLEEPS_US makes all steps longer.  With `begins: N` it gives the first N of the
 *  values 0.5, -1, 2, 0.25 and NaN when it is opened; `wrong: 7` gives them twice, 8 in a step. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tundish/tundish.h>

enum { NUMBERS_MAX = 64 };

typedef enum {
    RIGHT,
    TOO_FEW,
    NAN_PUSHED,
    TWICE,
    NOTHING,
    ELSEWHERE,
    OTHER_TYPE,
    BEGINS_TWICE,
    BEGINS_LATE
} wrong_t;

typedef struct {
    uint64_t slow, sleep_us, wrong, at, dies, begins;
    bool all_slow;
} push_t;

static uint64_t option(const char *options, const char *name, uint64_t otherwise)
{
    const char *at = strstr(options, name);
    at = at != NULL ? strpbrk(at, "0123456789") : NULL;
    return at != NULL ? strtoull(at, NULL, 10) : otherwise;
}

static tnd_status_t push_begin(const push_t *self, tnd_replica_t *replica)
{
    const float values[] = {0.5F, -1, 2, 0.25F, NAN};
    return tnd_replica_initial(replica, tnd_replica_holder(replica), TND_F32, values, self->begins);
}

static tnd_status_t push_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    push_t *self = calloc(1, sizeof *self);
    if (self == NULL || tnd_replica_parameters(replica, "params", NULL) != NULL) {
        free(self);
        return TND_FAILED;
    }
    self->slow = option(options, "slow", UINT64_MAX);
    self->sleep_us = option(options, "sleep_us", 0);
    self->wrong = option(options, "wrong", RIGHT);
    self->at = option(options, "at", 0);
    const char *dies = getenv("PUSH_DIES"), *sleeps = getenv("PUSH_SLEEPS_US");
    self->all_slow = sleeps != NULL;
    self->sleep_us = sleeps != NULL ? strtoull(sleeps, NULL, 10) : self->sleep_us;
    self->dies = dies != NULL ? strtoull(dies, NULL, 10) : UINT64_MAX;
    self->begins = option(options, "begins", 0);
    *model_p = self;
    tnd_status_t status = self->begins > 0 ? push_begin(self, replica) : TND_OK;
    return status == TND_OK && self->wrong == BEGINS_TWICE ? push_begin(self, replica) : status;
}

static void add_row(const float *x, float y, const float *w, size_t numbers, float *gradient,
                    double *loss)
{
    float error = w[numbers] - y;
    for (size_t i = 0; i < numbers; i++)
        error = error + w[i] * x[i];
    for (size_t i = 0; i < numbers; i++)
        gradient[i] = gradient[i] + error * x[i];
    gradient[numbers] = gradient[numbers] + error;
    *loss += (double)error * (double)error / 2;
}

static tnd_status_t push_wrong(const push_t *self, tnd_replica_t *replica, float *gradient,
                               size_t count)
{
    switch ((wrong_t)self->wrong) {
    case TOO_FEW:
        return tnd_replica_push(replica, "params", TND_F32, gradient, count - 1);
    case NAN_PUSHED:
        gradient[1] = NAN;
        break;
    case TWICE:
        if (tnd_replica_push(replica, "params", TND_F32, gradient, count) != TND_OK)
            return TND_FAILED;
        break;
    case NOTHING:
        return TND_OK;
    case ELSEWHERE:
        return tnd_replica_push(replica, "mean", TND_F32, gradient, count);
    case OTHER_TYPE:
        return tnd_replica_push(replica, "params", TND_F64, gradient, count);
    case BEGINS_LATE:
        return push_begin(self, replica);
    case BEGINS_TWICE:
    case RIGHT:
        break;
    }
    return tnd_replica_push(replica, "params", TND_F32, gradient, count);
}

static tnd_status_t push_step(void *model, tnd_replica_t *replica)
{
    const push_t *self = model;
    uint64_t version = 0;
    float gradient[NUMBERS_MAX] = {0};
    double loss = 0;
    const float *w = tnd_replica_parameters(replica, "params", &version);
    const float *x = tnd_replica_column(replica, "x"), *y = tnd_replica_column(replica, "y");
    size_t count = tnd_replica_parameter_count(replica, "params"), rows = tnd_replica_rows(replica);
    if (w == NULL || count > NUMBERS_MAX || rows == 0 || version > tnd_replica_step(replica)) {
        tnd_replica_error(replica, "it has no parameters, no rows, or a version of the future");
        return TND_FAILED;
    }
    if (tnd_replica_step(replica) == self->dies)
        (void)raise(SIGKILL);
    if (tnd_replica_id(replica) == self->slow || self->all_slow) {
        struct timespec pause = {.tv_nsec = (long)self->sleep_us * 1000};
        (void)nanosleep(&pause, NULL);
    }
    for (size_t r = 0; r < rows; r++)
        add_row(x + r * (count - 1), y[r], w, count - 1, gradient, &loss);
    for (size_t i = 0; i < count; i++)
        gradient[i] = gradient[i] / (float)rows;
    tnd_replica_report(replica, "loss", loss, (double)rows);
    if (self->wrong != RIGHT && tnd_replica_step(replica) == self->at)
        return push_wrong(self, replica, gradient, count);
    return tnd_replica_push(replica, "params", TND_F32, gradient, count);
}

static void push_close(void *model)
{
    free(model);
}

extern TND_API const tnd_step_ops_t tnd_step_push;
const tnd_step_ops_t tnd_step_push = {
    .abi = TND_ABI, .name = "push", .open = push_open, .step = push_step, .close = push_close};
