/*  runtime/core/numeric/hexadecimal.h - numbers of 64 bits as 16 hexadecimal digits.
 *
 *  For lines of text that are written and read at every step, in place of printf and scanf, which take
 *  several times as long.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_NUMERIC_HEXADECIMAL_H
#define TND_RUNTIME_CORE_NUMERIC_HEXADECIMAL_H

#include <stdbool.h>
#include <stdint.h>

enum { TND_HEXADECIMAL_DIGITS = 16 };

/*  Writes the digits, in lower case, and nothing after them. */
static inline void tnd_hexadecimal_print(uint64_t number, char text[TND_HEXADECIMAL_DIGITS])
{
    for (int i = 0; i < TND_HEXADECIMAL_DIGITS; i++)
        text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
}

/*  -1: not a digit. */
static inline int tnd_hexadecimal_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/*  Reads as many digits, in either case.  False: the text begins with something else. */
static inline bool tnd_hexadecimal_parse(const char *text, uint64_t *number_p)
{
    uint64_t number = 0;
    for (int i = 0; i < TND_HEXADECIMAL_DIGITS; i++) {
        int value = tnd_hexadecimal_value(text[i]);
        if (value < 0)
            return false;
        number = number << 4 | (uint64_t)value;
    }
    *number_p = number;
    return true;
}

#endif
