/*  runtime/core/session/refusal_log.c - which refused connections are logged. */
#include "runtime/core/session/refusal_log.h"

#include <string.h>

#include <xxhash.h>

static const uint64_t every_ns = 60000000000;

/*  Numbers in a text, such as an actor or a hash, may differ at each try. */
static uint64_t hash_words(const char *text, uint64_t seed)
{
    for (size_t length; *text != '\0'; text += length) {
        length = strcspn(text, " ");
        if (strcspn(text, "0123456789") >= length)
            seed = XXH3_64bits_withSeed(text, length, seed);
        length += text[length] == ' ';
    }
    return seed;
}

/*  The item of a key: its own, a new one, one that was not used for a while, or that of others. */
static uint32_t find(tnd_refusal_log_t *self, uint64_t key, uint64_t now)
{
    uint32_t place = 0;
    for (uint32_t i = 1; i < TND_REFUSALS_KEPT + 1; i++) {
        bool used = i <= self->count;
        if (used && self->items[i].key == key)
            return i;
        if (place == 0 && (!used || now - self->items[i].logged_ns >= every_ns))
            place = i;
    }
    if (place == 0)
        return 0;
    memset(&self->items[place], 0, sizeof self->items[place]);
    self->items[place].key = key;
    self->count = place > self->count ? place : self->count;
    return place;
}

bool tnd_refusal_log_takes(tnd_refusal_log_t *self, const char *address, const char *why,
                           uint64_t now, uint64_t *more)
{
    uint32_t place = find(self, hash_words(why, XXH3_64bits(address, strlen(address))), now);
    uint64_t logged_ns = self->items[place].logged_ns;
    if (logged_ns != 0 && now - logged_ns < every_ns) {
        self->items[place].more++;
        return false;
    }
    *more = self->items[place].more;
    self->items[place].logged_ns = now;
    self->items[place].more = 0;
    return true;
}
