/*  tools/process/output_merge.c - merges the output of processes of a run. */
#include "tools/process/output_merge.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static const char by_run[] = "tundish run: ", by_host[] = "host ";

/*  Shorter texts are equal too easily. */
enum { SENTENCE_MIN = 16 };

const char *tnd_output_merge_speaks_for(const char *line, size_t *length_p)
{
    if (strncmp(line, by_run, strlen(by_run)) != 0)
        return NULL;
    line += strlen(by_run);
    if (strncmp(line, by_host, strlen(by_host)) != 0)
        return NULL;
    line += strlen(by_host);
    size_t length = strcspn(line, ": ");
    *length_p = length;
    return strncmp(line + length, ": ", 2) == 0 ? line : NULL;
}

/*  A sentence without its prefix. */
static const char *content_of(const char *line)
{
    size_t length = 0;
    const char *host = tnd_output_merge_speaks_for(line, &length);
    if (host != NULL)
        return host + length + 2;
    return strncmp(line, by_run, strlen(by_run)) == 0 ? line + strlen(by_run) : line;
}

bool tnd_output_merge_repeats(tnd_output_merge_t *self, const char *line)
{
    const char *content = content_of(line);
    size_t size = strlen(content);
    for (size_t i = 0; i < TND_OUTPUT_MERGE_LINES && content != line; i++) {
        /* A sentence that was passed on may be truncated, or count further errors at its end. */
        size_t known = self->lines[i] != NULL ? strlen(self->lines[i]) : 0;
        size_t both = known < size ? known : size;
        if (self->lines[i] != NULL && (both >= SENTENCE_MIN || known == size) &&
            memcmp(self->lines[i], content, both) == 0)
            return true;
    }
    free(self->lines[self->next]);
    self->lines[self->next] = tnd_copy_string(content);
    self->next = (self->next + 1) % TND_OUTPUT_MERGE_LINES;
    return false;
}

void tnd_output_merge_free(tnd_output_merge_t *self)
{
    for (size_t i = 0; i < TND_OUTPUT_MERGE_LINES; i++)
        free(self->lines[i]);
    *self = (tnd_output_merge_t){0};
}
