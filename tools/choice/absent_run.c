/*  tools/choice/absent_run.c - says that a run was not found, and where it was looked for. */
#include "tools/choice/absent_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/pages/page_folders.h"
#include "runtime/text/printable.h"

const char *tnd_absent_run_text(const char *run, const char *leader, const tnd_inspection_t *look,
                                char *text, size_t room)
{
    if (leader != NULL) {
        snprintf(text, room, "no run%s%s%s is shown by the leader at %s", run != NULL ? " `" : "",
                 run != NULL ? run : "", run != NULL ? "`" : "", leader);
        return tnd_printable(text, room);
    }
    tnd_pages_folders_t folders;
    size_t count = tnd_pages_folders(&folders);
    size_t used = run != NULL ? (size_t)snprintf(text, room, "no run `%s` on this machine", run)
                              : (size_t)snprintf(text, room, "no run on this machine");
    for (size_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : " (looked in ",
                                 folders.path[i]);
    if (used < room)
        used += (size_t)snprintf(text + used, room - used, ")");
    if (used < room && look->others > 0)
        snprintf(text + used, room - used,
                 "; %" PRIu32 " process%s of another version of tundish run%s here, which only "
                 "that version can show",
                 look->others, look->others == 1 ? "" : "es", look->others == 1 ? "s" : "");
    return tnd_printable(text, room);
}
