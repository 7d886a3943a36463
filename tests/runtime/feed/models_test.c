/*  tests/runtime/feed/models_test.c - step plugins: found, refused, saved. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/feed/models.h"

static tnd_status_t load(const char *plugin, const char *folder, tnd_error_t *error)
{
    tnd_models_t *models = NULL;
    tnd_models_config_t config = {.plugin = plugin, .options = "", .folder = folder, .count = 1};
    tnd_status_t status = tnd_models_new(&models, &config, error);
    tnd_models_drop(&models);
    return status;
}

Test(models, report_where_a_missing_plugin_was_searched)
{
    tnd_error_t error;
    setenv("TUNDISH_PLUGIN_PATH", "/nowhere/one:/nowhere/two", 1);
    cr_assert(load("absent", "/nowhere/yaml", &error) == TND_FAILED);
    cr_assert(strstr(error.text, "absent.so is in none of /nowhere/yaml, /nowhere/one, "
                                 "/nowhere/two, ") != NULL,
              "%s", error.text);
    cr_assert(strstr(error.text, "TUNDISH_PLUGIN_PATH") != NULL);
}

Test(models, refuse_a_plugin_without_its_symbol)
{
    tnd_error_t error;
    cr_assert(load("step_nameless", TND_TEST_PLUGINS, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "step_nameless.so does not export `tnd_step_step_nameless`") !=
                  NULL,
              "%s", error.text);
}

Test(models, refuse_a_plugin_of_another_version)
{
    tnd_error_t error;
    cr_assert(load("step_old", TND_TEST_PLUGINS, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "version 99 of the tables of steps") != NULL, "%s", error.text);
}

Test(models, refuse_a_name_that_is_a_path)
{
    tnd_error_t error;
    cr_assert(load("../mlp", NULL, &error) == TND_FAILED);
    cr_assert(strstr(error.text, "a name is expected") != NULL, "%s", error.text);
}

Test(models, find_a_plugin_by_the_environment)
{
    tnd_error_t error;
    setenv("TUNDISH_PLUGIN_PATH", "/nowhere:" TND_TEST_PLUGINS, 1);
    cr_assert(load("step_small", NULL, &error) == TND_OK, "%s", error.text);
}
