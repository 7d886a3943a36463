/*  runtime/plan/placement_assign.c - assigns lanes, workers, devices and replicas to hosts. */
#include "runtime/plan/placement_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/limits.h"

/*  Workers of `workers: auto`, as its number could be written. */
enum { TUNED_MOST = 1024 };

/*  ----------------------------------------------------------------------------- actors to hosts */

uint32_t tnd_placer_count(const placer_t *self, uint32_t actor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->host_count; i++)
        count += self->hosts[i].shares[actor].here;
    return count;
}

static void stand_with(placer_t *self, uint32_t actor, uint32_t other)
{
    for (uint32_t i = 0; i < self->host_count; i++)
        self->hosts[i].shares[actor].here = self->hosts[i].shares[other].here;
}

/*  A chain after another runs on the hosts of that chain, unless the file places it. */
static void place_later_chains(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        const tnd_topology_actor_t *actor = &topology->actors[i];
        if (actor->chain == TND_TOPOLOGY_NONE || actor->chain == 0 || tnd_placer_count(self, i) > 0)
            continue;
        for (uint32_t j = 0; j < topology->actor_count; j++)
            if (topology->actors[j].chain == 0 && topology->actors[j].kind == actor->kind) {
                stand_with(self, i, j);
                break;
            }
    }
}

/*  A reducer that is not placed runs on the first host of its feeder. */
static void place_reducers(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        if (topology->actors[i].kind->instances != TND_INSTANCE_ONE ||
            tnd_placer_count(self, i) > 0)
            continue;
        for (uint32_t h = 0; h < self->host_count && tnd_placer_count(self, i) == 0; h++)
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
    uint32_t count = tnd_placer_count(self, index);
    if (count == 0) {
        tnd_diagnostics_add(diagnostics, TND_T042_NOT_PLACED, actor->mark,
                            "`%s` is placed on no host", actor->name);
        tnd_diagnostics_help(diagnostics, "add it to the `actors:` of a host");
    }
    if (count < 2 || actor->kind->instances != TND_INSTANCE_ONE)
        return;
    tnd_mark_t mark = {0};
    for (uint32_t i = 0; i < self->host_count; i++)
        if (self->hosts[i].shares[index].here)
            mark = self->hosts[i].shares[index].mark;
    tnd_diagnostics_add(diagnostics, TND_T043_PLACED_TWICE, mark,
                        "`%s` is a %s and runs on one host, not on %u", actor->name,
                        actor->kind->table.name, count);
}

/*  Lanes are assigned in the order of the hosts: by `lanes:`, otherwise evenly. */
static void deal_lanes(placer_t *self, uint32_t index)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    uint32_t lanes = (uint32_t)self->topology->settings->lanes;
    uint32_t count = tnd_placer_count(self, index);
    uint32_t said = 0;
    uint32_t each = 0;
    uint32_t sum = 0;
    const host_t *last = NULL;
    for (uint32_t i = 0; i < self->host_count; i++)
        if (self->hosts[i].shares[index].here) {
            last = &self->hosts[i];
            said += last->lanes > 0;
            each += last->each;
            sum += last->lanes;
        }
    if (count == 0)
        return;
    if (said + each > 0 && ((each == 0 ? sum != lanes : sum > lanes) || said + each != count)) {
        /* Reader and batcher are usually on the same host: one error is enough. */
        if (!tnd_diagnostics_has(diagnostics, TND_T044_LANES)) {
            tnd_diagnostics_add(
                diagnostics, TND_T044_LANES, last->lanes > 0 ? last->lanes_mark : last->mark,
                "the hosts of `%s` carry %u lanes, the graph has %u", actor->name, sum, lanes);
            tnd_diagnostics_help(diagnostics, "give each host of `%s` its `lanes:`, %u together",
                                 actor->name, lanes);
        }
        return;
    }
    if (said + each == 0 && lanes < count) {
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
        uint32_t share = host->lanes;
        if (share == 0) {
            uint32_t left = lanes - sum, hosts = each > 0 ? each : count;
            share = left / hosts + (turn++ < left % hosts);
        }
        host->shares[index].lane_first = first;
        host->shares[index].lanes = share;
        host->shares[index].here = share > 0;
        first += share;
    }
}

/*  The first actor of `actor`'s chain, with one instance per lane. */
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

/*  A preprocessor on a host with readers serves the lanes of that host; on a host without readers
 *  it serves all lanes.  Each lane needs a preprocessor. */
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
    if (tnd_placer_count(self, index) == 0)
        return;
    for (uint32_t i = 0; i < self->host_count && !pool; i++) {
        const host_t *host = &self->hosts[i];
        if (!host->shares[reader].here || host->shares[index].here)
            continue;
        bool said = host->shares[reader].mark.origin != NULL;
        tnd_diagnostics_add(diagnostics_of(self), TND_T042_NOT_PLACED,
                            said ? host->shares[reader].mark : host->mark,
                            "`%s` reads here, but `%s` serves only the lanes of the hosts that it "
                            "runs on",
                            self->topology->actors[reader].name, actor->name);
        tnd_diagnostics_help(diagnostics_of(self),
                             "place `%s` on `%s` too, or on a host without readers, for all "
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
    const tnd_strings_t *written = own_devices(actor);
    devices_t own = {.items = cpu, .written = cpu, .count = 1};
    if (written != NULL &&
        !tnd_placer_read_devices(self, written, tnd_value_get(actor->value, "devices"), &own))
        return;
    for (uint32_t i = 0; i < self->host_count; i++) {
        share_t *share = &self->hosts[i].shares[index];
        if (share->here && share->devices.count == 0)
            share->devices = own;
    }
    tnd_placer_find_devices(self, index);
}

/*  A feeder of a later chain shares the models of the first one, hence its hosts and devices. */
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
                                "`%s` comes after `%s` and runs on the same hosts: on `%s` %s "
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

/*  The devices of a share from `first` on carry no replica. */
static void warn_of_idle(placer_t *self, const tnd_topology_chain_t *chain, const share_t *share,
                         uint32_t first, size_t devices)
{
    const tnd_topology_actor_t *feeder = &self->topology->actors[chain->end];
    const tnd_value_t *written = tnd_value_get(feeder->value, "devices");
    tnd_mark_t mark = written != NULL ? written->mark : feeder->mark;
    size_t others = share->devices.count - first - 1;
    char more[48] = " has";
    if (others > 0)
        snprintf(more, sizeof more, " and %zu other%s have", others, others > 1 ? "s" : "");
    tnd_diagnostics_add(
        diagnostics_of(self), TND_T071_IDLE_DEVICE, share->mark.origin != NULL ? share->mark : mark,
        "%u replica%s on %zu devices: `%s`%s nothing to do", chain->replicas,
        chain->replicas == 1 ? "" : "s", devices, share->devices.items[first], more);
}

/*  Replicas are assigned to devices in the order of hosts and lists, as evenly as possible. */
void tnd_placer_deal_replicas(placer_t *self, const tnd_topology_chain_t *chain,
                              tnd_chain_plan_t *plan)
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
            if (count == 0 && replica > first && chain->after == TND_TOPOLOGY_NONE) {
                warn_of_idle(self, chain, share, d, devices);
                break; /* so have all that follow */
            }
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
/*  ----------------------------------------------------------------------------------- workers */

/*  The actor's own option; NULL: it has none. */
static const uint64_t *own_workers(const placer_t *self, uint32_t actor)
{
    const tnd_topology_actor_t *of = &self->topology->actors[actor];
    return tnd_options_field(&of->kind->table, of->options, "workers", TND_OPTION_U64);
}

bool tnd_placer_is_tuned(const placer_t *self, uint32_t host, uint32_t actor)
{
    const share_t *share = &self->hosts[host].shares[actor];
    const uint64_t *own = own_workers(self, actor);
    return share->workers == 0 && (share->tuned || (own != NULL && *own == 0));
}

uint32_t tnd_placer_workers(const placer_t *self, uint32_t host, uint32_t actor)
{
    const share_t *share = &self->hosts[host].shares[actor];
    const uint64_t *own = own_workers(self, actor);
    if (share->workers > 0)
        return share->workers;
    if (!tnd_placer_is_tuned(self, host, actor))
        return own == NULL ? 1 : (uint32_t)*own;
    double cores = self->topology->settings->cpu * tnd_cores_allowed();
    return cores < 1 ? 1 : cores > TUNED_MOST ? TUNED_MOST : (uint32_t)cores;
}

/*  ------------------------------------------------------------- processes of their own */

static bool is_isolated(const tnd_topology_actor_t *actor)
{
    const int *isolate =
        tnd_options_field(&actor->kind->table, actor->options, "isolate", TND_OPTION_ENUM);
    return isolate != NULL && *isolate != 0;
}

/*  The number of additional processes of an actor. */
static uint32_t processes_of(const placer_t *self, uint32_t host, uint32_t actor)
{
    const share_t *share = &self->hosts[host].shares[actor];
    if (!share->here || !is_isolated(&self->topology->actors[actor]))
        return 0;
    return self->topology->actors[actor].kind->instances == TND_INSTANCE_LANE
               ? share->lanes
               : tnd_placer_workers(self, host, actor);
}

/*  Every process makes the same plan, and does not know the cores of the others. */
void tnd_placer_check_tuned(placer_t *self)
{
    uint32_t told = TND_TOPOLOGY_NONE, processes = self->host_count;
    for (uint32_t h = 0; h < self->host_count; h++)
        for (uint32_t a = 0; a < self->topology->actor_count; a++)
            processes += processes_of(self, h, a);
    for (uint32_t h = 0; h < self->host_count && processes > 1; h++)
        for (uint32_t a = 0; a < self->topology->actor_count; a++) {
            if (!self->hosts[h].shares[a].here || !tnd_placer_is_tuned(self, h, a) || told == a)
                continue;
            told = a;
            tnd_diagnostics_add(
                diagnostics_of(self), TND_T045_WORKERS,
                self->hosts[h].shares[a].tuned
                    ? self->hosts[h].shares[a].mark
                    : tnd_topology_option_mark(&self->topology->actors[a], "workers"),
                "`workers: auto` is for a run of one process, and this one has "
                "%" PRIu32 ": all make the same plan, and none knows how many "
                "cores the others have",
                processes);
            tnd_diagnostics_help(diagnostics_of(self), "give `%s` a number, such as `workers: 2`",
                                 self->topology->actors[a].name);
        }
}

/*  A worker, or the readers of one lane, on an isolated host of their parent. */
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

void tnd_placer_isolate(placer_t *self)
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

/*  ------------------------------------------------------------------------- spare hosts */

/*  A host of a range that carries only workers may join and leave. */
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
    /* If the addresses are a range too, those of the spares are unknown. */
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

void tnd_placer_spare(placer_t *self)
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
/*  ----------------------------------------------------------------------------------- all of it */

void tnd_placer_deal(placer_t *self)
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
    tnd_placer_thin(self);
    for (uint32_t c = 1; c < topology->chain_count; c++)
        if (topology->chains[c].after != TND_TOPOLOGY_NONE)
            share_devices(self, topology->chains[c].end,
                          topology->chains[topology->chains[c].after].end);
}
