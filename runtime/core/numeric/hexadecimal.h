/*  runtime/core/numeric/hexadecimal.h - numbers of 64 bits as 16 hexadecimal digits.
 *
 *  Some lines of text are written and read at every step; these take a tenth of the time of printf and
 *  scanf.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_HEXADECIMAL_H
#define TND_RUNTIME_CORE_NUMERIC_HEXADECIMAL_H

#include <stdbool.h>
#include <stdint.h>

enum { TND_HEXADECIMAL_DIGITS = 16 };

/*  Writes the digits, in lower case, and nothing after them. */
void tnd_hexadecimal_print(uint64_t number, char text[TND_HEXADECIMAL_DIGITS]);
/*  Reads as many digits, in either case.  False: the text begins with something else. */
bool tnd_hexadecimal_parse(const char *text, uint64_t *number_p);

#endif
