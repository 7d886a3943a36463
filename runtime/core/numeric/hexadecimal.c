/*  runtime/core/numeric/hexadecimal.c - numbers of 64 bits as 16 hexadecimal digits. */
#include "runtime/core/numeric/hexadecimal.h"

void tnd_hexadecimal_print(uint64_t number, char text[TND_HEXADECIMAL_DIGITS])
{
    for (int i = 0; i < TND_HEXADECIMAL_DIGITS; i++)
        text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool tnd_hexadecimal_parse(const char *text, uint64_t *number_p)
{
    uint64_t number = 0;
    for (int i = 0; i < TND_HEXADECIMAL_DIGITS; i++) {
        int value = digit_value(text[i]);
        if (value < 0)
            return false;
        number = number << 4 | (uint64_t)value;
    }
    *number_p = number;
    return true;
}
