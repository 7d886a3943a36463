/*  tests/runtime/touch/touch_socket_test.c - what clients of the socket can do, and cannot. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/touch/touch_socket.h"

static const uint64_t second = 1000000000;

static char folder[] = "/tmp/touch_socket_XXXXXX", path[64];

static tnd_touch_socket_t *make(void)
{
    tnd_touch_socket_t *self = NULL;
    tnd_error_t error;
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/socket", folder);
    cr_assert(tnd_touch_socket_new(&self, path, &error) == TND_OK, "%s", error.text);
    return self;
}

static void end(tnd_touch_socket_t *self)
{
    tnd_touch_socket_destroy(&self);
    cr_assert(access(path, F_OK) != 0);
    rmdir(folder);
}

static int reach(const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 10};
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, path);
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(file, (const struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    cr_assert(send(file, text, strlen(text), 0) == (ssize_t)strlen(text));
    return file;
}

/*  The answer, up to the end of the connection. */
static const char *hear(int file)
{
    static char text[600];
    size_t used = 0;
    for (ssize_t got; (got = recv(file, text + used, sizeof text - 1 - used, 0)) > 0;)
        used += (size_t)got;
    text[used] = '\0';
    close(file);
    return text;
}

static bool none_comes(tnd_touch_socket_t *self, uint64_t now)
{
    tnd_touch_t touch;
    uint64_t client;
    return !tnd_touch_socket_next(self, now, &client, &touch);
}

Test(touch_socket, a_touch_is_taken_and_answered)
{
    tnd_touch_socket_t *self = make();
    tnd_touch_t touch;
    uint64_t client;
    int file = reach("alice restart prep.0\n");

    cr_assert(tnd_touch_socket_next(self, 0, &client, &touch));
    cr_assert(touch.verb == TND_TOUCH_RESTART);
    cr_assert_str_eq(touch.user, "alice");
    cr_assert_str_eq(touch.actor, "prep.0");
    cr_assert(none_comes(self, 0));
    tnd_touch_socket_answer(self, client, true, "it is replaced");
    cr_assert_str_eq(hear(file), "ok it is replaced\n");
    cr_assert_not(tnd_touch_socket_busy(self));
    tnd_touch_socket_answer(self, client, true, "again");
    end(self);
}

Test(touch_socket, garbage_is_refused)
{
    static const char *const lines[] = {
        "\n",         "alice\n",         "alice dance\n",       "alice pause now\n",
        "a b c d\n",  "alice restart\n", "alice restart a;b\n", " alice pause\n",
        "\xff\xfe\n", "alice  pause\n",  "alice pause \n",      "alice/../x pause\n",
    };
    tnd_touch_socket_t *self = make();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        int file = reach(lines[i]);
        cr_assert(none_comes(self, 0));
        cr_assert(strncmp(hear(file), "refused ", 8) == 0, "%s", lines[i]);
    }
    end(self);
}

Test(touch_socket, a_line_without_an_end_is_refused)
{
    tnd_touch_socket_t *self = make();
    char text[4096];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    int file = reach(text);
    cr_assert(none_comes(self, 0));
    const char *answer = hear(file);
    bool told = strcmp(answer, "refused the line is too long\n") == 0;
    cr_assert(told || answer[0] == '\0');
    end(self);
}

Test(touch_socket, a_client_that_sends_nothing_or_goes_is_dropped)
{
    tnd_touch_socket_t *self = make();
    int silent = reach("ali"), gone = reach("alice pa");
    close(gone);
    cr_assert(none_comes(self, 0));
    cr_assert(tnd_touch_socket_busy(self));
    cr_assert(none_comes(self, 2 * second));
    cr_assert_not(tnd_touch_socket_busy(self));
    cr_assert_str_eq(hear(silent), "refused no line came\n");
    end(self);
}

Test(touch_socket, a_client_without_an_answer_is_told)
{
    tnd_touch_socket_t *self = make();
    tnd_touch_t touch;
    uint64_t client;
    int file = reach("alice pause\n");
    cr_assert(tnd_touch_socket_next(self, 0, &client, &touch));
    cr_assert(none_comes(self, 5 * second));
    cr_assert(strstr(hear(file), "the leader does not answer") != NULL);
    end(self);
}

Test(touch_socket, clients_are_told_of_the_end)
{
    tnd_touch_socket_t *self = make();
    tnd_touch_t touch;
    uint64_t client;
    int asked = reach("alice pause\n");
    cr_assert(tnd_touch_socket_next(self, 0, &client, &touch));
    int waiting = reach("alice resume\n");
    end(self);
    cr_assert_str_eq(hear(asked), "refused the run has ended; it may still have been done\n");
    cr_assert_str_eq(hear(waiting), "refused the run has ended\n");
}

Test(touch_socket, silent_clients_keep_others_out_for_seconds_only)
{
    tnd_touch_socket_t *self = make();
    int silent[TND_TOUCH_CLIENTS];
    tnd_touch_t touch;
    uint64_t client;
    for (unsigned i = 0; i < TND_TOUCH_CLIENTS; i++)
        silent[i] = reach("");
    cr_assert(none_comes(self, 0));
    int file = reach("alice pause\n");
    cr_assert(none_comes(self, second));
    bool taken = tnd_touch_socket_next(self, 2 * second, &client, &touch) ||
                 tnd_touch_socket_next(self, 2 * second, &client, &touch);
    cr_assert(taken);
    for (unsigned i = 0; i < TND_TOUCH_CLIENTS; i++)
        close(silent[i]);
    close(file);
    end(self);
}

Test(touch_socket, a_socket_that_a_killed_process_left_is_replaced)
{
    tnd_touch_socket_t *self = make(), *next = NULL;
    tnd_error_t error;
    cr_assert(tnd_touch_socket_new(&next, path, &error) == TND_OK, "%s", error.text);
    int file = reach("alice pause\n");
    cr_assert(none_comes(self, 0));
    cr_assert_not(none_comes(next, 0));
    close(file);
    tnd_touch_socket_destroy(&next);
    tnd_touch_socket_destroy(&self);
    rmdir(folder);
}

Test(touch_socket, another_user_is_refused)
{
    if (geteuid() != 0)
        cr_skip("only root can be another user");
    tnd_touch_socket_t *self = make();
    cr_assert(chmod(folder, 0755) == 0 && chmod(path, 0666) == 0);
    int answers[2];
    cr_assert(pipe(answers) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (setuid(65534) != 0)
            _exit(2);
        int file = reach("");
        const char *text = hear(file);
        _exit(write(answers[1], text, strlen(text)) < 0);
    }
    close(answers[1]);
    int status;
    while (waitpid(child, &status, WNOHANG) == 0)
        cr_assert(none_comes(self, 0));
    char text[600] = "";
    cr_assert(read(answers[0], text, sizeof text - 1) >= 0);
    cr_assert_str_eq(text, "refused only the user of the run may touch it\n");
    end(self);
}
