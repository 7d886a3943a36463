/*  tests/fuzz/topology_fuzz.c - topology files, with an overlay after a line `#over`. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/plan/graph.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char mark[] = "\n#over\n";
    static scratch_t base, over;
    const uint8_t *cut = size > 0 ? memmem(bytes, size, mark, strlen(mark)) : NULL;
    size_t first = cut != NULL ? (size_t)(cut - bytes) + 1 : size;
    const char *files[] = {scratch_fill(&base, bytes, first),
                           scratch_fill(&over, bytes + first, size - first)};
    tnd_graph_t *graph = tnd_graph_load(files, cut != NULL ? 2 : 1);
    tnd_graph_purpose(graph, &(tnd_graph_purpose_t){.fallback_data = "/data"});
    tnd_status_t status = tnd_graph_check(graph);
    const char *errors = tnd_graph_errors(graph);
    assert((status == TND_OK) == (errors[0] == '\0'));
    char *text = NULL;
    FILE *out = tnd_memory_stream(&text, &(size_t){0});
    tnd_diagnostics_print_json(tnd_graph_diagnostics(graph), out);
    fclose(out);
    free(text);
    tnd_graph_destroy(&graph);
    return 0;
}
