/*  runtime/launch/variables.c - reads the variables of launchers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/launch/launch_internal.h"
#include "runtime/text/quantity.h"

const char *tnd_variable(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] != '\0' ? *environment + length + 1 : NULL;
    return NULL;
}

static tnd_status_t read_number(const char *const *environment, const char *name, uint32_t least,
                                uint32_t most, uint32_t *value_p, tnd_error_t *error)
{
    const char *text = tnd_variable(environment, name);
    uint64_t value;
    if (text == NULL)
        return tnd_fail(error, "%s is not set: write a whole number from %" PRIu32, name, least);
    if (tnd_quantity_u64(text, &value) != TND_QUANTITY_OK || value < least || value > most)
        return tnd_fail(error, "%s=%.64s: write a whole number from %" PRIu32 " to %" PRIu32, name,
                        text, least, most);
    *value_p = (uint32_t)value;
    return TND_OK;
}

tnd_status_t tnd_variable_number(const char *const *environment, const char *name, uint32_t least,
                                 uint64_t fallback, uint32_t *value_p, tnd_error_t *error)
{
    if (fallback != TND_LAUNCH_REQUIRED && tnd_variable(environment, name) == NULL) {
        *value_p = (uint32_t)fallback;
        return TND_OK;
    }
    return read_number(environment, name, least, UINT32_MAX - 1, value_p, error);
}

tnd_status_t tnd_variable_port(const char *const *environment, const char *name, uint32_t *value_p,
                               tnd_error_t *error)
{
    if (tnd_variable(environment, name) == NULL)
        return TND_OK;
    return read_number(environment, name, 1, 65535, value_p, error);
}

tnd_status_t tnd_variable_text(const char *const *environment, const char *name, char *text,
                               size_t room, tnd_error_t *error)
{
    const char *value = tnd_variable(environment, name);
    if (value != NULL && strlen(value) >= room)
        return tnd_fail(error, "%s=%.64s...: write at most %zu characters", name, value, room - 1);
    snprintf(text, room, "%s", value != NULL ? value : "");
    return TND_OK;
}

static tnd_status_t check_below(const char *rank_name, uint32_t rank, const char *size_name,
                                uint32_t size, tnd_error_t *error)
{
    if (rank < size)
        return TND_OK;
    return tnd_fail(error,
                    "%s=%" PRIu32 ": write a rank from 0 to %" PRIu32 ", because %s=%" PRIu32,
                    rank_name, rank, size - 1, size_name, size);
}

tnd_status_t tnd_launch_ranks(const char *const *environment, const tnd_rank_names_t *names,
                              tnd_launch_t *launch, tnd_error_t *error)
{
    TND_TRY(tnd_variable_number(environment, names->size, 1, TND_LAUNCH_REQUIRED, &launch->size,
                                error));
    TND_TRY(tnd_variable_number(environment, names->rank, 0, TND_LAUNCH_REQUIRED, &launch->rank,
                                error));
    TND_TRY(check_below(names->rank, launch->rank, names->size, launch->size, error));
    launch->local_rank = launch->local_size = TND_LAUNCH_UNKNOWN;
    if (names->local_rank != NULL)
        TND_TRY(tnd_variable_number(environment, names->local_rank, 0, TND_LAUNCH_UNKNOWN,
                                    &launch->local_rank, error));
    if (names->local_size != NULL)
        TND_TRY(tnd_variable_number(environment, names->local_size, 1, TND_LAUNCH_UNKNOWN,
                                    &launch->local_size, error));
    if (launch->local_rank == TND_LAUNCH_UNKNOWN || launch->local_size == TND_LAUNCH_UNKNOWN)
        return TND_OK;
    return check_below(names->local_rank, launch->local_rank, names->local_size, launch->local_size,
                       error);
}

void tnd_launch_lead_locally(tnd_launch_t *launch)
{
    if (launch->local_size == launch->size)
        snprintf(launch->leader, sizeof launch->leader, "127.0.0.1");
}
