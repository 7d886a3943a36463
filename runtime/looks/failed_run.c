/*  runtime/looks/failed_run.c - files of runs that failed. */
#include "runtime/looks/failed_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/pages/page_folders.h"
#include "runtime/text/printable.h"

/*  How long a file is shown. */
static const uint64_t shown_for_ns = UINT64_C(600000000000);

static const char first_line[] = "tundish failed run 1\n";

/*  "FOLDER/tundish-RUN.failed"; false without a folder. */
static bool path_of(const char *run, char *path, size_t room)
{
    char folder[128];
    tnd_error_t error;
    if (tnd_pages_folder(folder, sizeof folder, &error) != TND_OK)
        return false;
    snprintf(path, room, "%s/tundish-%.60s.failed", folder, run);
    return true;
}

void tnd_failed_run_write(const tnd_failed_run_t *self)
{
    char path[256], draft[288];
    tnd_failed_run_t copy = *self;
    if (!path_of(self->run, path, sizeof path))
        return;
    snprintf(draft, sizeof draft, "%s.%d", path, (int)getpid());
    (void)unlink(draft);
    int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    int wrote =
        dprintf(file, "%s%s\n%s\n%d %d\n%s\n", first_line, tnd_printable(copy.run, sizeof copy.run),
                tnd_printable(copy.host, sizeof copy.host), copy.process, copy.code,
                tnd_printable(copy.why, sizeof copy.why));
    close(file);
    if (wrote < 0 || rename(draft, path) != 0)
        (void)unlink(draft);
}

void tnd_failed_run_forget(const char *run)
{
    char path[256];
    if (path_of(run, path, sizeof path))
        (void)unlink(path);
}

/*  Reads a line without its end, cut to `room`; false: the file has ended. */
static bool read_line(FILE *in, char *line, size_t room)
{
    if (fgets(line, (int)room, in) == NULL)
        return false;
    line[strcspn(line, "\n")] = '\0';
    (void)tnd_printable(line, room);
    return true;
}

static bool read_file(int file, tnd_failed_run_t *found)
{
    char head[64], numbers[64];
    FILE *in = fdopen(file, "r");
    if (in == NULL) {
        close(file);
        return false;
    }
    bool whole = fgets(head, sizeof head, in) != NULL && strcmp(head, first_line) == 0 &&
                 read_line(in, found->run, sizeof found->run) &&
                 read_line(in, found->host, sizeof found->host) &&
                 read_line(in, numbers, sizeof numbers) &&
                 sscanf(numbers, "%d %d", &found->process, &found->code) == 2 &&
                 read_line(in, found->why, sizeof found->why);
    fclose(in);
    return whole;
}

/*  Whether the file is one of a failed run that is still shown. */
static bool take_file(int folder, const char *name, tnd_failed_run_t *found)
{
    struct stat facts;
    size_t length = strlen(name);
    if (strncmp(name, "tundish-", 8) != 0 || length < 15 ||
        strcmp(name + length - 7, ".failed") != 0)
        return false;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    uint64_t now = tnd_clock_read(CLOCK_REALTIME), ended = 0;
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid())
        ended = (uint64_t)facts.st_mtim.tv_sec * 1000000000u + (uint64_t)facts.st_mtim.tv_nsec;
    found->ago_ns = now > ended ? now - ended : 0;
    if (found->ago_ns <= shown_for_ns)
        return read_file(file, found);
    if (ended != 0)
        (void)unlinkat(folder, name, 0);
    close(file);
    return false;
}

size_t tnd_failed_runs_read(const char *run, tnd_failed_run_t *found, size_t room)
{
    tnd_pages_folders_t folders;
    size_t count = 0;
    for (size_t i = 0, all = tnd_pages_folders(&folders); i < all; i++) {
        DIR *folder = opendir(folders.path[i]);
        if (folder == NULL)
            continue;
        for (const struct dirent *entry; count < room && (entry = readdir(folder)) != NULL;)
            count += take_file(dirfd(folder), entry->d_name, &found[count]) &&
                     (run == NULL || strcmp(found[count].run, run) == 0);
        closedir(folder);
    }
    return count;
}
