/*  transport/device/sim_faults.c - what is wrong with a simulated device. */
#include "transport/device/sim_faults.h"

#include <string.h>

#include "runtime/base/small_file.h"
#include "runtime/text/quantity.h"

static const uint64_t look_every_ns = 1000000;

void tnd_sim_faults_init(tnd_sim_faults_t *self)
{
    *self = (tnd_sim_faults_t){.slow = 1};
}

static void take_line(tnd_sim_faults_t *self, const char *line)
{
    uint64_t value;
    if (strncmp(line, "slow ", 5) == 0 && tnd_quantity_u64(line + 5, &value) == TND_QUANTITY_OK)
        self->slow = value;
    if (strncmp(line, "late ", 5) == 0 &&
        tnd_quantity_duration(line + 5, &value) == TND_QUANTITY_OK)
        self->late_ns = value;
    self->hang = self->hang || strcmp(line, "hang") == 0;
    self->stall = self->stall || strcmp(line, "stall") == 0;
    self->lost = self->lost || strcmp(line, "lost") == 0;
}

void tnd_sim_faults_look(tnd_sim_faults_t *self, const char *path, uint64_t now)
{
    char text[256];
    if (self->looked_ns != 0 && now < self->looked_ns + look_every_ns)
        return;
    *self = (tnd_sim_faults_t){.slow = 1, .lost = self->lost, .looked_ns = now};
    (void)tnd_small_file_read(path, text, sizeof text);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        take_line(self, line);
}
