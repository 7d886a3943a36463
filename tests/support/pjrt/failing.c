/*  tests/support/pjrt/failing.c - a PJRT plugin that passes all calls on to another one, but one of them.
 *
 *  FAILING_PJRT_OF is the file of the other one, and FAILING_PJRT names a call and which one of it
 *  fails: "Client_BufferFromHostBuffer 5"; or "arrival 7": a callback that gets an error. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/device/pjrt_interface.h"

static const table_t *real;
static char own_error, failing[64];
static _Atomic unsigned calls_left;

static bool is_ours(const void *error)
{
    return error == &own_error;
}

/*  The error of the call that fails, the others' own. */
static void *pass_on(const char *name, unsigned place, void *args)
{
    if (strcmp(name, failing) == 0 && atomic_fetch_sub(&calls_left, 1) == 1)
        return &own_error;
    return real->calls[place](args);
}

#define PASS_ON(name, place, kind)                                                                 \
    static void *pass_##name(void *args)                                                           \
    {                                                                                              \
        return pass_on(#name, place, args);                                                        \
    }
CALLS(PASS_ON)
#undef PASS_ON

/*  A callback that may get an error. */
typedef struct {
    on_ready_t *callback;
    void *context;
    bool fails;
} arrival_t;

static void arrive(void *error, void *context)
{
    const arrival_t arrival = *(arrival_t *)context;
    free(context);
    arrival.callback(arrival.fails && error == NULL ? &own_error : error, arrival.context);
}

static void *on_ready(void *args)
{
    on_ready_args_t asked = *(const on_ready_args_t *)args;
    arrival_t *arrival = malloc(sizeof *arrival);
    *arrival =
        (arrival_t){asked.callback, asked.context,
                    strcmp(failing, "arrival") == 0 && atomic_fetch_sub(&calls_left, 1) == 1};
    asked.callback = arrive;
    asked.context = arrival;
    void *error = pass_Event_OnReady(&asked);
    if (error != NULL)
        free(arrival);
    return error;
}

static void *message(void *args)
{
    text_args_t *text = args;
    if (!is_ours(text->thing))
        return pass_Error_Message(args);
    text->text = "the chip has come loose";
    text->length = strlen(text->text);
    return NULL;
}

static void *destroy(void *args)
{
    return is_ours(((const one_args_t *)args)->thing) ? NULL : pass_Error_Destroy(args);
}

const table_t *GetPjrtApi(void);
__attribute__((visibility("default"))) const table_t *GetPjrtApi(void)
{
    const char *file = getenv("FAILING_PJRT_OF"), *which = getenv("FAILING_PJRT");
    void *library = file != NULL ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    unsigned number;
    if (library == NULL || which == NULL || sscanf(which, "%63s %u", failing, &number) != 2)
        return NULL;
    atomic_store(&calls_left, number);
    const table_t *(*get)(void);
    *(void **)&get = dlsym(library, "GetPjrtApi");
    real = get();
    table_t *table = malloc(real->size);
    memcpy(table, real, real->size);
#define REPLACE(name, place, kind) table->calls[place] = pass_##name;
    CALLS(REPLACE)
#undef REPLACE
    table->calls[CALL_Error_Message] = message;
    table->calls[CALL_Error_Destroy] = destroy;
    table->calls[CALL_Event_OnReady] = on_ready;
    return table;
}
