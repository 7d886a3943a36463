/*  Covers transport/zmq/peer_memory.h and runtime/data/shared_memory.h: a process reads what another
 *  one wrote, where it is; whatever is not such a memory is refused. */
#include "transport/zmq/peer_memory.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/logging.h>

enum { PIECE = 100000, KIND_AT = 1, NUMBER_AT = 8, KEY_AT = 16, PROCESS_AT = 32, FILE_AT = 36 };

/*  Both ends of a connection, in one process. */
typedef struct {
    tnd_pool_t *pool;
    tnd_buffer_t *buffer;
    tnd_peer_memory_t sender, receiver;
    uint8_t offer[TND_PEER_NOTE_BYTES], answer[TND_PEER_NOTE_BYTES];
} ends_t;

static tnd_buffer_t *take_filled(tnd_pool_t *pool, uint8_t value)
{
    tnd_buffer_t *buffer = tnd_pool_take(pool);
    cr_assert_eq(tnd_buffer_kind(buffer), TND_BUFFER_SHARED);
    tnd_buffer_trim(buffer, PIECE - 5);
    memset(tnd_buffer_data(buffer), value, PIECE - 5);
    tnd_buffer_seal(buffer);
    return buffer;
}

static void ends_open(ends_t *self)
{
    *self = (ends_t){.pool = tnd_pool_new_shared(PIECE, 2)};
    self->buffer = take_filled(self->pool, 7);
    cr_assert_eq(tnd_peer_memory_offer(&self->sender, self->buffer, self->offer), TND_OFFER_NEW);
}

static void ends_close(ends_t *self)
{
    tnd_peer_memory_fini(&self->sender);
    tnd_peer_memory_fini(&self->receiver);
    tnd_buffer_drop(&self->buffer);
    tnd_pool_destroy(&self->pool);
}

/*  Passes a note on; returns whether it is answered. */
static bool pass(tnd_peer_memory_t *to, const uint8_t *note, uint8_t *answer)
{
    bool answers;
    tnd_error_t error;
    cr_assert(tnd_peer_memory_is_note(note, TND_PEER_NOTE_BYTES));
    cr_assert_eq(tnd_peer_memory_note(to, note, TND_PEER_NOTE_BYTES, answer, &answers, &error),
                 TND_OK, "%s", error.text);
    return answers;
}

static void agree(ends_t *self)
{
    cr_assert(pass(&self->receiver, self->offer, self->answer));
    cr_assert_not(pass(&self->sender, self->answer, self->offer));
}

static bool refuses(tnd_peer_memory_t *to, const void *note, size_t size)
{
    uint8_t answer[TND_PEER_NOTE_BYTES];
    bool answers;
    tnd_error_t error = {.text = ""};
    bool failed = tnd_peer_memory_note(to, note, size, answer, &answers, &error) == TND_FAILED;
    return failed && error.text[0] != '\0';
}

Test(peer_memory, a_buffer_is_read_where_it_is)
{
    ends_t self;
    uint8_t reference[TND_PEER_REFERENCE_BYTES];
    tnd_buffer_t *read;
    ends_open(&self);
    cr_assert_eq(tnd_peer_memory_offer(&self.sender, self.buffer, self.offer), TND_OFFER_PENDING);
    agree(&self);
    tnd_buffer_t *second = take_filled(self.pool, 9);

    cr_assert_eq(tnd_peer_memory_offer(&self.sender, second, self.offer), TND_OFFER_TAKEN);
    tnd_peer_memory_refer(&self.sender, second, reference);
    cr_assert_eq(tnd_peer_memory_read(&self.receiver, reference, sizeof reference, &read, NULL),
                 TND_OK);
    cr_assert_eq(tnd_buffer_size(read), PIECE - 5);
    cr_assert_neq(tnd_buffer_data(read), tnd_buffer_data(second), "it is mapped once more");
    cr_assert_eq(memcmp(tnd_buffer_data(read), tnd_buffer_data(second), PIECE - 5), 0);

    /* A buffer outlives the connection that it came by. */
    tnd_peer_memory_fini(&self.receiver);
    cr_assert_eq(((uint8_t *)tnd_buffer_data(read))[PIECE - 6], 9);
    tnd_buffer_drop(&read);
    tnd_buffer_drop(&second);
    ends_close(&self);
}

Test(peer_memory, further_buffers_of_a_pool_are_on_the_heap_and_are_sent)
{
    ends_t self;
    uint8_t note[TND_PEER_NOTE_BYTES];
    ends_open(&self);
    tnd_buffer_t *second = take_filled(self.pool, 1), *third = tnd_pool_take(self.pool);

    cr_assert_eq(tnd_buffer_kind(third), TND_BUFFER_HEAP);
    cr_assert_eq(tnd_peer_memory_offer(&self.sender, third, note), TND_OFFER_REFUSED);
    tnd_buffer_drop(&third);
    tnd_buffer_drop(&second);
    ends_close(&self);
}

/*  Answers an offer after `size` bytes at `at` were changed. */
static bool finds(size_t at, const void *bytes, size_t size)
{
    ends_t self;
    ends_open(&self);
    memcpy(self.offer + at, bytes, size);
    agree(&self);
    bool found = tnd_peer_memory_offer(&self.sender, self.buffer, self.offer) == TND_OFFER_TAKEN;
    cr_assert_eq(found, self.receiver.found[0] != NULL);
    ends_close(&self);
    return found;
}

static bool finds_file(int file)
{
    uint32_t number = (uint32_t)file;
    return finds(FILE_AT, &number, sizeof number);
}

Test(peer_memory, only_the_memory_of_the_key_is_found)
{
    static const uint64_t key = 1, bytes[] = {0, 4096, 1 << 20, UINT64_MAX};
    uint32_t process = 0x7fffffff, own = (uint32_t)getpid();
    cr_assert(finds(PROCESS_AT, &own, sizeof own), "nothing was changed");
    cr_assert_not(finds(KEY_AT, &key, sizeof key));
    cr_assert_not(finds(PROCESS_AT, &process, sizeof process));
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        cr_assert_not(finds(FILE_AT + 4, &bytes[i], sizeof bytes[i]));
}

Test(peer_memory, files_of_another_kind_are_not_opened, .timeout = 10)
{
    int ends[2], unsealed = memfd_create("unsealed", MFD_CLOEXEC);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(ftruncate(unsealed, 4096 + 2 * 102400), 0, "the size of the memory");
    cr_assert_not(finds_file(ends[0]), "a pipe, whose opening would wait");
    cr_assert_not(finds_file(open("/dev/zero", O_RDONLY | O_CLOEXEC)));
    cr_assert_not(finds_file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
    cr_assert_not(finds_file(unsealed), "its owner could shrink it");
    cr_assert_not(finds_file(9999));
}

Test(peer_memory, hostile_notes_are_refused)
{
    static const uint8_t kind = 3;
    static const uint64_t number = TND_PEER_MEMORIES;
    uint8_t bad[TND_PEER_NOTE_BYTES];
    ends_t self;
    ends_open(&self);
    for (size_t size = 0; size < TND_PEER_NOTE_BYTES; size++)
        cr_assert(refuses(&self.receiver, self.offer, size));
    memcpy(bad, self.offer, sizeof bad);
    memcpy(bad + NUMBER_AT, &number, sizeof number);
    cr_assert(refuses(&self.receiver, bad, sizeof bad));
    memcpy(bad, self.offer, sizeof bad);
    bad[KIND_AT] = kind;
    cr_assert(refuses(&self.receiver, bad, sizeof bad));
    bad[KIND_AT] = 1;
    cr_assert(refuses(&self.receiver, bad, sizeof bad), "an answer to nothing");
    agree(&self);
    cr_assert(refuses(&self.sender, self.answer, sizeof self.answer), "answered twice");
    cr_assert(refuses(&self.receiver, bad, 0));
    ends_close(&self);
}

static bool reads(const tnd_peer_memory_t *self, uint64_t number, uint64_t offset, uint64_t bytes)
{
    uint64_t reference[] = {number, offset, bytes};
    tnd_buffer_t *buffer = NULL;
    bool read = tnd_peer_memory_read(self, reference, sizeof reference, &buffer, NULL) == TND_OK;
    tnd_buffer_drop(&buffer);
    return read;
}

Test(peer_memory, references_outside_are_refused)
{
    static const uint64_t size =
        4096 + 2 * 102400; /* 100,000 bytes in whole pages, after the key */
    uint8_t reference[TND_PEER_REFERENCE_BYTES] = {0};
    tnd_buffer_t *buffer = NULL;
    ends_t self;
    ends_open(&self);
    cr_assert_not(reads(&self.receiver, 0, 4096, 1), "not offered yet");
    agree(&self);
    cr_assert(reads(&self.receiver, 0, 4096, size - 4096));
    cr_assert(reads(&self.receiver, 0, size - 1, 1));
    cr_assert_not(reads(&self.receiver, 0, 4095, 1));
    cr_assert_not(reads(&self.receiver, 0, 4096, size - 4095));
    cr_assert_not(reads(&self.receiver, 0, size + 1, 0));
    cr_assert_not(reads(&self.receiver, 0, UINT64_MAX - 1, 4));
    cr_assert_not(reads(&self.receiver, 0, 8192, UINT64_MAX - 4096));
    cr_assert_not(reads(&self.receiver, 1, 4096, 1));
    cr_assert_not(reads(&self.receiver, UINT64_MAX, 4096, 1));
    for (size_t bytes = 0; bytes < sizeof reference; bytes++)
        cr_assert_eq(tnd_peer_memory_read(&self.receiver, reference, bytes, &buffer, NULL),
                     TND_FAILED);
    ends_close(&self);
}

/*  Another process: offers its memory, names its first buffer, and waits to be killed. */
static void be_owner(int out)
{
    uint8_t note[TND_PEER_NOTE_BYTES], reference[TND_PEER_REFERENCE_BYTES];
    tnd_peer_memory_t memory = {0};
    tnd_pool_t *pool = tnd_pool_new_shared(PIECE, 1);
    tnd_buffer_t *buffer = tnd_pool_take(pool);
    memset(tnd_buffer_data(buffer), 5, PIECE);
    tnd_buffer_seal(buffer);
    (void)tnd_peer_memory_offer(&memory, buffer, note);
    tnd_peer_memory_refer(&memory, buffer, reference);
    if (write(out, note, sizeof note) != sizeof note ||
        write(out, reference, sizeof reference) != sizeof reference)
        _exit(1);
    for (;;)
        pause();
}

Test(peer_memory, bytes_of_a_process_that_was_killed_can_still_be_read, .timeout = 10)
{
    uint8_t note[TND_PEER_NOTE_BYTES], reference[TND_PEER_REFERENCE_BYTES],
        answer[TND_PEER_NOTE_BYTES];
    tnd_peer_memory_t memory = {0}, late = {0};
    tnd_buffer_t *buffer;
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t owner = fork();
    if (owner == 0)
        be_owner(ends[1]);
    cr_assert_eq(read(ends[0], note, sizeof note), sizeof note);
    cr_assert_eq(read(ends[0], reference, sizeof reference), sizeof reference);
    cr_assert(pass(&memory, note, answer));
    cr_assert_eq(answer[KIND_AT], 1, "found");
    kill(owner, SIGKILL);
    cr_assert_eq(waitpid(owner, NULL, 0), owner);

    cr_assert_eq(tnd_peer_memory_read(&memory, reference, sizeof reference, &buffer, NULL), TND_OK);
    const uint8_t *bytes = tnd_buffer_data(buffer);
    for (size_t i = 0; i < PIECE; i++)
        cr_assert_eq(bytes[i], 5);
    cr_assert(pass(&late, note, answer));
    cr_assert_eq(answer[KIND_AT], 2, "its memory has gone with it");
    tnd_buffer_drop(&buffer);
    tnd_peer_memory_fini(&memory);
}
