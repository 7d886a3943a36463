/*  tools/command/report.c - `tundish report`: shows the report of a finished run. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/allocation.h"
#include "tools/cli/command.h"
#include "tools/cli/output.h"
#include "tools/watch/page.h"

typedef struct {
    bool html;
    const char *output;
} report_options_t;

/*  A larger file is not a report. */
static const size_t report_bytes_max = 256 << 20;

static tnd_status_t read_file(const char *path, char **text_p, size_t *size_p, tnd_error_t *error)
{
    char part[65536];
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return tnd_fail(error, "%s: %s", path, strerror(errno));
    FILE *all = tnd_memory_stream(text_p, size_p);
    size_t size = 0, got;
    while (size <= report_bytes_max && (got = fread(part, 1, sizeof part, in)) > 0)
        size += fwrite(part, 1, got, all);
    tnd_status_t status = TND_OK;
    if (ferror(in))
        status = tnd_fail(error, "%s: %s", path, strerror(errno));
    else if (size > report_bytes_max)
        status = tnd_fail(error, "%s: it is larger than any report", path);
    fclose(in);
    fclose(all);
    return status;
}

/*  Whether the page can show it: it has what every report has, and valid UTF-8. */
static tnd_status_t check(const char *path, const char *text, size_t size, tnd_error_t *error)
{
    json_error_t where;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return tnd_fail(error, "%s:%d:%d: not JSON: %s", path, where.line, where.column,
                        where.text);
    bool whole = json_is_object(json_object_get(root, "rows")) &&
                 json_is_object(json_object_get(root, "results")) &&
                 json_is_object(json_object_get(root, "chains")) &&
                 json_is_array(json_object_get(root, "actors")) &&
                 json_is_array(json_object_get(root, "bad")) &&
                 json_is_number(json_object_get(root, "seconds"));
    json_decref(root);
    return whole ? TND_OK
                 : tnd_fail(error, "%s: not a report, which `tundish run --report FILE` writes",
                            path);
}

static tnd_status_t write_page(const char *report, const char *path, tnd_error_t *error)
{
    tnd_output_t output;
    if (path == NULL) {
        tnd_page_report(report, stdout);
        return fflush(stdout) == 0 ? TND_OK
                                   : tnd_fail(error, "cannot write to stdout: %s", strerror(errno));
    }
    TND_TRY(tnd_output_open(&output, path, error));
    tnd_page_report(report, output.out);
    return tnd_output_close(&output, error);
}

static int report(const tnd_request_t *request)
{
    const report_options_t *options = request->options;
    const char *path = request->files[0];
    struct stat is;
    char *text = NULL;
    size_t size = 0;
    tnd_error_t error = {.text = ""};
    if (!options->html)
        return tnd_usage_error("report", "--html is missing: the form in which it is shown");
    if (options->output != NULL && lstat(options->output, &is) == 0 && S_ISREG(is.st_mode)) {
        tnd_complain("report", "%s exists already and was not changed; choose another name",
                     options->output);
        return TND_EXIT_FAILED;
    }
    tnd_status_t status = read_file(path, &text, &size, &error);
    if (status == TND_OK)
        status = check(path, text, size, &error);
    if (status == TND_OK)
        status = write_page(text, options->output, &error);
    free(text);
    if (status != TND_OK)
        tnd_complain("report", "%s", error.text);
    return status == TND_OK ? TND_EXIT_OK : TND_EXIT_FAILED;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--html", FLAG, report_options_t, html, NULL, "writes a page for a browser")},
    {TND_COMMON("--output", report_options_t, output)},
};

const tnd_command_t tnd_command_report = {
    .name = "report",
    .operands = "FILE",
    .missing = "no report is given",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "makes a page of the report of a finished run",
    TND_ARGUMENTS(arguments, report_options_t),
    .details =
        "FILE is what `tundish run --report FILE` writes.  The page is that of `tundish watch` as "
        "the\n"
        "run was when it ended: what it did, its graph, how each actor spent its time, "
        "histograms,\n"
        "hosts and log.  It is one file without outside requests, and can be sent or kept.\n"
        "\n"
        "Histograms, edges and the last minute are those of processes on the leader's machine "
        "that\n"
        "had not ended before it.  Of other actors, the page shows their counters and times.\n"
        "\n"
        "  tundish run graph.yaml --report run.json\n"
        "  tundish report run.json --html -o run.html\n",
    .codes = "  0   written\n"
             "  1   FILE cannot be read or is not a report; the page cannot be written\n"
             "  2   usage\n",
    .run = report,
};
