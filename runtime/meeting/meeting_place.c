/*  runtime/meeting/meeting_place.c - where processes of a launcher meet, and by which address each is known. */
#include "runtime/meeting/meeting_place.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/clock.h"
#include "runtime/option/registry.h"
#include "runtime/text/printable.h"

/*  Ports below those that systems give away by themselves, in blocks. */
enum { PORTS_FIRST = 20480, PORTS_BLOCKS = 768 };

typedef union {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_storage room;
} address_t;

/* --- the leader ------------------------------------------------------------------------------- */

static void print_address(const struct sockaddr *address, char text[TND_ROSTER_TEXT])
{
    char number[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, number,
                        sizeof number);
        snprintf(text, TND_ROSTER_TEXT, "[%s]", number);
        return;
    }
    (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, number,
                    sizeof number);
    snprintf(text, TND_ROSTER_TEXT, "%s", number);
}

/*  "ADDRESS:PORT" or "ADDRESS", which may be "[::1]"; false: the port is none. */
static bool split(const char *text, char *address, size_t room, uint32_t *port_p)
{
    const char *colon = strrchr(text, ':');
    bool has_port =
        colon != NULL && colon != text && (colon[-1] == ']' || strchr(text, ':') == colon);
    size_t size = has_port ? (size_t)(colon - text) : strlen(text);
    char *end;
    *port_p = 0;
    if (size == 0 || size >= room || colon == text || (text[0] == '[' && text[size - 1] != ']'))
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    if (!has_port)
        return true;
    unsigned long port = strtoul(colon + 1, &end, 10);
    *port_p = (uint32_t)port;
    return *end == '\0' && end != colon + 1 && port > 0 && port <= 65535;
}

/*  How well other machines may use an address: one of IPv4 is preferred, but not 127.0.1.1, which Debian
 *  gives the machine's own name. */
static int rank_address(const struct addrinfo *one)
{
    address_t address = {.any = {.sa_family = AF_UNSPEC}};
    memcpy(&address, one->ai_addr, one->ai_addrlen);
    if (address.any.sa_family == AF_INET)
        return ntohl(address.four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? 1 : 3;
    return address.any.sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&address.six.sin6_addr) ? 2
                                                                                              : 0;
}

static tnd_status_t resolve(const char *name, address_t *address_p, tnd_error_t *error)
{
    char bare[256];
    snprintf(bare, sizeof bare, "%s", name[0] == '[' ? name + 1 : name);
    if (name[0] == '[')
        bare[strcspn(bare, "]")] = '\0';
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    int why = getaddrinfo(bare, NULL, &hints, &list);
    if (why != 0)
        return tnd_fail(error,
                        "rank 0 is at %s, which has no address here (%s): write --leader ADDRESS, "
                        "or set TUNDISH_LEADER",
                        name, gai_strerror(why));
    const struct addrinfo *best = list;
    for (const struct addrinfo *one = list; one != NULL; one = one->ai_next)
        best = rank_address(one) > rank_address(best) ? one : best;
    memcpy(address_p, best->ai_addr, best->ai_addrlen);
    freeaddrinfo(list);
    return TND_OK;
}

static bool is_loopback(const char *address)
{
    return tnd_placement_is_loopback(address);
}

/*  Whether this machine has the address. */
static bool is_own(const address_t *address)
{
    int trial = socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size =
        address->any.sa_family == AF_INET6 ? sizeof address->six : sizeof address->four;
    address_t any_port = *address;
    any_port.four.sin_port = 0;
    bool own = trial < 0 || bind(trial, &any_port.any, size) == 0;
    if (trial >= 0)
        close(trial);
    return own;
}

/*  An option comes before the variables. */
static tnd_meeting_wish_t complete(const tnd_meeting_wish_t *wish)
{
    tnd_meeting_wish_t whole = *wish;
    if (whole.leader == NULL && whole.folder == NULL)
        whole.leader = getenv("TUNDISH_LEADER"), whole.folder = getenv("TUNDISH_MEET");
    if (whole.leader != NULL && whole.leader[0] == '\0')
        whole.leader = NULL;
    if (whole.leader != NULL || (whole.folder != NULL && whole.folder[0] == '\0'))
        whole.folder = NULL;
    return whole;
}

/*  The text that says where rank 0 is; `name` gets the address in it, "" if a file will have it. */
static tnd_status_t find_leader(const tnd_launch_t *launch, const tnd_plan_t *plan,
                                const tnd_meeting_wish_t *wish, char *name, size_t room,
                                uint32_t *port_p, tnd_error_t *error)
{
    const char *launcher = tnd_launcher_name(launch->launcher);
    if (wish->leader != NULL) {
        if (split(wish->leader, name, room, port_p))
            return TND_OK;
        return tnd_fail(error, "the leader is `%.64s`: write ADDRESS or ADDRESS:PORT",
                        wish->leader);
    }
    *port_p = launch->port_taken ? 0 : launch->port;
    if (wish->folder != NULL)
        name[0] = '\0';
    else if (!is_loopback(plan->hosts[0].address))
        snprintf(name, room, "%s", plan->hosts[0].address);
    else if (launch->local_size == launch->size)
        snprintf(name, room, "127.0.0.1");
    else if (launch->leader[0] != '\0')
        snprintf(name, room, "%s", launch->leader);
    else
        return tnd_fail(error,
                        "%s does not tell where rank 0 is: write --leader ADDRESS, or set "
                        "TUNDISH_LEADER, in every process (127.0.0.1 if all are on one machine); "
                        "or write --meet DIR, with a folder that all machines share",
                        launcher);
    return TND_OK;
}

/*  What named rank 0, for errors. */
static const char *told_by(const tnd_launch_t *launch, const tnd_plan_t *plan,
                           const tnd_meeting_wish_t *wish)
{
    if (wish->leader != NULL)
        return "--leader";
    const char *variable = getenv("TUNDISH_LEADER");
    if (variable != NULL && *variable != '\0')
        return "TUNDISH_LEADER";
    return is_loopback(plan->hosts[0].address) ? tnd_launcher_leader_by(launch->launcher)
                                               : "`address:` of the first host";
}

/* --- the job and its ports -------------------------------------------------------------------- */

/*  What differs between two runs that are started at once. */
static void name_job(tnd_meeting_place_t *self, const tnd_launch_t *launch, unsigned number)
{
    char job[TND_ROSTER_JOB];
    bool parent = launch->by_parent && launch->local_size == launch->size;
    if (launch->job[0] == '\0' && launch->port == 0 && !parent)
        return;
    snprintf(job, sizeof job, "%.90s", launch->job);
    if (parent)
        snprintf(job, sizeof job, "of process %d", (int)getppid());
    int used = snprintf(self->job, sizeof self->job, "%s job %.90s",
                        tnd_launcher_name(launch->launcher), job);
    snprintf(self->job + used, sizeof self->job - (size_t)used,
             ".%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%u", launch->step, launch->port,
             launch->restarts, number);
    (void)tnd_printable(self->job, sizeof self->job);
}

/*  A name that says what the file is for, and that no other job has. */
static void name_file(tnd_meeting_place_t *self, const tnd_launch_t *launch, const tnd_plan_t *plan,
                      unsigned number)
{
    char job[TND_ROSTER_JOB];
    if (self->job[0] != '\0')
        snprintf(job, sizeof job, "%s", self->job);
    else
        snprintf(job, sizeof job, "graph %016" PRIx64 ".%" PRIu32 ".%u", plan->fingerprint[0],
                 launch->size, number);
    uint64_t hash = XXH3_64bits(job, strlen(job));
    for (char *at = job; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && *at != '.')
            *at = '-';
    snprintf(self->file, sizeof self->file, "tundish-%s-%08" PRIx32 ".leader", job, (uint32_t)hash);
}

static void derive_ports(tnd_meeting_place_t *self, const tnd_launch_t *launch,
                         const tnd_plan_t *plan)
{
    uint64_t hash = self->job[0] != '\0' ? XXH3_64bits(self->job, strlen(self->job))
                                         : plan->fingerprint[0] + launch->size;
    uint32_t first = PORTS_FIRST + (uint32_t)(hash % PORTS_BLOCKS) * TND_MEETING_PORTS;
    for (uint32_t i = 0; i < TND_MEETING_PORTS; i++)
        if (!launch->port_taken || first + i != launch->port)
            self->ports[self->port_count++] = first + i;
}

static tnd_status_t resolve_leader(const char *name, bool leads, address_t *address_p,
                                   tnd_error_t *error)
{
    TND_TRY(resolve(name, address_p, error));
    if (!leads || is_own(address_p))
        return TND_OK;
    return tnd_fail(error,
                    "rank 0 runs here, but %s is another machine: write --leader ADDRESS, or set "
                    "TUNDISH_LEADER, with an address of this machine",
                    name);
}

/*  A pod has its name some seconds after it has begun, and others may begin before it.  Until then
 *  the name may be that of a pod which this one replaces. */
static tnd_status_t resolve_late(const char *name, bool leads, uint64_t wait_ns,
                                 bool (*is_ended)(void), address_t *address_p, tnd_error_t *error)
{
    const struct timespec again = {.tv_nsec = 250000000};
    uint64_t until = tnd_clock_now() + wait_ns;
    while (resolve_leader(name, leads, address_p, error) != TND_OK) {
        if (tnd_clock_now() >= until || (is_ended != NULL && is_ended()))
            return TND_AGAIN;
        nanosleep(&again, NULL);
    }
    return TND_OK;
}

static tnd_status_t take_leader(tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                const tnd_plan_t *plan, const char *name, bool (*is_ended)(void),
                                tnd_error_t *error)
{
    address_t address;
    if (launch->named_late)
        TND_TRY(resolve_late(name, launch->rank == 0, plan->start_timeout_ns, is_ended, &address,
                             error));
    else
        TND_TRY(resolve_leader(name, launch->rank == 0, &address, error));
    print_address(&address.any, self->leader);
    self->is_local = self->is_local || is_loopback(name);
    if (!self->is_local && is_loopback(self->leader))
        snprintf(self->own_name, sizeof self->own_name, "%s", name);
    if (launch->named_late)
        snprintf(self->name, sizeof self->name, "%s", name);
    return TND_OK;
}

bool tnd_meeting_place_renew(tnd_meeting_place_t *self)
{
    address_t address;
    tnd_error_t error;
    char leader[TND_ROSTER_TEXT];
    if (self->name[0] == '\0' || resolve_leader(self->name, false, &address, &error) != TND_OK)
        return false;
    print_address(&address.any, leader);
    if (strcmp(leader, self->leader) == 0)
        return false;
    snprintf(self->leader, sizeof self->leader, "%s", leader);
    return true;
}

tnd_status_t tnd_meeting_place_find(tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                    const tnd_plan_t *plan, const tnd_meeting_wish_t *wish,
                                    unsigned number, tnd_error_t *error)
{
    char name[256];
    uint32_t port;
    const tnd_meeting_wish_t whole = complete(wish);
    *self = (tnd_meeting_place_t){.folder = whole.folder};
    TND_TRY(find_leader(launch, plan, &whole, name, sizeof name, &port, error));
    self->is_local = launch->local_size == launch->size;
    if (self->folder == NULL) {
        tnd_error_t why;
        tnd_status_t status = take_leader(self, launch, plan, name, wish->is_ended, &why);
        if (status != TND_OK)
            (void)tnd_fail(error, "%s: %s", told_by(launch, plan, wish), why.text);
        TND_TRY(status);
    } else if (self->is_local)
        snprintf(self->leader, sizeof self->leader, "127.0.0.1");
    name_job(self, launch, number);
    name_file(self, launch, plan, number);
    if (plan->hosts[0].port != 0)
        port = plan->hosts[0].port;
    if (port != 0)
        self->ports[self->port_count++] = port;
    else
        derive_ports(self, launch, plan);
    return TND_OK;
}

/* --- this process ----------------------------------------------------------------------------- */

/*  The address from which the system would send to the leader. */
static tnd_status_t find_own(const char *leader, char text[TND_ROSTER_TEXT], tnd_error_t *error)
{
    address_t address, own;
    socklen_t size = sizeof own;
    TND_TRY(resolve(leader, &address, error));
    bool six = address.any.sa_family == AF_INET6;
    address.four.sin_port = htons(1); /* the same place in both; nothing is sent */
    int trial = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found =
        trial >= 0 &&
        connect(trial, &address.any, six ? sizeof address.six : sizeof address.four) == 0 &&
        getsockname(trial, &own.any, &size) == 0;
    if (trial >= 0)
        close(trial);
    if (!found)
        return tnd_fail(error, "rank 0 is at %s, to which this machine has no route", leader);
    print_address(&own.any, text);
    return TND_OK;
}

/*  Whether the first bits of two addresses are the same. */
static bool has_prefix(const void *address, const void *network, unsigned bits)
{
    const unsigned char *a = address, *b = network;
    if (memcmp(a, b, bits / 8) != 0)
        return false;
    unsigned mask = 0xff00u >> bits % 8;
    return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & mask & 0xff) == 0;
}

static bool is_inside(const struct sockaddr *address, const char *network)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char text[INET6_ADDRSTRLEN];
    size_t size = strcspn(network, "/");
    unsigned bits = (unsigned)strtoul(network + size + 1, NULL, 10);
    snprintf(text, sizeof text, "%.*s", (int)size, network);
    if (address == NULL || inet_pton(address->sa_family, text, bytes) != 1)
        return false;
    return address->sa_family == AF_INET6
               ? has_prefix(&((const struct sockaddr_in6 *)address)->sin6_addr, bytes, bits)
               : has_prefix(&((const struct sockaddr_in *)address)->sin_addr, bytes, bits);
}

/*  The address of an interface in the network. */
static tnd_status_t find_in_network(const char *network, char text[TND_ROSTER_TEXT],
                                    tnd_error_t *error)
{
    struct ifaddrs *list;
    char others[160] = "", other[TND_ROSTER_TEXT];
    size_t used = 0;
    bool found = false;
    if (getifaddrs(&list) != 0)
        return tnd_fail(error, "the interfaces of this machine cannot be listed");
    for (const struct ifaddrs *one = list; one != NULL && !found; one = one->ifa_next) {
        int family = one->ifa_addr != NULL ? one->ifa_addr->sa_family : AF_UNSPEC;
        if (family != AF_INET && family != AF_INET6)
            continue;
        found = is_inside(one->ifa_addr, network);
        print_address(one->ifa_addr, found ? text : other);
        if (!found && used + TND_ROSTER_TEXT < sizeof others)
            used += (size_t)snprintf(others + used, sizeof others - used, "%s%s",
                                     used > 0 ? ", " : "", other);
    }
    freeifaddrs(list);
    if (found)
        return TND_OK;
    return tnd_fail(
        error,
        "`network: %.64s`: no interface of this machine is in it: write the network of one "
        "of its addresses, %s",
        network, others);
}

/*  Processes of one machine see one another by the same network namespace. */
static void find_machine(char text[TND_ROSTER_TEXT])
{
    char boot[40] = "";
    struct stat facts;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fscanf(file, "%39s", boot) != 1)
            boot[0] = '\0';
        fclose(file);
    }
    uint64_t space = stat("/proc/self/ns/net", &facts) == 0 ? (uint64_t)facts.st_ino : 0;
    snprintf(text, TND_ROSTER_TEXT, "%s.%" PRIu64, boot, space);
}

/*  The launcher's name of the machine, or its own. */
static void find_name(const tnd_launch_t *launch, char name[TND_ROSTER_TEXT])
{
    if (launch->machine[0] != '\0')
        snprintf(name, TND_ROSTER_TEXT, "%s", launch->machine);
    else if (gethostname(name, TND_ROSTER_TEXT) != 0)
        name[0] = '\0';
    name[TND_ROSTER_TEXT - 1] = '\0';
    (void)tnd_printable(name, TND_ROSTER_TEXT); /* a line of the roster */
}

static bool is_asked(const tnd_plan_t *plan)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        for (uint32_t d = 0; d < plan->hosts[h].device_count; d++)
            if (strcmp(plan->hosts[h].written[d], "auto") == 0)
                return true;
    return false;
}

static void find_devices(const tnd_plan_t *plan, tnd_roster_process_t *process)
{
    const char *kind = "", *visible = getenv("CUDA_VISIBLE_DEVICES");
    char why[256];
    if (!is_asked(plan))
        return;
    process->device_count = tnd_registry_auto_devices(&kind, why, sizeof why);
    if (process->device_count > TND_ROSTER_MAX)
        process->device_count = TND_ROSTER_MAX;
    if (process->device_count > 0)
        snprintf(process->device, sizeof process->device, "%s", kind);
    snprintf(process->visible, sizeof process->visible, "%.63s", visible != NULL ? visible : "");
    (void)tnd_printable(process->visible, sizeof process->visible); /* a line of the roster */
}

tnd_status_t tnd_meeting_place_facts(const tnd_meeting_place_t *self, const tnd_launch_t *launch,
                                     const tnd_plan_t *plan, tnd_roster_request_t *facts,
                                     tnd_error_t *error)
{
    *facts = (tnd_roster_request_t){
        .process = {.rank = launch->rank},
        .size = launch->size,
        .graph = {plan->fingerprint[0], plan->fingerprint[1]},
    };
    snprintf(facts->job, sizeof facts->job, "%s", self->job);
    find_machine(facts->process.machine);
    find_name(launch, facts->process.name);
    find_devices(plan, &facts->process);
    if (self->is_local)
        snprintf(facts->process.address, TND_ROSTER_TEXT, "%s", self->leader);
    else if (plan->network != NULL)
        TND_TRY(find_in_network(plan->network, facts->process.address, error));
    if (self->leader[0] == '\0' || launch->rank == 0)
        return TND_OK;
    return tnd_meeting_place_reach(plan, self->leader, facts, error);
}

tnd_status_t tnd_meeting_place_reach(const tnd_plan_t *plan, const char *leader,
                                     tnd_roster_request_t *facts, tnd_error_t *error)
{
    snprintf(facts->reached, sizeof facts->reached, "%s", leader);
    if (plan->network != NULL)
        return TND_OK;
    return find_own(leader, facts->process.address, error);
}

/*  Whether other machines may reach an address: it is not of a link, or of this machine. */
static bool is_for_others(const struct sockaddr *address)
{
    if (address == NULL || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return false;
    if (address->sa_family == AF_INET) {
        uint32_t number = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
        return number >> 24 != IN_LOOPBACKNET && number >> 16 != 0xa9fe;
    }
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return !IN6_IS_ADDR_LOOPBACK(six) && !IN6_IS_ADDR_LINKLOCAL(six);
}

uint32_t tnd_meeting_place_addresses(char (*addresses)[TND_ROSTER_TEXT], uint32_t room)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *list = NULL;
    uint32_t count = 0;
    if (getifaddrs(&list) != 0)
        list = NULL;
    for (size_t f = 0; f < sizeof families / sizeof families[0] && count == 0; f++)
        for (const struct ifaddrs *one = list; one != NULL && count < room; one = one->ifa_next)
            if (is_for_others(one->ifa_addr) && one->ifa_addr->sa_family == families[f])
                print_address(one->ifa_addr, addresses[count++]);
    if (list != NULL)
        freeifaddrs(list);
    if (count == 0 && room > 0)
        snprintf(addresses[count++], TND_ROSTER_TEXT, "127.0.0.1");
    return count;
}
