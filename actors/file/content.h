/*  actors/file/content.h - the bytes of one file, mapped or read.
 *
 *  A mapped file needs no copy, but a page that its server cannot deliver raises a signal.  So
 *  files on network and user-space file systems are read by pread, unless the caller says
 *  otherwise.  Transient failures there (EIO, ESTALE, EAGAIN, ETIMEDOUT) are retried, with pauses
 *  of 10 ms doubling up to 1 s, for as long as the scope allows.
 *
 *  A mapped file keeps no descriptor.  One that is read stays open as long as there are descriptors
 *  for it (open_files.h).  Otherwise each read opens it, and fails if the file has shrunk or is not
 *  the one that was opened at first.
 *
 *  Threads: open, view and close on one; read, ahead and check on any number at once. */
#ifndef TND_ACTORS_FILE_CONTENT_H
#define TND_ACTORS_FILE_CONTENT_H

#include "runtime/data/mapping.h"
#include "runtime/data/open_files.h"
#include "runtime/interface/source.h"

typedef struct {
    const char *path; /* borrowed */
    size_t size;
    int64_t modified_ns;    /* modification time since 1970, when it was opened */
    tnd_mapping_t *mapping; /* NULL: it is read */
    bool is_read;           /* by its path, where it is not kept open */
    tnd_kept_file_t *kept;  /* NULL: it is not */
    int file;               /* a descriptor until tnd_content_rest, or of the caller; -1: none */
    dev_t device;           /* of a file that is read, when it was opened */
    ino_t inode;
    bool at_random; /* rows are read in random order */
    uint64_t retry_ns;
    uint8_t *seen; /* of the last view, if the file is read */
    size_t seen_offset, seen_size;
    /*  Called with an offset about once per MiB that a window shows; NULL: not. */
    void (*watch)(void *watcher, size_t at);
    void *watcher;
} tnd_content_t;

/*  Opens a file, which must be regular and not empty.  `path` is borrowed. */
tnd_status_t tnd_content_open(tnd_content_t *self, const char *path,
                              const tnd_source_scope_t *scope, tnd_error_t *error) TND_CHECKED;
/*  The same of a file whose descriptor is taken; -1: it is opened. */
tnd_status_t tnd_content_adopt(tnd_content_t *self, const char *path, int file,
                               const tnd_source_scope_t *scope, tnd_error_t *error) TND_CHECKED;
/*  From now on a file that is read stays open only as long as there are descriptors for it.  Call it
 *  of files that stay open, before other threads read them. */
void tnd_content_rest(tnd_content_t *self);
/*  Returns TND_FAILED if the file is mapped and what was read of it may have been zeros
 *  (mapped.h). */
tnd_status_t tnd_content_intact(const tnd_content_t *self, tnd_error_t *error) TND_CHECKED;
/*  Idempotent; nothing to do after a failed open. */
void tnd_content_close(tnd_content_t *self);

/*  Switches to reading the file, not mapping it. */
tnd_status_t tnd_content_unmap(tnd_content_t *self, tnd_error_t *error) TND_CHECKED;
/*  Announces how rows will be used, as tnd_mapping_advise. */
void tnd_content_advise(tnd_content_t *self, tnd_access_pattern_t pattern, bool fits);
/*  Whether rows have to be requested ahead. */
bool tnd_content_by_rows(const tnd_content_t *self);
/*  Requests bytes [offset, offset + size), which will be used soon, and returns at once.  Returns
 *  false if all of them were requested before. */
bool tnd_content_ahead(const tnd_content_t *self, size_t offset, size_t size);

/*  Returns bytes [offset, offset + size), or up to the end of the file.  Valid until the next view
 *  or tnd_content_forget; of a mapped file until it is closed. */
tnd_status_t tnd_content_view(tnd_content_t *self, size_t offset, size_t size,
                              const uint8_t **data_p, tnd_error_t *error) TND_CHECKED;
void tnd_content_forget(tnd_content_t *self);

/*  Shows bytes of a file from a moving offset on. */
typedef struct {
    tnd_content_t *content;
    size_t populated; /* of a mapped file: bytes before it are in memory */
} tnd_content_window_t;

/*  Bytes from `at` on: `least`, or fewer at the end of the file, and maybe more.  Valid until the
 *  next call. */
tnd_status_t tnd_content_window(tnd_content_window_t *self, size_t at, size_t least,
                                const uint8_t **data_p, size_t *size_p,
                                tnd_error_t *error) TND_CHECKED;

/*  Copies bytes [offset, offset + size) of a file that is read. */
tnd_status_t tnd_content_read(const tnd_content_t *self, size_t offset, size_t size, void *out,
                              tnd_error_t *error) TND_CHECKED;

/*  A hash of all bytes of the file at `path`, read once from start to end.  Errors: TND_FAILED if
 *  it cannot be read or its size is not `size`. */
tnd_status_t tnd_content_whole(const char *path, size_t size, uint64_t retry_ns, uint64_t hash[2],
                               tnd_error_t *error) TND_CHECKED;

/*  A hash of the size and the first and last 64 KiB, of bytes in memory or of the file. */
uint64_t tnd_content_hash(const void *data, size_t size);
tnd_status_t tnd_content_identity(tnd_content_t *self, uint64_t *identity_p,
                                  tnd_error_t *error) TND_CHECKED;

#endif
