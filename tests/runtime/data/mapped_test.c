/*  Covers runtime/data/mapped.h: lost pages read as zeros and are known, with file and offset, on
 *  every thread; other signals go to the handler that was there before; an address leads back to
 *  its file. */
#include "runtime/data/mapped.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/core/protocol/effect.h"
#include "runtime/data/block.h"
#include "runtime/data/mapping.h"

enum { SIZE = 300000, KEPT = 100000 };

static char folder[64], path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/tundish-mapped-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rows.bin", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(void)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (size_t i = 0; i < SIZE; i++)
        putc((int)(1 + i % 251), file);
    cr_assert_eq(fclose(file), 0);
}

static tnd_mapping_t *map(void)
{
    tnd_mapping_t *mapping = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_mapping_open(&mapping, path, &error), TND_OK, "%s", error.text);
    return mapping;
}

static int byte_at(const tnd_mapping_t *mapping, size_t at)
{
    return ((const volatile uint8_t *)tnd_mapping_data(mapping))[at];
}

TestSuite(mapped, .init = make_folder, .fini = remove_folder);

Test(mapped, lost_bytes_read_as_zeros_and_are_known_with_their_file)
{
    tnd_mapping_t *other = NULL;
    tnd_error_t error;
    write_file();
    tnd_mapping_t *mapping = map();
    cr_assert_eq(tnd_mapping_open(&other, "LICENSE", &error), TND_OK);
    const uint8_t *data = tnd_mapping_data(mapping);
    cr_assert_eq(tnd_mapped_check(data, SIZE, &error), TND_OK);
    cr_assert_eq(truncate(path, KEPT), 0);
    cr_assert_not(tnd_mapped_any_lost());

    cr_assert_eq(byte_at(mapping, 200000), 0);
    cr_assert_eq(byte_at(mapping, SIZE - 1), 0);

    cr_assert(tnd_mapped_any_lost());
    cr_assert_eq(tnd_mapped_check(data + 200000, 1, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, path), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "300000 bytes"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "byte 100000"), "%s", error.text);
    cr_assert_eq(tnd_mapping_intact(mapping, &error), TND_FAILED);
    cr_assert_eq(tnd_mapping_check(mapping, &error), TND_FAILED);
    /* What was read before, and other files, are what they were. */
    cr_assert_eq(byte_at(mapping, 99), 100);
    cr_assert_eq(tnd_mapped_check(data, KEPT, &error), TND_OK);
    cr_assert_eq(tnd_mapped_check(&error, sizeof error, &error), TND_OK);
    cr_assert_eq(tnd_mapping_intact(other, &error), TND_OK);
    /* A page before the others may be lost later. */
    cr_assert_eq(byte_at(mapping, 120000), 0);
    cr_assert_eq(tnd_mapped_check(data + 120000, 1, &error), TND_FAILED);
    /* The file is whole again, and what was read of it is not. */
    write_file();
    cr_assert_eq(tnd_mapped_check(data + 200000, 1, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "shrank for a while"), "%s", error.text);

    tnd_mapping_destroy(&mapping);
    cr_assert_not(tnd_mapped_any_lost());
    mapping = map();
    cr_assert_eq(byte_at(mapping, 200000), 1 + 200000 % 251);
    cr_assert_eq(tnd_mapping_intact(mapping, &error), TND_OK);
    tnd_mapping_destroy(&mapping);
    tnd_mapping_destroy(&other);
}

typedef struct {
    tnd_mapping_t *mapping;
    bool wrong, known;
} reader_t;

/*  Who sees a zero finds it marked, whichever thread the signal was sent to. */
static void *read_all(void *context)
{
    reader_t *self = context;
    tnd_error_t error;
    const uint8_t *data = tnd_mapping_data(self->mapping);
    for (size_t at = SIZE; at > 0; at--)
        if (byte_at(self->mapping, at - 1) == 0) {
            self->wrong = true;
            self->known = tnd_mapped_check(data + at - 1, 1, &error) == TND_FAILED;
            break;
        }
    return NULL;
}

Test(mapped, every_thread_knows)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    reader_t readers[THREADS];
    write_file();
    tnd_mapping_t *mapping = map();
    cr_assert_eq(truncate(path, KEPT), 0);
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (reader_t){.mapping = mapping};
        cr_assert_eq(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert(readers[i].wrong && readers[i].known);
    }
    tnd_mapping_destroy(&mapping);
}

static sigjmp_buf after_signal;
static volatile sig_atomic_t own_signals;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    own_signals = own_signals + 1;
    siglongjmp(after_signal, 1);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    cr_assert_eq(sigaction(SIGBUS, &action, NULL), 0);
}

Test(mapped, other_signals_reach_the_handler_that_was_there)
{
    install();
    write_file();
    tnd_mapping_t *mapping = map();
    FILE *file = fopen(path, "r");
    const volatile uint8_t *foreign = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fileno(file), 0);
    cr_assert_neq((const void *)foreign, MAP_FAILED);
    cr_assert_eq(truncate(path, KEPT), 0);

    if (sigsetjmp(after_signal, 1) == 0) {
        uint8_t got = foreign[200000]; /* not while a text is made, which would leak */
        cr_assert_fail("%d was read", got);
    }
    cr_assert_eq(own_signals, 1);
    cr_assert_not(tnd_mapped_any_lost());
    if (sigsetjmp(after_signal, 1) == 0)
        raise(SIGBUS);
    cr_assert_eq(own_signals, 2);
    /* That of ours is still not its business. */
    cr_assert_eq(byte_at(mapping, 200000), 0);
    cr_assert_eq(own_signals, 2);
    fclose(file);
    tnd_mapping_destroy(&mapping);
}

static void on_signal_later(int number, siginfo_t *info, void *context)
{
    if (!tnd_mapped_rescue(info))
        on_signal(number, info, context);
}

Test(mapped, a_handler_that_comes_later_may_ask_first)
{
    struct sigaction action = {.sa_sigaction = on_signal_later, .sa_flags = SA_SIGINFO};
    write_file();
    tnd_mapping_t *mapping = map();
    cr_assert_eq(sigaction(SIGBUS, &action, NULL), 0);
    cr_assert_eq(truncate(path, KEPT), 0);
    cr_assert_eq(byte_at(mapping, 200000), 0);
    cr_assert(tnd_mapped_any_lost());
    if (sigsetjmp(after_signal, 1) == 0)
        raise(SIGBUS);
    cr_assert_eq(own_signals, 1);
    tnd_mapping_destroy(&mapping);
}

Test(mapped, a_signal_without_another_handler_ends_the_process, .signal = SIGBUS)
{
    write_file();
    signal(SIGBUS, SIG_DFL); /* AddressSanitizer has a handler of its own */
    tnd_mapping_t *mapping = map();
    FILE *file = fopen(path, "r");
    const volatile uint8_t *foreign = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fileno(file), 0);
    cr_assert_neq((const void *)foreign, MAP_FAILED);
    cr_assert_eq(truncate(path, KEPT), 0);
    (void)foreign[200000];
    tnd_mapping_destroy(&mapping);
}

/*  A block of two rows, of which the second is in the part of the file that is lost. */
Test(mapped, a_block_tells_which_of_its_rows_are_lost)
{
    static const uint64_t shape[] = {1000}, index[] = {1, 250};
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_schema_t schema = {0};
    tnd_error_t error;
    uint8_t row[1000];
    write_file();
    tnd_mapping_t *mapping = map();
    cr_assert_eq(tnd_schema_add(&schema, "x", TND_U8, 1, shape, NULL), TND_OK);
    tnd_block_t *block = tnd_block_pool_take(block_pool, &schema);
    block->columns[0] = (tnd_block_column_t){.base = tnd_mapping_data(mapping),
                                             .stride = 1000,
                                             .index = index,
                                             .buffer = tnd_mapping_buffer(mapping)};
    block->note.rows = 2;
    tnd_block_seal(block);
    tnd_piece_t pieces[] = {{.payload = block, .first = 0, .rows = 1},
                            {.payload = block, .first = 1, .rows = 1}};
    tnd_slice_note_t note = {.rows = 2, .total = 2};
    tnd_slice_t *whole = tnd_block_pool_slice(block_pool, &schema, &note, pieces, 2);
    tnd_slice_t *first = tnd_block_pool_slice(block_pool, &schema, &note, pieces, 1);
    cr_assert_eq(truncate(path, KEPT), 0);

    cr_assert_eq(tnd_block_copy(block, 0, 0, 1, row), 1000);
    cr_assert_eq(tnd_block_intact(block, 0, 2, &error), TND_OK);
    cr_assert_eq(tnd_block_copy(block, 0, 1, 1, row), 1000);
    cr_assert_eq(row[0] | row[999], 0);
    cr_assert_eq(tnd_block_intact(block, 0, 1, &error), TND_OK);
    cr_assert_eq(tnd_block_intact(block, 1, 1, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, path), "%s", error.text);
    cr_assert_eq(tnd_block_intact(block, 0, 2, &error), TND_FAILED);
    cr_assert_eq(tnd_slice_intact(whole, &error), TND_FAILED);
    cr_assert_eq(tnd_slice_intact(first, &error), TND_OK);

    tnd_slice_drop(&whole);
    tnd_slice_drop(&first);
    tnd_block_drop(&block);
    tnd_mapping_destroy(&mapping);
    tnd_block_pool_destroy(&block_pool);
}
