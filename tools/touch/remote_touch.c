/*  tools/touch/remote_touch.c - runs a touch on the machine of the leader, by the command of `--via`. */
#include "tools/touch/remote_touch.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/remote/remote_command.h"

/*  The verb and its operands: the longest has two. */
enum { WORDS = 4 };

/*  Waits for the command, whose name is `name`. */
static int await(const char *verb, const char *name, pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == TND_EXIT_OK || code == TND_EXIT_FAILED || code == TND_EXIT_USAGE ||
        code == TND_EXIT_PEER)
        return code;
    if (code >= 0)
        tnd_complain(verb, "--via: `%s` ended with %d: is tundish there, and may you run it?", name,
                     code);
    else
        tnd_complain(verb, "--via: `%s` was killed by signal %d", name, WTERMSIG(status));
    return TND_EXIT_PEER;
}

int tnd_remote_touch(const tnd_request_t *request, const char *via, const char *verb,
                     const char *host, const char *address)
{
    const char *ours[WORDS] = {verb};
    tnd_error_t error;
    if (tnd_remote_command_check(via, &error) != TND_OK)
        return tnd_usage_error(verb, "%s", error.text);
    if (host[0] == '\0' && strstr(via, "{host}") != NULL)
        return tnd_usage_error(verb, "--leader gives an address, not the name for {host} in --via");
    for (size_t i = 0; i < request->file_count; i++) {
        if (i + 2 >= WORDS || !tnd_remote_command_is_plain(request->files[i]))
            return tnd_usage_error(verb,
                                   "--via does not pass on `%.100s`: use letters, digits and "
                                   "`. : _ %% = -`",
                                   request->files[i]);
        ours[i + 1] = request->files[i];
    }
    char **words = tnd_remote_command_new(via, host, address, ours, &error);
    if (words == NULL) {
        tnd_complain(verb, "host %s (%s): %s", host, address, error.text);
        return TND_EXIT_PEER;
    }
    pid_t child;
    int failed = posix_spawnp(&child, words[0], NULL, NULL, words, environ), code = TND_EXIT_PEER;
    if (failed != 0)
        tnd_complain(verb, "--via: %s: %s", words[0], strerror(failed));
    else
        code = await(verb, words[0], child);
    tnd_remote_command_free(words);
    return code;
}
