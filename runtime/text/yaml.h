/*  runtime/text/yaml.h - parses YAML into values and refuses ambiguous text.
 *
 *  Supports a subset of YAML: one document, no anchors, aliases or tags, no duplicate keys.  Each
 *  common mistake is an error that shows the corrected line; otherwise the value would silently
 *  mean something else.  Input is hostile: size, depth and encoding are checked.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_TEXT_YAML_H
#define TND_RUNTIME_TEXT_YAML_H

#include "runtime/text/arena.h"
#include "runtime/text/diagnostic.h"
#include "runtime/text/value.h"

enum {
    TND_YAML_SIZE_MAX = 1024 * 1024, /* bytes of a file */
    TND_YAML_DEPTH_MAX = 32,         /* maps and lists inside each other */
    TND_YAML_ITEMS_MAX = 4096        /* items of a list, keys of a map */
};

/*  Parses the text of `origin` from byte `skip`, which must be in its first line (the bytes before
 *  count for the columns).  Returns NULL if the text cannot be parsed to its end.  Mistakes are
 *  reported and parsing continues.  An empty text gives a null value. */
tnd_value_t *tnd_yaml_parse(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics,
                            const tnd_origin_t *origin, size_t skip);

/*  Reads a file into an origin of that name; a file in memory (memfd_create) has its own.  NULL if it
 *  cannot be read; the reason is reported. */
tnd_origin_t *tnd_yaml_read(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics, const char *file);

#endif
