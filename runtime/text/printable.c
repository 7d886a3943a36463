/*  runtime/text/printable.c - texts of other processes and users, made safe to print. */
#include "runtime/text/printable.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/text/json_string.h"

/*  The control characters of ASCII, and those of U+0080 to U+009F. */
static bool is_control(const char *at, size_t bytes)
{
    unsigned char first = (unsigned char)at[0];
    return bytes == 1 ? first < ' ' || first == 127
                      : bytes == 2 && first == 0xc2 && (unsigned char)at[1] < 0xa0;
}

char *tnd_printable(char *text, size_t room)
{
    text[room - 1] = '\0';
    for (char *at = text; *at != '\0';) {
        size_t bytes = tnd_utf8_bytes(at);
        if (bytes == 0 || is_control(at, bytes)) {
            bytes = bytes > 0 ? bytes : 1;
            memset(at, '?', bytes);
        }
        at += bytes;
    }
    return text;
}
