/*  tools/faults/fault_schedule.c - chooses the next fault. */
#include "tools/faults/fault_schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

static const uint64_t ms = 1000000;

static const uint32_t weights[TND_FAULT_COUNT] = {
#define WEIGHT(name, text, weight) weight,
    TND_FAULT_KINDS(WEIGHT)
#undef WEIGHT
};

const char *tnd_fault_schedule_name(tnd_fault_schedule_kind_t kind)
{
    static const char *const names[TND_FAULT_COUNT] = {
#define NAME(name, text, weight) text,
        TND_FAULT_KINDS(NAME)
#undef NAME
    };
    return names[kind];
}

static bool can_hit(const tnd_fault_schedule_t *self, tnd_fault_schedule_kind_t kind, uint32_t host)
{
    uint8_t is = self->config.hosts[host];
    bool soft = (is & TND_FAULT_SOFT) != 0;
    switch (kind) {
    case TND_FAULT_KILL:
    case TND_FAULT_STOP:
        return soft;
    case TND_FAULT_KILL_FINAL:
        return !soft && self->config.all;
    case TND_FAULT_SLOW:
        return (is & TND_FAULT_LOCAL) != 0;
    case TND_FAULT_CUT:
    case TND_FAULT_HALF_OPEN:
    case TND_FAULT_SILENT:
    case TND_FAULT_SHUT_OFF:
        return (is & (TND_FAULT_LISTENS | TND_FAULT_LEADS)) != 0;
    case TND_FAULT_DISK_FULL:
        return self->config.disk && host == 0;
    case TND_FAULT_DEVICE_SLOW:
    case TND_FAULT_COPIES_LATE:
        return (is & TND_FAULT_DEVICES) != 0;
    case TND_FAULT_DEVICE_LOST:
        return (is & TND_FAULT_DEVICES) != 0 && self->config.all;
    case TND_FAULT_KILL_ALL:
        return self->config.all && host == 0;
    case TND_FAULT_PAUSE:
    case TND_FAULT_COUNT:
        break;
    }
    return true;
}

static bool is_possible(const tnd_fault_schedule_t *self, tnd_fault_schedule_kind_t kind)
{
    for (uint32_t h = 0; h < self->config.host_count; h++)
        if (can_hit(self, kind, h))
            return true;
    return false;
}

void tnd_fault_schedule_init(tnd_fault_schedule_t *self, const tnd_fault_schedule_config_t *config)
{
    assert(config->host_count > 0 && config->host_count <= TND_FAULT_HOSTS);
    *self = (tnd_fault_schedule_t){.config = *config};
    tnd_random_init(&self->random, config->seed, 0, 0, 0);
    for (uint32_t k = 0; k < TND_FAULT_COUNT; k++) {
        self->hosts[k] = tnd_allocate_zeroed(config->host_count, sizeof *self->hosts[k]);
    }
}

void tnd_fault_schedule_fini(tnd_fault_schedule_t *self)
{
    for (uint32_t k = 0; k < TND_FAULT_COUNT; k++)
        free(self->hosts[k]);
    *self = (tnd_fault_schedule_t){0};
}

static tnd_fault_schedule_kind_t draw_kind(tnd_fault_schedule_t *self)
{
    if (self->left == 0)
        for (uint32_t k = 0; k < TND_FAULT_COUNT; k++)
            for (uint32_t w = 0; w < weights[k] && is_possible(self, (tnd_fault_schedule_kind_t)k);
                 w++) {
                assert(self->left < TND_FAULT_DECK);
                self->deck[self->left++] = (tnd_fault_schedule_kind_t)k;
            }
    uint64_t at = tnd_random_below(&self->random, self->left);
    tnd_fault_schedule_kind_t kind = self->deck[at];
    self->deck[at] = self->deck[--self->left];
    return kind;
}

static uint32_t draw_host(tnd_fault_schedule_t *self, tnd_fault_schedule_kind_t kind)
{
    uint32_t *hosts = self->hosts[kind], *left = &self->hosts_left[kind];
    bool all = *left == 0;
    for (uint32_t h = 0; all && h < self->config.host_count; h++)
        if (can_hit(self, kind, h))
            hosts[(*left)++] = h;
    uint64_t at = tnd_random_below(&self->random, *left);
    uint32_t host = hosts[at];
    hosts[at] = hosts[--*left];
    return host;
}

static uint64_t between(tnd_fault_schedule_t *self, uint64_t from, uint64_t to)
{
    return from + (to > from ? tnd_random_below(&self->random, to - from) : 0);
}

static uint64_t draw_length(tnd_fault_schedule_t *self, tnd_fault_schedule_kind_t kind)
{
    uint64_t dead = self->config.dead_after_ns;
    switch (kind) {
    case TND_FAULT_PAUSE:
    case TND_FAULT_COPIES_LATE:
        return between(self, 5 * ms, dead / 4);
    case TND_FAULT_STOP:
        return between(self, tnd_least(dead + dead / 10, self->config.stop_most_ns),
                       tnd_least(dead + dead / 4, self->config.stop_most_ns));
    case TND_FAULT_SLOW:
    case TND_FAULT_DEVICE_SLOW:
        return between(self, 300 * ms, 2000 * ms);
    case TND_FAULT_SHUT_OFF:
        return between(self, 50 * ms, tnd_least(dead / 4, self->config.patience_ns / 2));
    case TND_FAULT_DISK_FULL:
        return between(self, 500 * ms, 2000 * ms);
    default:
        return 0;
    }
}

tnd_fault_t tnd_fault_schedule_next(tnd_fault_schedule_t *self)
{
    tnd_fault_t fault = {.kind = draw_kind(self)};
    fault.host = draw_host(self, fault.kind);
    fault.lasts_ns = draw_length(self, fault.kind);
    /* Most faults come alone, so that gaps can be assigned to them. */
    fault.at_once = tnd_random_below(&self->random, 5) == 0;
    fault.wait_ns =
        fault.at_once ? between(self, 1 * ms, 60 * ms) : between(self, 20 * ms, 500 * ms);
    uint8_t is = self->config.hosts[fault.host];
    bool first = tnd_random_below(&self->random, 2) == 0;
    fault.control = (is & TND_FAULT_LEADS) != 0 && ((is & TND_FAULT_LISTENS) == 0 || first);
    fault.far = tnd_random_below(&self->random, 2) == 0;
    return fault;
}
