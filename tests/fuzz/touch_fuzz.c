/*  tests/fuzz/touch_fuzz.c - a line that any process of the user can send to a run.
 *
 *  What is accepted can be written and read again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/touch/touch.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_touch_t touch, again;
    tnd_error_t error;
    char line[TND_TOUCH_LINE];
    if (tnd_touch_read(&touch, (const char *)bytes, size, &error) != TND_OK)
        return 0;
    tnd_touch_write(&touch, line);
    if (strlen(line) != size || memcmp(line, bytes, size) != 0 ||
        tnd_touch_read(&again, line, size, &error) != TND_OK ||
        strcmp(again.actor, touch.actor) != 0 || strcmp(again.option, touch.option) != 0 ||
        strcmp(again.value, touch.value) != 0 || strcmp(again.user, touch.user) != 0)
        abort();
    return 0;
}
