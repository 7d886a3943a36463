/*  actors/python/interpreter_copy.c - an interpreter as a copy of a process that has imported its module. */
#include "actors/python/interpreter_copy.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILES = 4, PATIENCE_MS = 30000 };

static bool send_files(int server, const int files[FILES])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(FILES * sizeof(int))];
    } control = {0};
    char text = 'c';
    struct iovec piece = {.iov_base = &text, .iov_len = 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(FILES * sizeof(int));
    memcpy(CMSG_DATA(header), files, FILES * sizeof(int));
    return sendmsg(server, &message, MSG_NOSIGNAL) == 1;
}

/*  The next number on a leash; false: the process at its other end has ended, or does not answer. */
static bool receive(int leash, int64_t *number)
{
    struct pollfd file = {.fd = leash, .events = POLLIN};
    int ready;
    while ((ready = poll(&file, 1, PATIENCE_MS)) < 0 && errno == EINTR)
        continue;
    return ready == 1 && recv(leash, number, sizeof *number, 0) == (ssize_t)sizeof *number;
}

bool tnd_interpreter_copy(int server, const int files[3], pid_t *pid_p, int *leash_p)
{
    int ends[2];
    int64_t pid = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    const int sent[FILES] = {files[0], files[1], files[2], ends[1]};
    bool made = send_files(server, sent);
    close(ends[1]);
    if (!made || !receive(ends[0], &pid) || pid <= 0) {
        close(ends[0]);
        return false;
    }
    *pid_p = (pid_t)pid;
    *leash_p = ends[0];
    return true;
}

int tnd_interpreter_copy_end(int leash)
{
    int64_t status;
    return receive(leash, &status) ? (int)status : TND_COPY_END_UNKNOWN;
}
