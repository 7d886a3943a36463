/*  runtime/option/registry.h - the lists of kinds, sources and operations.
 *
 *  Declared here and defined by the folders that implement the items, each from one list that build
 *  and tests use too.  So the runtime does not name any of them.
 *
 *  Threads: any; the lists are const. */
#ifndef TND_RUNTIME_OPTION_REGISTRY_H
#define TND_RUNTIME_OPTION_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/option/spec.h"

/*  All items in alphabetical order; sets *count_p.  Never NULL. */
const tnd_kind_spec_t *const *tnd_registry_kinds(size_t *count_p);
const tnd_source_spec_t *const *tnd_registry_sources(size_t *count_p);
const tnd_op_spec_t *const *tnd_registry_ops(size_t *count_p);

/*  How many devices `auto` means on this machine, and their kind.  0: none is preferred to the
 *  processor; `why` may say what is missing. */
uint32_t tnd_registry_auto_devices(const char **kind_p, char *why, size_t room);

/*  The kind named `name`; NULL if there is none. */
const tnd_kind_spec_t *tnd_registry_kind(const char *name);

/*  The first kind of that role; NULL if there is none. */
const tnd_kind_spec_t *tnd_registry_kind_of_role(tnd_role_t role);

/*  For option tables: `.type = TND_OPTION_PART, .parts = tnd_registry_source_table`. */
const tnd_table_t *tnd_registry_source_table(size_t index);
const tnd_table_t *tnd_registry_op_table(size_t index);

#endif
