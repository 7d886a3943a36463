/*  tools/cli/json.h - writes JSON values.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CLI_JSON_H
#define TND_TOOLS_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*  A text in quotes; NULL is null. */
void tnd_json_text(FILE *out, const char *text);
/*  Begins an object with such a member; `more`: it follows another object of an array. */
void tnd_json_begin(FILE *out, bool more, const char *key, const char *text);
/*  The same as a member of an object, after others: `,"key":"text"`. */
void tnd_json_member(FILE *out, const char *key, const char *text);
/*  With %.17g, which reads back as the same double; "nan", "inf" and "-inf" are strings. */
void tnd_json_number(FILE *out, double value);
/*  128 bits as 32 hexadecimal digits in quotes; `words` low first. */
void tnd_json_hash(FILE *out, const uint64_t words[2]);
/*  The lines of a text, as the elements of an array. */
void tnd_json_lines(FILE *out, const char *text);

#endif
