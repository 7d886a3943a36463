/*  runtime/observe/machine_load.c - how busy the processors of this machine are. */
#include "runtime/observe/machine_load.h"

#include <stdio.h>

#include "runtime/base/limits.h"
#include "runtime/base/small_file.h"

void tnd_machine_load_read(const char *root, tnd_machine_load_t *load)
{
    char path[256], text[256];
    *load = (tnd_machine_load_t){.processors = tnd_processors_allowed()};
    snprintf(path, sizeof path, "%s/proc/loadavg", root);
    (void)tnd_small_file_read(path, text, sizeof text);
    if (sscanf(text, "%lf %*f %*f %u/", &load->load, &load->runnable) != 2)
        *load = (tnd_machine_load_t){.processors = load->processors};
}
