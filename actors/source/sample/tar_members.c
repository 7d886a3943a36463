/*  actors/source/sample/tar_members.c - the files in a tar archive, by libarchive. */
#include "actors/source/sample/tar_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

enum { VIEW_BYTES = 1 << 18, BLOCK = 512, WATCH_BYTES = 1 << 20, MAGIC_BYTES = 4 };
/*  Of a header: the offsets of its fields. */
enum { SIZE_AT = 124, SIZE_DIGITS = 11, TYPE_AT = 156, MAGIC_AT = 257, REAL_SIZE_AT = 483 };

/*  What libarchive was given last, and the bytes before it: it does not show all of a header. */
typedef struct {
    const uint8_t *data;
    size_t size;
    uint64_t at; /* byte of the uncompressed archive */
    uint8_t before[BLOCK];
} given_t;

struct tnd_tar_members {
    tnd_content_t *content;
    struct archive *archive;
    size_t at; /* bytes of the file that libarchive has got, if it is not compressed */
    given_t given;
    uint64_t next;            /* byte of the next header, where the last one was right */
    size_t watched;           /* bytes of the file that were reported */
    tnd_decompress_t *stream; /* NULL: the file is not compressed */
    uint8_t *piece;           /* of its content, which libarchive reads */
    bool refused, told;       /* the stream is damaged or cut; that was reported */
    bool failed;
    tnd_error_t error; /* of the file, if failed; of the stream, if refused */
    bool begun, ended, found, marked;
    char extension[TND_COLUMN_NAME_MAX + 1];
    char damage[256];
};

tnd_compression_t tnd_tar_compression(const uint8_t *data, size_t size)
{
    tnd_compression_t seen = size >= MAGIC_BYTES ? tnd_compression_of(data, size) : 0;
    /* The name of a first file may begin as zlib does. */
    return seen == TND_COMPRESSION_ZLIB ? TND_COMPRESSION_NONE : seen;
}

void tnd_tar_lower_case(char *text)
{
    for (; *text != '\0'; text++)
        *text = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
}

static la_ssize_t fail_read(tnd_tar_members_t *self, struct archive *archive)
{
    self->failed = true;
    archive_set_error(archive, -1, "the file cannot be read");
    return -1;
}

/*  To be called before the last piece becomes invalid. */
static void keep_tail(given_t *self)
{
    size_t some = self->size < BLOCK ? self->size : BLOCK;
    memmove(self->before, self->before + some, BLOCK - some);
    if (some > 0)
        memcpy(self->before + BLOCK - some, self->data + self->size - some, some);
    self->at += self->size;
    self->size = 0;
}

static la_ssize_t hand_over(given_t *self, const uint8_t *data, size_t size, const void **data_p)
{
    self->data = data;
    self->size = size;
    *data_p = data;
    return (la_ssize_t)size;
}

/*  Copies the block before byte `end`; false: it is not among what was given last. */
static bool copy_block(const given_t *self, uint64_t end, uint8_t out[BLOCK])
{
    if (end < self->at || end > self->at + self->size)
        return false;
    size_t here = end - self->at < BLOCK ? (size_t)(end - self->at) : BLOCK;
    memcpy(out, self->before + here, BLOCK - here);
    if (here > 0)
        memcpy(out + BLOCK - here, self->data + (end - self->at) - here, here);
    return true;
}

/*  To libarchive a stream that is damaged or cut just ends. */
static la_ssize_t give_content(tnd_tar_members_t *self, struct archive *archive,
                               const void **data_p)
{
    size_t size = 0;
    keep_tail(&self->given);
    tnd_status_t status =
        tnd_decompress_read(self->stream, self->piece, VIEW_BYTES, &size, &self->error);
    self->refused = status == TND_REFUSED;
    if (status != TND_OK && !self->refused)
        return fail_read(self, archive);
    return hand_over(&self->given, self->piece, self->refused ? 0 : size, data_p);
}

static la_ssize_t give(struct archive *archive, void *context, const void **data_p)
{
    tnd_tar_members_t *self = context;
    if (self->stream != NULL)
        return give_content(self, archive, data_p);
    size_t left = self->content->size - self->at;
    size_t some = self->content->mapping == NULL && left > VIEW_BYTES ? VIEW_BYTES : left;
    const uint8_t *data = NULL;
    keep_tail(&self->given);
    self->given.at = self->at;
    if (tnd_content_view(self->content, self->at, some, &data, &self->error) != TND_OK)
        return fail_read(self, archive);
    self->at += some;
    return hand_over(&self->given, data, some, data_p);
}

/*  Of content that has to be decompressed nothing can be skipped: it is then read. */
static la_int64_t skip(struct archive *archive, void *context, la_int64_t bytes)
{
    tnd_tar_members_t *self = context;
    (void)archive;
    size_t left = self->stream == NULL ? self->content->size - self->at : 0;
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
    /* Names are bytes: no locale can refuse them. */
    (void)archive_read_set_option(self->archive, "tar", "hdrcharset", "BINARY");
    (void)archive_read_set_option(self->archive, "tar", "read_concatenated_archives", "1");
    return self;
}

void tnd_tar_members_destroy(tnd_tar_members_t **self_p)
{
    tnd_tar_members_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    (void)archive_read_free(self->archive);
    tnd_decompress_destroy(&self->stream);
    free(self->piece);
    free(self);
}

/*  Splits the name of a file; false: it has no key or no extension. */
static bool split(tnd_tar_members_t *self, tnd_tar_member_t *member)
{
    const char *slash = strrchr(member->path, '/');
    const char *name = slash != NULL ? slash + 1 : member->path, *dot = strchr(name, '.');
    if (dot == NULL || dot == name)
        return false;
    member->key = member->path;
    member->key_size = (size_t)(dot - member->path);
    snprintf(self->extension, sizeof self->extension, "%s", dot + 1);
    tnd_tar_lower_case(self->extension);
    member->extension = self->extension;
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

/*  Reports how many bytes of the file were read; of a compressed one the stream does. */
static void watch(tnd_tar_members_t *self)
{
    size_t at = (size_t)archive_filter_bytes(self->archive, -1);
    if (self->stream != NULL || self->content->watch == NULL || at < self->watched + WATCH_BYTES)
        return;
    self->watched = at;
    self->content->watch(self->content->watcher, at);
}

static tnd_status_t open_archive(tnd_tar_members_t *self, tnd_error_t *error)
{
    const uint8_t *head;
    TND_TRY(tnd_content_view(self->content, 0, MAGIC_BYTES, &head, error));
    tnd_compression_t compression = tnd_tar_compression(head, self->content->size);
    if (compression != TND_COMPRESSION_NONE) {
        self->stream = tnd_decompress_new(self->content, compression);
        self->piece = tnd_allocate(VIEW_BYTES, 1);
    }
    if (archive_read_open2(self->archive, self, NULL, give, skip, NULL) == ARCHIVE_OK)
        return TND_OK;
    return refuse(self, self->refused ? self->error.text : archive_error_string(self->archive),
                  error);
}

/*  Bytes of the archive that libarchive has used. */
static uint64_t used(const tnd_tar_members_t *self)
{
    return (uint64_t)archive_filter_bytes(self->archive, 0);
}

/*  Remembers where and why no header follows; TND_END: all was read. */
static tnd_status_t end_members(tnd_tar_members_t *self, int code, tnd_tar_member_t *member)
{
    const char *why = archive_error_string(self->archive);
    bool refused = self->refused && !self->told;
    self->ended = code != ARCHIVE_RETRY;
    self->marked = used(self) > (uint64_t)archive_read_header_position(self->archive);
    if (code == ARCHIVE_EOF && !refused)
        return TND_END;
    snprintf(self->damage, sizeof self->damage, "%s",
             refused       ? self->error.text
             : why != NULL ? why
                           : "damaged");
    self->told = self->told || refused;
    uint64_t at = code == ARCHIVE_RETRY ? used(self) - BLOCK : used(self);
    member->at = at > self->next ? at : self->next;
    member->damage = self->damage;
    self->next = member->at + BLOCK;
    return TND_OK;
}

/*  The byte of the header, before which there may be the mark of another archive's end. */
static uint64_t header_at(tnd_tar_members_t *self)
{
    static const uint8_t zeros[BLOCK];
    uint64_t at = (uint64_t)archive_read_header_position(self->archive);
    const uint8_t *data = self->content->mapping != NULL && self->stream == NULL
                              ? tnd_mapping_data(self->content->mapping)
                              : NULL;
    while (data != NULL && at + BLOCK <= self->content->size &&
           memcmp(data + at, zeros, BLOCK) == 0)
        at += BLOCK;
    return at;
}

/*  The size in a header: octal digits or, after a byte with its first bit set, binary.  libarchive
 *  has refused one that is negative or too large. */
static uint64_t number_of(const uint8_t *field)
{
    char digits[SIZE_DIGITS + 1] = "";
    uint64_t number = 0;
    memcpy(digits, field, SIZE_DIGITS);
    if ((field[0] & 0x80) == 0)
        return strtoull(digits, NULL, 8);
    for (size_t i = 1; i <= SIZE_DIGITS; i++)
        number = number << 8 | field[i];
    return number;
}

/*  The stored bytes of a file.  libarchive takes the size of any GNU header from where that of a
 *  sparse file has it; other writers have something else there. */
static uint64_t size_of(const tnd_tar_members_t *self, struct archive_entry *entry)
{
    uint8_t header[BLOCK];
    uint64_t size = (uint64_t)archive_entry_size(entry);
    if (archive_entry_sparse_count(entry) > 0 || !copy_block(&self->given, used(self), header) ||
        memcmp(header + MAGIC_AT, "ustar  ", 8) != 0 || header[TYPE_AT] == 'S' ||
        header[REAL_SIZE_AT] == 0)
        return size;
    return number_of(header + SIZE_AT);
}

/*  The file of a header; false: it is something else, such as a folder. */
static bool describe(tnd_tar_members_t *self, struct archive_entry *entry, tnd_tar_member_t *member)
{
    uint64_t offset = used(self), size = size_of(self, entry);
    unsigned type = archive_entry_filetype(entry);
    bool file = type == AE_IFREG;
    const char *path = archive_entry_pathname(entry);
    *member = (tnd_tar_member_t){.at = header_at(self), .offset = offset};
    self->next = tnd_round_up(offset + (file ? size : 0), BLOCK);
    member->path = path != NULL ? path : archive_entry_pathname_utf8(entry);
    member->symbolic = type == AE_IFLNK;
    if (member->symbolic)
        member->link = archive_entry_symlink(entry);
    else if (!file || size == 0) /* a hard link of PAX may have its own bytes */
        member->link = archive_entry_hardlink(entry);
    member->size = file && member->link == NULL ? size : 0;
    member->sparse = archive_entry_sparse_count(entry) > 0;
    return member->path != NULL && (file || member->link != NULL);
}

tnd_status_t tnd_tar_members_any(tnd_tar_members_t *self, tnd_tar_member_t *member,
                                 tnd_error_t *error)
{
    if (self->content->size == 0)
        return TND_END;
    if (!self->begun)
        TND_TRY(open_archive(self, error));
    self->begun = true;
    while (!self->ended) {
        struct archive_entry *entry;
        *member = (tnd_tar_member_t){0};
        int code = archive_read_next_header(self->archive, &entry);
        if (self->failed)
            return refuse(self, NULL, error);
        bool valid = code == ARCHIVE_OK || code == ARCHIVE_WARN;
        tnd_status_t status = valid ? TND_OK : end_members(self, code, member);
        if (status == TND_OK && code == ARCHIVE_FATAL && !self->found)
            return refuse(self, self->damage, error);
        self->found = self->found || valid;
        watch(self);
        if (!valid)
            return status;
        if (describe(self, entry, member)) {
            (void)split(self, member);
            return TND_OK;
        }
    }
    return TND_END;
}

tnd_status_t tnd_tar_members_next(tnd_tar_members_t *self, tnd_tar_member_t *member,
                                  tnd_error_t *error)
{
    do
        TND_TRY(tnd_tar_members_any(self, member, error));
    while (member->damage == NULL && member->key == NULL);
    return TND_OK;
}

bool tnd_tar_members_marked(const tnd_tar_members_t *self)
{
    return self->marked;
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
        why = self->refused ? self->error.text : why;
        self->told = self->told || self->refused;
        self->ended = self->ended || self->refused || got == ARCHIVE_FATAL;
        (void)tnd_fail(error, "it has %zu of its %zu bytes (%.120s)", done, size,
                       why != NULL ? why : "the archive ends");
        return TND_REFUSED;
    }
    return TND_OK;
}
