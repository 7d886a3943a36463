/*  runtime/text/yaml_mistakes.h - finds text that YAML reads differently from what people mean, and
 *  reports it with the corrected line.
 *
 *  Threads: the one that parses. */
#ifndef TND_RUNTIME_TEXT_YAML_MISTAKES_H
#define TND_RUNTIME_TEXT_YAML_MISTAKES_H

#include "runtime/text/lines.h"

/*  `[::1]`, `::1`: the colons of an address. */
bool tnd_yaml_mistake_is_address(tnd_span_t word);

/*  The first word of the line that needs quotes, as in `{address: [::1]:5555}`. */
bool tnd_yaml_mistake_unquoted(tnd_span_t line, tnd_span_t *word_p);

/*  `kind:reader` in a line: a colon between two letters where a blank is missing. */
bool tnd_yaml_mistake_missing_space(tnd_span_t line, tnd_span_t *word_p, const char **colon_p);
void tnd_yaml_mistake_report_space(const tnd_lines_t *lines, size_t line, tnd_span_t word,
                                   const char *colon);

/*  `&anchor`, `*alias`, or a word that looks like one.  False: the intended value is unknown. */
bool tnd_yaml_mistake_report_alias(const tnd_lines_t *lines, yaml_mark_t at);

/*  A character that looks like a blank or a quote but is not one. */
typedef struct {
    const char *bytes, *name, *instead;
    bool prose; /* common in prose */
} tnd_lookalike_t;

/*  The first of them in a span; NULL if there is none. */
const tnd_lookalike_t *tnd_yaml_mistake_lookalike(tnd_span_t in, tnd_span_t *found_p);

/*  Reports the first one of a line outside of comments.  Returns false if there is none. */
bool tnd_yaml_mistake_report_lookalike(const tnd_lines_t *lines, size_t line);

#endif
