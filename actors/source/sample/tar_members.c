/*  actors/source/sample/tar_members.c - the files in a tar archive, by libarchive. */
#include "actors/source/sample/tar_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <archive.h>
#include <archive_entry.h>

#include "runtime/base/allocation.h"
#include "runtime/base/round_up.h"

enum { VIEW_BYTES = 1 << 18, BLOCK = 512, WATCH_BYTES = 1 << 20 };

struct tnd_tar_members {
    tnd_content_t *content;
    struct archive *archive;
    size_t at;      /* bytes of the file that libarchive has got */
    uint64_t next;  /* byte of the next header, where the last one was right */
    size_t watched; /* bytes of the file that were reported */
    bool failed;
    tnd_error_t error;        /* of the file, if failed */
    bool begun, ended, found; /* a header was found */
    char damage[128];
};

bool tnd_tar_is_compressed(const uint8_t *data, size_t size)
{
    return size >= 4 &&
           ((data[0] == 0x1f && data[1] == 0x8b) || memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0);
}

static la_ssize_t give(struct archive *archive, void *context, const void **data_p)
{
    tnd_tar_members_t *self = context;
    size_t left = self->content->size - self->at;
    size_t some = self->content->mapping == NULL && left > VIEW_BYTES ? VIEW_BYTES : left;
    const uint8_t *data = NULL;
    if (tnd_content_view(self->content, self->at, some, &data, &self->error) != TND_OK) {
        self->failed = true;
        archive_set_error(archive, -1, "the file cannot be read");
        return -1;
    }
    *data_p = data;
    self->at += some;
    return (la_ssize_t)some;
}

static la_int64_t skip(struct archive *archive, void *context, la_int64_t bytes)
{
    tnd_tar_members_t *self = context;
    (void)archive;
    size_t left = self->content->size - self->at;
    size_t some = (uint64_t)bytes < left ? (size_t)bytes : left;
    self->at += some;
    return (la_int64_t)some;
}

tnd_tar_members_t *tnd_tar_members_new(tnd_content_t *content)
{
    tnd_tar_members_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->content = content;
    self->archive = tnd_require_memory(archive_read_new());
    (void)archive_read_support_format_tar(self->archive);
    (void)archive_read_support_filter_gzip(self->archive);
    (void)archive_read_support_filter_zstd(self->archive);
    /* Names are bytes: no locale can refuse them. */
    (void)archive_read_set_option(self->archive, "tar", "hdrcharset", "BINARY");
    return self;
}

void tnd_tar_members_destroy(tnd_tar_members_t **self_p)
{
    tnd_tar_members_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    (void)archive_read_free(self->archive);
    free(self);
}

/*  Splits the name of a file; false: it has no key or no extension. */
static bool split(const char *path, tnd_tar_member_t *member)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path, *dot = strchr(name, '.');
    if (dot == NULL || dot == name)
        return false;
    member->key = path;
    member->key_size = (size_t)(dot - path);
    member->extension = dot + 1;
    return true;
}

static tnd_status_t refuse(const tnd_tar_members_t *self, const char *why, tnd_error_t *error)
{
    if (self->failed)
        return tnd_fail(error, "%s", self->error.text);
    return tnd_fail(error, "%s: cannot be read as a tar archive: %s, at byte %llu",
                    self->content->path, why != NULL ? why : "damaged",
                    (unsigned long long)self->next);
}

/*  Reports how many bytes of the file were read. */
static void watch(tnd_tar_members_t *self)
{
    size_t at = (size_t)archive_filter_bytes(self->archive, -1);
    if (self->content->watch == NULL || at < self->watched + WATCH_BYTES)
        return;
    self->watched = at;
    self->content->watch(self->content->watcher, at);
}

/*  The next header; *entry_p: NULL if it is damaged. */
static tnd_status_t next_header(tnd_tar_members_t *self, struct archive_entry **entry_p,
                                tnd_error_t *error)
{
    *entry_p = NULL;
    if (self->ended)
        return TND_END;
    int code = archive_read_next_header(self->archive, entry_p);
    if (self->failed)
        return refuse(self, NULL, error);
    if (code == ARCHIVE_EOF) {
        self->ended = true;
        return TND_END;
    }
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) {
        self->found = true;
        return TND_OK;
    }
    const char *why = archive_error_string(self->archive);
    snprintf(self->damage, sizeof self->damage, "%s", why != NULL ? why : "damaged");
    *entry_p = NULL;
    self->ended = code == ARCHIVE_FATAL;
    if (self->found || !self->ended)
        return TND_OK;
    return refuse(self, self->damage, error);
}

tnd_status_t tnd_tar_members_next(tnd_tar_members_t *self, tnd_tar_member_t *member,
                                  tnd_error_t *error)
{
    bool first = !self->begun;
    self->begun = true;
    if (first && archive_read_open2(self->archive, self, NULL, give, skip, NULL) != ARCHIVE_OK)
        return refuse(self, archive_error_string(self->archive), error);
    for (;;) {
        struct archive_entry *entry;
        TND_TRY(next_header(self, &entry, error));
        *member = (tnd_tar_member_t){.at = self->next};
        if (entry == NULL) {
            member->damage = self->damage;
            self->next += BLOCK;
            return TND_OK;
        }
        uint64_t offset = (uint64_t)archive_filter_bytes(self->archive, 0);
        uint64_t size = (uint64_t)archive_entry_size(entry);
        bool file = archive_entry_filetype(entry) == AE_IFREG;
        const char *path = archive_entry_pathname(entry);
        self->next = tnd_round_up(offset + (file ? size : 0), BLOCK);
        watch(self);
        if (path == NULL)
            path = archive_entry_pathname_utf8(entry);
        if (path == NULL || !file || archive_entry_hardlink(entry) != NULL || !split(path, member))
            continue;
        member->at = (uint64_t)archive_read_header_position(self->archive);
        member->offset = offset;
        member->size = size;
        member->sparse = archive_entry_sparse_count(entry) > 0;
        return TND_OK;
    }
}

tnd_status_t tnd_tar_members_read(tnd_tar_members_t *self, uint8_t *out, size_t size,
                                  tnd_error_t *error)
{
    for (size_t done = 0; done < size;) {
        la_ssize_t got = archive_read_data(self->archive, out + done, size - done);
        if (self->failed)
            return tnd_fail(error, "%s", self->error.text);
        if (got > 0) {
            done += (size_t)got;
            watch(self);
            continue;
        }
        const char *why = got < 0 ? archive_error_string(self->archive) : NULL;
        self->ended = self->ended || got == ARCHIVE_FATAL;
        (void)tnd_fail(error, "it has %zu of its %zu bytes (%.80s)", done, size,
                       why != NULL ? why : "the archive ends");
        return TND_REFUSED;
    }
    return TND_OK;
}
