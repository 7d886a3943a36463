/*  transport/zmq/local_peer.c - which user of this machine is at the other end of a connection. */
#include "transport/zmq/local_peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/tcp.h> /* as in monitor.c */

#include "transport/connection_table.h"

/*  States of a connection, as in the kernel's net/tcp_states.h. */
enum { ESTABLISHED = 1, LISTENS = 10 };

typedef struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} request_t;

static void put(const tnd_socket_address_t *address, __be16 *port, __be32 *words)
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
static bool ask(int file, const tnd_socket_address_t *own, const tnd_socket_address_t *other)
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

/*  The kernel answers at once.  Where it knows no such connection, it may answer with a listener at
 *  that port; a socket without an inode was closed, or not accepted yet. */
static bool hear(int file, uint32_t *user_p)
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
    return found.idiag_inode != 0 && found.idiag_state != LISTENS;
}

/*  `*busy_p` is set if this process or the system can open nothing more for now. */
static bool find(const tnd_socket_address_t *own, const tnd_socket_address_t *other,
                 uint32_t *user_p, bool *busy_p)
{
    int file = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (file < 0) {
        *busy_p = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return false;
    }
    bool is_known = ask(file, own, other) && hear(file, user_p);
    close(file);
    return is_known;
}

/*  A kernel that does not find the near end either does not answer such questions. */
static bool find_far(const tnd_socket_address_t *far, const tnd_socket_address_t *near,
                     uint32_t *user_p, bool *busy_p)
{
    uint32_t own;
    return find(far, near, user_p, busy_p) ||
           (!*busy_p && !find(near, far, &own, busy_p) && !*busy_p &&
            tnd_connection_table_find(far, near, user_p));
}

static bool is_established(int fd)
{
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state == ESTABLISHED;
}

tnd_peer_t tnd_local_peer(int fd)
{
    static const tnd_peer_t gone = {.place = TND_PEER_GONE},
                            elsewhere = {.place = TND_PEER_UNKNOWN};
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    tnd_socket_address_t far = {0}, near = {0};
    socklen_t far_size = sizeof far, near_size = sizeof near;
    tnd_peer_t local = {.place = TND_PEER_LOCAL};
    bool busy = false;
    if (fd < 0 || getpeername(fd, &far.any, &far_size) != 0 ||
        getsockname(fd, &near.any, &near_size) != 0)
        return gone;
    if (near.any.sa_family == AF_UNIX) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
            return elsewhere;
        local.user = credentials.uid;
        return local;
    }
    if (far.any.sa_family != near.any.sa_family ||
        (near.any.sa_family != AF_INET && near.any.sa_family != AF_INET6))
        return elsewhere;
    if (find_far(&far, &near, &local.user, &busy))
        return local;
    return !busy && is_established(fd) ? elsewhere : gone;
}
