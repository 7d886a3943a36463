/*  runtime/launch/tf_config.c - TF_CONFIG, by which programs of TensorFlow know their cluster. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/launch/launch_internal.h"
#include "runtime/text/quantity.h"

typedef struct {
    const char *text;
    const json_t *cluster, *task;
    tnd_error_t *error;
} config_t;

static const char example[] =
    "{\"cluster\": {\"worker\": [\"a:2222\", \"b:2222\"]}, \"task\": {\"type\": \"worker\", "
    "\"index\": 0}}";

static bool is_comment(const char *text, int position)
{
    size_t at = position > 0 && (size_t)position <= strlen(text) ? (size_t)position - 1 : 0;
    return text[at] == '#' || text[at] == '/';
}

static tnd_status_t parse(const char *text, json_t **root_p, tnd_error_t *error)
{
    json_error_t why;
    *root_p = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (*root_p == NULL)
        return tnd_fail(error, "TF_CONFIG:%d:%d: not JSON: %.150s%s%s", why.line, why.column,
                        why.text,
                        is_comment(text, why.position) ? "; JSON has no comments" : ": write ",
                        is_comment(text, why.position) ? "" : example);
    if (json_is_object(*root_p))
        return TND_OK;
    json_decref(*root_p);
    return tnd_fail(error, "TF_CONFIG is not a JSON object: write %s", example);
}

/*  Checks a list of addresses "host:port". */
static tnd_status_t read_tasks(const config_t *self, const char *type, uint32_t *count_p)
{
    const json_t *list = json_object_get(self->cluster, type), *item;
    size_t i;
    *count_p = 0;
    if (list == NULL)
        return TND_OK;
    if (!json_is_array(list) || json_array_size(list) >= TND_LAUNCH_UNKNOWN)
        return tnd_fail(self->error, "TF_CONFIG: `%s` of `cluster` is not a list: write %s", type,
                        example);
    json_array_foreach(list, i, item)
    {
        const char *colon = json_is_string(item) ? strrchr(json_string_value(item), ':') : NULL;
        uint64_t port;
        if (colon == NULL || colon == json_string_value(item) ||
            tnd_quantity_u64(colon + 1, &port) != TND_QUANTITY_OK || port < 1 || port > 65535)
            return tnd_fail(self->error,
                            "TF_CONFIG: `%s` %zu of `cluster` is %.64s%s: write \"host:port\"",
                            type, i, json_is_string(item) ? json_string_value(item) : "not a text",
                            json_is_string(item) ? ", without a port" : "");
    }
    *count_p = (uint32_t)json_array_size(list);
    return TND_OK;
}

/*  An index may be a text. */
static tnd_status_t read_index(const config_t *self, uint32_t *index_p)
{
    const json_t *index = json_object_get(self->task, "index");
    char shown[64] = "not a whole number";
    uint64_t value = 0;
    bool good = index == NULL || (json_is_integer(index) && json_integer_value(index) >= 0);
    if (json_is_integer(index)) {
        value = (uint64_t)json_integer_value(index);
        snprintf(shown, sizeof shown, "%" JSON_INTEGER_FORMAT, json_integer_value(index));
    }
    if (json_is_string(index))
        snprintf(shown, sizeof shown, "`%.48s`", json_string_value(index));
    if (json_is_string(index))
        good = tnd_quantity_u64(json_string_value(index), &value) == TND_QUANTITY_OK;
    if (!good || value >= TND_LAUNCH_UNKNOWN)
        return tnd_fail(self->error,
                        "TF_CONFIG: `index` of `task` is %s: write 0 for the first task of its "
                        "type",
                        shown);
    *index_p = (uint32_t)value;
    return TND_OK;
}

static tnd_status_t read_task(const config_t *self, tnd_launch_t *launch)
{
    tnd_launch_tasks_t *tasks = &launch->tasks;
    struct {
        const char *type;
        uint32_t count, first; /* the rank of its first task */
    } types[] = {{"chief", tasks->chiefs, 0},
                 {"worker", tasks->workers, tasks->chiefs},
                 {"ps", tasks->servers, tasks->chiefs + tasks->workers}};
    const char *type = json_string_value(json_object_get(self->task, "type"));
    if (type == NULL)
        return tnd_fail(self->error, "TF_CONFIG has no `type` of `task`: write %s", example);
    TND_TRY(read_index(self, &tasks->index));
    launch->evaluates = strcmp(type, "evaluator") == 0;
    if (launch->evaluates)
        return TND_OK; /* TensorFlow does not ask that the cluster lists it */
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (strcmp(type, types[t].type) != 0)
            continue;
        if (tasks->index >= types[t].count)
            return tnd_fail(self->error,
                            "TF_CONFIG: the task is %s %" PRIu32 ", but `cluster` has %" PRIu32
                            " of them: write an `index` below that, counted from 0",
                            type, tasks->index, types[t].count);
        tasks->type = types[t].type;
        launch->rank = types[t].first + tasks->index;
        return TND_OK;
    }
    return tnd_fail(self->error,
                    "TF_CONFIG: the `type` of `task` is `%.64s`: write chief, worker, ps or "
                    "evaluator",
                    type);
}

/*  The leader is the first chief or worker. */
static tnd_status_t read_leader(const config_t *self, tnd_launch_t *launch)
{
    const char *type = launch->tasks.chiefs > 0 ? "chief" : "worker";
    const char *address =
        json_string_value(json_array_get(json_object_get(self->cluster, type), 0));
    const char *colon = strrchr(address, ':');
    size_t length = (size_t)(colon - address);
    if (length >= sizeof launch->leader)
        return tnd_fail(self->error, "TF_CONFIG: %.64s...: write at most %zu characters", address,
                        sizeof launch->leader - 1);
    memcpy(launch->leader, address, length);
    launch->leader[length] = '\0';
    launch->port = (uint32_t)strtoul(colon + 1, NULL, 10);
    return TND_OK;
}

/*  All tasks have the same cluster, so its hash names the job. */
static void read_job(const config_t *self, tnd_launch_t *launch)
{
    char *text = tnd_require_memory(json_dumps(self->cluster, JSON_SORT_KEYS | JSON_COMPACT));
    snprintf(launch->job, sizeof launch->job, "%016" PRIx64,
             (uint64_t)XXH3_64bits(text, strlen(text)));
    free(text);
}

static tnd_status_t read_cluster(const config_t *self, tnd_launch_t *launch)
{
    tnd_launch_tasks_t *tasks = &launch->tasks;
    if (!json_is_object(self->cluster))
        return tnd_fail(self->error, "TF_CONFIG: `cluster` is not an object: write %s", example);
    TND_TRY(read_tasks(self, "chief", &tasks->chiefs));
    TND_TRY(read_tasks(self, "worker", &tasks->workers));
    TND_TRY(read_tasks(self, "ps", &tasks->servers));
    if (tasks->chiefs > 1)
        return tnd_fail(self->error,
                        "TF_CONFIG: `chief` of `cluster` has %" PRIu32
                        " tasks: write one, and the others as `worker`",
                        tasks->chiefs);
    if (tasks->chiefs + tasks->workers == 0)
        return tnd_fail(self->error, "TF_CONFIG: `cluster` has no `worker`: write %s", example);
    TND_TRY(read_task(self, launch));
    launch->size = tasks->chiefs + tasks->workers + tasks->servers;
    launch->local_rank = launch->local_size = TND_LAUNCH_UNKNOWN;
    read_job(self, launch);
    return read_leader(self, launch);
}

/*  TensorFlow takes a cluster that is absent or empty for none. */
static tnd_status_t tf_config_read(const char *const *environment, tnd_launch_t *launch,
                                   tnd_error_t *error)
{
    json_t *root;
    config_t config = {.text = tnd_variable(environment, "TF_CONFIG"), .error = error};
    TND_TRY(parse(config.text, &root, error));
    config.cluster = json_object_get(root, "cluster");
    config.task = json_object_get(root, "task");
    bool empty = config.cluster == NULL ||
                 (json_is_object(config.cluster) && json_object_size(config.cluster) == 0);
    tnd_status_t status = empty ? TND_OK : read_cluster(&config, launch);
    json_decref(root);
    return status;
}

const tnd_launcher_t tnd_launcher_tf_config = {
    .name = "tf_config",
    .start = "a script that sets TF_CONFIG with a `cluster`",
    .leader_by = "TF_CONFIG",
    .marks = {"TF_CONFIG"},
    .read = tf_config_read,
};
