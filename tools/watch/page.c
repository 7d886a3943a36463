/*  tools/watch/page.c - the page of `tundish watch` and `tundish report`. */
#include "tools/watch/page.h"

#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/watch/page_internal.h"

const char *tnd_page_live(size_t *size_p)
{
    static char *page; /* like a constant */
    if (page == NULL)
        page = tnd_format_string("%s%s", tnd_page_head, tnd_page_tail);
    *size_p = strlen(page);
    return page;
}

/*  In JSON `<` is only in strings, where \u003c is the same and cannot end a script. */
void tnd_page_report(const char *report, FILE *out)
{
    fputs(tnd_page_head, out);
    for (const char *at = report; *at != '\0'; at++)
        if (*at == '<')
            fputs("\\u003c", out);
        else
            fputc(*at, out);
    fputs(tnd_page_tail, out);
}

const char *tnd_page_policy(void)
{
    return tnd_page_policy_text;
}
