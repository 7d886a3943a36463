/*  runtime/topology/topology_shards.c - how lanes share rows: what `auto` means, and what does not
 *  fit. */
#include "runtime/topology/topology_internal.h"

#include <string.h>

#include "runtime/core/stream/apart.h"

static int choice_of(const tnd_topology_actor_t *actor, const char *name)
{
    const int *choice = tnd_topology_option(actor, name, TND_OPTION_ENUM);
    return choice != NULL ? *choice : 0;
}

/*  Sets an option that is `auto`, also where it is written: options are read again for each host. */
static void choose(tnd_resolver_t *self, tnd_topology_actor_t *actor, const char *name, int number,
                   const char *word, const char *why)
{
    tnd_arena_t *arena = self->context->arena;
    const tnd_value_t *written = actor->value;
    tnd_value_t *value = tnd_value_map(arena, written->mark);
    for (size_t i = 0; i < written->count; i++) {
        const tnd_value_entry_t *entry = &written->entries[i];
        bool is = strcmp(entry->key, name) == 0;
        tnd_value_put(arena, value, entry->key, entry->mark,
                      is ? tnd_value_scalar(arena, entry->value->mark, word) : entry->value);
    }
    actor->value = value;
    *(int *)(uintptr_t)tnd_topology_option(actor, name, TND_OPTION_ENUM) = number;
    self->choices[self->topology->choice_count++] =
        (tnd_topology_choice_t){(uint32_t)(actor - self->actors), name, word, why};
}

/*  The first source of which TensorFlow makes no dataset of files: the part itself, or a part of it. */
static const tnd_table_t *tensors_of(const tnd_part_t *part)
{
    const tnd_source_spec_t *source = tnd_source_spec_of(part->table);
    if (source->custom != NULL || (source->caps & TND_SOURCE_TENSORS) != 0)
        return part->table;
    for (size_t i = 0; part->options != NULL && i < part->table->option_count; i++) {
        const tnd_option_t *option = &part->table->options[i];
        const tnd_part_list_t *list = (const void *)((const char *)part->options + option->offset);
        const tnd_table_t *found = NULL;
        for (size_t j = 0; option->type == TND_OPTION_PARTS && j < list->count && found == NULL;
             j++)
            found = tensors_of(&list->items[j]);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static const tnd_part_t *source_of(const tnd_topology_actor_t *reader)
{
    const tnd_part_t *source = tnd_topology_option(reader, "source", TND_OPTION_PART);
    return source != NULL && source->table != NULL ? source : NULL;
}

void tnd_shards_choose(tnd_resolver_t *self, uint32_t index)
{
    tnd_topology_actor_t *reader = &self->actors[index];
    const tnd_part_t *source = source_of(reader);
    if (source == NULL || choice_of(reader, "shard") != TND_SHARDS_AUTO)
        return;
    const tnd_table_t *tensors = tensors_of(source);
    bool files = (tnd_source_spec_of(source->table)->caps & TND_SOURCE_FILES) != 0;
    const char *why =
        tnd_arena_format(self->context->arena, "`%s` reads files", source->table->name);
    if (tensors != NULL)
        why = tnd_arena_format(self->context->arena, "`%s` is an array or a callback in TensorFlow",
                               tensors->name);
    else if (!files)
        why = tnd_arena_format(self->context->arena, "`%s` has no files that lanes could share out",
                               source->table->name);
    if (files && tensors == NULL)
        choose(self, reader, "shard", TND_SHARDS_FILE, "file", why);
    else
        choose(self, reader, "shard", TND_SHARDS_PIECES, "pieces", why);
}

/*  The reader of the chain; NULL: it has none, or its options could not be read. */
static const tnd_topology_actor_t *reader_of(const tnd_resolver_t *self, uint32_t chain)
{
    for (uint32_t i = 0; i < self->topology->actor_count; i++)
        if (self->actors[i].chain == chain && source_of(&self->actors[i]) != NULL)
            return &self->actors[i];
    return NULL;
}

static void choose_split(tnd_resolver_t *self, tnd_topology_actor_t *batcher,
                         const tnd_topology_actor_t *reader)
{
    int shard = reader != NULL ? choice_of(reader, "shard") : TND_SHARDS_INDEX;
    const tnd_table_t *tensors = reader != NULL ? tensors_of(source_of(reader)) : NULL;
    const void *const *bucket = tnd_topology_option(batcher, "bucket", TND_OPTION_TABLE);
    tnd_arena_t *arena = self->context->arena;
    const char *why = NULL;
    if (shard == TND_SHARDS_PIECES)
        why = "the reader has `shard: pieces`";
    else if (bucket != NULL && *bucket != NULL)
        why = "batches of buckets have no size that is known before";
    else if (tensors != NULL && shard == TND_SHARDS_INDEX)
        why =
            tnd_arena_format(arena, "`%s` is an array or a callback in TensorFlow", tensors->name);
    if (why != NULL)
        choose(self, batcher, "split", TND_SPLIT_REBATCH_LEGACY, "rebatch_legacy", why);
    else
        choose(self, batcher, "split", TND_SPLIT_REBATCH_V2, "rebatch_v2",
               tensors != NULL ? "the reader says how lanes share rows, and not by pieces"
               : reader != NULL
                   ? tnd_arena_format(arena, "`%s` reads files", source_of(reader)->table->name)
                   : "the batch has a known size");
}

/*  `count: lanes` of a shard in the order of a reader. */
static const tnd_value_t *lane_shard(const tnd_topology_actor_t *reader)
{
    const tnd_part_list_t *order = tnd_topology_option(reader, "order", TND_OPTION_PARTS);
    for (size_t i = 0; order != NULL && i < order->count; i++) {
        const tnd_value_t *map = order->items[i].value;
        if (map == NULL || strcmp(order->items[i].table->name, "shard") != 0)
            continue;
        const tnd_value_t *options = tnd_value_get(map, "shard");
        const tnd_value_t *count = tnd_value_get(options != NULL ? options : map, "count");
        if (count != NULL && count->type == TND_VALUE_SCALAR && strcmp(count->text, "lanes") == 0)
            return count;
    }
    return NULL;
}

static bool is_set(const tnd_topology_actor_t *actor, const char *name)
{
    const void *const *table = tnd_topology_option(actor, name, TND_OPTION_TABLE);
    return table != NULL && *table != NULL;
}

/*  Lanes of which each has replicas of its own, as `mark` says. */
static void check_own_replicas(tnd_resolver_t *self, const tnd_topology_actor_t *batcher,
                               tnd_mark_t mark, const char *what)
{
    const uint64_t *replicas = tnd_topology_option(batcher, "replicas", TND_OPTION_U64);
    unsigned long long lanes = self->topology->settings->lanes;
    if (*replicas % lanes == 0)
        return;
    tnd_diagnostics_add(
        diagnostics_of(self), TND_T015_RANGE, mark,
        "%s: each lane feeds replicas of its own, but %llu lanes do not divide %llu "
        "replicas",
        what, lanes, (unsigned long long)*replicas);
    tnd_diagnostics_help(diagnostics_of(self), "write `replicas: %llu`",
                         (*replicas / lanes + 1) * lanes);
}

/*  Rows that a lane gives to each of its replicas. */
static void check_apart(tnd_resolver_t *self, const tnd_topology_actor_t *batcher, tnd_mark_t mark)
{
    const uint64_t *replicas = tnd_topology_option(batcher, "replicas", TND_OPTION_U64);
    const uint64_t *size = tnd_topology_option(batcher, "size", TND_OPTION_U64);
    const uint64_t *skip = tnd_topology_option(batcher, "skip", TND_OPTION_U64);
    enum { KEEP, DROP, PAD };
    tnd_apart_t apart = {.split = (tnd_split_t)choice_of(batcher, "split"),
                         .pads = choice_of(batcher, "remainder") == PAD,
                         .size = *size,
                         .lanes = (uint32_t)self->topology->settings->lanes,
                         .replicas = (uint32_t)*replicas};
    if (*replicas % apart.lanes != 0 || *size == 0)
        return;
    if (!tnd_apart_possible(&apart)) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T015_RANGE, mark,
                            "`apart: true`: a batch of %llu rows leaves some of %llu replicas "
                            "without rows in every step, with `split: %s`",
                            (unsigned long long)*size, (unsigned long long)*replicas,
                            tnd_split_name(apart.split));
        tnd_diagnostics_help(diagnostics_of(self),
                             "raise `size`, a multiple of `replicas` is best");
        return;
    }
    uint64_t period = tnd_apart_period(&apart);
    if (period == 0 || *skip % period == 0)
        return;
    tnd_diagnostics_add(diagnostics_of(self), TND_T015_RANGE,
                        tnd_topology_option_mark(batcher, "skip"),
                        "`skip: %llu` with `apart: true` and `split: rebatch_legacy`: a batch of a "
                        "lane lasts %llu steps, and `skip` would end within one",
                        (unsigned long long)*skip, (unsigned long long)period);
    tnd_diagnostics_help(diagnostics_of(self), "write a multiple of %llu",
                         (unsigned long long)period);
}

bool tnd_shards_check(tnd_resolver_t *self, uint32_t index)
{
    tnd_topology_actor_t *batcher = &self->actors[index];
    const bool *apart = tnd_topology_option(batcher, "apart", TND_OPTION_BOOL);
    if (apart == NULL)
        return false;
    const tnd_topology_actor_t *reader = reader_of(self, batcher->chain);
    if (choice_of(batcher, "split") == TND_SPLITS_AUTO)
        choose_split(self, batcher, reader);
    bool pieces = reader != NULL && choice_of(reader, "shard") == TND_SHARDS_PIECES;
    if (self->topology->settings->lanes == 1 || (!pieces && !*apart))
        return false;
    if (batcher->chain != TND_TOPOLOGY_NONE)
        self->chains[batcher->chain].feed = pieces ? TND_FEED_PIECES : TND_FEED_APART;
    tnd_mark_t mark =
        tnd_topology_option_mark(pieces ? reader : batcher, pieces ? "shard" : "apart");
    const char *what = pieces ? "`shard: pieces`" : "`apart: true`";
    const tnd_value_t *shard = pieces ? lane_shard(reader) : NULL;
    if (shard != NULL) {
        tnd_diagnostics_add(
            diagnostics_of(self), TND_T038_ORDER, shard->mark,
            "`shard: {count: lanes}` of `order` gives each lane rows of its own, but "
            "with `shard: pieces` each lane has all rows");
        tnd_diagnostics_help(diagnostics_of(self), "one of the two is enough");
    }
    if (is_set(batcher, "bucket") || is_set(batcher, "pack"))
        return true; /* they need one lane, which is reported elsewhere */
    check_own_replicas(self, batcher, mark, what);
    if (!pieces)
        check_apart(self, batcher, mark);
    return true;
}
