/*  tests/support/pjrt/plugin.c - a PJRT plugin that cannot be used, for the reason FAKE_PJRT.
 *
 *  major: it has version 1.0; minor: version 0.56; short: a table that ends after 30 calls; stub: a
 *  table of its own size without calls; hole: one call is NULL; null: it returns no table; client: its
 *  client cannot be made; empty: it has no devices. */
#include <stdlib.h>
#include <string.h>

#include "transport/device/pjrt_interface.h"

enum { CALL_COUNT = 120 };

static _Alignas(table_t) char memory[sizeof(table_t) + CALL_COUNT * sizeof(call_t *)];

static bool is(const char *reason)
{
    const char *chosen = getenv("FAKE_PJRT");
    return chosen != NULL && strcmp(chosen, reason) == 0;
}

static void *nothing(void *args)
{
    (void)args;
    return NULL;
}

static void *message(void *args)
{
    text_args_t *text = args;
    text->text = "No visible accelerators.\n=== Source location ===\nclient.cc:50";
    text->length = strlen(text->text);
    return NULL;
}

static void *create(void *args)
{
    create_args_t *made = args;
    static char error, client;
    made->client = &client;
    return is("client") ? &error : NULL;
}

static void *name(void *args)
{
    text_args_t *text = args;
    text->text = "fake";
    text->length = strlen("fake");
    return NULL;
}

const table_t *GetPjrtApi(void);
__attribute__((visibility("default"))) const table_t *GetPjrtApi(void)
{
    table_t *table = (table_t *)memory;
    table->size = is("stub")    ? sizeof(size_t)
                  : is("short") ? sizeof(table_t) + 30 * sizeof(call_t *)
                                : sizeof memory;
    table->version.major = is("major");
    table->version.minor = is("major") ? 0 : is("minor") ? 56 : 81;
    for (size_t i = 0; i < CALL_COUNT; i++)
        table->calls[i] = nothing;
    table->calls[CALL_Error_Message] = message;
    table->calls[CALL_Client_Create] = create;
    table->calls[CALL_Client_PlatformName] = name;
    if (is("hole"))
        table->calls[CALL_Buffer_ReadyEvent] = NULL;
    return is("null") ? NULL : table;
}
