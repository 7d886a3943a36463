/*  runtime/plan/placement.c - the plan of a run: instances, edges and chains of a topology. */
#include "runtime/plan/placement_internal.h"

#include <unistd.h>

#include "runtime/base/user.h"
#include "runtime/core/session/members.h"
#include "runtime/text/quantity.h"
#include "runtime/topology/error_location.h"

tnd_plan_t tnd_placement_whole(const tnd_plan_t *plan)
{
    tnd_plan_t whole = *plan;
    whole.host_count += plan->spare_hosts;
    whole.instance_count += plan->spare_instances;
    whole.edge_count += plan->spare_edges;
    whole.spare_hosts = whole.spare_instances = whole.spare_edges = 0;
    return whole;
}

static bool has_several_devices(const tnd_chain_plan_t *chain)
{
    for (uint32_t r = 1; chain->carriers != NULL && r < chain->replicas; r++)
        if (chain->carriers[r].instance != chain->carriers[0].instance ||
            chain->carriers[r].device != chain->carriers[0].device)
            return true;
    return false;
}

bool tnd_placement_reduces(const tnd_plan_t *plan)
{
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_instance_t *from = &plan->instances[plan->edges[e].from];
        if (from->kind->outlets[plan->edges[e].outlet].call &&
            has_several_devices(&plan->chains[from->chain]))
            return true;
    }
    return false;
}

const char *tnd_transport_name(tnd_transport_t transport)
{
    static const char *const names[] = {[TND_TRANSPORT_INPROC] = "inproc",
                                        [TND_TRANSPORT_IPC] = "ipc",
                                        [TND_TRANSPORT_TCP] = "tcp"};
    return names[transport];
}

bool tnd_placement_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "[::1]") == 0 || strcmp(address, "localhost") == 0;
}

/*  ---------------------------------------------------------------------------------- instances */

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
        return share->lanes * tnd_placer_workers(self, host, actor);
    case TND_INSTANCE_WORKER:
        return tnd_placer_workers(self, host, actor);
    }
    return 0;
}

/*  The first scalar below `value` that has this text. */
static const tnd_value_t *find_text(const tnd_value_t *value, const char *text)
{
    const tnd_value_t *found = NULL;
    if (value == NULL)
        return NULL;
    if (value->type == TND_VALUE_SCALAR && strstr(value->text, text) != NULL)
        return value;
    for (size_t i = 0; i < value->count && found == NULL; i++)
        found = find_text(value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value,
                          text);
    return found;
}

/*  An actor's options with the paths of its host. */
static const void *host_options_of(placer_t *self, uint32_t host, uint32_t actor, const char *local)
{
    const tnd_topology_actor_t *of = &self->topology->actors[actor];
    const char *data = self->plan_hosts[host].data;
    if (find_text(of->value, "${") == NULL)
        return of->options;
    const tnd_value_t *uses = find_text(of->value, "${data}");
    if (data == NULL && uses != NULL) {
        bool told = tnd_diagnostics_has(diagnostics_of(self), TND_T050_DATA);
        if (told || (local != NULL && strcmp(local, self->hosts[host].name) != 0))
            return of->options;
        tnd_diagnostics_add(diagnostics_of(self), TND_T050_DATA, uses->mark,
                            "`${data}` has no value on host `%s`", self->hosts[host].name);
        tnd_diagnostics_help(diagnostics_of(self),
                             "give `--data DIR`, `data: DIR` in the file, or TUNDISH_DATA in the "
                             "environment");
        return of->options;
    }
    tnd_options_context_t context = *self->context;
    context.diagnostics = tnd_diagnostics_new(arena_of(self));
    context.variables = tnd_placer_variables(self, host);
    context.variables.data = data;
    const void *options =
        tnd_options_parse(&context, &of->kind->table, of->value, of->name, of->mark);
    if (options != NULL)
        return options;
    /* An error that appears with the paths of a host is reported once for all hosts. */
    if (tnd_diagnostics_count(diagnostics_of(self), TND_SEVERITY_ERROR) == 0)
        tnd_diagnostics_add_all(diagnostics_of(self), context.diagnostics);
    return of->options;
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
        return tnd_placer_count(self, actor) > 1
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
            uint32_t copies = tnd_placer_workers(self, h, a);
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
                    .tuned = worker && copies > 1 && tnd_placer_is_tuned(self, h, a),
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
    host_transport_t one = wish_of(a), two = wish_of(b);
    if (from == to) {
        *transport_p = one == HOST_ZMQ ? TND_TRANSPORT_IPC : TND_TRANSPORT_INPROC;
        return true;
    }
    const host_t *ipc = one == HOST_IPC ? a : two == HOST_IPC ? b : NULL;
    const host_t *other = ipc == a ? b : a;
    bool near = tnd_placer_share_machine(self, from, to);
    if (ipc != NULL && !near) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T049_TRANSPORT,
                            tnd_placer_mark(ipc, "transport"),
                            "`%s` (%s) and `%s` (%s) are two machines: ipc cannot connect them",
                            ipc->name, ipc->address, other->name, other->address);
        return false;
    }
    if (ipc != NULL && wish_of(other) == HOST_TCP) {
        tnd_diagnostics_add(
            diagnostics_of(self), TND_T049_TRANSPORT, tnd_placer_mark(ipc, "transport"),
            "`%s` has ipc, `%s` has tcp: which of them connects the two?", ipc->name, other->name);
        return false;
    }
    *transport_p =
        near && one != HOST_TCP && two != HOST_TCP ? TND_TRANSPORT_IPC : TND_TRANSPORT_TCP;
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
 * NULL. False after an error. */
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

/*  ---------------------------------------------------------------------------- the plan's hosts */

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

/*  Whether the state of a run is lost with an actor.  What a feeder computes for a holder of parameters is not. */
static bool has_state(const placer_t *self, uint32_t actor)
{
    const tnd_topology_t *topology = self->topology;
    tnd_role_t role = topology->actors[actor].kind->role;
    bool dealt = false;
    for (uint32_t l = 0; l < topology->link_count; l++)
        dealt =
            dealt || (topology->links[l].from == actor &&
                      topology->actors[topology->links[l].to].kind->role == TND_ROLE_PARAMETERS);
    return tnd_members_commits(role) && !(role == TND_ROLE_FEEDER && dealt);
}

/*  The restart rule of a host: its own or that of the top level; NEVER if it holds state. */
static tnd_restart_t restart_of(const placer_t *self, uint32_t index)
{
    const host_t *host = &self->hosts[index];
    if (index == 0)
        return TND_RESTART_NEVER;
    if (host->isolated)
        host = &self->hosts[host->parent];
    for (uint32_t a = 0; a < self->topology->actor_count; a++)
        if (self->hosts[index].shares[a].here && has_state(self, a))
            return TND_RESTART_NEVER;
    const tnd_value_t *own = tnd_value_get(host->value, "restart");
    return own != NULL && own->type != TND_VALUE_NULL
               ? (tnd_restart_t)host->options->restart
               : (tnd_restart_t)self->topology->settings->restart;
}

/*  The folder of a host, in which `${rank}` and the like are replaced. */
static const char *data_of(const placer_t *self, uint32_t host, const char *text)
{
    bool known;
    tnd_path_variables_t variables = tnd_placer_variables(self, host);
    return text != NULL ? tnd_options_replace(arena_of(self), &variables, text, &known) : NULL;
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
                                  .data = data_of(self, i,
                                                  data != NULL         ? data
                                                  : host->data != NULL ? host->data
                                                                       : below)};
        if (host->spare)
            continue; /* reported for the last host of its range */
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
        if (i == 0 && plan->port == 0 && self->launched != NULL)
            plan->port = self->launched->port;
        bool own = host->options != NULL && host->options->ports != NULL;
        if (i == 0 || own)
            read_ports(self, own ? host->options->ports : settings->ports,
                       own             ? tnd_placer_mark(host, "ports")
                       : ports != NULL ? ports->mark
                                       : host->mark,
                       plan);
        if (i > 0 && !own) {
            plan->ports_first = self->plan_hosts[0].ports_first;
            plan->ports_last = self->plan_hosts[0].ports_last;
        }
        if (i > 0 && plan->port != 0)
            tnd_diagnostics_add(
                diagnostics_of(self), TND_T073_UNUSED, tnd_placer_mark(host, "port"),
                "only the first host, `%s`, leads and uses its `port:`", self->hosts[0].name);
        for (uint32_t a = 0; a < self->topology->actor_count; a++) {
            const share_t *share = &host->shares[a];
            if (share->here && share->devices.count > 0 && plan->device_count == 0) {
                plan->devices = share->devices.items;
                plan->written = share->devices.written;
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
    /* A leader that starts the other hosts itself tells them its port. */
    bool others = false;
    for (uint32_t i = 1; i < self->host_count; i++)
        others = others || !self->hosts[i].isolated || self->hosts[i].parent != 0;
    if (!others)
        return;
    bool meets = self->rest > 0 && self->launched != NULL; /* and then they are told the port */
    if (self->plan_hosts[0].port == 0 && !meets) {
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
    /* Keys are not used yet, so users must not rely on them. */
    tnd_diagnostics_add(diagnostics, TND_T048_INSECURE, tnd_placer_mark(outside, "address"),
                        settings->security != NULL && settings->security->curve != NULL
                            ? "`%s` is another machine, and the keys of `security:` are not used "
                              "yet: all could read what is sent"
                            : "`%s` is another machine, and the connection is not secured",
                        outside->address);
    tnd_diagnostics_help(diagnostics, "in a network that you trust, add `insecure: true`");
}

/*  -------------------------------------------------------------------------------- all together */
static void make_chains(placer_t *self)
{
    const tnd_topology_t *topology = self->topology;
    tnd_chain_plan_t *chains =
        tnd_arena_array(arena_of(self), topology->chain_count, sizeof *chains);
    for (uint32_t i = 0; i < topology->chain_count; i++) {
        const tnd_topology_chain_t *chain = &topology->chains[i];
        chains[i].replicas = chain->replicas;
        chains[i].batch = chain->batch;
        chains[i].feed = chain->feed;
        if (!is_feeder(&topology->actors[chain->end]))
            continue;
        chains[i].feeder = topology->actors[chain->end].name;
        if (chain->after != TND_TOPOLOGY_NONE)
            chains[i].after = topology->actors[topology->chains[chain->after].end].name;
        chains[i].every = chain->every;
        chains[i].best = chain->best;
        tnd_placer_deal_replicas(self, chain, &chains[i]);
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
                                   .diagnostics = tnd_diagnostics_new(context->arena),
                                   .lenient = true};
    quiet.variables.data = data != NULL                         ? data
                           : said != NULL && said->text != NULL ? said->text
                                                                : fallback_data;
    *host =
        (tnd_plan_host_t){.name = "local", .address = "127.0.0.1", .data = quiet.variables.data};
    *plan =
        (tnd_plan_t){.topology = topology, .hosts = host, .host_count = 1, .instances = instances};
    for (uint32_t a = 0; a < topology->actor_count; a++) {
        const tnd_topology_actor_t *actor = &topology->actors[a];
        const void *options = actor->kind != NULL
                                  ? tnd_options_parse(&quiet, &actor->kind->table, actor->value,
                                                      actor->name, actor->mark)
                                  : NULL;
        if (options == NULL)
            continue;
        instances[plan->instance_count++] = (tnd_instance_t){
            .actor = actor->name,
            .name = actor->name,
            .kind = actor->kind,
            .written = actor,
            .options = options,
        };
    }
    return plan;
}

static tnd_restarts_t restarts_of(const tnd_options_context_t *context,
                                  const tnd_settings_t *settings)
{
    const tnd_restarts_t *options = settings->restarts;
    if (options == NULL)
        options =
            tnd_options_parse(context, &tnd_restarts_table, NULL, "restarts", (tnd_mark_t){0});
    tnd_restarts_t restarts = *options;
    if (restarts.backoff_max_ns < restarts.backoff_ns)
        restarts.backoff_max_ns = restarts.backoff_ns;
    return restarts;
}

/*  A user that this machine does not have can be one of another machine of the run. */
static tnd_admission_t admission_of(const tnd_options_context_t *context,
                                    const tnd_topology_t *topology)
{
    const tnd_settings_t *settings = topology->settings;
    tnd_admission_t admission = {.self = geteuid(), .insecure = settings->insecure};
    const tnd_strings_t *names = settings->security != NULL ? &settings->security->users : NULL;
    if (names == NULL || names->count == 0)
        return admission;
    uint32_t *users = tnd_arena_array(context->arena, names->count, sizeof *users);
    for (size_t i = 0; i < names->count; i++) {
        if (tnd_user_find(names->items[i], &users[admission.user_count]))
            admission.user_count++;
        else
            tnd_diagnostics_add(context->diagnostics, TND_T077_UNKNOWN_USER,
                                tnd_value_get(topology->root, "security")->mark,
                                "this machine has no user `%s`", names->items[i]);
    }
    admission.users = users;
    return admission;
}

/*  An evaluation may run beside the run that trains. */
static const char *name_of(const tnd_options_context_t *context, const tnd_settings_t *settings)
{
    bool evaluates = settings->checkpoint != NULL && settings->checkpoint->evaluate;
    return evaluates ? tnd_arena_format(context->arena, "%s-evaluate", settings->name)
                     : settings->name;
}

void tnd_placement_look(const tnd_options_context_t *context, const tnd_topology_t *topology)
{
    placer_t self = {.context = context, .topology = topology};
    tnd_placer_read_hosts(&self);
}

static const char *leader_machine(const tnd_roster_list_t *launched)
{
    return launched != NULL && launched->processes != NULL ? launched->processes[0].name : "";
}

const tnd_plan_t *tnd_placement_resolve(const tnd_options_context_t *context,
                                        const tnd_topology_t *topology, const char *data,
                                        const char *fallback_data, const char *local,
                                        const tnd_roster_list_t *launched)
{
    const tnd_settings_t *settings = topology->settings;
    size_t errors = tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR);
    tnd_plan_t *plan = tnd_arena_take(context->arena, sizeof *plan);
    placer_t self = {.context = context, .topology = topology, .plan = plan, .launched = launched};
    *plan = (tnd_plan_t){.name = name_of(context, settings),
                         .topology = topology,
                         .seed = settings->seed,
                         .lanes = (uint32_t)settings->lanes,
                         .fingerprint = {topology->fingerprint[0], topology->fingerprint[1]},
                         .link_timeout_ns = settings->link_timeout_ns,
                         .dead_after_ns = settings->dead_after_ns,
                         .start_timeout_ns = settings->start_timeout_ns,
                         .hung_after_ns = settings->hung_after_ns,
                         .restart_timeout_ns = settings->restart_timeout_ns,
                         .roster = launched != NULL ? launched->number : 0,
                         .met = launched != NULL ? launched->own : NULL,
                         .liveness = launched != NULL ? launched->liveness : NULL,
                         .leader_machine = leader_machine(launched),
                         .restarts = restarts_of(context, settings),
                         .checkpoint = settings->checkpoint,
                         .tolerant = settings->numeric != 0,
                         .admission = admission_of(context, topology)};
    tnd_placer_read_hosts(&self);
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors)
        return NULL;
    tnd_placer_deal(&self);
    tnd_placer_check_tuned(&self);
    tnd_placer_isolate(&self);
    tnd_placer_spare(&self);
    make_hosts(&self, data, fallback_data);
    check_hosts(&self);
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors)
        return NULL;
    if (make_instances(&self, local)) {
        make_edges(&self);
        tnd_placer_check_ports(&self);
        make_chains(&self);
    }
    return tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) == errors ? plan : NULL;
}

bool tnd_plan_is_cached(const tnd_plan_t *plan, uint32_t instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].to == instance &&
            plan->instances[plan->edges[e].from].kind->role == TND_ROLE_CACHE)
            return true;
    return false;
}

bool tnd_plan_is_dealt(const tnd_plan_t *plan, uint32_t chain)
{
    for (uint32_t i = 0; i < plan->instance_count; i++)
        if (plan->instances[i].chain == chain &&
            plan->instances[i].kind->role == TND_ROLE_PARAMETERS)
            return true;
    return false;
}

tnd_role_t tnd_plan_role(const tnd_plan_t *plan, uint32_t instance)
{
    const tnd_instance_t *own = &plan->instances[instance];
    return own->kind->role == TND_ROLE_FEEDER && tnd_plan_is_dealt(plan, own->chain)
               ? TND_ROLE_REPLICA
               : own->kind->role;
}

uint32_t tnd_plan_trains(const tnd_plan_t *plan, uint32_t chain)
{
    const char *after = plan->chains[chain].after;
    uint32_t c = 0;
    if (after == NULL)
        return chain;
    while (c < plan->chain_count &&
           (plan->chains[c].feeder == NULL || strcmp(plan->chains[c].feeder, after) != 0))
        c++;
    return c == plan->chain_count || c == chain ? chain : tnd_plan_trains(plan, c);
}

const tnd_instance_t *tnd_plan_next(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_instance_t *to = &plan->instances[plan->edges[e].to];
        if (&plan->instances[plan->edges[e].from] == instance && to->chain == instance->chain &&
            to->kind->instances != TND_INSTANCE_ONE)
            return to;
    }
    return NULL;
}

void tnd_placement_report(const tnd_instance_t *instance, tnd_diagnostic_code_t code,
                          const tnd_error_t *error, tnd_diagnostics_t *diagnostics)
{
    tnd_mark_t mark = {0};
    if (instance->written != NULL)
        mark = tnd_error_location(instance->written, error->about, error->text);
    tnd_diagnostics_add(diagnostics, code, mark, "%s: %s", instance->actor, error->text);
}
