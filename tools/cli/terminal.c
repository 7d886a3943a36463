/*  tools/cli/terminal.c - the capabilities of a terminal. */
#include "tools/cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool says_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

tnd_terminal_t tnd_terminal_look(int file)
{
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    bool dumb = kind == NULL || strcmp(kind, "dumb") == 0;
    tnd_terminal_t terminal = {.wide = says_utf8(), .columns = 80};
    struct winsize size;
    terminal.line = isatty(file) == 1 && !dumb;
    terminal.colour = terminal.line && (no_colour == NULL || *no_colour == '\0');
    if (terminal.line && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal.columns = size.ws_col;
    return terminal;
}
