/*  runtime/timing/timing.c - what an actor's page has no room for, in shared memory. */
#include "runtime/timing/timing.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(tnd_timing_t) % 64 == 0, "no two threads share a cache line");
_Static_assert(sizeof(tnd_actor_detail_t) % 64 == 0, "no two actors share a cache line");
_Static_assert((int)TND_ACTOR_TIMING_COUNT <= (int)TND_TIMINGS &&
                   (int)TND_DEVICE_TIMING_COUNT <= (int)TND_TIMINGS,
               "there is room for each histogram");

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    /* A reader that sees a new word also sees that the file is not complete. */
    atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t read_of(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

void tnd_actor_detail_read(tnd_actor_detail_t *self, const char *file, uint64_t record,
                           uint64_t offset)
{
    uint64_t words[TND_DETAIL_FILE_WORDS] = {0}, number = read_of(&self->before) + 1;
    size_t length = strlen(file), most = sizeof words - 1;
    memcpy(words, length > most ? file + length - most : file, length > most ? most : length);
    write_to(&self->after, 0);
    for (unsigned w = 0; w < TND_DETAIL_FILE_WORDS; w++)
        write_to(&self->file[w], words[w]);
    write_to(&self->record, record);
    write_to(&self->offset, offset);
    write_to(&self->before, number);
    write_to(&self->after, number);
}

static void plain(char *text, size_t room)
{
    text[room - 1] = '\0';
    for (char *at = text; *at != '\0'; at++)
        if (((unsigned char)*at < ' ' && *at != '\n') || (unsigned char)*at == 127)
            *at = '?';
}

bool tnd_actor_detail_file(const tnd_actor_detail_t *self, char *file, size_t room)
{
    uint64_t words[TND_DETAIL_FILE_WORDS];
    char name[sizeof words];
    if (self->after == 0 || self->before != self->after)
        return false;
    for (unsigned w = 0; w < TND_DETAIL_FILE_WORDS; w++)
        words[w] = read_of(&self->file[w]);
    memcpy(name, words, sizeof name);
    plain(name, sizeof name);
    snprintf(file, room, "%s", name);
    return true;
}

void tnd_actor_detail_bound(tnd_actor_detail_t *copy)
{
    plain(copy->options, sizeof copy->options);
    if (copy->operation_count > TND_DETAIL_OPERATIONS)
        copy->operation_count = TND_DETAIL_OPERATIONS;
    for (unsigned o = 0; o < TND_DETAIL_OPERATIONS; o++)
        plain(copy->operations[o].name, sizeof copy->operations[o].name);
}
