/*  runtime/text/yaml.h - reads YAML into values, and refuses what people trip over.
 *
 *  A subset of YAML on purpose: one document, no anchors, aliases or tags, no duplicate keys.  Each
 *  trap is an error of its own that shows the corrected line, instead of a value that silently
 *  means something else.  Input is hostile: size, depth and encoding are checked.
 *
 *  Threads: any.
 */
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

/*  Parses the text of `origin` from byte `skip` on, which must lie in its first line (what stands
 *  before it still counts for the columns).  Returns NULL if a text cannot be parsed to its end;
 *  traps are reported and parsing goes on.  An empty text gives a null value.
 */
tnd_value_t *tnd_yaml_parse(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics,
                            const tnd_origin_t *origin, size_t skip);

/*  Reads a file into an origin of that name.  NULL if it cannot be read; the reason is reported. */
tnd_origin_t *tnd_yaml_read(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics, const char *file);

#endif
