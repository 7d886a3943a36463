/*  runtime/observe/tuning.h - what the tuner of workers decided, in a word that statistics carry.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_OBSERVE_TUNING_H
#define TND_RUNTIME_OBSERVE_TUNING_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/core/tuning/tuner.h"

/*  Never 0. */
uint64_t tnd_tuning_word(const tnd_tuner_t *tuner);
/*  "2 of 4 workers: the last one gained 94 %".  Returns `text`. */
const char *tnd_tuning_text(uint64_t word, char *text, size_t room);

#endif
