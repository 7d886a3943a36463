/*  tools/report/absent_run.c - says that a run was not found, and where it was looked for. */
#include "tools/report/absent_run.h"

#include <stdio.h>

#include "runtime/observe/statistics.h"
#include "runtime/text/printable.h"

const char *tnd_absent_run_text(const char *run, const char *leader, char *text, size_t room)
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
        snprintf(text + used, room - used, ")");
    return tnd_printable(text, room);
}
