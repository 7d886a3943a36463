/*  runtime/observe/machine_load.c - how busy the processors of this machine are. */
#include "runtime/observe/machine_load.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/limits.h"

/*  The text of a file; "" if it cannot be read. */
static void read_text(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, room - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
}

void tnd_machine_load_read(const char *root, tnd_machine_load_t *load)
{
    char path[256], text[256];
    *load = (tnd_machine_load_t){.processors = tnd_processors_allowed()};
    snprintf(path, sizeof path, "%s/proc/loadavg", root);
    read_text(path, text, sizeof text);
    if (sscanf(text, "%lf %*f %*f %u/", &load->load, &load->runnable) != 2)
        *load = (tnd_machine_load_t){.processors = load->processors};
}
