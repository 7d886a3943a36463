/*  tests/transport/address_test.c - which endpoints are valid and which are in use. */
#include "transport/address.h"

#include <errno.h>
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
