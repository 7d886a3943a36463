/*  tools/remote/page_mirror.c - a copy of the statistics file of a host on another machine. */
#include "tools/remote/page_mirror.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "tools/remote/remote_clock.h"

enum { BLOCKS_MAX = TND_PAGE_MIRROR_BYTES_MAX / TND_LOOK_BLOCK_BYTES };

struct tnd_page_mirror {
    int file; /* in memory; -1: none */
    uint8_t *memory;
    uint64_t life, blocks, hosts;
    uint64_t since, at; /* of the next question */
    uint64_t begun;     /* the comparison that this sweep began with */
    uint64_t there_ns;  /* time of the host when it gave its last answer */
    uint64_t heard_ns, swept_ns;
};

tnd_page_mirror_t *tnd_page_mirror_new(void)
{
    tnd_page_mirror_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->file = -1;
    return self;
}

/*  Forgets the file. */
static void empty(tnd_page_mirror_t *self)
{
    if (self->file >= 0) {
        munmap(self->memory, self->blocks * TND_LOOK_BLOCK_BYTES);
        close(self->file);
    }
    *self = (tnd_page_mirror_t){.file = -1, .heard_ns = self->heard_ns, .hosts = self->hosts};
}

void tnd_page_mirror_free(tnd_page_mirror_t *self)
{
    if (self == NULL)
        return;
    empty(self);
    free(self);
}

tnd_look_question_t tnd_page_mirror_question(const tnd_page_mirror_t *self)
{
    return (tnd_look_question_t){.life = self->life, .since = self->since, .from = self->at};
}

/*  Begins the copy of another file, which is zero. */
static tnd_status_t begin(tnd_page_mirror_t *self, const tnd_look_answer_t *answer,
                          tnd_error_t *error)
{
    size_t size = answer->blocks * TND_LOOK_BLOCK_BYTES;
    empty(self);
    int file = memfd_create("tundish pages", MFD_CLOEXEC);
    void *memory = file >= 0 && ftruncate(file, (off_t)size) == 0
                       ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
        int number = errno;
        if (file >= 0)
            close(file);
        return tnd_fail(error, "cannot allocate %zu bytes for its statistics: %s", size,
                        strerror(number));
    }
    self->file = file;
    self->memory = memory;
    self->life = answer->life;
    self->blocks = answer->blocks;
    return TND_OK;
}

static tnd_status_t check(const tnd_look_answer_t *answer, size_t size, tnd_error_t *error)
{
    if (size < sizeof *answer || size > TND_LOOK_BYTES || size % sizeof(uint64_t) != 0)
        return tnd_fail(error, "its answer of %zu bytes is damaged", size);
    if (answer->version != TND_PAGES_VERSION)
        return tnd_fail(error,
                        "its statistics have version %" PRIu64 ", those here %d; install the same "
                        "version on both machines",
                        answer->version, TND_PAGES_VERSION);
    if (answer->blocks == 0)
        return tnd_fail(error, "its statistics file could not be created; its log says why");
    if (answer->blocks > BLOCKS_MAX)
        return tnd_fail(error, "its statistics are larger than %d MiB",
                        TND_PAGE_MIRROR_BYTES_MAX >> 20);
    if (answer->from > answer->to || answer->to > answer->blocks)
        return tnd_fail(error, "its answer is damaged: it is about blocks that its file lacks");
    return TND_OK;
}

/*  Copies the blocks, which come in order. */
static tnd_status_t copy_blocks(tnd_page_mirror_t *self, const tnd_look_answer_t *answer,
                                const uint8_t *at, const uint8_t *end, tnd_error_t *error)
{
    uint64_t least = answer->from;
    while (at < end) {
        uint64_t head, words[TND_LOOK_BLOCK_WORDS] = {0};
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        uint64_t block = head >> 8;
        if (block < least || block >= answer->to)
            return tnd_fail(error, "its answer is damaged: a block is not where it belongs");
        least = block + 1;
        for (unsigned w = 0; w < TND_LOOK_BLOCK_WORDS; w++) {
            if (!(head >> w & 1))
                continue;
            if (at == end)
                return tnd_fail(error, "its answer is damaged: it ends inside of a block");
            memcpy(&words[w], at, sizeof words[w]);
            at += sizeof words[w];
        }
        memcpy(&self->memory[block * TND_LOOK_BLOCK_BYTES], words, sizeof words);
    }
    return TND_OK;
}

static tnd_status_t apply(tnd_page_mirror_t *self, const tnd_look_answer_t *answer,
                          const uint8_t *blocks, const uint8_t *end, uint64_t now,
                          tnd_error_t *error)
{
    bool begins = answer->life != self->life || self->file < 0;
    if (begins && (answer->since != 0 || answer->from != 0)) {
        empty(self);
        return TND_OK; /* the next question begins anew */
    }
    if (begins)
        TND_TRY(begin(self, answer, error));
    if (answer->since != self->since || answer->from != self->at || answer->blocks != self->blocks)
        return TND_OK;
    TND_TRY(copy_blocks(self, answer, blocks, end, error));
    if (answer->from == 0)
        self->begun = answer->number;
    self->at = answer->to;
    if (answer->to < answer->blocks)
        return TND_OK;
    self->at = 0;
    self->since = self->begun;
    self->swept_ns = now;
    return TND_OK;
}

tnd_status_t tnd_page_mirror_apply(tnd_page_mirror_t *self, const void *bytes, size_t size,
                                   uint64_t now, tnd_error_t *error)
{
    tnd_look_answer_t answer = {.version = 0};
    const uint8_t *at = bytes;
    memcpy(&answer, bytes, size < sizeof answer ? size : sizeof answer);
    tnd_status_t status = check(&answer, size, error);
    self->heard_ns = now;
    if (status == TND_OK) {
        self->hosts = answer.hosts;
        status = apply(self, &answer, at + sizeof answer, at + size, now, error);
    }
    self->there_ns = answer.now_ns;
    if (status != TND_OK)
        empty(self);
    return status;
}

uint64_t tnd_page_mirror_heard(const tnd_page_mirror_t *self)
{
    return self->heard_ns;
}

uint64_t tnd_page_mirror_swept(const tnd_page_mirror_t *self)
{
    return self->swept_ns;
}

bool tnd_page_mirror_is_whole(const tnd_page_mirror_t *self)
{
    return self->swept_ns != 0 && self->at == 0;
}

uint64_t tnd_page_mirror_hosts(const tnd_page_mirror_t *self)
{
    return self->hosts;
}

tnd_status_t tnd_page_mirror_process(const tnd_page_mirror_t *self, tnd_look_t look,
                                     tnd_inspected_t *process, tnd_error_t *error)
{
    const char *why = tnd_inspected_copy(process, self->file, look);
    if (why != NULL)
        return tnd_fail(error, "its statistics cannot be shown: %s", why);
    tnd_remote_clock_convert(process, self->there_ns, self->heard_ns);
    return TND_OK;
}
