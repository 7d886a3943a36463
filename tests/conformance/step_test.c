/*  tests/conformance/step_test.c - the contract of tnd_step_ops_t (<tundish/tundish.h>), for every
 *  step plugin of this tree.
 *
 *  CMake gives the list of plugins in TND_STEPS.  Each runs on the same rows: pictures, labels and
 *  numbers `y`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/checkpoint/store.h"
#include "runtime/feed/models.h"
#include "tests/runtime/feed/take_done.h"

enum { REPLICAS = 2, ROWS = 5, STEPS = 4, DEPTH = 2 };

static const char *const plugins[] = {TND_STEPS};
enum { PLUGINS = sizeof plugins / sizeof plugins[0] };

typedef struct {
    tnd_schema_t schema;
    tnd_models_t *models;
    tnd_device_workers_t *workers;
    char error[512]; /* of the workers; "" without a failure */
    char hash[33];   /* of the model in the end */
} tried_t;

static void wake(void *context)
{
    (void)context;
}

/*  Where the replicas of a run are, and which have a model together. */
typedef enum { ONE_DEVICE, TWO_DEVICES, ONE_MODEL } way_t;

/*  `keep`: the folder of its checkpoints; NULL: none.  `resume`: the one to load; NULL: none. */
static void start_from(tried_t *self, const char *plugin, way_t way, const char *keep,
                       const tnd_resume_t *resume)
{
    uint32_t accumulate = way == ONE_MODEL ? REPLICAS : 1;
    static const uint64_t picture[] = {28, 28};
    static const char *const one[] = {"cpu:0", "cpu:0"}, *const two[] = {"cpu:0", "cpu:1"};
    static const char *const reducers[] = {"mean"};
    tnd_error_t error;
    *self = (tried_t){.error = ""};
    cr_assert_eq(tnd_schema_add(&self->schema, "image", TND_F32, 2, picture, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->schema, "label", TND_U8, 0, NULL, &error), TND_OK);
    cr_assert_eq(tnd_schema_add(&self->schema, "y", TND_I64, 0, NULL, &error), TND_OK);
    tnd_models_config_t models = {.plugin = plugin,
                                  .options = "",
                                  .folder = TND_STEP_FOLDER,
                                  .count = REPLICAS,
                                  .accumulate = accumulate,
                                  .keep = keep,
                                  .resume = resume};
    cr_assert_eq(tnd_models_new(&self->models, &models, &error), TND_OK, "%s", error.text);
    tnd_device_workers_config_t workers = {
        .name = "feed",
        .schema = &self->schema,
        .replicas = REPLICAS,
        .count = REPLICAS,
        .accumulate = accumulate,
        .devices = way == TWO_DEVICES ? two : one,
        .depth = DEPTH,
        .rows_max = ROWS,
        .reducers = reducers,
        .reducer_count = 1,
        .wake = wake,
    };
    cr_assert_eq(tnd_device_workers_new(&self->workers, &workers, NULL, &error), TND_OK, "%s",
                 error.text);
    if (tnd_device_workers_call(self->workers, tnd_models_open_task(self->models), &error) !=
        TND_OK)
        snprintf(self->error, sizeof self->error, "%s", error.text);
}

static void start(tried_t *self, const char *plugin, way_t way)
{
    start_from(self, plugin, way, NULL, NULL);
}

static void finish(tried_t *self)
{
    tnd_error_t error;
    if (tnd_device_workers_error(self->workers) != NULL)
        snprintf(self->error, sizeof self->error, "%s", tnd_device_workers_error(self->workers));
    tnd_device_workers_stop(self->workers);
    if (self->error[0] == '\0')
        cr_assert_eq(tnd_models_save(self->models, NULL, self->hash, &error), TND_OK, "%s",
                     error.text);
    tnd_device_workers_destroy(&self->workers);
    tnd_models_drop(&self->models);
}

/*  Replica 1 has no rows in the last step. */
static void feed(tried_t *self, uint64_t step)
{
    uint32_t slot = (uint32_t)(step % DEPTH);
    for (uint32_t r = 0; r < REPLICAS; r++) {
        uint32_t rows = r == 1 && step == STEPS - 1 ? 0 : ROWS;
        tnd_device_workers_share(self->workers, slot, r, rows, 0);
        float *image = tnd_device_workers_row(self->workers, slot, r, 0, 0);
        uint8_t *label = tnd_device_workers_row(self->workers, slot, r, 1, 0);
        for (uint32_t i = 0; i < rows * 784; i++)
            image[i] = (float)((step * 31 + r * 7 + i * 13) % 256) / 256;
        int64_t *y = tnd_device_workers_row(self->workers, slot, r, 2, 0);
        for (uint32_t i = 0; i < rows; i++)
            label[i] = (uint8_t)(y[i] = (int64_t)(step + r + i) % 10);
    }
    tnd_slice_note_t note = {.step = step};
    tnd_device_workers_ready(self->workers, slot, &note, NULL);
    tnd_device_workers_flush(self->workers);
}

static void run(tried_t *self, const tnd_task_t *task, uint64_t first, uint64_t steps)
{
    tnd_done_t done;
    tnd_device_workers_run_all(self->workers, task);
    for (uint64_t step = first; step < first + steps; step++) {
        feed(self, step);
        while (!take_done(self->workers, &done))
            if (tnd_device_workers_error(self->workers) != NULL)
                return;
    }
}

static void train(tried_t *self, const char *plugin, way_t way)
{
    start(self, plugin, way);
    cr_assert_str_empty(self->error, "%s", self->error);
    run(self, tnd_models_step_task(self->models), 0, STEPS);
}

Test(step, makes_the_same_model_each_time_on_any_devices_and_for_several_replicas)
{
    for (size_t i = 0; i < PLUGINS; i++) {
        tried_t one, again, two, shared;
        train(&one, plugins[i], ONE_DEVICE);
        finish(&one);
        cr_assert_str_empty(one.error, "%s", one.error);
        train(&again, plugins[i], ONE_DEVICE);
        finish(&again);
        train(&two, plugins[i], TWO_DEVICES);
        finish(&two);
        train(&shared, plugins[i], ONE_MODEL);
        finish(&shared);
        cr_expect_str_eq(one.hash, again.hash, "%s", plugins[i]);
        cr_expect_str_eq(one.hash, two.hash, "%s", plugins[i]);
        cr_expect_str_eq(one.hash, shared.hash, "%s: replicas that share a model", plugins[i]);
    }
}

Test(step, changes_its_model_only_when_it_trains)
{
    for (size_t i = 0; i < PLUGINS; i++) {
        tried_t trained, evaluated, untrained;
        train(&trained, plugins[i], ONE_DEVICE);
        finish(&trained);
        train(&evaluated, plugins[i], ONE_DEVICE);
        const tnd_task_t *evaluate = tnd_models_evaluate_task(evaluated.models);
        if (evaluate != NULL)
            run(&evaluated, evaluate, STEPS, 1);
        finish(&evaluated);
        start(&untrained, plugins[i], ONE_DEVICE);
        finish(&untrained);
        cr_expect_str_eq(trained.hash, evaluated.hash, "%s: evaluation changes the model",
                         plugins[i]);
        if (strcmp(trained.hash, "-") != 0)
            cr_expect_str_neq(trained.hash, untrained.hash, "%s learns nothing", plugins[i]);
    }
}

Test(step, closes_a_model_that_ran_no_step)
{
    for (size_t i = 0; i < PLUGINS; i++) {
        tried_t tried;
        start(&tried, plugins[i], TWO_DEVICES);
        finish(&tried);
        cr_expect_str_empty(tried.error, "%s", tried.error);
    }
}

/*  A model that was saved after some steps and loaded by another process continues as if it had
 *  never stopped. */
Test(step, continues_from_what_it_saved_with_the_same_bits)
{
    enum { HALF = STEPS / 2 };
    for (size_t i = 0; i < PLUGINS; i++) {
        tried_t whole, first, rest;
        tnd_error_t error = {.text = ""};
        tnd_saved_t parts[REPLICAS];
        tnd_resume_t resume = {.step = HALF, .replicas = REPLICAS, .parts = parts};
        strcpy(resume.dir, "/tmp/tundish-step-XXXXXX");
        cr_assert_not_null(mkdtemp(resume.dir));
        train(&whole, plugins[i], ONE_DEVICE);
        finish(&whole);
        start_from(&first, plugins[i], ONE_DEVICE, resume.dir, NULL);
        cr_assert(tnd_models_can_save(first.models), "%s has no `save`", plugins[i]);
        run(&first, tnd_models_step_task(first.models), 0, HALF);
        for (uint32_t r = 0; r < REPLICAS; r++)
            cr_assert_eq(tnd_models_keep(first.models, HALF, r, &parts[r], &error), TND_OK,
                         "%s: %s", plugins[i], error.text);
        finish(&first);
        start_from(&rest, plugins[i], TWO_DEVICES, NULL, &resume);
        cr_assert_eq(
            tnd_device_workers_call(rest.workers, tnd_models_load_task(rest.models), &error),
            TND_OK, "%s: %s", plugins[i], error.text);
        run(&rest, tnd_models_step_task(rest.models), HALF, STEPS - HALF);
        finish(&rest);
        cr_expect_str_eq(rest.hash, whole.hash, "%s continues with another model", plugins[i]);
        cr_expect_str_neq(first.hash, whole.hash, "%s", plugins[i]);
        tnd_store_forget(resume.dir, HALF);
        rmdir(resume.dir);
    }
}
