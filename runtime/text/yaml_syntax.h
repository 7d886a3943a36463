/*  runtime/text/yaml_syntax.h - explains syntax errors of libyaml in terms of the text.
 *
 *  Threads: the one that parses. */
#ifndef TND_RUNTIME_TEXT_YAML_SYNTAX_H
#define TND_RUNTIME_TEXT_YAML_SYNTAX_H

#include "runtime/text/lines.h"

/*  Reports why `parser` failed; `flow`: inside `{` or `[`. */
void tnd_yaml_syntax_report(const tnd_lines_t *lines, const yaml_parser_t *parser, bool flow);

#endif
