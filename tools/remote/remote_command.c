/*  tools/remote/remote_command.c - the command that runs `tundish` on another machine. */
#include "tools/remote/remote_command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static const char blanks[] = " \t\n";

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

tnd_status_t tnd_remote_command_check(const char *via, tnd_error_t *error)
{
    bool any = false;
    for (const char *at = via; *at != '\0'; at++) {
        if (*at != '{')
            continue;
        if (!begins(at, "{address}") && !begins(at, "{host}"))
            return tnd_fail(error, "--via replaces {address} and {host}, not '%.*s'",
                            (int)strcspn(at, blanks), at);
        any = true;
    }
    const char *word = via + strspn(via, blanks);
    if (!any || *word == '{')
        return tnd_fail(error,
                        "--via takes a command that contains {address} or {host}, such as "
                        "'ssh {address}', not '%s'",
                        via);
    return TND_OK;
}

bool tnd_remote_command_is_plain(const char *word)
{
    bool plain = *word != '\0' && *word != '-';
    for (const char *at = word; *at != '\0'; at++)
        plain = plain && (isalnum((unsigned char)*at) || strchr(".:_%-=", *at) != NULL);
    return plain;
}

/*  Whether a name needs no quotes; `A=b` would be an assignment. */
static bool is_plain(const char *name)
{
    return tnd_remote_command_is_plain(name) && strchr(name, '=') == NULL;
}

/*  A word with its names replaced. */
static char *replace(const char *word, size_t length, const char *host, const char *address)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    for (size_t i = 0; i < length;) {
        bool is_address = begins(word + i, "{address}"), is_host = begins(word + i, "{host}");
        if (is_address || is_host)
            fputs(is_address ? address : host, out);
        else
            fputc(word[i], out);
        i += is_address ? strlen("{address}") : is_host ? strlen("{host}") : 1;
    }
    fclose(out);
    return text;
}

char **tnd_remote_command_new(const char *via, const char *host, const char *address,
                              const char *const *ours, tnd_error_t *error)
{
    size_t own = 0;
    bool plain = (strstr(via, "{host}") == NULL || is_plain(host)) &&
                 (strstr(via, "{address}") == NULL || is_plain(address));
    if (!plain) {
        (void)tnd_fail(error, "its name or address has characters that --via does not pass on");
        return NULL;
    }
    while (ours[own] != NULL)
        own++;
    char **words = tnd_allocate_zeroed(strlen(via) + own + 2, sizeof *words);
    size_t count = 0;
    for (const char *at = via + strspn(via, blanks); *at != '\0'; at += strspn(at, blanks)) {
        size_t length = strcspn(at, blanks);
        words[count++] = replace(at, length, host, address);
        at += length;
    }
    words[count++] = tnd_copy_string("tundish");
    for (size_t i = 0; i < own; i++)
        words[count++] = tnd_copy_string(ours[i]);
    return words;
}

void tnd_remote_command_free(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
}
