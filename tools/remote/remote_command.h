/*  tools/remote/remote_command.h - the command that runs `tundish` on another machine.
 *
 *  `--via` gives its first words, such as `ssh {address}`.  They are separated by blanks; no shell
 *  reads them.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REMOTE_REMOTE_COMMAND_H
#define TND_TOOLS_REMOTE_REMOTE_COMMAND_H

#include <stdbool.h>

#include "runtime/base/status.h"

/*  Checks the words of `--via`: there is one, and {address} or {host} occurs; nothing else in
 *  braces does. */
tnd_status_t tnd_remote_command_check(const char *via, tnd_error_t *error) TND_CHECKED;

/*  The words for a host, with `tundish` and `ours` at their end; NULL ends both.  `via` was checked.
 *  Free it with tnd_remote_command_free.
 *  Errors: NULL if the name or address, which another process wrote, has characters other than
 *  letters, digits and `. : _ % -`, or begins with `-`, so that it could be read as an option. */
char **tnd_remote_command_new(const char *via, const char *host, const char *address,
                              const char *const *ours, tnd_error_t *error);
/*  Whether a word means the same to a remote shell: characters as above, and `=`. */
bool tnd_remote_command_is_plain(const char *word);
void tnd_remote_command_free(char **words);

#endif
