/*  tests/fuzz/tf_config_fuzz.c - the value of TF_CONFIG. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/launch/launch.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char name[] = "TF_CONFIG=";
    tnd_launch_t launch;
    tnd_error_t error = {.text = ""};
    char *text = malloc(sizeof name + size);
    if (text == NULL)
        abort();
    memcpy(text, name, sizeof name - 1);
    memcpy(text + sizeof name - 1, bytes, size);
    text[sizeof name - 1 + size] = '\0';
    const char *environment[] = {text, NULL};
    if (tnd_launch_read(&launch, environment, "auto", &error) != TND_OK)
        assert(error.text[0] != '\0');
    else if (launch.launcher == NULL)
        assert(launch.size == 1);
    else
        assert(launch.rank < launch.size && launch.leader[0] != '\0' && launch.port > 0);
    free(text);
    return 0;
}
