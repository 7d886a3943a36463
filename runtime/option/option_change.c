/*  runtime/option/option_change.c - another value of an option while the run is under way. */
#include "runtime/option/option_change.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/number.h"
#include "runtime/option/option_print.h"

/*  "depth, spare"; the caller frees it. */
static char *live_names(const tnd_table_t *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    const char *glue = "";
    for (size_t i = 0; i < table->option_count; i++)
        if (table->options[i].live != TND_LIVE_NOT) {
            fprintf(out, "%s%s", glue, table->options[i].name);
            glue = ", ";
        }
    fclose(out);
    return text;
}

static tnd_status_t refuse_unknown(const tnd_table_t *table, const char *name, tnd_error_t *error)
{
    char *live = live_names(table);
    if (*live != '\0')
        (void)tnd_fail(error, "a %s has no option `%.60s`; what can be set in a run: %s",
                       table->name, name, live);
    else
        (void)tnd_fail(error,
                       "a %s has no option `%.60s`, and none of its options can be set in a run",
                       table->name, name);
    free(live);
    return TND_FAILED;
}

/*  Why an option stays what it is while the run is under way. */
static const char *fixed_reason(const tnd_option_t *option)
{
    switch (option->role) {
    case TND_ROLE_GRAPH:
        return "it changes the stream, which a run never does: start another run";
    case TND_ROLE_PLACE:
        return "it says where actors run: drain the run, and resume it with the other value";
    case TND_ROLE_SECURE:
        return "it says which peers may connect: drain the run, and resume it with the other value";
    case TND_ROLE_TUNE:
    case TND_ROLE_ALL:
        break;
    }
    return "it is read when the run starts: drain the run, and resume it with the other value";
}

static bool is_word(const tnd_option_t *option, const char *text)
{
    tnd_number_t number;
    return tnd_number_word(option, text, &number);
}

tnd_status_t tnd_option_change_read(tnd_option_change_t *self, const tnd_table_t *table,
                                    const void *options, const char *name, const char *text,
                                    tnd_error_t *error)
{
    const tnd_option_t *option = tnd_options_find(table, name);
    tnd_number_t number = {.type = TND_OPTION_U64};
    tnd_status_t status = TND_OK;
    char *now = NULL;
    size_t size = 0;
    if (option == NULL)
        return refuse_unknown(table, name, error);
    FILE *out = tnd_memory_stream(&now, &size);
    tnd_option_show(option, options, out);
    fclose(out);
    tnd_option_t in_run = *option;
    if (option->live != TND_LIVE_NOT)
        in_run.choices = NULL; /* words such as `auto` are for the start */
    tnd_arena_t *arena = tnd_arena_new();
    const char *expects = tnd_option_expects(arena, &in_run);
    if (option->live == TND_LIVE_NOT) {
        status =
            tnd_fail(error, "%s; it is %.80s, and takes %s", fixed_reason(option), now, expects);
    } else if (is_word(option, text)) {
        status = tnd_fail(error,
                          "`%.60s` can be chosen only when the run starts; it is %s, and takes "
                          "%s now",
                          text, now, expects);
    } else if (tnd_number_read(option->type, text, &number) != TND_QUANTITY_OK ||
               !tnd_number_in_range(option, &number)) {
        status = tnd_fail(error, "it takes %s, not `%.60s`; it is %s", expects, text, now);
    }
    assert(option->live == TND_LIVE_NOT || option->type == TND_OPTION_U64);
    *self = (tnd_option_change_t){.option = option, .value = number.u64};
    tnd_arena_destroy(&arena);
    free(now);
    return status;
}

void tnd_option_change_apply(const tnd_option_change_t *self, void *options)
{
    memcpy((char *)options + self->option->offset, &self->value, sizeof self->value);
}
