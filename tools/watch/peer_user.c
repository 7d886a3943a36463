/*  tools/watch/peer_user.c - which user of this machine is at the other end of a TCP connection. */
#include "tools/watch/peer_user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address_t;

typedef struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} request_t;

static void put(const address_t *address, __be16 *port, __be32 *words)
{
    if (address->any.sa_family == AF_INET) {
        *port = address->v4.sin_port;
        memcpy(words, &address->v4.sin_addr, sizeof address->v4.sin_addr);
    } else {
        *port = address->v6.sin6_port;
        memcpy(words, &address->v6.sin6_addr, sizeof address->v6.sin6_addr);
    }
}

/*  Asks for one socket: that whose own end is `own` and whose other end is `other`. */
static bool ask(int file, const address_t *own, const address_t *other)
{
    request_t request = {.head = {.nlmsg_len = sizeof request,
                                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                  .nlmsg_flags = NLM_F_REQUEST},
                         .body = {.sdiag_family = (__u8)own->any.sa_family,
                                  .sdiag_protocol = IPPROTO_TCP,
                                  .idiag_states = UINT32_MAX,
                                  .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    put(own, &request.body.id.idiag_sport, request.body.id.idiag_src);
    put(other, &request.body.id.idiag_dport, request.body.id.idiag_dst);
    return send(file, &request, sizeof request, 0) == (ssize_t)sizeof request;
}

/*  The kernel answers at once.  A socket without an inode was closed: its user is not known. */
static bool hear(int file, uid_t *user_p)
{
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    ssize_t size = recv(file, &answer, sizeof answer, MSG_DONTWAIT);
    if (size < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    struct inet_diag_msg found;
    memcpy(&found, answer.bytes + NLMSG_HDRLEN, sizeof found);
    *user_p = found.idiag_uid;
    return found.idiag_inode != 0;
}

bool tnd_peer_user(int socket_, uid_t *user_p)
{
    address_t here = {0}, there = {0};
    socklen_t here_size = sizeof here, there_size = sizeof there;
    if (getsockname(socket_, &here.any, &here_size) != 0 ||
        getpeername(socket_, &there.any, &there_size) != 0 ||
        here.any.sa_family != there.any.sa_family ||
        (here.any.sa_family != AF_INET && here.any.sa_family != AF_INET6))
        return false;
    int file = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (file < 0)
        return false;
    bool known = ask(file, &there, &here) && hear(file, user_p);
    close(file);
    return known;
}
