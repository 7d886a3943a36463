/*  Covers actors/cache/store_folder.h: a store has another folder if anything differs that its rows depend
 *  on, and the same if only their order does. */
#include "actors/cache/store_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/graph.h"

/*  What the folder of a store depends on. */
typedef struct {
    const char *source, *order, *before, *after, *lanes;
    uint64_t seed, count, data, numeric;
    tnd_dtype_t dtype;
    const char *column;
    bool frozen, by_file;
    uint32_t lane_count;
    const char *actor, *dir;
} store_t;

static const store_t base = {.source = "npy: {x: a.npy}",
                             .order = "shuffle: global, epochs: 3",
                             .before = "{cast: {column: x, to: f32}}",
                             .after = "{cast: {column: x, to: f16}}",
                             .lanes = "1",
                             .seed = 7,
                             .count = 100,
                             .data = 5,
                             .numeric = 6,
                             .dtype = TND_F32,
                             .column = "x",
                             .lane_count = 1,
                             .actor = "keep.0",
                             .dir = "/stores"};

static tnd_graph_t *compose(const store_t *self)
{
    char text[512];
    tnd_graph_t *graph = tnd_graph_new("store", self->seed);
    snprintf(text, sizeof text, "source: {%s}, %s", self->source, self->order);
    tnd_graph_add(graph, "read", "reader", text);
    snprintf(text, sizeof text, "ops: [%s]", self->before);
    tnd_graph_add(graph, "prep", "preprocessor", text);
    tnd_graph_add(graph, "keep", "cache", "limit: 16MiB, store: {dir: /stores}");
    snprintf(text, sizeof text, "ops: [%s]", self->after);
    tnd_graph_add(graph, "late", "preprocessor", text);
    tnd_graph_add(graph, "batch", "batcher", "size: 4");
    tnd_graph_add(graph, "feed", "feeder", "");
    tnd_graph_link(graph, "read -> prep -> keep -> late -> batch -> feed");
    tnd_graph_set(graph, "lanes", self->lanes);
    return graph;
}

/*  The folder; the caller frees it. */
static char *folder_of(const store_t *self)
{
    tnd_graph_t *graph = compose(self);
    cr_assert_eq(tnd_graph_check(graph), TND_OK, "%s", tnd_graph_errors(graph));
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_stream_t *stream = calloc(1, sizeof *stream);
    tnd_error_t error;
    *stream = (tnd_stream_t){.seed = self->seed,
                             .count = self->count,
                             .data = self->data,
                             .cached.numeric = self->numeric,
                             .frozen = self->frozen,
                             .by_file = self->by_file,
                             .lanes = self->lane_count};
    cr_assert_eq(tnd_schema_add(&stream->cached.schema, self->column, self->dtype, 0, NULL, &error),
                 TND_OK);
    uint32_t index = 0;
    while (strcmp(plan->instances[index].name, self->actor) != 0)
        cr_assert(++index < plan->instance_count, "no %s", self->actor);
    char *folder = tnd_store_folder(plan, index, stream, self->dir);
    free(stream);
    tnd_graph_destroy(&graph);
    return folder;
}

static void compare(const store_t *one, const store_t *other, bool same, const char *what)
{
    char *first = folder_of(one), *second = folder_of(other);
    cr_expect_eq(strcmp(first, second) == 0, same, "%s: %s, %s", what, first, second);
    free(first);
    free(second);
}

#define CHANGED(of, field, value)                                                                  \
    do {                                                                                           \
        store_t changed_ = of;                                                                     \
        changed_.field = value;                                                                    \
        compare(&(of), &changed_, false, #field);                                                  \
    } while (0)

#define KEPT(of, field, value)                                                                     \
    do {                                                                                           \
        store_t changed_ = of;                                                                     \
        changed_.field = value;                                                                    \
        compare(&(of), &changed_, true, #field);                                                   \
    } while (0)

Test(store_folder, each_part_that_rows_depend_on_names_another)
{
    CHANGED(base, source, "npy: {x: b.npy}");
    CHANGED(base, source, "npy: {y: a.npy}");
    CHANGED(base, order, "shuffle: global, epochs: 3, on_error: skip");
    CHANGED(base, before, "{cast: {column: x, to: f64}}");
    CHANGED(base, before, "{cast: {column: x, to: f32}}, {clip: {column: x, max: 9}}");
    CHANGED(base, count, 101);
    CHANGED(base, data, 4);
    CHANGED(base, numeric, 5);
    CHANGED(base, dtype, TND_F64);
    CHANGED(base, column, "y");
    CHANGED(base, dir, "/others");
}

Test(store_folder, what_changes_only_the_order_names_the_same)
{
    KEPT(base, seed, 8);
    KEPT(base, order, "epochs: 1");
    KEPT(base, order, "shuffle: global, epochs: 3, repeat: 2");
    KEPT(base, after, "{cast: {column: x, to: bf16}}");
    KEPT(base, lane_count, 2);
}

/*  Random operations before a frozen cache draw by the seed. */
Test(store_folder, a_frozen_store_is_of_its_seed)
{
    store_t frozen = base;
    frozen.frozen = true;
    compare(&base, &frozen, false, "frozen");
    CHANGED(frozen, seed, 8);
    CHANGED(frozen, seed, 7 + (UINT64_C(1) << 32));
    KEPT(frozen, order, "epochs: 1");
}

/*  Lanes with files of their own have other rows each, and others if there are more of them. */
Test(store_folder, lanes_with_files_of_their_own_have_a_store_each)
{
    store_t lanes = base;
    lanes.order = "shard: file, epochs: 3";
    lanes.lanes = "2";
    lanes.lane_count = 2;
    lanes.by_file = true;
    CHANGED(lanes, actor, "keep.1");
    CHANGED(lanes, lane_count, 3);
    CHANGED(lanes, data, 4);
}
