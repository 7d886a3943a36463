/*  tools/cli/number_text.h - numbers for people.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CLI_NUMBER_TEXT_H
#define TND_TOOLS_CLI_NUMBER_TEXT_H

#include <stdint.h>

enum { TND_NUMBER_TEXT = 32, TND_TIME_LEFT_TEXT = 96 };

/*  1234567.4 as "1,234,567".  Returns `text`. */
const char *tnd_grouped(double value, char text[TND_NUMBER_TEXT]);
/*  "2:05", or "1:02:05" from an hour on.  Returns `text`. */
const char *tnd_time_text(double seconds, char text[TND_NUMBER_TEXT]);
/*  The time until an epoch, and its run, ends, in nanoseconds; 0: not known: "epoch 2:05, run 1:02:05
 *  left", of the last epoch "run 2:05 left"; "" if nothing is known.  Returns `text`. */
const char *tnd_time_left_text(uint64_t epoch_ns, uint64_t run_ns, char text[TND_TIME_LEFT_TEXT]);

#endif
