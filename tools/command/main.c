/*  tools/command/main.c - the command `tundish`. */
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/text/diagnostic.h"
#include "tools/cli/arguments.h"
#include "tools/cli/signals.h"
#include "tools/cli/versions.h"
#include "tools/launch/sent_run.h"

static int refuse_unknown(const char *name)
{
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    tnd_nearest_t nearest = {.word = name};
    for (size_t i = 0; i < count; i++)
        tnd_nearest_offer(&nearest, commands[i]->name);
    if (nearest.best != NULL)
        return tnd_usage_error("", "unknown command '%s'; did you mean '%s'?", name, nearest.best);
    return tnd_usage_error("", "unknown command '%s'", name);
}

static int print_versions(int count, char **words)
{
    bool json = count == 1 && strcmp(words[0], "--json") == 0;
    if (count > 0 && !json)
        return tnd_usage_error("", "--version takes --json or nothing, not '%s'", words[0]);
    if (json) {
        tnd_versions_print_json(stdout);
        putchar('\n');
    } else {
        tnd_versions_print(stdout);
    }
    return TND_EXIT_OK;
}

static int serve(int count, char **words)
{
    if (count < 2)
        return tnd_usage_error("", "no command is given");
    const char *name = words[1];
    if (strcmp(name, "--version") == 0)
        return print_versions(count - 2, words + 2);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    const tnd_command_t *command = tnd_command_find(name);
    if (command == NULL)
        return refuse_unknown(name);
    tnd_request_t request;
    int code;
    size_t own = (size_t)count - 2;
    words += 2;
    if (command->drains)
        tnd_signals_expect();
    if (strcmp(name, "run") == 0 && own == 1 && strcmp(words[0], "--sent") == 0) {
        tnd_error_t error;
        if (tnd_sent_run_receive(&words, &own, &error) != TND_OK)
            return tnd_usage_error("run", "--sent: %s", error.text);
    }
    if (command->drains)
        tnd_signals_remember();
    if (tnd_arguments_read(command, words, own, &request, &code))
        code = command->run(&request);
    tnd_arguments_free(command, &request);
    return code;
}

/*  Whether output is incomplete.  stdio forgets a failed write when a later one succeeds, so the
 *  pipe itself is asked whether its reader has closed it. */
static bool lost_output(void)
{
    struct stat is;
    bool bad = fflush(stdout) != 0;
    bad = ferror(stdout) != 0 || bad;
    return bad &&
           !(fstat(STDOUT_FILENO, &is) == 0 && (S_ISFIFO(is.st_mode) || S_ISSOCK(is.st_mode)));
}

/*  libzmq receives each message into memory of its own: 1 MiB for a piece of a reduction.  If the C library
 *  gave that back to the system when it is freed, the next message would be in fresh pages, which cost more
 *  than copying into them. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

int main(int count, char **words)
{
    keep_freed_memory();
    /* If the reader of stdout closes it, the output ends, not the program. */
    signal(SIGPIPE, SIG_IGN);
    /* A file that reaches the limit of its size is an error of the write. */
    signal(SIGXFSZ, SIG_IGN);
    int code = serve(count, words);
    if (lost_output() && code == TND_EXIT_OK) {
        fprintf(stderr,
                "tundish: cannot write to stdout: the output is incomplete; is the disk full?\n");
        code = TND_EXIT_FAILED;
    }
    return code;
}
