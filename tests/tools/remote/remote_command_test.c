/*  Covers tools/remote/remote_command.h: the words of --via, which no shell reads. */
#include "tools/remote/remote_command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/*  The words of a host, joined by `|`; the error if there are none. */
static const char *words_of(const char *via, const char *host, const char *address)
{
    static char text[512];
    tnd_error_t error = {.text = ""};
    static const char *const look[] = {"ps", "--stream", "--pages", "--interval=100ms", NULL};
    char **words = tnd_remote_command_new(via, host, address, look, &error);
    snprintf(text, sizeof text, "%s", error.text);
    for (size_t i = 0, used = 0; words != NULL && words[i] != NULL; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "|" : "", words[i]);
    tnd_remote_command_free(words);
    return text;
}

#define OURS "|tundish|ps|--stream|--pages|--interval=100ms"

Test(remote_command, names_are_replaced_inside_of_words)
{
    cr_assert_str_eq(words_of("ssh {address}", "b", "10.0.0.2"), "ssh|10.0.0.2" OURS);
    cr_assert_str_eq(words_of("  ssh  -p 22 me@{address} ", "b", "fe80::1%eth0"),
                     "ssh|-p|22|me@fe80::1%eth0" OURS);
    cr_assert_str_eq(words_of("kubectl exec {host}-{host} --", "pool_3", "x y"),
                     "kubectl|exec|pool_3-pool_3|--" OURS);
}

Test(remote_command, quotes_and_variables_are_plain_text)
{
    cr_assert_str_eq(words_of("x '$HOME;{host}' `y`", "b", "1"), "x|'$HOME;b'|`y`" OURS);
}

Test(remote_command, names_that_a_shell_or_program_could_misread_are_refused)
{
    static const char *const bad[] = {"-oProxyCommand=x", "", "a;b", "a b", "$(a)", "a\n", "a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not_null(strstr(words_of("ssh {address}", "b", bad[i]), "does not pass on"));
        cr_assert_not_null(strstr(words_of("x {host}", bad[i], "1"), "does not pass on"));
    }
}

Test(remote_command, a_command_must_name_the_host)
{
    tnd_error_t error = {.text = ""};
    static const char *const bad[] = {"ssh", "", " ", "{address}", "ssh {name}", "ssh {address"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_eq(tnd_remote_command_check(bad[i], &error), TND_FAILED, "%s", bad[i]);
    cr_assert_eq(tnd_remote_command_check("srun -w {host}", &error), TND_OK);
}
