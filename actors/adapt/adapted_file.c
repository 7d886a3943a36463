/*  actors/adapt/adapted_file.c - what an operation has learned of some rows, in a file. */
#include "actors/adapt/adapted_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "actors/file/index_folder.h"
#include "actors/stored/draft.h"
#include "runtime/base/allocation.h"

/*  Hosts that have only readers may not have the folder of the checkpoints. */
static bool has_checkpoints(const tnd_plan_t *plan, uint32_t host)
{
    return plan->checkpoint != NULL && (host == 0 || access(plan->checkpoint->dir, W_OK) == 0);
}

static char *path_of(const char *folder, uint64_t key, uint64_t rows)
{
    return tnd_format_string("%s/auto-%016" PRIx64 "-%016" PRIx64 ".txt", folder, key, rows);
}

static char *path_in_cache(uint64_t key, uint64_t rows)
{
    char folder[PATH_MAX];
    tnd_index_folder(folder, "", TND_INDEX_CACHE);
    return path_of(folder, key, rows);
}

/*  Takes the path. */
static char *read_words(char *path)
{
    FILE *in = fopen(path, "re");
    char *words = NULL, *last = NULL;
    size_t room = 0, last_room = 0;
    uint64_t hash;
    free(path);
    if (in == NULL)
        return NULL;
    ssize_t size = getline(&words, &room, in);
    bool whole = size > 1 && words[size - 1] == '\n' && getline(&last, &last_room, in) > 0 &&
                 sscanf(last, "hash %" SCNx64, &hash) == 1 &&
                 hash == XXH3_64bits(words, (size_t)size);
    fclose(in);
    free(last);
    if (whole) {
        words[size - 1] = '\0';
        return words;
    }
    free(words);
    return NULL;
}

char *tnd_adapted_file_read(const tnd_plan_t *plan, uint32_t host, uint64_t key, uint64_t rows)
{
    char *words = NULL;
    if (has_checkpoints(plan, host))
        words = read_words(path_of(plan->checkpoint->dir, key, rows));
    return words != NULL ? words : read_words(path_in_cache(key, rows));
}

void tnd_adapted_file_write(const tnd_plan_t *plan, uint32_t host, uint64_t key, uint64_t rows,
                            const char *words)
{
    tnd_draft_t draft;
    char *path = has_checkpoints(plan, host) ? path_of(plan->checkpoint->dir, key, rows)
                                             : path_in_cache(key, rows);
    char *line = tnd_format_string("%s\n", words);
    bool good = tnd_draft_open(&draft, path);
    good = good && dprintf(draft.file, "%shash %016" PRIx64 "\n", line,
                           XXH3_64bits(line, strlen(line))) > 0;
    (void)unlink(path);
    if (good)
        (void)tnd_draft_publish(&draft);
    tnd_draft_close(&draft);
    free(line);
    free(path);
}
