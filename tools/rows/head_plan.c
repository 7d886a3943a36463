/*  tools/rows/head_plan.c - a plan that ends at the actor whose rows `tundish head` shows. */
#include "tools/rows/head_plan.h"

#include <assert.h>
#include <string.h>

#include "actors/plan/plan_queries.h"
#include "runtime/option/option_parse.h"
#include "runtime/option/registry.h"

/*  Rows per batch if the graph does not have a batcher there. */
#define ROWS_THAT_PASS "32"

static bool has_role(const tnd_instance_t *instance, tnd_role_t role)
{
    return instance->kind->role == role;
}

/*  The options of a kind: its defaults, and one number. */
static const void *options_of(tnd_arena_t *arena, const tnd_kind_spec_t *kind, const char *key,
                              const char *number)
{
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    tnd_mark_t nowhere = {0};
    tnd_value_t *map = tnd_value_map(arena, nowhere);
    if (key != NULL)
        tnd_value_put(arena, map, key, nowhere, tnd_value_scalar(arena, nowhere, number));
    const void *options = tnd_options_parse(&context, &kind->table, map, "head", nowhere);
    assert(options != NULL);
    return options;
}

/*  The last actor at or before `at` that sends rows or batches. */
static tnd_status_t find_place(const tnd_plan_t *plan, const char *at, const char **actor_p,
                               tnd_error_t *error)
{
    uint32_t chain = 0;
    if (at != NULL) {
        const tnd_instance_t *found = NULL;
        tnd_nearest_t nearest = {.word = at};
        for (uint32_t i = 0; i < plan->instance_count && found == NULL; i++) {
            tnd_nearest_offer(&nearest, plan->instances[i].actor);
            if (strcmp(plan->instances[i].actor, at) == 0)
                found = &plan->instances[i];
        }
        if (found == NULL && nearest.best != NULL)
            return tnd_fail(error, "unknown actor '%s'; did you mean '%s'?", at, nearest.best);
        if (found == NULL)
            return tnd_fail(error, "this graph has no actor '%s'", at);
        chain = found->chain;
        if (has_role(found, TND_ROLE_READER) || has_role(found, TND_ROLE_CACHE) ||
            has_role(found, TND_ROLE_WORKER) || has_role(found, TND_ROLE_JOIN)) {
            *actor_p = found->actor;
            return TND_OK;
        }
    }
    /* The batcher of the chain, or the last actor of the chain that sends rows. */
    const char *last = NULL;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->chain != chain)
            continue;
        if (has_role(instance, TND_ROLE_JOIN)) {
            *actor_p = instance->actor;
            return TND_OK;
        }
        if (last == NULL || has_role(instance, TND_ROLE_WORKER))
            last = instance->actor;
    }
    *actor_p = last;
    return last != NULL ? TND_OK : tnd_fail(error, "this graph has no actor to look at");
}

typedef struct {
    const tnd_plan_t *from;
    bool *kept;        /* by instance of `from` */
    uint32_t *numbers; /* its number in the new plan */
    tnd_instance_t *instances;
    tnd_edge_t *edges;
    uint32_t instance_count, edge_count;
    bool dealt;
} maker_t;

static void keep_upstream(maker_t *self, const char *actor)
{
    for (uint32_t i = 0; i < self->from->instance_count; i++)
        self->kept[i] = strcmp(self->from->instances[i].actor, actor) == 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t e = 0; e < self->from->edge_count; e++) {
            const tnd_edge_t *edge = &self->from->edges[e];
            if (self->kept[edge->to] && !self->kept[edge->from])
                changed = self->kept[edge->from] = true;
        }
    }
}

/*  Whether its batches go, as a whole, to one replica each. */
static bool deals(const maker_t *self, const tnd_instance_t *instance)
{
    return has_role(instance, TND_ROLE_JOIN) && tnd_plan_is_dealt(self->from, instance->chain);
}

/*  No holder of parameters is there to deal the steps: one replica has all of them, split as by default. */
static void take_all_steps(tnd_instance_t *instance, tnd_arena_t *arena)
{
    const tnd_table_t *table = &instance->kind->table;
    const char *whole = options_of(arena, instance->kind, "replicas", "1");
    char *options = tnd_arena_take(arena, table->size);
    size_t deal = tnd_options_find(table, "deal")->offset,
           replicas = tnd_options_find(table, "replicas")->offset;
    memcpy(options, instance->options, table->size);
    memcpy(options + deal, whole + deal, sizeof(int));
    memcpy(options + replicas, whole + replicas, sizeof(uint64_t));
    instance->options = options;
}

static void copy_kept(maker_t *self, tnd_arena_t *arena)
{
    for (uint32_t i = 0; i < self->from->instance_count; i++) {
        if (!self->kept[i])
            continue;
        self->numbers[i] = self->instance_count;
        tnd_instance_t *instance = &self->instances[self->instance_count++];
        *instance = self->from->instances[i];
        instance->host = 0;
        instance->chain = 0;
        if (!deals(self, &self->from->instances[i]))
            continue;
        take_all_steps(instance, arena);
        self->dealt = true;
    }
    for (uint32_t e = 0; e < self->from->edge_count; e++) {
        if (!self->kept[self->from->edges[e].from] || !self->kept[self->from->edges[e].to])
            continue;
        tnd_edge_t *edge = &self->edges[self->edge_count++];
        *edge = self->from->edges[e];
        edge->from = self->numbers[edge->from];
        edge->to = self->numbers[edge->to];
        edge->transport = TND_TRANSPORT_INPROC;
    }
}

static void connect(maker_t *self, uint32_t from, uint32_t to)
{
    const tnd_instance_t *one = &self->instances[from], *two = &self->instances[to];
    self->edges[self->edge_count++] = (tnd_edge_t){
        .from = from,
        .to = to,
        .transport = TND_TRANSPORT_INPROC,
        .from_connects = one->kind->outlets[0].connects && !two->kind->inlets[0].connects,
    };
}

/*  Adds a batcher per lane after the instances of `actor`. */
static void add_batchers(maker_t *self, tnd_arena_t *arena, const char *actor)
{
    const tnd_kind_spec_t *kind = tnd_registry_kind_of_role(TND_ROLE_JOIN);
    const void *options = options_of(arena, kind, "size", ROWS_THAT_PASS);
    uint32_t before = self->instance_count;
    for (uint32_t lane = 0; lane < self->from->lanes; lane++) {
        uint32_t number = self->instance_count++;
        self->instances[number] = (tnd_instance_t){
            .actor = TND_HEAD_PLAN_FEEDER "-batch",
            .name = tnd_arena_format(arena, TND_HEAD_PLAN_FEEDER "-batch.%u", lane),
            .kind = kind,
            .options = options,
            .lane = lane,
            .lane_count = self->from->lanes,
        };
        for (uint32_t i = 0; i < before; i++) {
            const tnd_instance_t *from = &self->instances[i];
            bool serves =
                has_role(from, TND_ROLE_READER)
                    ? from->lane == lane
                    : lane >= from->lane_first && lane < from->lane_first + from->lane_count;
            if (strcmp(from->actor, actor) == 0 && serves)
                connect(self, i, number);
        }
    }
}

static uint32_t chain_of(const tnd_plan_t *plan, const char *actor)
{
    uint32_t i = 0;
    while (strcmp(plan->instances[i].actor, actor) != 0)
        i++;
    return plan->instances[i].chain;
}

/*  The options of a feeder by default, but for the columns that it casts: those of `like`; NULL: rows
 *  stay as they are fed. */
static const void *feeder_options(tnd_arena_t *arena, const tnd_kind_spec_t *kind,
                                  const tnd_instance_t *like)
{
    const tnd_option_t *cast = tnd_options_find(&kind->table, "cast");
    char *options = tnd_arena_take(arena, kind->table.size);
    memcpy(options, options_of(arena, kind, NULL, NULL), kind->table.size);
    if (like != NULL)
        memcpy(options + cast->offset, (const char *)like->options + cast->offset, sizeof(void *));
    return options;
}

/*  `like`: the feeder of the graph, for rows as its steps read them, or NULL. */
static void add_feeder(maker_t *self, tnd_arena_t *arena, uint32_t replicas,
                       const tnd_instance_t *like)
{
    const tnd_kind_spec_t *kind = tnd_registry_kind_of_role(TND_ROLE_FEEDER);
    uint32_t number = self->instance_count++;
    self->instances[number] = (tnd_instance_t){
        .actor = TND_HEAD_PLAN_FEEDER,
        .name = TND_HEAD_PLAN_FEEDER,
        .kind = kind,
        .options = feeder_options(arena, kind, like),
        .lane_count = self->from->lanes,
        .replica_count = replicas,
    };
    for (uint32_t i = 0; i < number; i++)
        if (has_role(&self->instances[i], TND_ROLE_JOIN))
            connect(self, i, number);
}

/*  What the hosts may use together, because this process does the work of all; 0: one has no limit. */
static uint64_t memory_of(const tnd_plan_t *plan)
{
    uint64_t bytes = 0;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        if (plan->hosts[h].memory == 0 && !plan->hosts[h].isolated)
            return 0;
        bytes += plan->hosts[h].isolated ? 0 : plan->hosts[h].memory;
    }
    return bytes;
}

/*  `of`: the chain of the plan. */
static void add_host(tnd_head_plan_t *self, tnd_arena_t *arena, uint32_t feeder,
                     const tnd_plan_t *from, const tnd_chain_plan_t *of)
{
    static const char *const devices[] = {"cpu:0"};
    tnd_plan_host_t *host = tnd_arena_take(arena, sizeof *host);
    *host = (tnd_plan_host_t){.name = TND_HEAD_PLAN_FEEDER,
                              .address = "127.0.0.1",
                              .listen = "127.0.0.1",
                              .memory = memory_of(from),
                              .devices = devices,
                              .written = devices,
                              .device_count = 1};
    tnd_carrier_t *carriers = tnd_arena_array(arena, self->replicas, sizeof *carriers);
    for (uint32_t r = 0; r < self->replicas; r++)
        carriers[r].instance = feeder;
    tnd_chain_plan_t *chain = tnd_arena_take(arena, sizeof *chain);
    *chain = (tnd_chain_plan_t){
        .feeder = TND_HEAD_PLAN_FEEDER,
        .feed = self->batches || of->feed == TND_FEED_PIECES ? of->feed : TND_FEED_TOGETHER,
        .replicas = self->replicas,
        .batch = of->batch,
        .carriers = carriers};
    self->plan.hosts = host;
    self->plan.host_count = 1;
    self->plan.chains = chain;
    self->plan.chain_count = 1;
}

tnd_status_t tnd_head_plan_make(tnd_head_plan_t *self, tnd_arena_t *arena, const tnd_plan_t *plan,
                                const char *at, bool fed, tnd_error_t *error)
{
    const char *actor;
    TND_TRY(find_place(plan, at, &actor, error));
    uint32_t room = plan->instance_count + plan->lanes + 1;
    maker_t maker = {
        .from = plan,
        .kept = tnd_arena_array(arena, plan->instance_count, sizeof(bool)),
        .numbers = tnd_arena_array(arena, plan->instance_count, sizeof(uint32_t)),
        .instances = tnd_arena_array(arena, room, sizeof(tnd_instance_t)),
        .edges = tnd_arena_array(arena, plan->edge_count + (size_t)room * (plan->lanes + 1),
                                 sizeof(tnd_edge_t)),
    };
    keep_upstream(&maker, actor);
    copy_kept(&maker, arena);
    *self = (tnd_head_plan_t){.plan = *plan};
    self->plan.checkpoint = NULL;
    self->plan.whole = plan;
    for (uint32_t i = 0; i < maker.instance_count; i++)
        self->batches = self->batches || has_role(&maker.instances[i], TND_ROLE_JOIN);
    if (!self->batches)
        add_batchers(&maker, arena, actor);
    uint32_t number = chain_of(plan, actor), feeder = tnd_plan_feeder(plan, number);
    const tnd_chain_plan_t *chain = &plan->chains[number];
    self->replicas = self->batches && !maker.dealt ? chain->replicas : 1;
    bool casts = fed && feeder < plan->instance_count;
    add_feeder(&maker, arena, self->replicas, casts ? &plan->instances[feeder] : NULL);
    self->plan.instances = maker.instances;
    self->plan.instance_count = maker.instance_count;
    self->plan.edges = maker.edges;
    self->plan.edge_count = maker.edge_count;
    add_host(self, arena, maker.instance_count - 1, plan, chain);
    return TND_OK;
}
