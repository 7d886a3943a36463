/*  Covers runtime/pages/page_folders.h: other users are found by the names of folders, which are listed
 *  again after 5 seconds and not before. */
#include "runtime/pages/page_folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { OWN = 7 };

static char parent[] = "/tmp/tundish-test-XXXXXX";
static tnd_pages_users_t users;

static void make(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void drop(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    cr_assert_eq(rmdir(path), 0);
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(parent));
}

static void end(void)
{
    tnd_pages_users_free(&users);
    cr_assert_eq(rmdir(parent), 0);
}

TestSuite(page_folders, .init = begin, .fini = end);

Test(page_folders, are_those_named_by_another_user)
{
    static const char *const names[] = {
        "tundish-7", "tundish-12", "tundish-12x", "tundish-", "tundish-run-a-1.pages", "other-13"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make(names[i]);
    cr_assert_eq(tnd_pages_users_list(&users, parent, OWN, 1), 1);
    cr_assert_eq(users.users[0], 12);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        drop(names[i]);
}

Test(page_folders, are_listed_again_after_5_seconds)
{
    const uint64_t second = 1000000000, first = 3 * second;
    cr_assert_eq(tnd_pages_users_list(&users, parent, OWN, first), 0);
    make("tundish-12");
    cr_assert_eq(tnd_pages_users_list(&users, parent, OWN, first + 5 * second - 1), 0);
    cr_assert_eq(tnd_pages_users_list(&users, parent, OWN, first + 5 * second), 1);
    cr_assert_eq(users.users[0], 12);
    drop("tundish-12");
    cr_assert_eq(tnd_pages_users_list(&users, parent, OWN, first + 10 * second), 0);
}

Test(page_folders, of_a_parent_that_does_not_exist_are_none)
{
    cr_assert_eq(tnd_pages_users_list(&users, "/nowhere/at/all", OWN, 1), 0);
}
