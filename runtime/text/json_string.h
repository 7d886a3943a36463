/*  runtime/text/json_string.h - text as a string of JSON.  Threads: any. */
#ifndef TND_RUNTIME_TEXT_JSON_STRING_H
#define TND_RUNTIME_TEXT_JSON_STRING_H

#include <stddef.h>
#include <stdio.h>

/*  The bytes of the UTF-8 character at `text`; 0 if it is not valid. */
size_t tnd_utf8_bytes(const char *text);
/*  Writes `text` in quotes, with JSON escapes; invalid bytes become U+FFFD. */
void tnd_json_string_print(const char *text, FILE *out);

#endif
