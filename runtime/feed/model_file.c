/*  runtime/feed/model_file.c - the file of a model at the end of a run. */
#include "runtime/feed/model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"
#include "runtime/core/numeric/digest.h"

static tnd_status_t hash_file(const char *file, char text[33], tnd_error_t *error)
{
    FILE *in = fopen(file, "rb");
    XXH3_state_t *state = tnd_require_memory(XXH3_createState());
    XXH3_128bits_reset(state);
    char bytes[16384];
    for (size_t got; in != NULL && (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        XXH3_128bits_update(state, bytes, got);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    bool whole = in != NULL && !ferror(in);
    int reason = errno;
    if (in != NULL)
        fclose(in);
    if (!whole)
        return tnd_fail(error, "%s cannot be read: %s", file, strerror(reason));
    tnd_digest_print(&(tnd_digest_t){.low = hash.low64, .high = hash.high64}, text);
    return TND_OK;
}

typedef struct {
    tnd_model_write_fn *write;
    void *context;
} model_t;

static tnd_status_t fill(const model_t *model, const char *file, char text[33], tnd_error_t *error)
{
    TND_TRY(model->write(model->context, file, error));
    return hash_file(file, text, error);
}

/*  A file that is only hashed is in memory, because a full disk would lose the result of the run;
 *  it is on disk if the memory is too small. */
static tnd_status_t save_nowhere(const model_t *model, char text[33], tnd_error_t *error)
{
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL || *temporary == '\0')
        temporary = "/tmp";
    const char *const folders[] = {"/dev/shm", temporary};
    tnd_status_t status = TND_FAILED;
    for (size_t i = 0; i < 2 && status != TND_OK; i++) {
        char file[4200];
        snprintf(file, sizeof file, "%s/tundish-model-XXXXXX", folders[i]);
        int fd = mkostemp(file, O_CLOEXEC);
        if (fd < 0) {
            status = tnd_fail(error, "%s cannot be made: %s; name another folder in TMPDIR", file,
                              strerror(errno));
            continue;
        }
        close(fd);
        status = fill(model, file, text, error);
        unlink(file);
    }
    return status;
}

/*  The file replaces the old one atomically, and survives a power failure. */
static tnd_status_t put(const char *file, const char *place, tnd_error_t *error)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    if (good && rename(file, place) == 0 && tnd_folder_sync_of(place))
        return TND_OK;
    return tnd_fail(error, "%s cannot be written: %s", place, strerror(good ? errno : reason));
}

tnd_status_t tnd_model_file_save(tnd_model_write_fn *write, void *context, const char *place,
                                 char text[33], tnd_error_t *error)
{
    const model_t model = {write, context};
    if (place == NULL)
        return save_nowhere(&model, text, error);
    char file[4200];
    snprintf(file, sizeof file, "%s.%d.tmp", place, (int)getpid());
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return tnd_fail(error, "%s cannot be made: %s", file, strerror(errno));
    close(fd);
    tnd_status_t status = fill(&model, file, text, error);
    if (status == TND_OK)
        status = put(file, place, error);
    if (status != TND_OK)
        unlink(file);
    return status;
}
