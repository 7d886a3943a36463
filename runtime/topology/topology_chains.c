/*  runtime/topology/topology_chains.c - finds chains and their order. */
#include "runtime/topology/topology_internal.h"

static const char *after_of(const tnd_topology_actor_t *actor)
{
    const char *const *after = tnd_topology_option(actor, "after", TND_OPTION_STRING);
    return after != NULL ? *after : NULL;
}

static tnd_period_t every_of(const tnd_topology_actor_t *actor)
{
    const tnd_period_t *every = tnd_topology_option(actor, "every", TND_OPTION_PERIOD);
    return every != NULL ? *every : (tnd_period_t){0};
}

static const tnd_best_options_t *best_of(const tnd_topology_actor_t *actor)
{
    const void *const *best = tnd_topology_option(actor, "best", TND_OPTION_TABLE);
    return best != NULL ? *best : NULL;
}

static bool is_feeder(const tnd_topology_actor_t *actor)
{
    return actor->kind != NULL && actor->kind->role == TND_ROLE_FEEDER;
}

/*  A chain ends at a feeder, or, if the graph is open-ended, at an actor whose rows or batches no
 *  link takes. */
static bool ends_chain(const tnd_resolver_t *self, uint32_t actor)
{
    const tnd_kind_spec_t *kind = self->actors[actor].kind;
    if (is_feeder(&self->actors[actor]))
        return true;
    if (kind == NULL || kind->outlet_count == 0)
        return false;
    for (uint32_t i = 0; i < self->topology->link_count; i++)
        if (self->links[i].from == actor)
            return false;
    return true;
}

/*  Assigns the number of the chain to all actors upstream of its end, and finds its replicas. */
static void mark_chain(tnd_resolver_t *self, uint32_t chain)
{
    uint32_t actor = self->chains[chain].end;
    self->chains[chain].replicas = 1;
    for (bool going = true; going;) {
        self->actors[actor].chain = chain;
        const uint64_t *replicas =
            tnd_topology_option(&self->actors[actor], "replicas", TND_OPTION_U64);
        const uint64_t *size = tnd_topology_option(&self->actors[actor], "size", TND_OPTION_U64);
        if (replicas != NULL)
            self->chains[chain].replicas = (uint32_t)*replicas;
        if (size != NULL)
            self->chains[chain].batch = *size;
        going = false;
        for (uint32_t i = 0; i < self->topology->link_count && !going; i++)
            if (self->links[i].to == actor && !self->links[i].call) {
                actor = self->links[i].from;
                going = true;
            }
    }
}

static void add_chain(tnd_resolver_t *self, uint32_t end)
{
    uint32_t chain = self->topology->chain_count++;
    self->chains[chain] = (tnd_topology_chain_t){.end = end, .after = TND_TOPOLOGY_NONE};
    mark_chain(self, chain);
}

bool tnd_chains_check_after(tnd_resolver_t *self, uint32_t index)
{
    const tnd_topology_actor_t *feeder = &self->actors[index];
    const char *after = after_of(feeder);
    if (after == NULL)
        return true;
    uint32_t first = tnd_topology_find(self->topology, after);
    if (first != TND_TOPOLOGY_NONE && first != index && is_feeder(&self->actors[first]))
        return true;
    if (first != TND_TOPOLOGY_NONE && self->actors[first].kind == NULL)
        return false; /* its errors have been reported */
    tnd_nearest_t nearest = {.word = after};
    const char *other = NULL;
    for (uint32_t i = 0; i < self->topology->actor_count; i++)
        if (is_feeder(&self->actors[i]) && i != index) {
            tnd_nearest_offer(&nearest, self->actors[i].name);
            other = self->actors[i].name;
        }
    tnd_diagnostics_add(
        diagnostics_of(self), TND_T030_AFTER, tnd_topology_option_mark(feeder, "after"),
        first == index               ? "`%s` cannot come after itself"
        : first == TND_TOPOLOGY_NONE ? "`after:` must name a feeder; unknown actor `%s`"
                                     : "`after:` must name a feeder; `%s` is not one",
        after);
    if (nearest.best != NULL || other != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?",
                             nearest.best != NULL ? nearest.best : other);
    return false;
}

/*  The feeder of a chain before this one that has `best:`; NULL: there is none. */
static const char *best_before(const tnd_resolver_t *self, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (self->chains[i].best != NULL)
            return self->actors[self->chains[i].end].name;
    return NULL;
}

/*  The best of the validations of a chain is wanted. */
static void check_best(tnd_resolver_t *self, uint32_t index)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    tnd_topology_chain_t *chain = &self->chains[index];
    const tnd_topology_actor_t *feeder = &self->actors[chain->end];
    tnd_mark_t mark = tnd_topology_option_mark(feeder, "best");
    const char *other = best_before(self, index);
    if (chain->every.steps == 0 && chain->every.epochs == 0) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "`best:` chooses among several validations, and `%s` is fed once",
                            feeder->name);
        tnd_diagnostics_help(diagnostics,
                             "say how often the models are evaluated: `every: 1 epoch`");
    } else if (self->topology->settings->checkpoint == NULL) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "`best:` keeps the checkpoint of the best models, and this topology "
                            "has no folder of checkpoints");
        tnd_diagnostics_help(diagnostics, "name one at the top level: `checkpoint: {dir: DIR}`");
    } else if (other != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "`%s` has `best:` too, and only one can say which models are the best",
                            other);
    } else {
        chain->best = best_of(feeder);
    }
}

static void check_after(tnd_resolver_t *self, uint32_t index)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    tnd_topology_chain_t *chain = &self->chains[index];
    const tnd_topology_actor_t *feeder = &self->actors[chain->end];
    const char *after = after_of(feeder);
    chain->every = every_of(feeder);
    bool has_every = chain->every.steps > 0 || chain->every.epochs > 0;
    if (after == NULL && has_every) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, tnd_topology_option_mark(feeder, "every"),
                            "`%s` comes after no other feeder: `every:` says how often one with "
                            "`after:` evaluates the models of that feeder",
                            feeder->name);
        return;
    }
    if (best_of(feeder) != NULL)
        check_best(self, index);
    if (after == NULL)
        return;
    tnd_mark_t mark = tnd_topology_option_mark(feeder, "after");
    uint32_t first = tnd_topology_find(self->topology, after);
    if (!tnd_chains_check_after(self, chain->end))
        return;
    if (after_of(&self->actors[first]) != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "`%s` has no models of its own: it comes after `%s` itself", after,
                            after_of(&self->actors[first]));
        tnd_diagnostics_help(diagnostics, "write `after: %s`", after_of(&self->actors[first]));
        return;
    }
    const void *const *step = tnd_topology_option(feeder, "step", TND_OPTION_TABLE);
    if (step != NULL && *step != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, tnd_topology_option_mark(feeder, "step"),
                            "`%s` comes after `%s` and evaluates its models: it has no step of "
                            "its own",
                            feeder->name, after);
        return;
    }
    chain->after = self->actors[first].chain;
    uint32_t replicas = self->chains[chain->after].replicas;
    if (replicas != chain->replicas) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "this chain has %u replicas, that of `%s` has %u: replica r is "
                            "evaluated on model r",
                            chain->replicas, after, replicas);
        tnd_diagnostics_help(diagnostics, "give both batchers the same `replicas:`");
    }
}

void tnd_chains_resolve(tnd_resolver_t *self)
{
    uint32_t count = self->topology->actor_count;
    self->chains = tnd_arena_array(self->context->arena, count, sizeof *self->chains);
    self->topology->chains = self->chains;
    const tnd_topology_actor_t *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const tnd_topology_actor_t *actor = &self->actors[i];
        if (!is_feeder(actor) || after_of(actor) != NULL)
            continue;
        if (first != NULL) {
            tnd_diagnostics_add(diagnostics_of(self), TND_T031_SEVERAL_CHAINS, actor->mark,
                                "`%s` and `%s` would run at the same time", first->name,
                                actor->name);
            tnd_diagnostics_also(diagnostics_of(self), first->mark, "the first chain ends here");
            tnd_diagnostics_help(diagnostics_of(self),
                                 "let one follow the other: `%s: {kind: %s, after: %s}`",
                                 actor->name, actor->kind->table.name, first->name);
            continue;
        }
        first = actor;
        add_chain(self, i);
    }
    for (uint32_t i = 0; i < count; i++)
        if ((is_feeder(&self->actors[i]) && after_of(&self->actors[i]) != NULL) ||
            (!is_feeder(&self->actors[i]) && ends_chain(self, i)))
            add_chain(self, i);
    for (uint32_t i = 0; i < self->topology->chain_count; i++)
        check_after(self, i);
}
