/*  Covers TF_CONFIG as TensorFlow 2.21 reads it. */
#include "runtime/launch/launch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static tnd_status_t read(const char *text, tnd_launch_t *launch, tnd_error_t *error)
{
    static char variable[1024];
    snprintf(variable, sizeof variable, "TF_CONFIG=%s", text);
    const char *environment[] = {variable, NULL};
    return tnd_launch_read(launch, environment, "auto", error);
}

#define WORKERS "{\"cluster\": {\"worker\": [\"a:2222\", \"b:2223\"]}, \"task\": "
#define CHIEF                                                                                      \
    "{\"cluster\": {\"worker\": [\"b:1\", \"c:1\"], \"ps\": [\"d:1\"], \"chief\": [\"a:7\"]}, "    \
    "\"task\": "

Test(tf_config, ranks_are_chief_workers_and_servers)
{
    static const struct {
        const char *text;
        uint32_t rank, size, port;
        const char *type;
    } cases[] = {
        {WORKERS "{\"type\": \"worker\", \"index\": 1}}", 1, 2, 2222, "worker"},
        /* An index may be a text, and is 0 where there is none. */
        {WORKERS "{\"type\": \"worker\", \"index\": \"1\"}}", 1, 2, 2222, "worker"},
        {WORKERS "{\"type\": \"worker\"}}", 0, 2, 2222, "worker"},
        {CHIEF "{\"type\": \"chief\", \"index\": 0}}", 0, 4, 7, "chief"},
        {CHIEF "{\"type\": \"worker\", \"index\": 0}}", 1, 4, 7, "worker"},
        {CHIEF "{\"type\": \"ps\", \"index\": 0}}", 3, 4, 7, "ps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnd_launch_t launch;
        tnd_error_t error = {.text = ""};
        cr_assert_eq(read(cases[i].text, &launch, &error), TND_OK, "%s", error.text);
        cr_expect_eq(launch.rank, cases[i].rank);
        cr_expect_eq(launch.size, cases[i].size);
        cr_expect_str_eq(launch.leader, "a");
        cr_expect_eq(launch.port, cases[i].port);
        cr_expect_str_eq(launch.tasks.type, cases[i].type);
    }
}

Test(tf_config, tasks_of_one_cluster_have_one_job)
{
    tnd_launch_t first, second, other;
    tnd_error_t error;
    cr_assert_eq(read(WORKERS "{\"type\": \"worker\", \"index\": 0}}", &first, &error), TND_OK);
    cr_assert_eq(read("{\"task\": {\"index\": 1, \"type\": \"worker\"}, \"cluster\":\n"
                      "{\"worker\":[\"a:2222\",\"b:2223\"]}}",
                      &second, &error),
                 TND_OK);
    cr_assert_eq(read(CHIEF "{\"type\": \"worker\", \"index\": 0}}", &other, &error), TND_OK);
    cr_expect_str_eq(first.job, second.job);
    cr_expect_str_neq(first.job, other.job);
    cr_expect_eq(strlen(first.job), 16);
}

Test(tf_config, without_a_cluster_there_is_one_process)
{
    static const char *const texts[] = {"{}", "{\"cluster\": {}}",
                                        "{\"task\": {\"type\": \"worker\", \"index\": 0}}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tnd_launch_t launch;
        tnd_error_t error;
        cr_assert_eq(read(texts[i], &launch, &error), TND_OK);
        cr_expect_null(launch.launcher);
        cr_expect_eq(launch.size, 1);
    }
}

#define WRITE                                                                                      \
    "write {\"cluster\": {\"worker\": [\"a:2222\", \"b:2222\"]}, \"task\": {\"type\": "            \
    "\"worker\", \"index\": 0}}"

Test(tf_config, errors_say_what_to_write)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{\"cluster\": {\n  \"worker\": [\"a:1\"] // one\n}}",
         "TF_CONFIG:2:21: not JSON: '}' expected near '/'; JSON has no comments"},
        {"{\"cluster\": {\n# one\n}}",
         "TF_CONFIG:2:1: not JSON: string or '}' expected near '#'; JSON has no comments"},
        {"x", "TF_CONFIG:1:1: not JSON: '[' or '{' expected near 'x': " WRITE},
        {"[]", "TF_CONFIG is not a JSON object: " WRITE},
        {"{\"cluster\": []}", "TF_CONFIG: `cluster` is not an object: " WRITE},
        {"{\"cluster\": {\"ps\": [\"a:1\"]}}", "TF_CONFIG: `cluster` has no `worker`: " WRITE},
        {"{\"cluster\": {\"worker\": []}}", "TF_CONFIG: `cluster` has no `worker`: " WRITE},
        {"{\"cluster\": {\"worker\": {\"0\": \"a:1\"}}}",
         "TF_CONFIG: `worker` of `cluster` is not a list: " WRITE},
        {"{\"cluster\": {\"worker\": [\"a:1\", \"b\"]}}",
         "TF_CONFIG: `worker` 1 of `cluster` is b, without a port: write \"host:port\""},
        {"{\"cluster\": {\"worker\": [7]}}",
         "TF_CONFIG: `worker` 0 of `cluster` is not a text: write \"host:port\""},
        {"{\"cluster\": {\"chief\": [\"a:1\", \"b:1\"]}}",
         "TF_CONFIG: `chief` of `cluster` has 2 tasks: write one, and the others as `worker`"},
        {"{\"cluster\": {\"worker\": [\"a:1\"]}}", "TF_CONFIG has no `type` of `task`: " WRITE},
        {WORKERS "{\"type\": \"worker\", \"index\": 2}}",
         "TF_CONFIG: the task is worker 2, but `cluster` has 2 of them: write an `index` below "
         "that, counted from 0"},
        {WORKERS "{\"type\": \"chief\", \"index\": 0}}",
         "TF_CONFIG: the task is chief 0, but `cluster` has 0 of them: write an `index` below "
         "that, counted from 0"},
        {WORKERS "{\"type\": \"worker\", \"index\": -1}}",
         "TF_CONFIG: `index` of `task` is -1: write 0 for the first task of its type"},
        {WORKERS "{\"type\": \"worker\", \"index\": \"x\"}}",
         "TF_CONFIG: `index` of `task` is `x`: write 0 for the first task of its type"},
        {WORKERS "{\"type\": \"worker\", \"index\": 1.5}}",
         "TF_CONFIG: `index` of `task` is not a whole number: write 0 for the first task of "
         "its type"},
        {WORKERS "{\"type\": \"master\", \"index\": 0}}",
         "TF_CONFIG: the `type` of `task` is `master`: write chief, worker, ps or evaluator"},
        {WORKERS "{\"type\": \"evaluator\", \"index\": \"x\"}}",
         "TF_CONFIG: `index` of `task` is `x`: write 0 for the first task of its type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnd_launch_t launch;
        tnd_error_t error = {.text = ""};
        cr_expect_eq(read(cases[i].text, &launch, &error), TND_FAILED, "%s", cases[i].text);
        cr_expect_str_eq(error.text, cases[i].error, "%s: %s", cases[i].text, error.text);
    }
}
