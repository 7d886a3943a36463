/*  tests/e2e/op_fatal.c - an operation that refuses some numbers, and crashes on one.
 *
 *      ops: [{plugin: fatal.fatal, refuse: 997, kill: 4321}]
 *
 *  Of the first column, i64: multiples of `refuse` are bad rows, `kill` and the number after it end
 *  the process (0: none).  With `once: FILE` only the first process that meets them ends, and leaves
 *  the file. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <tundish/tundish.h>

typedef struct {
    uint64_t refuse, kill;
    char once[256];
} fatal_t;

static tnd_status_t fatal_open(void *state, void *shared, const char *options,
                               const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                               tnd_error_t *error)
{
    fatal_t *self = state;
    (void)shared, (void)in, (void)out, (void)most_p;
    if (tnd_option_only(options, "refuse, kill, once", error) != TND_OK ||
        tnd_option_text(options, "once", self->once, sizeof self->once, error) != TND_OK ||
        tnd_option_u64(options, "refuse", &self->refuse, error) != TND_OK)
        return TND_FAILED;
    return tnd_option_u64(options, "kill", &self->kill, error);
}

/*  Whether no process has ended yet; then one does. */
static bool is_first(const char *path)
{
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    return file >= 0 && close(file) == 0;
}

static tnd_status_t fatal_apply(void *state, const tnd_rows_t *in, size_t row, tnd_random_t *random,
                                tnd_rows_t *out, tnd_error_t *error)
{
    const fatal_t *self = state;
    uint64_t number = *(const uint64_t *)tnd_rows_at(in, 0, row);
    (void)random, (void)out;
    if (self->kill != 0 && (number == self->kill || number == self->kill + 1) &&
        (self->once[0] == 0 || is_first(self->once)))
        raise(SIGSEGV);
    if (self->refuse != 0 && number % self->refuse == 0)
        return tnd_fail(error, "%llu is refused", (unsigned long long)number);
    return TND_OK;
}

TND_API extern const tnd_op_ops_t tnd_op_fatal;
const tnd_op_ops_t tnd_op_fatal = {
    .abi = TND_ABI,
    .name = "fatal",
    .caps = TND_OP_FAILS,
    .state_bytes = sizeof(fatal_t),
    .open = fatal_open,
    .apply = fatal_apply,
};
