/*  tests/transport/address_test.c - which endpoints are valid and which are in use. */
#include "transport/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(address, is_one_of_three_kinds)
{
    tnd_error_t error;

    cr_assert(tnd_address_check("inproc://read", "hub", &error) == TND_OK);
    cr_assert(tnd_address_check("ipc:///tmp/read", "hub", &error) == TND_OK);
    cr_assert(tnd_address_check("tcp://[::1]:7100", "hub", &error) == TND_OK);
    cr_assert(tnd_address_check("udp://10.0.0.1:7100", "hub", &error) == TND_FAILED);
    cr_assert(eq(str, error.text,
                 (char *)"hub: udp://10.0.0.1:7100 is not an endpoint: it must begin with "
                         "inproc://, ipc:// or "
                         "tcp://"));

    cr_assert(tnd_address_is_inproc("inproc://read"));
    cr_assert(not(tnd_address_is_inproc("ipc://inproc://")));
    cr_assert(tnd_address_is_ipv6("tcp://[::1]:7100"));
    cr_assert(not(tnd_address_is_ipv6("tcp://10.0.0.1:7100")));
}

static const char *resolved(const char *address, bool listens)
{
    static char text[TND_ADDRESS_SIZE];
    tnd_error_t error = {.text = ""};
    if (tnd_address_resolve(address, listens, "hub", text, &error) != TND_OK)
        snprintf(text, sizeof text, "%s", error.text);
    return text;
}

Test(address, is_a_number_once_its_name_is_resolved)
{
    static const char *const same[] = {"ipc:///tmp/a:1", "inproc://a", "tcp://10.1.2.3:*",
                                       "tcp://*:7311", "tcp://[::1]:7311"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        cr_assert_str_eq(resolved(same[i], true), same[i]);
    cr_assert_str_eq(resolved("tcp://localhost:7311", true), "tcp://127.0.0.1:7311");
    cr_assert_str_eq(resolved("tcp://localhost:*", false), "tcp://127.0.0.1:*");
    cr_assert_str_eq(resolved("tcp://::1:7311", true), "tcp://[::1]:7311");
    cr_assert_str_eq(resolved("tcp://fe80::1%eth0:*", false), "tcp://[fe80::1%eth0]:*");
}

Test(address, of_which_the_name_is_not_known_is_refused)
{
    const char *text = resolved("tcp://no-such-host.invalid:7311", true);
    cr_assert_eq(strncmp(text, "hub: the name no-such-host.invalid cannot be resolved: ", 55), 0,
                 "%s", text);
}

/*  The resolver of these tests: `six` has an IPv6 address only, `far` none of this machine. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    static struct sockaddr_in far = {.sin_family = AF_INET}, near = {.sin_family = AF_INET};
    static struct addrinfo items[4];
    (void)service, (void)hints;
    far.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1, of documentation */
    near.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    items[0] = (struct addrinfo){.ai_family = AF_INET6,
                                 .ai_addr = (struct sockaddr *)&six,
                                 .ai_addrlen = sizeof six,
                                 .ai_next = &items[1]};
    items[1] = (struct addrinfo){.ai_family = AF_INET,
                                 .ai_addr = (struct sockaddr *)&far,
                                 .ai_addrlen = sizeof far,
                                 .ai_next = &items[2]};
    items[2] = (struct addrinfo){
        .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&near, .ai_addrlen = sizeof near};
    items[3] = items[0];
    items[3].ai_next = NULL;
    if (strcmp(host, "no-such-host.invalid") == 0)
        return EAI_NONAME;
    *list = &items[strcmp(host, "localhost") == 0 ? 2 : strcmp(host, "six") == 0 ? 3 : 0];
    if (strcmp(host, "far") == 0) {
        *list = &items[1];
        items[1].ai_next = NULL;
    }
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

Test(address, of_a_name_is_one_of_this_machine_where_it_listens)
{
    cr_assert_str_eq(resolved("tcp://several:1", false), "tcp://192.0.2.1:1");
    cr_assert_str_eq(resolved("tcp://several:1", true), "tcp://127.0.0.1:1");
    cr_assert_str_eq(resolved("tcp://six:1", false), "tcp://[::1]:1");
    cr_assert_str_eq(resolved("tcp://far:1", true),
                     "hub: far was resolved to 192.0.2.1, which is not an address of this machine: "
                     "correct `address:` of this host in the topology, or add `listen:`");
}

Test(address, that_has_no_room_is_refused)
{
    char address[TND_ADDRESS_SIZE + 1] = "tcp://";
    tnd_error_t error;
    memset(address + 6, 'a', sizeof address - 7);

    address[TND_ADDRESS_SIZE - 1] = '\0';
    cr_assert(tnd_address_check(address, "hub", &error) == TND_OK);
    address[TND_ADDRESS_SIZE - 1] = 'a';
    cr_assert(tnd_address_check(address, "hub", &error) == TND_FAILED);
    cr_assert(strstr(error.text, "is too long") != NULL, "%s", error.text);
}

Test(address, of_a_listening_process_is_in_use_until_it_ends)
{
    char address[64];
    snprintf(address, sizeof address, "ipc://@tundish.test.%ld", (long)getpid());
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    size_t length = strlen(address + 6);
    memcpy(place.sun_path + 1, address + 7, length - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert(eq(int,
                 bind(fd, (struct sockaddr *)&place,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
                 0));

    cr_assert(not(tnd_address_is_served(address)), "bound, but no process listens");
    cr_assert(eq(int, listen(fd, 1), 0));
    cr_assert(tnd_address_is_served(address));
    close(fd);
    cr_assert(not(tnd_address_is_served(address)));
    cr_assert(not(tnd_address_is_served("tcp://127.0.0.1:1")), "only paths are looked at");
}

Test(address, that_cannot_be_bound_gives_a_remedy)
{
    static const struct {
        int number;
        const char *advice;
    } cases[] = {
        {EADDRINUSE, "end the program that listens there, or choose another port"},
        {EADDRNOTAVAIL, "correct the address of this host in the topology"},
        {ENODEV, "correct the address of this host in the topology"},
        {EACCES, "choose a port above 1023"},
        {ENAMETOOLONG, "use a shorter path"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_error_t error;
        cr_assert(tnd_address_unbound("tcp://a:1", "hub", cases[i].number, &error) == TND_FAILED);
        cr_assert(strstr(error.text, cases[i].advice) != NULL, "%s", error.text);
        cr_assert(strstr(error.text, "tcp://a:1") != NULL, "%s", error.text);
    }
}
