/*  tools/cli/json.c - writes JSON values. */
#include "tools/cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/text/json_string.h"

void tnd_json_text(FILE *out, const char *text)
{
    if (text == NULL)
        fputs("null", out);
    else
        tnd_json_string_print(text, out);
}

void tnd_json_begin(FILE *out, bool more, const char *key, const char *text)
{
    fprintf(out, "%s{\"%s\":", more ? "," : "", key);
    tnd_json_text(out, text);
}

void tnd_json_member(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    tnd_json_text(out, text);
}

void tnd_json_number(FILE *out, double value)
{
    if (isnan(value))
        fputs("\"nan\"", out);
    else if (isinf(value))
        fputs(value > 0 ? "\"inf\"" : "\"-inf\"", out);
    else
        fprintf(out, "%.17g", value);
}

void tnd_json_hash(FILE *out, const uint64_t words[2])
{
    fprintf(out, "\"%016" PRIx64 "%016" PRIx64 "\"", words[1], words[0]);
}

void tnd_json_lines(FILE *out, const char *text)
{
    bool any = false;
    for (const char *at = text; *at != '\0'; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        char *line = tnd_format_string("%.*s", (int)length, at);
        fputs(any ? "," : "", out);
        tnd_json_text(out, line);
        free(line);
        at += length;
        any = true;
    }
}
