/*  runtime/observe/tuning.c - what the tuner of workers decided, in a word that statistics carry. */
#include "runtime/observe/tuning.h"

#include <stdio.h>

/*  From the lowest bit on: the act, the workers that are awake, all of them, and two numbers in
 *  tenths of a percent, of which the first may be negative. */
enum { ACT_BITS = 4, COUNT_BITS = 12, PART_BITS = 16, PART_ZERO = 1 << 15 };

static uint64_t part_of(double part)
{
    double tenths = part * 1000;
    double most = PART_ZERO - 1;
    tenths = tenths > most ? most : tenths < -most ? -most : tenths;
    return (uint64_t)(PART_ZERO + (int)(tenths < 0 ? tenths - 0.5 : tenths + 0.5));
}

static uint64_t take(uint64_t *word, unsigned bits)
{
    uint64_t low = *word & ((UINT64_C(1) << bits) - 1);
    *word >>= bits;
    return low;
}

uint64_t tnd_tuning_word(const tnd_tuner_t *tuner)
{
    const tnd_tuner_decision_t *decision = &tuner->decision;
    double first = decision->gain, second = 0;
    if (decision->act == TND_TUNER_ADDED) {
        first = decision->tickets_waited;
        second = decision->feeder_waited;
    } else if (decision->act == TND_TUNER_REMOVED) {
        first = decision->busy;
    }
    uint64_t word = part_of(second);
    word = word << PART_BITS | part_of(first);
    word = word << COUNT_BITS | tuner->most;
    word = word << COUNT_BITS | tuner->workers;
    return word << ACT_BITS | (uint64_t)decision->act;
}

const char *tnd_tuning_text(uint64_t word, char *text, size_t room)
{
    tnd_tuner_act_t act = (tnd_tuner_act_t)take(&word, ACT_BITS);
    unsigned workers = (unsigned)take(&word, COUNT_BITS), most = (unsigned)take(&word, COUNT_BITS);
    double first = ((double)take(&word, PART_BITS) - PART_ZERO) / 10;
    double second = ((double)take(&word, PART_BITS) - PART_ZERO) / 10;
    const char *moved = first < 0 ? "lost" : "gained";
    double by = first < 0 ? -first : first;
    int used = snprintf(text, room, "%u of %u workers", workers, most);
    if (used < 0 || (size_t)used >= room)
        return text;
    text += used;
    room -= (size_t)used;
    switch (act) {
    case TND_TUNER_ADDED:
        snprintf(text, room,
                 ": one more is tried, because tickets waited for a worker %.0f %% of the time and "
                 "the feeder waited for rows %.0f %%",
                 first, second);
        break;
    case TND_TUNER_KEPT:
        snprintf(text, room, ": the last one gained %.1f %%", first);
        break;
    case TND_TUNER_UNJUDGED:
        snprintf(text, room, ": the last one was needed before its gain could be measured");
        break;
    case TND_TUNER_UNDONE:
        snprintf(text, room, ": one more %s %.1f %%, and 3 %% is the least gain", moved, by);
        break;
    case TND_TUNER_REMOVED:
        snprintf(text, room, ": one less is tried, because they were busy %.0f %% of the time",
                 first);
        break;
    case TND_TUNER_CHECKED:
        snprintf(text, room, ": one less is tried, because the gain of the last one is not known");
        break;
    case TND_TUNER_SPARED:
    case TND_TUNER_RESTORED:
        snprintf(text, room, ": one less %s %.1f %%", moved, by);
        break;
    case TND_TUNER_LIMITED:
        snprintf(text, room, ": a user allows no more");
        break;
    case TND_TUNER_NONE:
    case TND_TUNER_ACTS:
        break;
    }
    return text - used;
}
