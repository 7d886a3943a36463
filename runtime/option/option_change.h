/*  runtime/option/option_change.h - another value of an option while the run is under way.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OPTION_OPTION_CHANGE_H
#define TND_RUNTIME_OPTION_OPTION_CHANGE_H

#include "runtime/option/option.h"

typedef struct {
    const tnd_option_t *option;
    uint64_t value;
} tnd_option_change_t;

/*  Reads the change of the option `name` of an actor to `text`, neither of which is trusted.
 *  `options` is what the actor has now.  Errors name the reason, what the option is now and what it
 *  takes: the option does not exist, its role is not TUNE, it is read when the run starts, or the
 *  value is out of range. */
tnd_status_t tnd_option_change_read(tnd_option_change_t *self, const tnd_table_t *table,
                                    const void *options, const char *name, const char *text,
                                    tnd_error_t *error) TND_CHECKED;
/*  Makes the change in a struct of the same table. */
void tnd_option_change_apply(const tnd_option_change_t *self, void *options);

#endif
