/*  runtime/plan/placement_hosts.c - reads the hosts, ranges of hosts, and their options. */
#include "runtime/plan/placement_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>

static const tnd_option_t host_options[] = {
    {TND_OPTION(host_options_t, address, STRING, PLACE), .fallback = "127.0.0.1",
     .help = "where other hosts find it: a name or an address"},
    {TND_OPTION(host_options_t, listen, STRING, PLACE), .fallback = "",
     .help = "the address that it listens at, where something that passes connections on, port by "
             "port, has the one that others know"},
    {TND_OPTION(host_options_t, port, U64, PLACE), .fallback = "0", .range = "0..65535",
     .help = "the leader's port, which all others connect to"},
    {TND_OPTION(host_options_t, ports, STRING, PLACE), .fallback = "",
     .help = "the ports of all other endpoints, such as 7101-7200"},
    {TND_OPTION(host_options_t, data, STRING, PLACE), .fallback = "",
     .help = "the value of `${data}` in paths of this host"},
    {TND_OPTION(host_options_t, actors, VALUE, PLACE), .fallback = "",
     .help = "the actors that it carries, `[read, batch]`"},
    {TND_OPTION(host_options_t, lanes, STRING, PLACE), .fallback = "",
     .help =
         "how many of the lanes it carries, `2`, or of each host of a range, `2 each`; `each` is "
         "an equal share"},
    {TND_OPTION(host_options_t, workers, MAP, PLACE), .fallback = "",
     .help = "how many copies of an actor it runs, `{prep: 6}`"},
    {TND_OPTION(host_options_t, devices, MAP, PLACE), .fallback = "",
     .help = "the devices of a feeder, `{feed: [cpu:0, cpu:1]}`"},
    {TND_OPTION(host_options_t, transport, ENUM, PLACE), .fallback = "auto",
     .choices = "auto|ipc|tcp|zmq",
     .help = "what connects it to other hosts; auto is ipc on one machine, else tcp; zmq is the "
             "same, and "
             "its own actors, which by default pass pointers, use ipc sockets too"},
    {TND_OPTION(host_options_t, restart, ENUM, TUNE), .fallback = "on-failure",
     .choices = "never|on-failure|always",
     .help = "whether it is restarted after it ended; by default as at the top level"},
    {TND_OPTION(host_options_t, more, U64, PLACE), .unit = "hosts", .fallback = "16",
     .range = "0..1024",
     .help = "of a range that carries only workers: how many more may join a run, by --host NAME+"},
    {TND_OPTION(host_options_t, network, STRING, PLACE), .fallback = "",
     .help = "of the range `[*]`: the network by which its hosts reach one another, such as "
             "10.1.0.0/16; by default the one by which they reach the leader"},
    {TND_OPTION(host_options_t, min, U64, PLACE), .unit = "hosts", .fallback = "0",
     .range = "0..4096",
     .help = "of the range `[*]`: how many hosts are enough if the others have not come after "
             "`start_timeout`; 0 is all"},
};

const tnd_table_t tnd_host_table = {
    .name = "host",
    .help = "one process of the run",
    TND_OPTIONS(host_options, host_options_t),
};
/*  ------------------------------------------------------------------------------------- ranges */

/*  "node[00-15]": the text before and after, and the numbers with their width. */
typedef struct {
    const char *before;
    size_t before_size;
    const char *after;
    uint64_t first, last;
    int width;
} range_t;

/*  Returns false without a range, and with an invalid one (*bad_p). */
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
                       .after = close + 1,
                       .first = strtoull(open + 1, NULL, 10),
                       .last = strtoull(dash + 1, NULL, 10),
                       .width = open[1] == '0' && first_size > 1 ? (int)first_size : 1};
    *bad_p = range->last < range->first || range->last - range->first >= HOSTS_MAX;
    return !*bad_p;
}

/*  "node[*]": as many hosts as a launcher has processes for. */
static bool is_rest(const char *key)
{
    const char *open = strchr(key, '[');
    return open != NULL && strncmp(open, "[*]", 3) == 0 && strchr(open + 3, '[') == NULL;
}

/*  The range of an entry of `hosts:`. */
static bool read_entry_range(const placer_t *self, const char *key, range_t *range, bool *bad_p)
{
    if (!is_rest(key))
        return read_range(key, range, bad_p);
    size_t before = strcspn(key, "[");
    *bad_p = false;
    *range = (range_t){.before = key,
                       .before_size = before,
                       .after = key + before + strlen("[*]"),
                       .last = self->rest - 1,
                       .width = 1};
    return true;
}

static const char *range_item(const placer_t *self, const range_t *range, uint64_t index)
{
    return tnd_arena_format(arena_of(self), "%.*s%0*llu%s", (int)range->before_size, range->before,
                            range->width, (unsigned long long)(range->first + index), range->after);
}

static void report_range(placer_t *self, tnd_mark_t mark, const char *text)
{
    tnd_diagnostics_add(diagnostics_of(self), TND_T040_HOST_RANGE, mark,
                        "`%s` is not a range that can be expanded", text);
    tnd_diagnostics_help(diagnostics_of(self),
                         "one range of numbers in brackets, at most %d: `node[0-3]`", HOSTS_MAX);
}

/*  The address or directory of the index-th host of an entry with `count` hosts.  NULL after an
 *  error, which is reported for the first host only. */
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

tnd_mark_t tnd_placer_mark(const host_t *host, const char *name)
{
    const tnd_value_t *value = tnd_value_get(host->value, name);
    return value != NULL ? value->mark : host->mark;
}

/*  "2", "2 each" or "each"; a plain number is ambiguous for several hosts. */
static void read_host_lanes(placer_t *self, host_t *host, uint64_t index, uint64_t count)
{
    const char *text = host->options->lanes;
    if (text == NULL)
        return;
    tnd_mark_t mark = tnd_placer_mark(host, "lanes");
    size_t digits = strspn(text, "0123456789");
    bool each = strcmp(text + digits, " each") == 0;
    host->lanes_mark = mark;
    host->each = strcmp(text, "each") == 0;
    if (host->each)
        return;
    if (digits == 0 || digits > 5 || (!each && text[digits] != '\0') ||
        strtoul(text, NULL, 10) == 0) {
        if (index == 0)
            tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, mark,
                                "`lanes` expects a whole number from 1 on, such as `2`, or for a "
                                "range of hosts `2 each` or `each`, not `%s`",
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

/*  Looks up an actor that a host names; reports it if it does not exist. */
static uint32_t find_actor(placer_t *self, const char *name, tnd_mark_t mark)
{
    uint32_t actor = tnd_topology_find(self->topology, name);
    if (actor != TND_TOPOLOGY_NONE)
        return actor;
    tnd_nearest_t nearest = {.word = name};
    for (uint32_t i = 0; i < self->topology->actor_count; i++)
        tnd_nearest_offer(&nearest, self->topology->actors[i].name);
    tnd_diagnostics_add(diagnostics_of(self), TND_T023_UNKNOWN_ACTOR, mark, "unknown actor `%s`",
                        name);
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
                                "`%s` is listed here twice", item->text);
            const tnd_kind_spec_t *kind = self->topology->actors[actor].kind;
            if (kind != NULL && tnd_options_find(&kind->table, "workers") != NULL)
                tnd_diagnostics_help(diagnostics_of(self),
                                     "for several copies write `workers: {%s: 2}`", item->text);
        }
        host->shares[actor].here = true;
        host->shares[actor].mark = item->mark;
    }
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
            tnd_diagnostics_add(diagnostics, code, entry->mark, "`%s` is not placed on `%s`",
                                entry->key, host->name);
            tnd_diagnostics_help(diagnostics, "add it to the `actors:` of the host");
            continue;
        }
        uint64_t workers = 0;
        tnd_strings_t list = {0};
        if (!tnd_option_parse(self->context, option, entry->value,
                              devices ? (void *)&list : (void *)&workers))
            continue;
        devices_t read;
        if (devices && tnd_placer_read_devices(self, &list, entry->value, &read))
            host->shares[actor].devices = read;
        if (!devices)
            host->shares[actor].workers = (uint32_t)workers;
        if (!devices)
            host->shares[actor].tuned = workers == 0;
        host->shares[actor].mark = entry->mark;
    }
}

/*  An IPv6 address without brackets and in the form that addresses are compared in, as an IPv4 address if
 *  it maps one; anything else as it is. */
static const char *in_one_form(placer_t *self, const char *address)
{
    struct in6_addr six;
    char form[INET6_ADDRSTRLEN];
    if (address == NULL)
        return NULL;
    size_t size = strlen(address);
    bool in_brackets = size > 2 && address[0] == '[' && address[size - 1] == ']';
    const char *inner =
        in_brackets ? tnd_arena_text(arena_of(self), address + 1, size - 2) : address;
    if (inet_pton(AF_INET6, inner, &six) != 1)
        return in_brackets && strchr(inner, '%') != NULL ? inner : address;
    if (IN6_IS_ADDR_V4MAPPED(&six))
        inet_ntop(AF_INET, &six.s6_addr[12], form, sizeof form);
    else
        inet_ntop(AF_INET6, &six, form, sizeof form);
    return tnd_arena_text(arena_of(self), form, strlen(form));
}

/*  "fd00::1", or "fe80::1%eth0" with the interface of a link-local address. */
static bool is_ipv6(const char *address)
{
    struct in6_addr six;
    char text[INET6_ADDRSTRLEN];
    size_t size = strcspn(address, "%");
    if (size >= sizeof text || (address[size] == '%' && address[size + 1] == '\0'))
        return false;
    memcpy(text, address, size);
    text[size] = '\0';
    return inet_pton(AF_INET6, text, &six) == 1;
}

static void check_address(placer_t *self, const host_t *host, const char *key, const char *address)
{
    size_t size = strlen(address);
    bool name = size > 0 && strspn(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789.-_") == size;
    struct in_addr four;
    bool digits = name && strspn(address, "0123456789.") == size;
    if (digits ? inet_pton(AF_INET, address, &four) == 1 : name || is_ipv6(address))
        return;
    tnd_diagnostics_add(diagnostics_of(self), TND_T051_ENDPOINT, tnd_placer_mark(host, key),
                        "`%s` is not an address", address);
    tnd_diagnostics_help(diagnostics_of(self),
                         "write a name or an address alone, such as 10.0.0.1; a port goes to "
                         "`port:`");
}

/*  The address that is written, or the one that the process told. */
static const char *address_of(placer_t *self, const host_t *host, uint64_t index, uint64_t count)
{
    const tnd_value_t *written = tnd_value_get(host->value, "address");
    const tnd_roster_process_t *process = tnd_placer_process(self, self->host_count);
    if (process != NULL && (written == NULL || written->type == TND_VALUE_NULL))
        return tnd_arena_format(arena_of(self), "%s", process->address);
    return expand(self, host->options->address, tnd_placer_mark(host, "address"), index, count);
}

/*  "10.1.0.0/16" */
static bool is_network(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char address[INET6_ADDRSTRLEN];
    size_t size = strcspn(text, "/");
    const char *bits = text + size + 1;
    if (text[size] != '/' || size >= sizeof address || strspn(bits, "0123456789") != strlen(bits) ||
        *bits == '\0' || strlen(bits) > 3)
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    return (inet_pton(AF_INET, address, bytes) == 1 && strtoul(bits, NULL, 10) <= 32) ||
           (inet_pton(AF_INET6, address, bytes) == 1 && strtoul(bits, NULL, 10) <= 128);
}

/*  `network:` and `min:`, which only the range `[*]` has. */
static void read_rest(placer_t *self, const host_t *host, uint32_t first)
{
    tnd_plan_t *plan = self->plan;
    const host_options_t *options = host->options;
    const char *other = options->network != NULL ? "network" : options->min > 0 ? "min" : NULL;
    if (!host->rest && other != NULL)
        tnd_diagnostics_add(diagnostics_of(self), TND_T073_UNUSED, tnd_placer_mark(host, other),
                            "only a range such as `node[*]` uses `%s:`", other);
    if (!host->rest)
        return;
    if (options->network != NULL && !is_network(options->network)) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T051_ENDPOINT,
                            tnd_placer_mark(host, "network"), "`%s` is not a network",
                            options->network);
        tnd_diagnostics_help(diagnostics_of(self),
                             "write an address and the number of its leading bits that are the "
                             "same everywhere, such as 10.1.0.0/16");
    }
    if (plan == NULL)
        return;
    plan->rest_first = first;
    plan->rest_count = self->rest;
    plan->network = options->network;
    plan->least = (uint32_t)options->min;
}

/*  One entry of `hosts:` becomes one host, or those of its range. */
static void read_host(placer_t *self, const tnd_value_entry_t *entry)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    range_t range;
    bool bad = false;
    bool several = read_entry_range(self, entry->key, &range, &bad), rest = is_rest(entry->key);
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
        *host = (host_t){.name = name,
                         .mark = entry->mark,
                         .options = options,
                         .value = entry->value,
                         .rest = rest};
        if (several && !rest)
            host->range =
                tnd_arena_format(arena_of(self), "%.*s", (int)range.before_size, range.before);
        host->address = in_one_form(self, address_of(self, host, i, count));
        host->listen = in_one_form(
            self, expand(self, options->listen, tnd_placer_mark(host, "listen"), i, count));
        host->data = expand(self, options->data, tnd_placer_mark(host, "data"), i, count);
        if (host->address == NULL || (host->data == NULL && options->data != NULL) ||
            (host->listen == NULL && options->listen != NULL))
            return;
        self->host_count++;
        host->shares =
            tnd_arena_array(arena_of(self), self->topology->actor_count, sizeof(share_t));
        read_host_lanes(self, host, i, count);
        if (i > 0) {
            /* The entry is the same, so its errors are reported once. */
            memcpy(host->shares, host[-1].shares, self->topology->actor_count * sizeof(share_t));
            continue;
        }
        read_rest(self, host, self->host_count - 1);
        check_address(self, host, "address", host->address);
        if (host->listen != NULL)
            check_address(self, host, "listen", host->listen);
        read_host_actors(self, host);
        read_host_overrides(self, host, "workers", options->workers);
        read_host_overrides(self, host, "devices", options->devices);
    }
}

static size_t count_hosts(const placer_t *self, const tnd_value_t *hosts)
{
    size_t count = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        range_t range;
        bool bad = false;
        count += read_entry_range(self, hosts->entries[i].key, &range, &bad)
                     ? range.last - range.first + 1
                     : 1;
        if (count > HOSTS_MAX)
            return HOSTS_MAX;
    }
    return count;
}

/*  How many hosts the range `[*]` is: those that a launcher has processes for beside the others. */
static void count_rest(placer_t *self, const tnd_value_t *hosts)
{
    const tnd_value_entry_t *first = NULL;
    for (size_t i = 0; i < hosts->count; i++) {
        if (!is_rest(hosts->entries[i].key))
            continue;
        if (first != NULL) {
            tnd_diagnostics_add(diagnostics_of(self), TND_T040_HOST_RANGE, hosts->entries[i].mark,
                                "`%s` is a second range that takes all hosts that are left",
                                hosts->entries[i].key);
            tnd_diagnostics_also(diagnostics_of(self), first->mark, "the first one");
            tnd_diagnostics_help(diagnostics_of(self), "give this one numbers, such as `[0-3]`");
        }
        first = first == NULL ? &hosts->entries[i] : first;
    }
    if (first == NULL)
        return;
    self->rest = 1;
    size_t named = count_hosts(self, hosts) - 1;
    size_t all = self->launched != NULL ? self->launched->count : 0;
    if (all > HOSTS_MAX) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T040_HOST_RANGE, first->mark,
                            "`%s` would be the hosts of %zu processes; a run has at most %d",
                            first->key, all, HOSTS_MAX);
        tnd_diagnostics_help(diagnostics_of(self), "start fewer processes, each with more devices "
                                                   "or workers");
    } else if (all > named)
        self->rest = (uint32_t)(all - named);
}

/*  Hosts of `[*]` without `actors:` carry all that run on several hosts. */
static void carry_all(placer_t *self)
{
    for (uint32_t h = 0; h < self->host_count; h++)
        for (uint32_t i = 0; i < self->topology->actor_count; i++) {
            const tnd_kind_spec_t *kind = self->topology->actors[i].kind;
            if (self->hosts[h].rest && self->hosts[h].options->actors == NULL && kind != NULL)
                self->hosts[h].shares[i].here = kind->instances != TND_INSTANCE_ONE;
        }
}

void tnd_placer_read_hosts(placer_t *self)
{
    const tnd_value_t *hosts = tnd_value_get(self->topology->root, "hosts");
    if (hosts == NULL || hosts->type != TND_VALUE_MAP || hosts->count == 0) {
        self->hosts = tnd_arena_array(arena_of(self), 1, sizeof *self->hosts);
        self->hosts[0] = (host_t){.name = "local", .address = "127.0.0.1"};
        self->hosts[0].shares =
            tnd_arena_array(arena_of(self), self->topology->actor_count, sizeof(share_t));
        self->host_count = 1;
    } else {
        count_rest(self, hosts);
        self->hosts =
            tnd_arena_array(arena_of(self), count_hosts(self, hosts), sizeof *self->hosts);
        for (size_t i = 0; i < hosts->count; i++)
            read_host(self, &hosts->entries[i]);
    }
    /* A single host without `actors:` carries everything. */
    if (self->host_count == 1 &&
        (self->hosts[0].options == NULL || self->hosts[0].options->actors == NULL))
        for (uint32_t i = 0; i < self->topology->actor_count; i++)
            self->hosts[0].shares[i].here = true;
    else
        carry_all(self);
}
