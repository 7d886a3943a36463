/*  Compares the lists of hosts with those of `scontrol show hostnames`, and tries what it lets pass. */
#include "runtime/launch/hostlist.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*  The names of a list, each after a space; "!": it was refused. */
static void expand(const char *text, char *names, size_t room)
{
    tnd_hostlist_t list;
    tnd_error_t error;
    size_t used = 0;
    names[0] = '\0';
    if (tnd_hostlist_read(&list, text, &error) != TND_OK) {
        snprintf(names, room, " !");
        return;
    }
    for (size_t i = 0; i < list.count; i++)
        used += (size_t)snprintf(names + used, room - used, " %s", list.names[i]);
    tnd_hostlist_free(&list);
}

Test(hostlist, equal_those_of_slurm)
{
    static char line[65536], names[65536];
    unsigned count = 0;
    FILE *in = fopen(TND_HOSTLISTS, "r");
    cr_assert_not_null(in);
    while (fgets(line, sizeof line, in) != NULL) {
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        char *wanted = strchr(line, ' ');
        char *list = strndup(line, (size_t)(wanted - line));
        expand(list, names, sizeof names);
        cr_expect_str_eq(names, wanted, "%s:%s, not%s", list, names, wanted);
        free(list);
        count++;
    }
    fclose(in);
    cr_expect_eq(count, 1000);
}

Test(hostlist, errors_name_the_character)
{
    static const struct {
        const char *list, *error;
    } cases[] = {
        {"", "the list has no host"},
        {",", "the list has no host"},
        {"a,b[2-1]", "character 5: the range ends before it begins"},
        {"a[1-", "character 2: `[` has no `]`"},
        {"a]", "character 2: `]` has no `[`"},
        {"a b", "character 2: a blank is in the list"},
        {"a[1-2]x", "character 7: text follows the last `]`, which Slurm does not allow"},
        {"a[0-65536]", "character 3: the range has more than 65536 hosts"},
        {"a[0-65535],b", "character 12: the list has more than 65536 hosts"},
        {"a[1234567890123456789]", "character 3: the number has more than 18 digits"},
        {"a[x]", "character 3: expected a number, as in `c[1-4]`"},
        {"a[1;2]", "character 4: expected `,`, `-` or `]` after a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnd_hostlist_t list;
        tnd_error_t error;
        cr_expect_eq(tnd_hostlist_read(&list, cases[i].list, &error), TND_FAILED);
        cr_expect_str_eq(error.text, cases[i].error, "%s: %s", cases[i].list, error.text);
    }
}

Test(hostlist, names_up_to_their_longest)
{
    char name[TND_HOSTLIST_NAME_MAX + 2];
    tnd_hostlist_t list;
    tnd_error_t error;
    memset(name, 'a', sizeof name - 1);
    name[TND_HOSTLIST_NAME_MAX + 1] = '\0';
    cr_expect_eq(tnd_hostlist_read(&list, name, &error), TND_FAILED);
    name[TND_HOSTLIST_NAME_MAX] = '\0';
    cr_assert_eq(tnd_hostlist_read(&list, name, &error), TND_OK);
    cr_expect_str_eq(list.names[0], name);
    tnd_hostlist_free(&list);
    cr_assert_eq(tnd_hostlist_read(&list, "a[0-65535]", &error), TND_OK);
    cr_expect_eq(list.count, TND_HOSTLIST_MAX);
    tnd_hostlist_free(&list);
}
