/*  runtime/graph/placement.c - hosts, instances, edges and replicas of a topology. */
#include "runtime/graph/placement.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/quantity.h"

enum { HOSTS_MAX = 4096, INSTANCES_MAX = 65536 };

typedef struct {
    const char *address;
    const char *listen;
    uint64_t port;
    const char *ports;
    const char *data;
    const tnd_value_t *actors;
    const char *lanes;
    const tnd_value_t *workers;
    const tnd_value_t *devices;
    int transport;
    int restart; /* tnd_restart_t */
    uint64_t more;
} host_options_t;

typedef enum { HOST_AUTO, HOST_IPC, HOST_TCP } host_transport_t;

/*  What one actor has on one host. */
typedef struct {
    bool here;
    uint32_t lane_first, lanes; /* of an actor with an instance a lane */
    uint32_t workers;           /* 0: as the actor says */
    tnd_strings_t devices;      /* count 0: as the actor says */
    uint32_t first, count;      /* its instances in the plan */
    const void *options;
    tnd_mark_t mark;
} share_t;

typedef struct {
    const char *name;
    const char *address, *listen;
    const char *data;
    tnd_mark_t mark;
    tnd_mark_t lanes_mark;
    const host_options_t *options; /* NULL: the host that a file without hosts has */
    const tnd_value_t *value;
    uint32_t lanes;  /* 0: not said */
    share_t *shares; /* by actor */
    bool isolated;   /* see tnd_plan_host_t */
    uint32_t parent;
    const char *range; /* what stands before the numbers of its range; NULL: none */
    const char *pool;
    bool spare;
} host_t;

typedef struct {
    const tnd_options_context_t *context;
    const tnd_topology_t *topology;
    tnd_plan_t *plan;
    host_t *hosts;
    uint32_t host_count; /* the spares are behind them */
    uint32_t spare_count;
    tnd_plan_host_t *plan_hosts;
    tnd_instance_t *instances;
} placer_t;

static const tnd_option_t host_options[] = {
    {.name = "address",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "127.0.0.1",
     .offset = offsetof(host_options_t, address),
     .help = "where other hosts find it: a name or an address"},
    {.name = "listen",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, listen),
     .help = "the address that it listens at, where something that passes connections on, port by "
             "port, has the one that others know"},
    {.name = "port",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_PLACE,
     .fallback = "0",
     .range = "0..65535",
     .offset = offsetof(host_options_t, port),
     .help = "the leader's port, which all others connect to"},
    {.name = "ports",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, ports),
     .help = "the ports that all other endpoints are taken from, such as 7101-7200"},
    {.name = "data",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, data),
     .help = "what `${data}` stands for in paths of this host"},
    {.name = "actors",
     .type = TND_OPTION_VALUE,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, actors),
     .help = "the actors that it carries, `[read, batch]`"},
    {.name = "lanes",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, lanes),
     .help = "how many of the lanes it carries, `2`, or of each host of a range, `2 each`"},
    {.name = "workers",
     .type = TND_OPTION_MAP,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, workers),
     .help = "how many copies of an actor it runs, `{prep: 6}`"},
    {.name = "devices",
     .type = TND_OPTION_MAP,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(host_options_t, devices),
     .help = "the devices of a feeder, `{feed: [cuda:0, cuda:1]}`"},
    {.name = "transport",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_PLACE,
     .fallback = "auto",
     .choices = "auto|ipc|tcp",
     .offset = offsetof(host_options_t, transport),
     .help = "what connects it to other hosts; auto is ipc on one machine, else tcp"},
    {.name = "restart",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_TUNE,
     .fallback = "on-failure",
     .choices = "never|on-failure|always",
     .offset = offsetof(host_options_t, restart),
     .help = "when it died, whether it is started again; not given: as the top level says"},
    {.name = "more",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_PLACE,
     .unit = "hosts",
     .fallback = "16",
     .range = "0..1024",
     .offset = offsetof(host_options_t, more),
     .help = "of a range that carries only workers: how many more may join a run, by --host NAME+"},
};

const tnd_table_t tnd_host_table = {
    .name = "host",
    .help = "one process of the run",
    TND_OPTIONS(host_options),
    .size = sizeof(host_options_t),
};

static tnd_diagnostics_t *diagnostics_of(const placer_t *self)
{
    return self->context->diagnostics;
}

static tnd_arena_t *arena_of(const placer_t *self)
{
    return self->context->arena;
}

tnd_plan_t tnd_placement_whole(const tnd_plan_t *plan)
{
    tnd_plan_t whole = *plan;
    whole.host_count += plan->spare_hosts;
    whole.instance_count += plan->spare_instances;
    whole.edge_count += plan->spare_edges;
    whole.spare_hosts = whole.spare_instances = whole.spare_edges = 0;
    return whole;
}

const char *tnd_transport_name(tnd_transport_t transport)
{
    switch (transport) {
    case TND_TRANSPORT_INPROC:
        return "inproc";
    case TND_TRANSPORT_IPC:
        return "ipc";
    case TND_TRANSPORT_TCP:
        return "tcp";
    }
    return "tcp";
}

bool tnd_placement_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "[::1]") == 0 || strcmp(address, "localhost") == 0;
}

static bool same_machine(const host_t *a, const host_t *b)
{
    return strcmp(a->address, b->address) == 0 ||
           (tnd_placement_is_loopback(a->address) && tnd_placement_is_loopback(b->address));
}

/*  ------------------------------------------------------------------------------------- ranges */

/*  "node[00-15]": what stands before and behind, and the numbers with their width. */
typedef struct {
    const char *before;
    size_t before_size;
    const char *behind;
    uint64_t first, last;
    int width;
} range_t;

/*  False if there is no range, or (with *bad_p) one that cannot be read. */
static bool read_range(const char *text, range_t *range, bool *bad_p)
{
    const char *open = strchr(text, '[');
    *bad_p = false;
    /* "[::1]" is an address, not a range. */
    if (open == NULL || strpbrk(open, ":") != NULL)
        return false;
    *bad_p = true;
    const char *close = strchr(open, ']');
    const char *dash = strchr(open, '-');
    if (close == NULL || dash == NULL || dash > close || strchr(close, '[') != NULL)
        return false;
    size_t first_size = (size_t)(dash - open - 1);
    size_t last_size = (size_t)(close - dash - 1);
    if (first_size == 0 || first_size > 9 || last_size == 0 || last_size > 9 ||
        strspn(open + 1, "0123456789") != first_size || strspn(dash + 1, "0123456789") != last_size)
        return false;
    *range = (range_t){.before = text,
                       .before_size = (size_t)(open - text),
                       .behind = close + 1,
                       .first = strtoull(open + 1, NULL, 10),
                       .last = strtoull(dash + 1, NULL, 10),
                       .width = open[1] == '0' && first_size > 1 ? (int)first_size : 1};
    *bad_p = range->last < range->first || range->last - range->first >= HOSTS_MAX;
    return !*bad_p;
}

static const char *range_item(const placer_t *self, const range_t *range, uint64_t index)
{
    return tnd_arena_format(arena_of(self), "%.*s%0*llu%s", (int)range->before_size, range->before,
                            range->width, (unsigned long long)(range->first + index),
                            range->behind);
}

static void report_range(placer_t *self, tnd_mark_t mark, const char *text)
{
    tnd_diagnostics_add(diagnostics_of(self), TND_T040_HOST_RANGE, mark,
                        "`%s` is no range that can be expanded", text);
    tnd_diagnostics_help(diagnostics_of(self),
                         "one range of numbers in brackets, at most %d: `node[0-3]`", HOSTS_MAX);
}

/*  An address or directory of the index-th host of an entry with `count` hosts.  NULL after an
 *  error, which is reported for the first host only.
 */
static const char *expand(placer_t *self, const char *text, tnd_mark_t mark, uint64_t index,
                          uint64_t count)
{
    range_t range;
    bool bad = false;
    if (text == NULL)
        return NULL;
    if (!read_range(text, &range, &bad)) {
        if (bad && index == 0)
            report_range(self, mark, text);
        return bad ? NULL : text;
    }
    if (range.last - range.first + 1 != count) {
        if (index == 0)
            tnd_diagnostics_add(diagnostics_of(self), TND_T040_HOST_RANGE, mark,
                                "`%s` are %llu, for %llu host%s", text,
                                (unsigned long long)(range.last - range.first + 1),
                                (unsigned long long)count, count == 1 ? "" : "s");
        return NULL;
    }
    return range_item(self, &range, index);
}

/*  -------------------------------------------------------------------------------------- hosts */

static tnd_mark_t host_option_mark(const host_t *host, const char *name)
{
    const tnd_value_t *value = tnd_value_get(host->value, name);
    return value != NULL ? value->mark : host->mark;
}

/*  "2" or "2 each"; a plain number is not clear for several hosts. */
static void read_host_lanes(placer_t *self, host_t *host, uint64_t index, uint64_t count)
{
    const char *text = host->options->lanes;
    if (text == NULL)
        return;
    tnd_mark_t mark = host_option_mark(host, "lanes");
    size_t digits = strspn(text, "0123456789");
    bool each = strcmp(text + digits, " each") == 0;
    host->lanes_mark = mark;
    if (digits == 0 || digits > 5 || (!each && text[digits] != '\0') ||
        strtoul(text, NULL, 10) == 0) {
        if (index == 0)
            tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, mark,
                                "`lanes` expects a whole number from 1 on, such as `2`, or for a "
                                "range of hosts `2 each`, not `%s`",
                                text);
        return;
    }
    host->lanes = (uint32_t)strtoul(text, NULL, 10);
    if (count > 1 && !each && index == 0) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T044_LANES, mark,
                            "%llu hosts: does each carry %u, or all together?",
                            (unsigned long long)count, host->lanes);
        tnd_diagnostics_help(diagnostics_of(self), "write `%u each`", host->lanes);
    }
}

/*  Looks up an actor that a host names; says so if there is none. */
static uint32_t find_actor(placer_t *self, const char *name, tnd_mark_t mark)
{
    uint32_t actor = tnd_topology_find(self->topology, name);
    if (actor != TND_TOPOLOGY_NONE)
        return actor;
    tnd_nearest_t nearest = {.word = name};
    for (uint32_t i = 0; i < self->topology->actor_count; i++)
        tnd_nearest_offer(&nearest, self->topology->actors[i].name);
    tnd_diagnostics_add(diagnostics_of(self), TND_T023_UNKNOWN_ACTOR, mark,
                        "there is no actor `%s`", name);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?", nearest.best);
    return TND_TOPOLOGY_NONE;
}

/*  `actors: read prep batch` */
static void report_joined_names(placer_t *self, const tnd_value_t *value)
{
    const char *list = "";
    for (const char *at = value->text; *at != '\0';) {
        size_t size = strcspn(at, " ,");
        if (size > 0)
            list = tnd_arena_format(arena_of(self), "%s%s%.*s", list, *list != '\0' ? ", " : "",
                                    (int)size, at);
        at += size + strspn(at + size, " ,");
    }
    tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, value->mark,
                        "`actors` expects a list of names, not `%s`", value->text);
    tnd_diagnostics_help(diagnostics_of(self), "write `[%s]`", list);
}

static void read_host_actors(placer_t *self, host_t *host)
{
    const tnd_value_t *actors = host->options->actors;
    if (actors == NULL)
        return;
    size_t count = actors->type == TND_VALUE_LIST ? actors->count : 1;
    for (size_t i = 0; i < count; i++) {
        const tnd_value_t *item = actors->type == TND_VALUE_LIST ? actors->items[i] : actors;
        if (item->type != TND_VALUE_SCALAR) {
            tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, item->mark,
                                "`actors` expects names of actors such as [read, batch], not %s",
                                tnd_value_type_name(item->type));
            continue;
        }
        if (strpbrk(item->text, " ,") != NULL) {
            report_joined_names(self, item);
            continue;
        }
        uint32_t actor = find_actor(self, item->text, item->mark);
        if (actor == TND_TOPOLOGY_NONE)
            continue;
        if (host->shares[actor].here) {
            tnd_diagnostics_add(diagnostics_of(self), TND_T034_DUPLICATE_ACTOR, item->mark,
                                "`%s` stands here twice", item->text);
            const tnd_kind_spec_t *kind = self->topology->actors[actor].kind;
            if (kind != NULL && tnd_options_find(&kind->table, "workers") != NULL)
                tnd_diagnostics_help(diagnostics_of(self),
                                     "for several copies write `workers: {%s: 2}`", item->text);
        }
        host->shares[actor].here = true;
        host->shares[actor].mark = item->mark;
    }
}

static bool check_device(placer_t *self, const char *device, tnd_mark_t mark)
{
    size_t kind = strspn(device, "abcdefghijklmnopqrstuvwxyz");
    const char *number = device + kind + 1;
    if (kind > 0 && device[kind] == ':' && *number != '\0' && strlen(number) <= 4 &&
        strspn(number, "0123456789") == strlen(number))
        return true;
    tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark, "`%s` is no device", device);
    tnd_diagnostics_help(diagnostics_of(self),
                         "a device is a kind and a number, such as `cpu:0` or `cuda:1`");
    return false;
}

/*  Devices as they are written, at `value` or by the actor's own option. */
static bool check_devices(placer_t *self, const tnd_strings_t *devices, const tnd_value_t *value)
{
    for (size_t i = 0; i < devices->count; i++) {
        tnd_mark_t mark = value->type == TND_VALUE_LIST ? value->items[i]->mark : value->mark;
        if (!check_device(self, devices->items[i], mark))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(devices->items[i], devices->items[j]) == 0) {
                tnd_diagnostics_add(diagnostics_of(self), TND_T046_DEVICES, mark,
                                    "`%s` is listed twice", devices->items[i]);
                tnd_diagnostics_help(diagnostics_of(self),
                                     "one device carries several replicas by itself");
                return false;
            }
    }
    return true;
}

/*  `workers: {prep: 6}` and `devices: {feed: [cpu:0]}`: an actor's own option, for one host. */
static void read_host_overrides(placer_t *self, host_t *host, const char *name,
                                const tnd_value_t *map)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    bool devices = strcmp(name, "devices") == 0;
    tnd_diagnostic_code_t code = devices ? TND_T046_DEVICES : TND_T045_WORKERS;
    for (size_t i = 0; map != NULL && i < map->count; i++) {
        const tnd_value_entry_t *entry = &map->entries[i];
        uint32_t actor = find_actor(self, entry->key, entry->mark);
        if (actor == TND_TOPOLOGY_NONE || entry->value->type == TND_VALUE_NULL)
            continue;
        const tnd_kind_spec_t *kind = self->topology->actors[actor].kind;
        if (kind == NULL)
            continue;
        const tnd_option_t *option = tnd_options_find(&kind->table, name);
        if (option == NULL) {
            tnd_diagnostics_add(diagnostics, code, entry->mark, "`%s` is a %s and has no %s",
                                entry->key, kind->table.name, name);
            continue;
        }
        if (host->options->actors != NULL && !host->shares[actor].here) {
            tnd_diagnostics_add(diagnostics, code, entry->mark, "`%s` does not stand on `%s`",
                                entry->key, host->name);
            tnd_diagnostics_help(diagnostics, "add it to the `actors:` of the host");
            continue;
        }
        uint64_t workers = 0;
        tnd_strings_t list = {0};
        if (!tnd_option_parse(self->context, option, entry->value,
                              devices ? (void *)&list : (void *)&workers))
            continue;
        if (devices && check_devices(self, &list, entry->value))
            host->shares[actor].devices = list;
        if (!devices)
            host->shares[actor].workers = workers == 0 ? 1 : (uint32_t)workers;
        host->shares[actor].mark = entry->mark;
    }
}

static void check_address(placer_t *self, const host_t *host, const char *key, const char *address)
{
    size_t size = strlen(address);
    bool name = size > 0 && strspn(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789.-_") == size;
    bool six = size > 2 && strchr(address, ':') != NULL &&
               strspn(address, "0123456789abcdefABCDEF:.[]%") == size &&
               strstr(address, "]:") == NULL;
    const char *colon = strrchr(address, ':');
    struct in_addr four;
    bool digits = name && strspn(address, "0123456789.") == size;
    if (digits ? inet_pton(AF_INET, address, &four) == 1
               : name || (six && strchr(address, ':') != colon))
        return;
    tnd_diagnostics_add(diagnostics_of(self), TND_T051_ENDPOINT, host_option_mark(host, key),
                        "`%s` is no address", address);
    tnd_diagnostics_help(diagnostics_of(self),
                         "write a name or an address alone, such as 10.0.0.1; a port goes to "
                         "`port:`");
}

/*  One entry of `hosts:` becomes one host, or those of its range. */
static void read_host(placer_t *self, const tnd_value_entry_t *entry)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    range_t range;
    bool bad = false;
    bool several = read_range(entry->key, &range, &bad);
    uint64_t count = several ? range.last - range.first + 1 : 1;
    if (bad) {
        report_range(self, entry->mark, entry->key);
        return;
    }
    const host_options_t *options =
        tnd_options_parse(self->context, &tnd_host_table, entry->value,
                          tnd_arena_format(arena_of(self), "host `%s`", entry->key), entry->mark);
    if (options == NULL)
        return;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = several ? range_item(self, &range, i) : entry->key;
        if (!tnd_options_is_name(name)) {
            tnd_diagnostics_add(diagnostics, TND_T019_BAD_NAME, entry->mark,
                                "`%s` cannot be the name of a host", name);
            tnd_diagnostics_help(diagnostics, "a name is a letter or `_`, then letters, digits, "
                                              "`_` and `-`");
            return;
        }
        for (uint32_t j = 0; j < self->host_count; j++)
            if (strcmp(self->hosts[j].name, name) == 0) {
                tnd_diagnostics_add(diagnostics, TND_T041_DUPLICATE_HOST, entry->mark,
                                    "host `%s` is defined twice", name);
                tnd_diagnostics_also(diagnostics, self->hosts[j].mark, "first defined here");
                return;
            }
        if (self->host_count == HOSTS_MAX) {
            tnd_diagnostics_add(diagnostics, TND_T040_HOST_RANGE, entry->mark, "more than %d hosts",
                                HOSTS_MAX);
            return;
        }
        host_t *host = &self->hosts[self->host_count];
        *host =
            (host_t){.name = name, .mark = entry->mark, .options = options, .value = entry->value};
        if (several)
            host->range =
                tnd_arena_format(arena_of(self), "%.*s", (int)range.before_size, range.before);
        host->address = expand(self, options->address, host_option_mark(host, "address"), i, count);
        host->listen = expand(self, options->listen, host_option_mark(host, "listen"), i, count);
        host->data = expand(self, options->data, host_option_mark(host, "data"), i, count);
        if (host->address == NULL || (host->data == NULL && options->data != NULL) ||
            (host->listen == NULL && options->listen != NULL))
            return;
        self->host_count++;
        host->shares =
            tnd_arena_array(arena_of(self), self->topology->actor_count, sizeof(share_t));
        read_host_lanes(self, host, i, count);
        if (i > 0) {
            /* The same entry says the same again: errors are told once. */
            memcpy(host->shares, host[-1].shares, self->topology->actor_count * sizeof(share_t));
            continue;
        }
        check_address(self, host, "address", host->address);
        if (host->listen != NULL)
            check_address(self, host, "listen", host->listen);
        read_host_actors(self, host);
        read_host_overrides(self, host, "workers", options->workers);
        read_host_overrides(self, host, "devices", options->devices);
    }
}

static size_t count_hosts(const tnd_value_t *hosts)
{
    size_t count = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        range_t range;
        bool bad = false;
        count += read_range(hosts->entries[i].key, &range, &bad) ? range.last - range.first + 1 : 1;
        if (count > HOSTS_MAX)
            return HOSTS_MAX;
    }
    return count;
}

static void read_hosts(placer_t *self)
{
    const tnd_value_t *hosts = tnd_value_get(self->topology->root, "hosts");
    if (hosts == NULL || hosts->type != TND_VALUE_MAP || hosts->count == 0) {
        self->hosts = tnd_arena_array(arena_of(self), 1, sizeof *self->hosts);
        self->hosts[0] = (host_t){.name = "local", .address = "127.0.0.1"};
        self->hosts[0].shares =
            tnd_arena_array(arena_of(self), self->topology->actor_count, sizeof(share_t));
        self->host_count = 1;
    } else {
        self->hosts = tnd_arena_array(arena_of(self), count_hosts(hosts), sizeof *self->hosts);
        for (size_t i = 0; i < hosts->count; i++)
            read_host(self, &hosts->entries[i]);
    }
    /* One host that does not say what it carries carries everything. */
    if (self->host_count == 1 &&
        (self->hosts[0].options == NULL || self->hosts[0].options->actors == NULL))
        for (uint32_t i = 0; i < self->topology->actor_count; i++)
            self->hosts[0].shares[i].here = true;
}

/*  ----------------------------------------------------------------------------- who stands where
 */

static uint32_t count_hosts_of(const placer_t *self, uint32_t actor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->host_count; i++)
        count += self->hosts[i].shares[actor].here;
    return count;
}

static bool is_feeder(const tnd_topology_actor_t *actor)
{
    return actor->kind->instances == TND_INSTANCE_HOST;
}

static void stand_with(placer_t *self, uint32_t actor, uint32_t other)
{
    for (uint32_t i = 0; i < self->host_count; i++)
        self->hosts[i].shares[actor].here = self->hosts[i].shares[other].here;
}

/*  A chain that comes after another stands where that one stands, unless the file says otherwise.
 */
static void place_later_chains(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        const tnd_topology_actor_t *actor = &topology->actors[i];
        if (actor->chain == TND_TOPOLOGY_NONE || actor->chain == 0 || count_hosts_of(self, i) > 0)
            continue;
        for (uint32_t j = 0; j < topology->actor_count; j++)
            if (topology->actors[j].chain == 0 && topology->actors[j].kind == actor->kind) {
                stand_with(self, i, j);
                break;
            }
    }
}

/*  An unplaced reducer stands with its feeder, on the first host that has it. */
static void place_reducers(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        if (topology->actors[i].kind->instances != TND_INSTANCE_ONE || count_hosts_of(self, i) > 0)
            continue;
        for (uint32_t h = 0; h < self->host_count && count_hosts_of(self, i) == 0; h++)
            for (uint32_t l = 0; l < topology->link_count; l++)
                if (topology->links[l].to == i &&
                    self->hosts[h].shares[topology->links[l].from].here)
                    self->hosts[h].shares[i].here = true;
    }
}

static void check_standing(placer_t *self, uint32_t index)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    uint32_t count = count_hosts_of(self, index);
    if (count == 0) {
        tnd_diagnostics_add(diagnostics, TND_T042_NOT_PLACED, actor->mark, "`%s` stands on no host",
                            actor->name);
        tnd_diagnostics_help(diagnostics, "add it to the `actors:` of a host");
    }
    if (count < 2 || actor->kind->instances != TND_INSTANCE_ONE)
        return;
    tnd_mark_t mark = {0};
    for (uint32_t i = 0; i < self->host_count; i++)
        if (self->hosts[i].shares[index].here)
            mark = self->hosts[i].shares[index].mark;
    tnd_diagnostics_add(diagnostics, TND_T043_PLACED_TWICE, mark,
                        "`%s` is a %s and stands on one host, not on %u", actor->name,
                        actor->kind->table.name, count);
}

/*  Lanes are dealt out in the order of the hosts: as many as each says, else evenly. */
static void deal_lanes(placer_t *self, uint32_t index)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    uint32_t lanes = (uint32_t)self->topology->settings->lanes;
    uint32_t count = count_hosts_of(self, index);
    uint32_t said = 0;
    uint32_t sum = 0;
    const host_t *last = NULL;
    for (uint32_t i = 0; i < self->host_count; i++)
        if (self->hosts[i].shares[index].here) {
            last = &self->hosts[i];
            said += last->lanes > 0;
            sum += last->lanes;
        }
    if (count == 0)
        return;
    if (said > 0 && (sum != lanes || said != count)) {
        /* Reader and batcher stand together as a rule: one error is enough. */
        if (!tnd_diagnostics_has(diagnostics, TND_T044_LANES)) {
            tnd_diagnostics_add(
                diagnostics, TND_T044_LANES, last->lanes > 0 ? last->lanes_mark : last->mark,
                "the hosts of `%s` carry %u lanes, the graph has %u", actor->name, sum, lanes);
            tnd_diagnostics_help(diagnostics, "give each host of `%s` its `lanes:`, %u together",
                                 actor->name, lanes);
        }
        return;
    }
    if (said == 0 && lanes < count) {
        tnd_diagnostics_add(diagnostics, TND_T044_LANES, last->shares[index].mark,
                            "%u hosts carry `%s`, but the graph has %u lane%s", count, actor->name,
                            lanes, lanes == 1 ? "" : "s");
        tnd_diagnostics_help(diagnostics, "give the graph `lanes: %u`, or let one host carry `%s`",
                             count, actor->name);
        return;
    }
    uint32_t first = 0;
    uint32_t turn = 0;
    for (uint32_t i = 0; i < self->host_count; i++) {
        host_t *host = &self->hosts[i];
        if (!host->shares[index].here)
            continue;
        uint32_t share = said > 0 ? host->lanes : lanes / count + (turn < lanes % count);
        host->shares[index].lane_first = first;
        host->shares[index].lanes = share;
        first += share;
        turn++;
    }
}

/*  The actor with one instance a lane that rows of `actor`'s chain begin with. */
static uint32_t reader_of(const placer_t *self, uint32_t actor)
{
    const tnd_topology_t *topology = self->topology;
    for (bool going = true; going;) {
        going = false;
        for (uint32_t i = 0; i < topology->link_count && !going; i++)
            if (topology->links[i].to == actor) {
                actor = topology->links[i].from;
                going = true;
            }
    }
    return actor;
}

/*  A preprocessor beside the readers of a lane serves the lanes of its host; one on a host without
 *  readers is a pool for all.  Each lane needs one of them.
 */
static void deal_workers(placer_t *self, uint32_t index)
{
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    uint32_t reader = reader_of(self, index);
    bool pool = false;
    for (uint32_t i = 0; i < self->host_count; i++) {
        share_t *share = &self->hosts[i].shares[index];
        const share_t *read = &self->hosts[i].shares[reader];
        if (!share->here)
            continue;
        share->lane_first = read->here ? read->lane_first : 0;
        share->lanes = read->here ? read->lanes : (uint32_t)self->topology->settings->lanes;
        pool = pool || !read->here;
    }
    if (count_hosts_of(self, index) == 0)
        return;
    for (uint32_t i = 0; i < self->host_count && !pool; i++) {
        const host_t *host = &self->hosts[i];
        if (!host->shares[reader].here || host->shares[index].here)
            continue;
        bool said = host->shares[reader].mark.origin != NULL;
        tnd_diagnostics_add(diagnostics_of(self), TND_T042_NOT_PLACED,
                            said ? host->shares[reader].mark : host->mark,
                            "`%s` reads here, but `%s` serves only the lanes of the hosts that it "
                            "stands on",
                            self->topology->actors[reader].name, actor->name);
        tnd_diagnostics_help(diagnostics_of(self),
                             "let `%s` stand on `%s` too, or on a host without readers, for all "
                             "lanes",
                             actor->name, host->name);
    }
}

/*  ------------------------------------------------------------------------------------ devices */

static const tnd_strings_t *own_devices(const tnd_topology_actor_t *actor)
{
    const tnd_strings_t *own =
        tnd_options_field(&actor->kind->table, actor->options, "devices", TND_OPTION_STRINGS);
    return own != NULL && own->count > 0 ? own : NULL;
}

static void deal_devices(placer_t *self, uint32_t index)
{
    static const char *const cpu[] = {"cpu:0"};
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    const tnd_strings_t *own = own_devices(actor);
    if (own != NULL && !check_devices(self, own, tnd_value_get(actor->value, "devices")))
        return;
    for (uint32_t i = 0; i < self->host_count; i++) {
        share_t *share = &self->hosts[i].shares[index];
        if (share->here && share->devices.count == 0)
            share->devices = own != NULL ? *own : (tnd_strings_t){cpu, 1};
    }
}

/*  A feeder that comes after another shares its models, hence its hosts and devices. */
static void share_devices(placer_t *self, uint32_t index, uint32_t first)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    const tnd_topology_actor_t *other = &self->topology->actors[first];
    const tnd_value_t *own = tnd_value_get(actor->value, "devices");
    if (own != NULL && own->type != TND_VALUE_NULL)
        tnd_diagnostics_add(diagnostics, TND_T046_DEVICES, own->mark,
                            "`%s` comes after `%s` and uses its devices", actor->name, other->name);
    for (uint32_t i = 0; i < self->host_count; i++) {
        share_t *share = &self->hosts[i].shares[index];
        const share_t *before = &self->hosts[i].shares[first];
        if (share->here != before->here) {
            tnd_diagnostics_add(diagnostics, TND_T043_PLACED_TWICE,
                                share->here ? share->mark : actor->mark,
                                "`%s` comes after `%s` and stands where that stands: on `%s` %s "
                                "does",
                                actor->name, other->name, self->hosts[i].name,
                                share->here ? "only the first" : "only the second");
            return;
        }
        if (share->devices.count > 0)
            tnd_diagnostics_add(diagnostics, TND_T046_DEVICES, share->mark,
                                "`%s` comes after `%s` and uses its devices", actor->name,
                                other->name);
        share->devices = before->devices;
    }
}

/*  Replicas go to devices in the order of hosts and lists, as evenly as can be. */
static void deal_replicas(placer_t *self, const tnd_topology_chain_t *chain, tnd_chain_plan_t *plan)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_topology_actor_t *feeder = &self->topology->actors[chain->end];
    tnd_carrier_t *carriers = tnd_arena_array(arena_of(self), chain->replicas, sizeof *carriers);
    size_t devices = 0;
    for (uint32_t i = 0; i < self->host_count; i++)
        devices += self->hosts[i].shares[chain->end].devices.count;
    if (devices == 0)
        return;
    uint32_t replica = 0;
    uint32_t turn = 0;
    for (uint32_t i = 0; i < self->host_count; i++) {
        const share_t *share = &self->hosts[i].shares[chain->end];
        uint32_t first = replica;
        for (uint32_t d = 0; share->here && d < share->devices.count; d++, turn++) {
            uint32_t count =
                chain->replicas / (uint32_t)devices + (turn < chain->replicas % devices);
            for (uint32_t r = 0; r < count; r++)
                carriers[replica++] = (tnd_carrier_t){.instance = share->first, .device = d};
            if (count == 0 && replica > first && chain->after == TND_TOPOLOGY_NONE)
                tnd_diagnostics_add(diagnostics, TND_T071_IDLE_DEVICE,
                                    share->mark.origin != NULL ? share->mark : feeder->mark,
                                    "%u replicas on %zu devices: `%s` has nothing to do",
                                    chain->replicas, devices, share->devices.items[d]);
        }
        if (!share->here)
            continue;
        if (replica == first && chain->after == TND_TOPOLOGY_NONE) {
            tnd_diagnostics_add(diagnostics, TND_T046_DEVICES, share->mark,
                                "`%s` on `%s` would carry no replica: there are %u, on %zu devices "
                                "in all",
                                feeder->name, self->hosts[i].name, chain->replicas, devices);
            tnd_diagnostics_help(diagnostics,
                                 "give the batcher more `replicas:`, or place `%s` on fewer hosts",
                                 feeder->name);
            return;
        }
        self->instances[share->first].replica_first = first;
        self->instances[share->first].replica_count = replica - first;
    }
    plan->carriers = carriers;
}

/*  ---------------------------------------------------------------------------------- instances */

static uint32_t worker_count(const placer_t *self, uint32_t host, uint32_t actor)
{
    const share_t *share = &self->hosts[host].shares[actor];
    const tnd_topology_actor_t *of = &self->topology->actors[actor];
    const uint64_t *own =
        tnd_options_field(&of->kind->table, of->options, "workers", TND_OPTION_U64);
    if (share->workers > 0)
        return share->workers;
    return own == NULL || *own == 0 ? 1 : (uint32_t)*own;
}

static uint32_t instance_count(const placer_t *self, uint32_t host, uint32_t actor)
{
    const share_t *share = &self->hosts[host].shares[actor];
    if (!share->here)
        return 0;
    switch (self->topology->actors[actor].kind->instances) {
    case TND_INSTANCE_ONE:
    case TND_INSTANCE_HOST:
        return 1;
    case TND_INSTANCE_LANE:
        return share->lanes * worker_count(self, host, actor);
    case TND_INSTANCE_WORKER:
        return worker_count(self, host, actor);
    }
    return 0;
}

/*  The first scalar below `value` that uses `${data}`. */
static const tnd_value_t *find_data(const tnd_value_t *value)
{
    const tnd_value_t *found = NULL;
    if (value == NULL)
        return NULL;
    if (value->type == TND_VALUE_SCALAR && strstr(value->text, "${data}") != NULL)
        return value;
    for (size_t i = 0; i < value->count && found == NULL; i++)
        found =
            find_data(value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value);
    return found;
}

/*  An actor's options as its host sees them. */
static const void *host_options_of(placer_t *self, uint32_t host, uint32_t actor, const char *local)
{
    const tnd_topology_actor_t *of = &self->topology->actors[actor];
    const char *data = self->plan_hosts[host].data;
    if (find_data(of->value) == NULL)
        return of->options;
    if (data == NULL) {
        bool told = tnd_diagnostics_has(diagnostics_of(self), TND_T050_DATA);
        if (told || (local != NULL && strcmp(local, self->hosts[host].name) != 0))
            return of->options;
        tnd_diagnostics_add(diagnostics_of(self), TND_T050_DATA, find_data(of->value)->mark,
                            "nothing says what `${data}` stands for on host `%s`",
                            self->hosts[host].name);
        tnd_diagnostics_help(diagnostics_of(self),
                             "give `--data DIR`, `data: DIR` in the file, or TUNDISH_DATA in the "
                             "environment");
        return of->options;
    }
    tnd_options_context_t context = *self->context;
    context.diagnostics = tnd_diagnostics_new(arena_of(self));
    context.data = data;
    const void *options =
        tnd_options_parse(&context, &of->kind->table, of->value, of->name, of->mark);
    assert(options != NULL); /* it was parsed before, with the paths as written */
    return options;
}

static const char *instance_name(const placer_t *self, const tnd_instance_t *instance,
                                 uint32_t actor, uint32_t copies)
{
    switch (instance->kind->instances) {
    case TND_INSTANCE_ONE:
        return instance->actor;
    case TND_INSTANCE_LANE:
        return copies > 1
                   ? tnd_arena_format(arena_of(self), "%s.%u.%u", instance->actor, instance->lane,
                                      instance->number)
                   : tnd_arena_format(arena_of(self), "%s.%u", instance->actor, instance->lane);
    case TND_INSTANCE_WORKER:
        return tnd_arena_format(arena_of(self), "%s.%u", instance->actor, instance->number);
    case TND_INSTANCE_HOST:
        return count_hosts_of(self, actor) > 1
                   ? tnd_arena_format(arena_of(self), "%s@%s", instance->actor,
                                      self->hosts[instance->host].name)
                   : instance->actor;
    }
    return instance->actor;
}

/*  Instances in the order of hosts, then of actors in the file, then of lanes and copies. */
static bool make_instances(placer_t *self, const char *local)
{
    const tnd_topology_t *topology = self->topology;
    uint32_t hosts = self->host_count + self->spare_count, planned = 0;
    uint64_t total = 0;
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t a = 0; a < topology->actor_count; a++)
            total += instance_count(self, h, a);
    if (total > INSTANCES_MAX) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T045_WORKERS, (tnd_mark_t){0},
                            "%llu instances of actors; at most %d are possible",
                            (unsigned long long)total, INSTANCES_MAX);
        return false;
    }
    self->instances = tnd_arena_array(arena_of(self), total, sizeof *self->instances);
    uint32_t *numbers = tnd_arena_array(arena_of(self), topology->actor_count, sizeof *numbers);
    uint32_t count = 0;
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t a = 0; a < topology->actor_count; a++) {
            share_t *share = &self->hosts[h].shares[a];
            uint32_t here = instance_count(self, h, a);
            uint32_t copies = worker_count(self, h, a);
            bool lanes = topology->actors[a].kind->instances == TND_INSTANCE_LANE;
            bool worker = topology->actors[a].kind->instances == TND_INSTANCE_WORKER;
            share->first = count;
            share->count = here;
            share->options = here > 0 ? host_options_of(self, h, a, local) : NULL;
            for (uint32_t i = 0; i < here; i++) {
                tnd_instance_t *instance = &self->instances[count++];
                *instance = (tnd_instance_t){
                    .actor = topology->actors[a].name,
                    .kind = topology->actors[a].kind,
                    .written = &topology->actors[a],
                    .options = share->options,
                    .host = h,
                    .chain = topology->actors[a].chain == TND_TOPOLOGY_NONE
                                 ? 0
                                 : topology->actors[a].chain,
                    .lane = lanes ? share->lane_first + i / copies : 0,
                    .number = lanes    ? i % copies
                              : worker ? numbers[a]++
                                       : 0,
                    .lane_first = worker ? share->lane_first : 0,
                    .lane_count = worker ? share->lanes : (uint32_t)topology->settings->lanes,
                };
                instance->name = instance_name(self, instance, a, copies);
            }
            planned = h < self->host_count ? count : planned;
        }
    self->plan->instances = self->instances;
    self->plan->instance_count = planned;
    self->plan->spare_instances = count - planned;
    return true;
}

/*  ------------------------------------------------------------- processes of their own */

static bool is_isolated(const tnd_topology_actor_t *actor)
{
    const int *isolate =
        tnd_options_field(&actor->kind->table, actor->options, "isolate", TND_OPTION_ENUM);
    return isolate != NULL && *isolate != 0;
}

/*  How many processes an actor has beside that of a host which carries it. */
static uint32_t processes_of(const placer_t *self, uint32_t host, uint32_t actor)
{
    const share_t *share = &self->hosts[host].shares[actor];
    if (!share->here || !is_isolated(&self->topology->actors[actor]))
        return 0;
    return self->topology->actors[actor].kind->instances == TND_INSTANCE_LANE
               ? share->lanes
               : worker_count(self, host, actor);
}

/*  A worker, or the readers of one lane, on a host of their own beside their parent. */
static void add_isolated(placer_t *self, uint32_t parent, uint32_t actor, uint32_t index)
{
    const host_t *from = &self->hosts[parent];
    bool lanes = self->topology->actors[actor].kind->instances == TND_INSTANCE_LANE;
    host_t *host = &self->hosts[self->host_count++];
    *host = *from;
    host->isolated = true;
    host->parent = parent;
    host->name =
        tnd_arena_format(arena_of(self), "%s.%s.%u", from->name, self->topology->actors[actor].name,
                         lanes ? from->shares[actor].lane_first + index : index);
    host->shares = tnd_arena_array(arena_of(self), self->topology->actor_count, sizeof(share_t));
    host->shares[actor] = from->shares[actor];
    if (lanes) {
        host->shares[actor].lane_first += index;
        host->shares[actor].lanes = 1;
    } else {
        host->shares[actor].workers = 1;
    }
}

/*  What is to run in processes of its own moves to hosts that its host starts itself. */
static void isolate(placer_t *self)
{
    uint32_t actors = self->topology->actor_count, hosts = self->host_count;
    uint64_t more = 0;
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t a = 0; a < actors; a++)
            more += processes_of(self, h, a);
    if (more == 0)
        return;
    if (hosts + more > HOSTS_MAX) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T045_WORKERS, (tnd_mark_t){0},
                            "%llu processes; at most %d are possible",
                            (unsigned long long)(hosts + more), HOSTS_MAX);
        return;
    }
    host_t *all = tnd_arena_array(arena_of(self), hosts + more, sizeof *all);
    memcpy(all, self->hosts, hosts * sizeof *all);
    self->hosts = all;
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t a = 0; a < actors; a++) {
            uint32_t count = processes_of(self, h, a);
            for (uint32_t i = 0; i < count; i++)
                add_isolated(self, h, a, i);
            if (count > 0)
                self->hosts[h].shares[a].here = false;
        }
}

/*  --------------------------------------------------------------------------- who may join */

/*  A host of a range that carries only workers: any number of such can come and go. */
static bool is_pool(const placer_t *self, const host_t *host)
{
    bool works = false;
    for (uint32_t a = 0; a < self->topology->actor_count; a++) {
        if (!host->shares[a].here)
            continue;
        if (self->topology->actors[a].kind->instances != TND_INSTANCE_WORKER)
            return false;
        works = true;
    }
    return works && host->range != NULL && !host->isolated;
}

static void add_spares(placer_t *self, uint32_t last)
{
    const host_t *model = &self->hosts[last];
    const char *digits = model->name + strlen(model->pool);
    uint64_t number = strtoull(digits, NULL, 10);
    /* Where the addresses are a range too, nobody knows those of the spares. */
    const char *address =
        strchr(model->options->address, '[') != NULL && strchr(model->options->address, ':') == NULL
            ? "*"
            : model->address;
    for (uint64_t i = 1; i <= model->options->more; i++) {
        host_t *host = &self->hosts[self->host_count + self->spare_count++];
        *host = *model;
        host->spare = true;
        host->address = address;
        host->name = tnd_arena_format(arena_of(self), "%s%0*llu", model->pool, (int)strlen(digits),
                                      (unsigned long long)(number + i));
        host->shares =
            tnd_arena_array(arena_of(self), self->topology->actor_count, sizeof(share_t));
        memcpy(host->shares, model->shares, self->topology->actor_count * sizeof(share_t));
    }
}

/*  Hosts that nobody waits for, behind the others. */
static void spare(placer_t *self)
{
    uint64_t more = 0;
    for (uint32_t h = 0; h < self->host_count; h++) {
        host_t *host = &self->hosts[h];
        if (h == 0 || !is_pool(self, host))
            continue;
        host->pool = host->range;
        bool last = h + 1 == self->host_count || self->hosts[h + 1].value != host->value;
        more += last ? host->options->more : 0;
    }
    if (more == 0 || self->host_count + more > HOSTS_MAX)
        return;
    host_t *all = tnd_arena_array(arena_of(self), self->host_count + more, sizeof *all);
    memcpy(all, self->hosts, self->host_count * sizeof *all);
    self->hosts = all;
    for (uint32_t h = 1; h < self->host_count; h++)
        if (all[h].pool != NULL && (h + 1 == self->host_count || all[h + 1].value != all[h].value))
            add_spares(self, h);
}

/*  -------------------------------------------------------------------------------------- edges */

static bool lanes_meet(const tnd_instance_t *from, const tnd_instance_t *to)
{
    bool from_lane = from->kind->instances == TND_INSTANCE_LANE;
    bool to_lane = to->kind->instances == TND_INSTANCE_LANE;
    if (from_lane && to_lane)
        return from->lane == to->lane;
    if (from_lane && to->kind->instances == TND_INSTANCE_WORKER)
        return from->lane >= to->lane_first && from->lane < to->lane_first + to->lane_count;
    if (to_lane && from->kind->instances == TND_INSTANCE_WORKER)
        return to->lane >= from->lane_first && to->lane < from->lane_first + from->lane_count;
    return true;
}

static host_transport_t wish_of(const host_t *host)
{
    if (strcmp(host->address, "*") == 0)
        return HOST_TCP;
    return host->options != NULL ? (host_transport_t)host->options->transport : HOST_AUTO;
}

/*  False after an error. */
static bool choose_transport(placer_t *self, uint32_t from, uint32_t to,
                             tnd_transport_t *transport_p)
{
    const host_t *a = &self->hosts[from];
    const host_t *b = &self->hosts[to];
    if (from == to) {
        *transport_p = TND_TRANSPORT_INPROC;
        return true;
    }
    host_transport_t one = wish_of(a), two = wish_of(b);
    const host_t *ipc = one == HOST_IPC ? a : two == HOST_IPC ? b : NULL;
    const host_t *other = ipc == a ? b : a;
    if (ipc != NULL && !same_machine(a, b)) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T049_TRANSPORT,
                            host_option_mark(ipc, "transport"),
                            "`%s` (%s) and `%s` (%s) are two machines: ipc cannot connect them",
                            ipc->name, ipc->address, other->name, other->address);
        return false;
    }
    if (ipc != NULL && wish_of(other) == HOST_TCP) {
        tnd_diagnostics_add(
            diagnostics_of(self), TND_T049_TRANSPORT, host_option_mark(ipc, "transport"),
            "`%s` says ipc, `%s` says tcp: what connects the two?", ipc->name, other->name);
        return false;
    }
    *transport_p = same_machine(a, b) && one != HOST_TCP && two != HOST_TCP ? TND_TRANSPORT_IPC
                                                                            : TND_TRANSPORT_TCP;
    return true;
}

static bool connects(const tnd_port_spec_t *from, const tnd_port_spec_t *to)
{
    return from->connects && !to->connects;
}

/*  The edges of a link between two hosts; counts them only if `edges` is NULL. */
static uint32_t edges_between(placer_t *self, const tnd_topology_link_t *link, uint32_t from_host,
                              uint32_t to_host, tnd_transport_t transport, tnd_edge_t *edges)
{
    const share_t *from = &self->hosts[from_host].shares[link->from];
    const share_t *to = &self->hosts[to_host].shares[link->to];
    uint32_t count = 0;
    for (uint32_t i = from->first; i < from->first + from->count; i++)
        for (uint32_t j = to->first; j < to->first + to->count; j++) {
            if (!lanes_meet(&self->instances[i], &self->instances[j]))
                continue;
            if (edges != NULL)
                edges[count] = (tnd_edge_t){
                    .from = i,
                    .to = j,
                    .outlet = link->outlet,
                    .inlet = link->inlet,
                    .transport = transport,
                    .from_connects = connects(&self->instances[i].kind->outlets[link->outlet],
                                              &self->instances[j].kind->inlets[link->inlet]),
                };
            count++;
        }
    return count;
}

/*  The edges between planned hosts, or those that spares bring; counts them only if `edges` is
 * NULL. False after an error.
 */
static bool list_edges(placer_t *self, bool spare, tnd_edge_t *edges, uint32_t *count_p)
{
    const tnd_topology_t *topology = self->topology;
    uint32_t hosts = self->host_count + self->spare_count;
    *count_p = 0;
    for (uint32_t l = 0; l < topology->link_count; l++)
        for (uint32_t i = 0; i < hosts; i++)
            for (uint32_t j = 0; j < hosts; j++) {
                tnd_transport_t transport = TND_TRANSPORT_INPROC;
                bool spares = self->hosts[i].spare || self->hosts[j].spare;
                if (spares != spare ||
                    edges_between(self, &topology->links[l], i, j, transport, NULL) == 0)
                    continue;
                if (!choose_transport(self, i, j, &transport))
                    return false;
                *count_p += edges_between(self, &topology->links[l], i, j, transport,
                                          edges != NULL ? edges + *count_p : NULL);
            }
    return true;
}

static void make_edges(placer_t *self)
{
    uint32_t planned = 0, spare = 0;
    if (!list_edges(self, false, NULL, &planned) || !list_edges(self, true, NULL, &spare))
        return;
    tnd_edge_t *edges = tnd_arena_array(arena_of(self), (size_t)planned + spare + 1, sizeof *edges);
    (void)list_edges(self, false, edges, &planned);
    (void)list_edges(self, true, edges + planned, &spare);
    self->plan->edges = edges;
    self->plan->edge_count = planned;
    self->plan->spare_edges = spare;
}

/*  ------------------------------------------------------------------------------ the plan's hosts
 */

/*  "7101-7200" */
static void read_ports(placer_t *self, const char *text, tnd_mark_t mark, tnd_plan_host_t *host)
{
    if (text == NULL)
        return;
    char number[8] = {0};
    uint64_t first = 0;
    uint64_t last = 0;
    size_t dash = strcspn(text, "-");
    if (dash < sizeof number && text[dash] == '-') {
        memcpy(number, text, dash);
        if (tnd_quantity_u64(number, &first) == TND_QUANTITY_OK &&
            tnd_quantity_u64(text + dash + 1, &last) == TND_QUANTITY_OK && first > 0 &&
            first <= last && last <= 65535) {
            host->ports_first = (uint32_t)first;
            host->ports_last = (uint32_t)last;
            return;
        }
    }
    tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, mark,
                        "`ports` expects a range of ports such as 7101-7200, not `%s`", text);
}

/*  A host is started again as it or the top level says, unless state dies with it. */
static tnd_restart_t restart_of(const placer_t *self, uint32_t index)
{
    const host_t *host = &self->hosts[index];
    if (index == 0)
        return TND_RESTART_NEVER;
    if (host->isolated)
        host = &self->hosts[host->parent];
    for (uint32_t a = 0; a < self->topology->actor_count; a++)
        if (self->hosts[index].shares[a].here && is_feeder(&self->topology->actors[a]))
            return TND_RESTART_NEVER;
    const tnd_value_t *own = tnd_value_get(host->value, "restart");
    return own != NULL && own->type != TND_VALUE_NULL
               ? (tnd_restart_t)host->options->restart
               : (tnd_restart_t)self->topology->settings->restart;
}

static void make_hosts(placer_t *self, const char *data, const char *fallback_data)
{
    const tnd_settings_t *settings = self->topology->settings;
    const tnd_value_t *ports = tnd_value_get(self->topology->root, "ports");
    uint32_t count = self->host_count + self->spare_count;
    self->plan_hosts = tnd_arena_array(arena_of(self), count, sizeof *self->plan_hosts);
    for (uint32_t i = 0; i < count; i++) {
        const host_t *host = &self->hosts[i];
        tnd_plan_host_t *plan = &self->plan_hosts[i];
        const char *below = settings->data != NULL ? settings->data : fallback_data;
        *plan = (tnd_plan_host_t){.name = host->name,
                                  .address = host->address,
                                  .listen = host->listen != NULL ? host->listen : host->address,
                                  .memory = settings->memory_bytes,
                                  .restart = restart_of(self, i),
                                  .pool = host->pool,
                                  .spare = host->spare,
                                  .data = data != NULL         ? data
                                          : host->data != NULL ? host->data
                                                               : below};
        if (host->spare)
            continue; /* it is told as the last of its range */
        if (host->isolated) {
            plan->isolated = true;
            plan->parent = host->parent;
            plan->ports_first = self->plan_hosts[host->parent].ports_first;
            plan->ports_last = self->plan_hosts[host->parent].ports_last;
            continue;
        }
        if (host->options != NULL)
            plan->port = (uint32_t)host->options->port;
        if (i == 0 && plan->port == 0)
            plan->port = (uint32_t)settings->port;
        bool own = host->options != NULL && host->options->ports != NULL;
        if (i == 0 || own)
            read_ports(self, own ? host->options->ports : settings->ports,
                       own             ? host_option_mark(host, "ports")
                       : ports != NULL ? ports->mark
                                       : host->mark,
                       plan);
        if (i > 0 && !own) {
            plan->ports_first = self->plan_hosts[0].ports_first;
            plan->ports_last = self->plan_hosts[0].ports_last;
        }
        if (i > 0 && plan->port != 0)
            tnd_diagnostics_add(
                diagnostics_of(self), TND_T073_UNUSED, host_option_mark(host, "port"),
                "only the first host, `%s`, leads and uses its `port:`", self->hosts[0].name);
        for (uint32_t a = 0; a < self->topology->actor_count; a++) {
            const share_t *share = &host->shares[a];
            if (share->here && share->devices.count > 0 && plan->device_count == 0) {
                plan->devices = share->devices.items;
                plan->device_count = (uint32_t)share->devices.count;
            }
        }
    }
    self->plan->hosts = self->plan_hosts;
    self->plan->host_count = self->host_count;
    self->plan->spare_hosts = self->spare_count;
}

static void check_hosts(placer_t *self)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_settings_t *settings = self->topology->settings;
    /* Who starts the others itself tells them the port. */
    bool others = false;
    for (uint32_t i = 1; i < self->host_count; i++)
        others = others || !self->hosts[i].isolated || self->hosts[i].parent != 0;
    if (!others)
        return;
    if (self->plan_hosts[0].port == 0) {
        tnd_diagnostics_add(diagnostics, TND_T047_LEADER_PORT, self->hosts[0].mark,
                            "`%s` leads, and the other hosts need its port", self->hosts[0].name);
        tnd_diagnostics_help(diagnostics, "add `port: 7100` to it or to the top level");
    }
    const host_t *outside = NULL;
    for (uint32_t i = 0; i < self->host_count; i++) {
        const host_t *host = &self->hosts[i];
        bool carries = false;
        for (uint32_t a = 0; a < self->topology->actor_count; a++)
            carries = carries || host->shares[a].here;
        for (uint32_t j = 0; j < self->host_count; j++)
            carries = carries || (self->hosts[j].isolated && self->hosts[j].parent == i);
        if (!carries)
            tnd_diagnostics_add(diagnostics, TND_T070_UNUSED_HOST, host->mark,
                                "`%s` carries no actor", host->name);
        if (outside == NULL && (!tnd_placement_is_loopback(host->address) ||
                                !tnd_placement_is_loopback(self->plan_hosts[i].listen)))
            outside = host;
    }
    if (outside == NULL || settings->insecure)
        return;
    /* Keys are read from the file and not yet used: nobody may believe that they protect. */
    tnd_diagnostics_add(diagnostics, TND_T048_INSECURE, host_option_mark(outside, "address"),
                        settings->security != NULL
                            ? "`%s` is another machine, and the keys of `security:` are not used "
                              "yet: all could read what is sent"
                            : "`%s` is another machine, and the connection is not secured",
                        outside->address);
    tnd_diagnostics_help(diagnostics, "in a network that you trust, add `insecure: true`");
}

/*  --------------------------------------------------------------------------------- all together
 */

static void deal(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    place_later_chains(self);
    place_reducers(self);
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        check_standing(self, i);
        if (topology->actors[i].kind->instances == TND_INSTANCE_LANE)
            deal_lanes(self, i);
    }
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        if (topology->actors[i].kind->instances == TND_INSTANCE_WORKER)
            deal_workers(self, i);
        if (is_feeder(&topology->actors[i]) && topology->actors[i].chain == 0)
            deal_devices(self, i);
    }
    for (uint32_t c = 1; c < topology->chain_count; c++)
        if (topology->chains[c].after != TND_TOPOLOGY_NONE)
            share_devices(self, topology->chains[c].end,
                          topology->chains[topology->chains[c].after].end);
}

static void make_chains(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    tnd_chain_plan_t *chains =
        tnd_arena_array(arena_of(self), topology->chain_count, sizeof *chains);
    for (uint32_t i = 0; i < topology->chain_count; i++) {
        const tnd_topology_chain_t *chain = &topology->chains[i];
        chains[i].replicas = chain->replicas;
        if (!is_feeder(&topology->actors[chain->end]))
            continue;
        chains[i].feeder = topology->actors[chain->end].name;
        if (chain->after != TND_TOPOLOGY_NONE)
            chains[i].after = topology->actors[topology->chains[chain->after].end].name;
        deal_replicas(self, chain, &chains[i]);
    }
    self->plan->chains = chains;
    self->plan->chain_count = topology->chain_count;
}

const tnd_plan_t *tnd_placement_sketch(const tnd_options_context_t *context,
                                       const tnd_topology_t *topology, const char *data,
                                       const char *fallback_data)
{
    const tnd_value_t *said = tnd_value_get(topology->root, "data");
    const tnd_value_t *hosts = tnd_value_get(topology->root, "hosts");
    if (hosts != NULL && hosts->type != TND_VALUE_NULL)
        return NULL;
    tnd_plan_t *plan = tnd_arena_take(context->arena, sizeof *plan);
    tnd_plan_host_t *host = tnd_arena_take(context->arena, sizeof *host);
    tnd_instance_t *instances =
        tnd_arena_array(context->arena, topology->actor_count, sizeof *instances);
    tnd_options_context_t quiet = {.arena = context->arena,
                                   .diagnostics = tnd_diagnostics_new(context->arena)};
    quiet.data = data != NULL                         ? data
                 : said != NULL && said->text != NULL ? said->text
                                                      : fallback_data;
    *host = (tnd_plan_host_t){.name = "local", .address = "127.0.0.1", .data = quiet.data};
    *plan =
        (tnd_plan_t){.topology = topology, .hosts = host, .host_count = 1, .instances = instances};
    for (uint32_t a = 0; a < topology->actor_count; a++) {
        const tnd_topology_actor_t *actor = &topology->actors[a];
        if (actor->kind == NULL || actor->options == NULL)
            continue;
        instances[plan->instance_count++] = (tnd_instance_t){
            .actor = actor->name,
            .name = actor->name,
            .kind = actor->kind,
            .written = actor,
            .options = tnd_options_parse(&quiet, &actor->kind->table, actor->value, actor->name,
                                         actor->mark),
        };
    }
    return plan;
}

static tnd_restarts_t restarts_of(const tnd_options_context_t *context,
                                  const tnd_settings_t *settings)
{
    const tnd_restarts_t *given = settings->restarts;
    if (given == NULL)
        given = tnd_options_parse(context, &tnd_restarts_table, NULL, "restarts", (tnd_mark_t){0});
    tnd_restarts_t restarts = *given;
    if (restarts.backoff_max_ns < restarts.backoff_ns)
        restarts.backoff_max_ns = restarts.backoff_ns;
    return restarts;
}

void tnd_placement_look(const tnd_options_context_t *context, const tnd_topology_t *topology)
{
    placer_t self = {.context = context, .topology = topology};
    read_hosts(&self);
}

const tnd_plan_t *tnd_placement_resolve(const tnd_options_context_t *context,
                                        const tnd_topology_t *topology, const char *data,
                                        const char *fallback_data, const char *local)
{
    const tnd_settings_t *settings = topology->settings;
    size_t errors = tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR);
    tnd_plan_t *plan = tnd_arena_take(context->arena, sizeof *plan);
    placer_t self = {.context = context, .topology = topology, .plan = plan};
    *plan = (tnd_plan_t){.name = settings->name,
                         .topology = topology,
                         .seed = settings->seed,
                         .lanes = (uint32_t)settings->lanes,
                         .fingerprint = {topology->fingerprint[0], topology->fingerprint[1]},
                         .link_timeout_ns = settings->link_timeout_ns,
                         .dead_after_ns = settings->dead_after_ns,
                         .start_timeout_ns = settings->start_timeout_ns,
                         .hung_after_ns = settings->hung_after_ns,
                         .restart_timeout_ns = settings->restart_timeout_ns,
                         .restarts = restarts_of(context, settings),
                         .checkpoint = settings->checkpoint,
                         .tolerant = settings->numeric != 0,
                         .insecure = settings->insecure};
    read_hosts(&self);
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors)
        return NULL;
    deal(&self);
    isolate(&self);
    spare(&self);
    make_hosts(&self, data, fallback_data);
    check_hosts(&self);
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors)
        return NULL;
    if (make_instances(&self, local)) {
        make_edges(&self);
        make_chains(&self);
    }
    return tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) == errors ? plan : NULL;
}
