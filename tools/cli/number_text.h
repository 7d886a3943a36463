/*  tools/cli/number_text.h - numbers for people.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CLI_NUMBER_TEXT_H
#define TND_TOOLS_CLI_NUMBER_TEXT_H

enum { TND_NUMBER_TEXT = 32 };

/*  1234567.4 as "1,234,567".  Returns `text`. */
const char *tnd_grouped(double value, char text[TND_NUMBER_TEXT]);
/*  "2:05", or "1:02:05" from an hour on.  Returns `text`. */
const char *tnd_time_text(double seconds, char text[TND_NUMBER_TEXT]);

#endif
