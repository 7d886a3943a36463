/*  Covers tools/watch/token.h: a token is taken only from a file that other users cannot read, and with
 *  as many characters as the message says. */
#include "tools/watch/token.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tundish-token-XXXXXX", path[64];
static tnd_token_t token;
static tnd_error_t error;

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/token", folder);
}

static void end(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(token, .init = begin, .fini = end);

static tnd_status_t read_text(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
    error.text[0] = '\0';
    return tnd_token_read(&token, path, &error);
}

/*  Every bit of the group and of others is refused by itself. */
Test(token, a_file_that_another_user_may_use_is_refused)
{
    cr_assert_eq(read_text("0123456789abcdef", 0600), TND_OK, "%s", error.text);
    cr_assert_eq(read_text("0123456789abcdef", 0400), TND_OK, "%s", error.text);
    for (mode_t bit = 1; bit < 0100; bit *= 2) {
        cr_expect_eq(read_text("0123456789abcdef", 0600 | bit), TND_FAILED, "0%o", 0600 | bit);
        cr_expect_not_null(strstr(error.text, "other users may read the token: chmod 600 it"));
    }
}

Test(token, it_has_from_16_to_256_characters)
{
    static const struct {
        int size;
        tnd_status_t status;
    } cases[] = {{0, TND_FAILED}, {15, TND_FAILED}, {16, TND_OK},     {17, TND_OK},
                 {255, TND_OK},   {256, TND_OK},    {257, TND_FAILED}};
    char text[300];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(text, 'a', sizeof text);
        text[cases[i].size] = '\0';
        cr_expect_eq(read_text(text, 0600), cases[i].status, "%d: %s", cases[i].size, error.text);
        strcpy(text + cases[i].size, "\r\n");
        /* One that is too long for the room is refused, whatever it ends with. */
        if (cases[i].size < 255)
            cr_expect_eq(read_text(text, 0600), cases[i].status, "%d and a line end: %s",
                         cases[i].size, error.text);
    }
}

Test(token, only_the_whole_text_is_it)
{
    cr_assert_eq(read_text("0123456789abcdef\n", 0600), TND_OK, "%s", error.text);
    cr_expect(tnd_token_is(&token, "0123456789abcdef"));
    cr_expect_not(tnd_token_is(&token, "0123456789abcde"));
    cr_expect_not(tnd_token_is(&token, "0123456789abcdef0"));
    cr_expect_not(tnd_token_is(&token, "0123456789abcdeF"));
    cr_expect_not(tnd_token_is(&token, ""));
    cr_expect_not(tnd_token_is(&token, NULL));
}
