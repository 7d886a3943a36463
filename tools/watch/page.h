/*  tools/watch/page.h - the page of `tundish watch` and `tundish report`.
 *
 *  One HTML document without outside requests.  Its parts are page.html, page.css and the .js files
 *  of this folder, which the build joins.  A script shows the looks of /live, or the report in it.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_WATCH_PAGE_H
#define TND_TOOLS_WATCH_PAGE_H

#include <stddef.h>
#include <stdio.h>

/*  The page that shows /live. */
const char *tnd_page_live(size_t *size_p);
/*  Writes the page that shows a report, a JSON object. */
void tnd_page_report(const char *report, FILE *out);
/*  Its Content-Security-Policy: it may run its own script and ask its own server. */
const char *tnd_page_policy(void);

#endif
