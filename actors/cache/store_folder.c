/*  actors/cache/store_folder.c - the folder of a cache's store. */
#include "actors/cache/store_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/plan/plan_queries.h"
#include "runtime/base/allocation.h"
#include "runtime/option/option_print.h"

/*  Of the folder's content. */
enum { STORE_VERSION = 1 };

/*  Whether an instance is the first of its actor. */
static bool is_first(const tnd_plan_t *plan, uint32_t index)
{
    uint32_t first = 0;
    while (strcmp(plan->instances[first].actor, plan->instances[index].actor) != 0)
        first++;
    return first == index;
}

static void print_upstream(const tnd_plan_t *plan, uint32_t chain, FILE *out)
{
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *at = &plan->instances[i];
        if (at->chain != chain || !is_first(plan, i))
            continue;
        if (at->kind->role == TND_ROLE_READER)
            tnd_plan_print_samples(at, out);
        else if (at->kind->role == TND_ROLE_WORKER && !tnd_plan_is_cached(plan, i))
            tnd_options_print(&at->kind->table, at->options, TND_ROLE_GRAPH, out);
        else
            continue;
        fputc('\n', out);
    }
}

char *tnd_store_folder(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                       const char *dir)
{
    const tnd_instance_t *instance = &plan->instances[index];
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    fprintf(out, "store %d\n", STORE_VERSION);
    print_upstream(plan, instance->chain, out);
    fprintf(out, "count %" PRIu64 "\ndata %016" PRIx64 "\nnumeric %016" PRIx64 "\n", stream->count,
            stream->data, stream->cached.numeric);
    fprintf(out, "schema %016" PRIx64 "\n", tnd_schema_hash(&stream->cached.schema));
    if (stream->frozen)
        fprintf(out, "seed %" PRIu64 "\n", stream->seed);
    if (stream->by_file)
        fprintf(out, "lane %" PRIu32 " of %" PRIu32 "\n", instance->lane, stream->lanes);
    fclose(out);
    XXH128_hash_t hash = XXH3_128bits(text, size);
    free(text);
    return tnd_format_string("%s/%016" PRIx64 "%016" PRIx64, dir, (uint64_t)hash.high64,
                             (uint64_t)hash.low64);
}
