/*  runtime/option/registry.h - the lists of what there is: kinds, sources, operations.
 *
 *  Declared here, defined by the folders that hold the things themselves, each from one list that
 *  build and tests read too.  So the runtime finds them without naming one.
 *
 *  Threads: any; the lists are const.
 */
#ifndef TND_RUNTIME_OPTION_REGISTRY_H
#define TND_RUNTIME_OPTION_REGISTRY_H

#include <stddef.h>

#include "runtime/option/spec.h"

/*  All of them, in alphabetical order; *count_p is set to their number.  Never NULL. */
const tnd_kind_spec_t *const *tnd_registry_kinds(size_t *count_p);
const tnd_source_spec_t *const *tnd_registry_sources(size_t *count_p);
const tnd_op_spec_t *const *tnd_registry_ops(size_t *count_p);

/*  The kind called `name`; NULL if there is none. */
const tnd_kind_spec_t *tnd_registry_kind(const char *name);

/*  The first kind of that role; NULL if there is none. */
const tnd_kind_spec_t *tnd_registry_kind_of_role(tnd_role_t role);

/*  For option tables: `.type = TND_OPTION_PART, .parts = tnd_registry_source_table`. */
const tnd_table_t *tnd_registry_source_table(size_t index);
const tnd_table_t *tnd_registry_op_table(size_t index);

#endif
