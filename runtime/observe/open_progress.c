/*  runtime/observe/open_progress.c - how far a host is with opening the data of an actor. */
#include "runtime/observe/open_progress.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/base/status.h"
#include "runtime/text/quantity.h"

/*  What has not moved for this time, and for some of its usual times from one move to the next, is said
 *  not to move. */
static const uint64_t still_ns = 1000000000;
enum { USUAL_MOVES = 4 };

/*  Copies the end of a text that is too long, as one word. */
static void copy_word(char *word, size_t room, const char *text)
{
    size_t length = strlen(text);
    snprintf(word, room, "%s", length < room ? text : text + length - room + 1);
    for (char *at = word; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ')
            *at = '_';
}

void tnd_open_progress_count(tnd_open_progress_t *self, uint64_t done, uint64_t all,
                             const char *unit)
{
    if (strcmp(unit, "bytes") == 0) {
        self->bytes = done;
        self->bytes_all = all;
        return;
    }
    copy_word(self->unit, sizeof self->unit, unit);
    self->done = done;
    self->all = all;
}

void tnd_open_progress_doing(tnd_open_progress_t *self, const char *doing, const char *file)
{
    if (doing != NULL)
        copy_word(self->doing, sizeof self->doing, doing);
    if (file == NULL)
        return;
    size_t length = strlen(file), room = sizeof self->file;
    snprintf(self->file, room, "%s", length < room ? file : file + length - room + 1);
}

static bool is_known(uint64_t all)
{
    return all != 0 && all != TND_UNKNOWN;
}

double tnd_open_progress_share(const tnd_open_progress_t *self)
{
    double share = -1;
    if (is_known(self->bytes_all))
        share = (double)self->bytes / (double)self->bytes_all;
    else if (self->unit[0] != '\0' && is_known(self->all))
        share = (double)self->done / (double)self->all;
    return share > 1 ? 1 : share;
}

void tnd_open_progress_write(const tnd_open_progress_t *self, FILE *out)
{
    fprintf(out, "%s %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", self->actor,
            self->doing[0] != '\0' ? self->doing : "-", self->unit[0] != '\0' ? self->unit : "-",
            self->done, self->all, self->bytes, self->bytes_all, self->file);
}

bool tnd_open_progress_read(tnd_open_progress_t *self, const char *line)
{
    int used = 0;
    *self = (tnd_open_progress_t){.actor = ""};
    if (sscanf(line, "%63s %23s %23s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
               self->actor, self->doing, self->unit, &self->done, &self->all, &self->bytes,
               &self->bytes_all, &used) != 7)
        return false;
    if (strcmp(self->doing, "-") == 0)
        self->doing[0] = '\0';
    if (strcmp(self->unit, "-") == 0)
        self->unit[0] = '\0';
    tnd_open_progress_doing(self, NULL, line[used] == ' ' ? line + used + 1 : "");
    return true;
}

tnd_open_pace_t tnd_open_pace(double since, uint64_t now)
{
    return (tnd_open_pace_t){.begun_ns = now, .since = since, .moved_ns = now};
}

void tnd_open_pace_note(tnd_open_pace_t *self, const tnd_open_progress_t *progress, uint64_t now)
{
    double share = tnd_open_progress_share(progress);
    bool anew = progress->done < self->done || progress->bytes < self->bytes;
    if (anew || (share >= 0 && self->since < 0)) {
        *self = tnd_open_pace(share, now);
    } else if (progress->done != self->done || progress->bytes != self->bytes) {
        self->moved_ns = now;
        self->moves++;
    }
    self->done = progress->done;
    self->bytes = progress->bytes;
}

/*  For how long nothing has moved: long compared with the time from one move to the next; 0: it moves. */
static uint64_t still_for(const tnd_open_pace_t *self, uint64_t now)
{
    uint64_t still = now > self->moved_ns ? now - self->moved_ns : 0;
    uint64_t usual = self->moves > 0 ? (self->moved_ns - self->begun_ns) / self->moves : 0;
    return still >= still_ns + USUAL_MOVES * usual ? still : 0;
}

/*  "12 s", "6 min" or "7 h". */
static void print_time(double seconds, char text[24])
{
    if (seconds < 90)
        snprintf(text, 24, "%.0f s", seconds);
    else if (seconds < 90 * 60)
        snprintf(text, 24, "%.0f min", seconds / 60);
    else
        snprintf(text, 24, "%.0f h", seconds / 3600);
}

/*  ", 2 min left", or nothing as long as nothing is known. */
static void print_pace(const tnd_open_pace_t *self, double share, uint64_t now, char text[48])
{
    char time[24];
    uint64_t still = still_for(self, now);
    double left = 0;
    text[0] = '\0';
    if (share > self->since && self->since >= 0 && now > self->begun_ns)
        left = (double)(now - self->begun_ns) * 1e-9 * (1 - share) / (share - self->since);
    else if (still == 0)
        return;
    if (still > 0) {
        print_time((double)still * 1e-9, time);
        snprintf(text, 48, ", no progress for %s", time);
    } else if (left >= 0.5 &&
               left < 1e7) { /* what is less may be the longest part: the flush of a disk */
        print_time(left, time);
        snprintf(text, 48, ", %s left", time);
    }
}

/*  "3 of 16 files", "3 files", "1.5 GiB", or nothing. */
static void print_count(const tnd_open_progress_t *self, char *text, size_t room)
{
    char size[TND_QUANTITY_SIZE];
    text[0] = '\0';
    if (self->unit[0] != '\0' && is_known(self->all))
        snprintf(text, room, "%" PRIu64 " of %" PRIu64 " %s", self->done, self->all, self->unit);
    else if (self->unit[0] != '\0')
        snprintf(text, room, "%" PRIu64 " %s", self->done, self->unit);
    else if (is_known(self->bytes_all))
        snprintf(text, room, "%s", tnd_quantity_size(self->bytes_all, size));
    else if (self->bytes > 0)
        snprintf(text, room, "%s", tnd_quantity_size(self->bytes, size));
}

void tnd_open_progress_print(const tnd_open_progress_t *self, const tnd_open_pace_t *pace,
                             uint64_t now, char *text, size_t room)
{
    char count[80], left[48], percent[16] = "";
    double share = tnd_open_progress_share(self);
    print_count(self, count, sizeof count);
    print_pace(pace, share, now, left);
    if (share >= 0)
        snprintf(percent, sizeof percent, ", %.0f %%", share * 100);
    /* Without a count the file says most. */
    if (count[0] == '\0')
        snprintf(count, sizeof count, "%.78s", self->file);
    snprintf(text, room, "%s %s%s%s", self->doing[0] != '\0' ? self->doing : "opening", count,
             percent, left);
}

void tnd_open_progress_name(const tnd_open_progress_t *self, char *text, size_t room)
{
    char count[80];
    print_count(self, count, sizeof count);
    snprintf(text, room, "%.160s%s%s%s", self->file, count[0] != '\0' ? " (" : "", count,
             count[0] != '\0' ? ")" : "");
}
