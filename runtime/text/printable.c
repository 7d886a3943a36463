/*  runtime/text/printable.c - texts of other processes and users, made safe to print. */
#include "runtime/text/printable.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/text/json_string.h"

/*  U+2028 to U+202E and U+2066 to U+2069 end a line, or turn the direction of what follows. */
static bool is_directing(const unsigned char *at)
{
    return at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) ||
                             (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

/*  Those, the control characters of ASCII, and those of U+0080 to U+009F. */
static bool is_control(const char *at, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)at;
    return bytes == 1   ? byte[0] < ' ' || byte[0] == 127
           : bytes == 2 ? byte[0] == 0xc2 && byte[1] < 0xa0
                        : bytes == 3 && is_directing(byte);
}

/*  The bytes of the character at `at`, or of what is not valid there. */
static size_t next_character(const char *at, bool *safe_p)
{
    size_t bytes = tnd_utf8_bytes(at);
    *safe_p = bytes > 0 && !is_control(at, bytes);
    return bytes > 0 ? bytes : 1;
}

char *tnd_printable(char *text, size_t room)
{
    size_t bytes;
    bool safe;
    text[room - 1] = '\0';
    for (char *at = text; *at != '\0'; at += bytes) {
        bytes = next_character(at, &safe);
        if (!safe)
            memset(at, '?', bytes);
    }
    return text;
}

void tnd_printable_print(const char *text, FILE *out)
{
    size_t bytes;
    bool safe;
    for (const char *at = text; *at != '\0'; at += bytes) {
        bytes = next_character(at, &safe);
        for (size_t i = 0; i < bytes; i++)
            putc(safe ? at[i] : '?', out);
    }
}
