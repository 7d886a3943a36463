/*  Covers runtime/resources/resources.h, and the checks of the options and operations that it opens:
 *  each broken file in tests/topology/bad_operations gives exactly the messages of NAME.expected (read and
 *  approved by a person), as `tundish validate` prints them.  TND_WRITE_EXPECTED=1 rewrites the
 *  expectations. */
#include "runtime/plan/graph.h"
#include "runtime/resources/resources.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static const char folder[] = "tests/topology/bad_operations";

/*  The caller frees it; empty if the file does not exist. */
static char *read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "r"), *out = open_memstream(&text, &size);
    for (int byte = in != NULL ? fgetc(in) : EOF; byte != EOF; byte = fgetc(in))
        fputc(byte, out);
    if (in != NULL)
        fclose(in);
    fclose(out);
    return text;
}

/*  Checks the options and opens the data of the only host, then the operations with its columns. */
static void open_operations(const tnd_plan_t *plan, tnd_diagnostics_t *diagnostics)
{
    tnd_resources_t resources;
    tnd_resources_list(&resources, plan, 0);
    if (tnd_resources_open(&resources, NULL, diagnostics)) {
        tnd_stream_t stream = resources.data[0].stream;
        cr_expect_not(tnd_resources_derive(plan, NULL, &stream, diagnostics));
    }
    tnd_resources_close(&resources);
}

/*  The messages of a file, which the caller frees; *errors_p: how many are errors. */
static char *check(const char *path, size_t *errors_p)
{
    char *said = NULL;
    size_t size = 0;
    tnd_graph_t *graph = tnd_graph_load(&path, 1);
    tnd_graph_purpose(graph, &(tnd_graph_purpose_t){.fallback_data = "/data"});
    bool whole = tnd_graph_check(graph) == TND_OK;
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_copy(tnd_graph_diagnostics(graph));
    if (whole)
        open_operations(tnd_graph_plan(graph), diagnostics);
    *errors_p = tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR);
    FILE *out = open_memstream(&said, &size);
    tnd_diagnostics_print(diagnostics, out);
    fclose(out);
    tnd_graph_destroy(&graph);
    return said;
}

Test(operations, broken_operations_get_exactly_the_messages_beside_them)
{
    size_t files = 0;
    DIR *list = opendir(folder);
    cr_assert_not_null(list);
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        char path[512], beside[512];
        size_t size = strlen(entry->d_name), errors;
        if (size < 5 || strcmp(entry->d_name + size - 5, ".yaml") != 0)
            continue;
        files++;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(beside, sizeof beside, "%s/%.*s.expected", folder, (int)size - 5, entry->d_name);
        char *said = check(path, &errors);
        if (getenv("TND_WRITE_EXPECTED") != NULL) {
            FILE *out = fopen(beside, "w");
            fputs(said, out);
            fclose(out);
        }
        char *expected = read_text(beside);
        cr_expect_eq(errors, 1, "%s: %zu errors", entry->d_name, errors);
        cr_expect_str_eq(said, expected, "%s\n--- said\n%s--- expected\n%s", entry->d_name, said,
                         expected);
        free(said);
        free(expected);
    }
    closedir(list);
    cr_expect_geq(files, 30);
}
