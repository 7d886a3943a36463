/*  tools/watch/page_internal.h - the texts that the build makes of the parts of the page.
 *
 *  Threads: const; any. */
#ifndef TND_TOOLS_WATCH_PAGE_INTERNAL_H
#define TND_TOOLS_WATCH_PAGE_INTERNAL_H

/*  The page before and after the place of a report. */
extern const char tnd_page_head[], tnd_page_tail[];
extern const char tnd_page_policy_text[];

#endif
