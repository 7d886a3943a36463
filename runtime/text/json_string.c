/*  runtime/text/json_string.c - text as a string of JSON. */
#include "runtime/text/json_string.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>

size_t tnd_utf8_bytes(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    size_t count = bytes[0] < 0x80   ? 1
                   : bytes[0] < 0xc0 ? 0
                   : bytes[0] < 0xe0 ? 2
                   : bytes[0] < 0xf0 ? 3
                   : bytes[0] < 0xf8 ? 4
                                     : 0;
    uint32_t code = count > 1 ? bytes[0] & (0x7fu >> count) : 0;
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fu);
    }
    bool invalid = code < least[count] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    return count > 1 && invalid ? 0 : count;
}

void tnd_json_string_print(const char *text, FILE *out)
{
    fputc('"', out);
    for (size_t bytes; *text != '\0'; text += bytes > 0 ? bytes : 1) {
        bytes = tnd_utf8_bytes(text);
        if (bytes == 0)
            fputs("\\ufffd", out);
        else if (bytes > 1)
            fwrite(text, 1, bytes, out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (iscntrl((unsigned char)*text))
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}
