/*  tools/launch/next_start.c - the next start of a run that has lost a host. */
#include "tools/launch/next_start.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

static const char variable[] = "TUNDISH_NEXT_START";

bool tnd_next_start_read(tnd_next_start_t *self)
{
    const char *text = getenv(variable);
    int resumes = 0, sent = 0;
    *self = (tnd_next_start_t){.resumes = false};
    if (text == NULL)
        return false;
    bool good = sscanf(text, "%9" SCNu32 " %9" SCNu32 " %d %d", &self->resumption.number,
                       &self->resumption.losses, &resumes, &sent) == 4;
    self->resumes = resumes != 0;
    self->sent = sent != 0;
    (void)unsetenv(variable);
    return good && self->resumption.number > 0;
}

void tnd_next_start_run(const tnd_next_start_t *self, const tnd_request_t *request)
{
    char text[64];
    size_t used = 0;
    char **words = tnd_allocate_zeroed(request->word_count + 3, sizeof *words);
    snprintf(text, sizeof text, "%" PRIu32 " %" PRIu32 " %d %d", self->resumption.number,
             self->resumption.losses, self->resumes, self->sent);
    (void)setenv(variable, text, 1);
    words[used++] = (char *)"tundish";
    words[used++] = (char *)"run";
    for (size_t i = 0; i < request->word_count; i++)
        words[used++] = request->words[i];
    (void)fflush(NULL);
    (void)execv("/proc/self/exe", words);
    free(words);
}
