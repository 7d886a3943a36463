/*  Covers runtime/text/yaml.h, topology.h and diagnostic.h by files: each broken one in
 *  tests/topology/bad gives exactly the messages of NAME.expected (read and approved by a person),
 *  each in tests/topology/good none.  In a first line, `# with: FILE` names the file that it
 *  overrides, and `# open` allows its chain to end early.  TND_WRITE_EXPECTED=1 rewrites the expectations.
 */
#include "runtime/plan/graph.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

static char *slurp(const char *file)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(file, "rb");
    FILE *out = open_memstream(&text, &size);
    for (int byte = in != NULL ? fgetc(in) : EOF; byte != EOF; byte = fgetc(in))
        fputc(byte, out);
    if (in != NULL)
        fclose(in);
    fclose(out);
    return text;
}

/*  The messages of checking `name` in `folder`, as the user sees them. */
static char *check(const char *folder, const char *name, tnd_status_t *status_p)
{
    char file[512];
    char base[512];
    const char *files[2] = {file, file};
    size_t count = 1;
    snprintf(file, sizeof file, "%s/%s", folder, name);
    char *text = slurp(file);
    if (strncmp(text, "# with: ", 8) == 0) {
        snprintf(base, sizeof base, "%s/%.*s", folder, (int)strcspn(text + 8, "\n"), text + 8);
        files[0] = base;
        count = 2;
    }
    tnd_graph_t *graph = tnd_graph_load(files, count);
    tnd_graph_purpose(graph,
                      &(tnd_graph_purpose_t){
                          .fallback_data = strstr(text, "# no data") == NULL ? "/data" : NULL,
                          .open_ended = strncmp(text, "# open", 6) == 0,
                      });
    free(text);
    *status_p = tnd_graph_check(graph);
    char *said = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&said, &size);
    tnd_diagnostics_print(tnd_graph_diagnostics(graph), out);
    fclose(out);
    cr_expect_str_eq(tnd_graph_errors(graph), *status_p == TND_OK ? "" : said);
    tnd_graph_destroy(&graph);
    return said;
}

Test(topology, broken_files_get_exactly_the_messages_beside_them)
{
    const char *folder = "tests/topology/bad";
    size_t files = 0;
    DIR *list = opendir(folder);
    cr_assert_not_null(list);
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        char file[512];
        size_t size = strlen(entry->d_name);
        tnd_status_t status = TND_OK;
        if (size < 5 || strcmp(entry->d_name + size - 5, ".yaml") != 0)
            continue;
        files++;
        char *said = check(folder, entry->d_name, &status);
        snprintf(file, sizeof file, "%s/%.*s.expected", folder, (int)size - 5, entry->d_name);
        if (getenv("TND_WRITE_EXPECTED") != NULL) {
            FILE *out = fopen(file, "w");
            fputs(said, out);
            fclose(out);
        }
        char *expected = slurp(file);
        cr_expect_eq(status, TND_FAILED, "%s passed", entry->d_name);
        cr_expect_str_eq(said, expected, "%s\n--- said\n%s--- expected\n%s", entry->d_name, said,
                         expected);
        free(said);
        free(expected);
    }
    closedir(list);
    cr_expect_geq(files, 150);
}

Test(topology, good_files_pass_without_messages)
{
    const char *folder = "tests/topology/good";
    size_t files = 0;
    DIR *list = opendir(folder);
    cr_assert_not_null(list);
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        tnd_status_t status = TND_FAILED;
        if (strstr(entry->d_name, ".yaml") == NULL)
            continue;
        files++;
        char *said = check(folder, entry->d_name, &status);
        cr_expect_eq(status, TND_OK, "%s: %s", entry->d_name, said);
        cr_expect_str_eq(said, "", "%s: %s", entry->d_name, said);
        free(said);
    }
    closedir(list);
    cr_expect_geq(files, 30);
}

/*  Checks a text as a file, whatever the result. */
static void try_text(const char *text, size_t size)
{
    char path[32];
    const char *files[] = {path};
    int memory = memfd_create("topology", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    cr_assert_eq(write(memory, text, size), (ssize_t)size);
    tnd_graph_t *graph = tnd_graph_load(files, 1);
    tnd_status_t status = tnd_graph_check(graph);
    cr_expect_eq(status == TND_OK, strlen(tnd_graph_errors(graph)) == 0);
    tnd_graph_destroy(&graph);
    close(memory);
}

Test(topology, every_prefix_of_a_file_is_refused_or_understood)
{
    char *text = slurp("tests/topology/good/eight.yaml");
    size_t size = strlen(text);

    for (size_t cut = 0; cut < size; cut++)
        try_text(text, cut);

    free(text);
}

Test(topology, a_file_with_any_byte_changed_is_refused_or_understood)
{
    static const char bytes[] = "\t\n #:,[]{}&*!|>'\"%@`-?0\x01\xff";
    char *text = slurp("tests/topology/good/eight.yaml");
    size_t size = strlen(text);
    uint32_t state = 1;

    for (size_t round = 0; round < 1500; round++) {
        state = state * 1664525u + 1013904223u;
        size_t at = (state >> 8) % size;
        char before = text[at];
        text[at] = bytes[(state >> 3) % (sizeof bytes - 1)];
        try_text(text, size);
        text[at] = before;
    }

    free(text);
}

Test(topology, json_has_the_same_contents_as_text)
{
    tnd_graph_t *graph = tnd_graph_new("x", 7);
    tnd_graph_add(graph, "read", "raeder", NULL);
    char *text = NULL;
    size_t size = 0;

    cr_expect_eq(tnd_graph_check(graph), TND_FAILED);
    FILE *out = open_memstream(&text, &size);
    tnd_diagnostics_print_json(tnd_graph_diagnostics(graph), out);
    fclose(out);

    cr_expect(strstr(text,
                     "{\"file\":\"<add read>\",\"line\":1,\"column\":1,\"severity\":\"error\","
                     "\"code\":\"T020\",\"text\":\"unknown kind `raeder`\","
                     "\"help\":[\"did you mean `reader`?\"],\"also\":[]}") != NULL,
              "%s", text);
    free(text);
    tnd_graph_destroy(&graph);
}

Test(topology, codes_are_distinct_and_each_has_a_sentence)
{
    static const struct {
        const char *number, *meaning;
    } codes[] = {
#define CODE(number, name, severity, meaning) {#number, meaning},
#include "runtime/text/diagnostic.def"
#undef CODE
    };
    for (int a = 0; a < TND_DIAGNOSTIC_CODES; a++) {
        cr_expect(strlen(codes[a].meaning) > 5);
        for (int b = 0; b < a; b++)
            cr_expect_str_neq(codes[a].number, codes[b].number);
    }
}
