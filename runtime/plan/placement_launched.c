/*  runtime/plan/placement_launched.c - what of a plan depends on the processes of a launcher. */
#include "runtime/plan/placement_internal.h"

const tnd_roster_process_t *tnd_placer_process(const placer_t *self, uint32_t host)
{
    const tnd_roster_list_t *list = self->launched;
    bool known = self->rest > 0 && list != NULL && list->processes != NULL && host < list->count;
    return known ? &list->processes[host] : NULL;
}

static uint32_t process_of(const placer_t *self, uint32_t host)
{
    return self->hosts[host].isolated ? self->hosts[host].parent : host;
}

bool tnd_placer_share_machine(const placer_t *self, uint32_t host, uint32_t other)
{
    const tnd_roster_process_t *one = tnd_placer_process(self, process_of(self, host));
    const tnd_roster_process_t *two = tnd_placer_process(self, process_of(self, other));
    if (one != NULL && two != NULL && strcmp(one->machine, two->machine) != 0)
        return false;
    return same_machine(self->hosts[host].address, self->hosts[other].address);
}

static bool is_process(const placer_t *self, uint32_t host)
{
    return !self->hosts[host].isolated && !self->hosts[host].spare;
}

/*  How many processes are on the machine of a host; *before_p: in hosts before it. */
static uint32_t count_near(const placer_t *self, uint32_t host, uint32_t *before_p)
{
    uint32_t count = 0;
    *before_p = 0;
    for (uint32_t h = 0; h < self->host_count; h++) {
        bool near = is_process(self, h) && tnd_placer_share_machine(self, h, host);
        count += near;
        *before_p += near && h < host;
    }
    return count;
}

tnd_path_variables_t tnd_placer_variables(const placer_t *self, uint32_t host)
{
    uint32_t process = process_of(self, host), before, hosts = 0;
    (void)count_near(self, process, &before);
    for (uint32_t h = 0; h < self->host_count; h++)
        hosts += is_process(self, h);
    return (tnd_path_variables_t){
        .rank = tnd_arena_format(arena_of(self), "%u", process),
        .local_rank = tnd_arena_format(arena_of(self), "%u", before),
        .hosts = tnd_arena_format(arena_of(self), "%u", hosts),
    };
}

/*  Whether the launcher gave the processes of this machine unlike sets of devices. */
static bool are_split(const placer_t *self, uint32_t host)
{
    const tnd_roster_process_t *own = tnd_placer_process(self, host);
    for (uint32_t h = 0; h < self->host_count; h++) {
        const tnd_roster_process_t *other = tnd_placer_process(self, h);
        if (other != NULL && tnd_placer_share_machine(self, h, host) &&
            strcmp(own->visible, other->visible) != 0)
            return true;
    }
    return false;
}

/*  The devices from *first_p up to the returned one are those of this host. */
static uint32_t share_of(const placer_t *self, uint32_t host, uint32_t *first_p)
{
    uint32_t devices = tnd_placer_process(self, host)->device_count, before;
    uint32_t processes = count_near(self, host, &before);
    *first_p = 0;
    if (are_split(self, host))
        return devices;
    *first_p = (uint32_t)((uint64_t)before * devices / processes);
    uint32_t last = (uint32_t)((uint64_t)(before + 1) * devices / processes);
    return last > *first_p ? last : *first_p + 1; /* fewer devices than processes are shared */
}

static void find_devices(placer_t *self, uint32_t host, devices_t *devices)
{
    const tnd_roster_process_t *process = tnd_placer_process(self, host);
    const char *written = devices->written[0];
    if (process == NULL || process->device_count == 0)
        return; /* cpu:0 */
    uint32_t first, last = share_of(self, host, &first);
    const char **items = tnd_arena_array(arena_of(self), last - first, sizeof *items);
    const char **texts = tnd_arena_array(arena_of(self), last - first, sizeof *texts);
    for (uint32_t d = first; d < last; d++) {
        items[d - first] = tnd_arena_format(arena_of(self), "%s:%u", process->device, d);
        texts[d - first] = written;
    }
    *devices = (devices_t){.items = items, .written = texts, .count = last - first};
}

void tnd_placer_find_devices(placer_t *self, uint32_t actor)
{
    for (uint32_t h = 0; h < self->host_count; h++) {
        share_t *share = &self->hosts[h].shares[actor];
        if (share->here && share->devices.found)
            find_devices(self, h, &share->devices);
    }
}

/*  Feeders after another share its models, hence its hosts. */
static void take_feeders(placer_t *self, uint32_t host)
{
    const tnd_topology_t *topology = self->topology;
    for (uint32_t c = 0; c < topology->chain_count; c++)
        if (c == 0 || topology->chains[c].after != TND_TOPOLOGY_NONE) {
            share_t *share = &self->hosts[host].shares[topology->chains[c].end];
            share->here = false;
            share->devices = (devices_t){0};
        }
}

void tnd_placer_thin(placer_t *self)
{
    const tnd_topology_chain_t *first = &self->topology->chains[0];
    size_t devices = 0;
    if (self->topology->chain_count == 0 || !is_feeder(&self->topology->actors[first->end]))
        return;
    for (uint32_t h = 0; h < self->host_count; h++) {
        const share_t *share = &self->hosts[h].shares[first->end];
        if (share->here && self->hosts[h].rest && devices >= first->replicas)
            take_feeders(self, h);
        else if (share->here)
            devices += share->devices.count;
    }
}
