/*  tests/fuzz/hostlist_fuzz.c - a list of hosts as Slurm puts it into the environment. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/launch/hostlist.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_hostlist_t list;
    tnd_error_t error = {.text = ""};
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (tnd_hostlist_read(&list, text, &error) != TND_OK) {
        assert(error.text[0] != '\0' && list.names == NULL);
    } else {
        assert(list.count > 0 && list.count <= TND_HOSTLIST_MAX);
        for (size_t i = 0; i < list.count; i++)
            assert(list.names[i][0] != '\0' && strlen(list.names[i]) <= TND_HOSTLIST_NAME_MAX &&
                   strpbrk(list.names[i], "[], ") == NULL);
        tnd_hostlist_free(&list);
    }
    free(text);
    return 0;
}
