/*  Covers runtime/observe/open_progress.h: what people read of data that is being opened, and the
 *  lines between hosts. */
#include "runtime/observe/open_progress.h"

#include <criterion/criterion.h>
#include <string.h>

#include "runtime/base/status.h"

static const uint64_t minute_ns = 60000000000;

/*  As of `spent_ns` after the part `since` was done, with one move right now. */
static const char *printed(const tnd_open_progress_t *self, double since, uint64_t spent_ns)
{
    static char text[256];
    tnd_open_pace_t pace = tnd_open_pace(since, 0);
    pace.moved_ns = spent_ns;
    pace.moves = 1;
    tnd_open_progress_print(self, &pace, spent_ns, text, sizeof text);
    return text;
}

/*  What moves each 3 s is still after 1 s and four times that; what moved once, after 1 s. */
Test(open_progress, no_time_is_left_while_nothing_moves)
{
    const uint64_t second_ns = 1000000000;
    tnd_open_progress_t self = {.actor = "read"};
    tnd_open_pace_t pace = tnd_open_pace(-1, 0);
    char text[256];
    for (uint64_t i = 0; i <= 3; i++) {
        tnd_open_progress_count(&self, 20 * i, 80, "bytes");
        tnd_open_pace_note(&pace, &self, 3 * i * second_ns);
        tnd_open_pace_note(&pace, &self, (3 * i + 1) * second_ns); /* the same again */
    }
    tnd_open_progress_print(&self, &pace, 22 * second_ns - 1, text, sizeof text);
    cr_assert_str_eq(text, "opening 80 bytes, 75 %, 7 s left");
    tnd_open_progress_print(&self, &pace, 22 * second_ns, text, sizeof text);
    cr_assert_str_eq(text, "opening 80 bytes, 75 %, no progress for 13 s");
    tnd_open_progress_count(&self, 7, 80, "bytes"); /* another file, from its begin */
    tnd_open_pace_note(&pace, &self, 24 * second_ns);
    tnd_open_progress_print(&self, &pace, 25 * second_ns - 1, text, sizeof text);
    cr_assert_str_eq(text, "opening 80 bytes, 9 %");
    tnd_open_progress_count(&self, 11, 80, "bytes"); /* 5 % in 1 s */
    tnd_open_pace_note(&pace, &self, 25 * second_ns);
    tnd_open_progress_print(&self, &pace, 25 * second_ns, text, sizeof text);
    cr_assert_str_eq(text, "opening 80 bytes, 14 %, 17 s left");
    self = (tnd_open_progress_t){.actor = "read", .bytes = 9};
    pace = tnd_open_pace(-1, 0);
    tnd_open_pace_note(&pace, &self, 0);
    tnd_open_progress_print(&self, &pace, second_ns - 1, text, sizeof text);
    cr_assert_str_eq(text, "opening 9 bytes");
    tnd_open_progress_print(&self, &pace, 100 * second_ns, text, sizeof text);
    cr_assert_str_eq(text, "opening 9 bytes, no progress for 2 min");
}

Test(open_progress, files_are_counted_and_bytes_tell_the_part_and_the_time)
{
    tnd_open_progress_t self = {.actor = "read"};
    tnd_open_progress_doing(&self, "indexing", "data/x.rec");
    tnd_open_progress_count(&self, 3, 16, "files");
    cr_assert_str_eq(printed(&self, -1, 0), "indexing 3 of 16 files, 19 %");
    tnd_open_progress_count(&self, 41, 100, "bytes");
    cr_assert_str_eq(printed(&self, 0.01, 0), "indexing 3 of 16 files, 41 %");
    /* 40 % took 50 s, so the other 59 % take 73.75 s. */
    cr_assert_str_eq(printed(&self, 0.01, minute_ns * 5 / 6),
                     "indexing 3 of 16 files, 41 %, 74 s left");
    cr_assert_str_eq(printed(&self, 0.01, 4 * minute_ns),
                     "indexing 3 of 16 files, 41 %, 6 min left");
    cr_assert_str_eq(printed(&self, 0.01, 300 * minute_ns),
                     "indexing 3 of 16 files, 41 %, 7 h left");
}

Test(open_progress, what_is_not_known_is_left_out)
{
    tnd_open_progress_t self = {.actor = "read"};
    tnd_open_progress_doing(&self, NULL, "data/x.rec");
    cr_assert_str_eq(printed(&self, -1, minute_ns), "opening data/x.rec");
    tnd_open_progress_count(&self, 3, TND_UNKNOWN, "files");
    cr_assert_str_eq(printed(&self, -1, minute_ns), "opening 3 files");
    tnd_open_progress_count(&self, 3, 0, "files");
    cr_assert_str_eq(printed(&self, -1, minute_ns), "opening 3 files");
    self = (tnd_open_progress_t){.actor = "read"};
    tnd_open_progress_count(&self, 1 << 20, 4 << 20, "bytes");
    cr_assert_str_eq(printed(&self, -1, 0), "opening 4 MiB, 25 %");
    tnd_open_progress_count(&self, 5 << 20, 4 << 20, "bytes");
    cr_assert_str_eq(printed(&self, 0.5, minute_ns), "opening 4 MiB, 100 %");
    tnd_open_progress_count(&self, 4063232, 4 << 20, "bytes"); /* 31/32 */
    cr_assert_str_eq(printed(&self, 0.5, 8 * (minute_ns / 60)), "opening 4 MiB, 97 %, 1 s left");
    cr_assert_str_eq(printed(&self, 0.5, 7 * (minute_ns / 60)), "opening 4 MiB, 97 %");
}

Test(open_progress, a_line_between_hosts_keeps_everything)
{
    tnd_open_progress_t self = {.actor = "read"}, read;
    char line[512] = "";
    tnd_open_progress_doing(&self, "indexing", "my data/x.rec");
    tnd_open_progress_count(&self, 3, TND_UNKNOWN, "parts of it");
    tnd_open_progress_count(&self, 7, 9, "bytes");
    FILE *out = fmemopen(line, sizeof line, "w");
    tnd_open_progress_write(&self, out);
    fclose(out);
    line[strcspn(line, "\n")] = '\0';
    cr_assert(tnd_open_progress_read(&read, line), "%s", line);
    cr_assert(strcmp(read.actor, "read") == 0 && strcmp(read.doing, "indexing") == 0);
    cr_assert_str_eq(read.file, "my data/x.rec");
    cr_assert_str_eq(read.unit, "parts_of_it");
    cr_assert(read.done == 3 && read.all == TND_UNKNOWN && read.bytes == 7 && read.bytes_all == 9);
    cr_assert_not(tnd_open_progress_read(&read, "read indexing files 3 x"));
    cr_assert_not(tnd_open_progress_read(&read, ""));
}

Test(open_progress, long_names_keep_their_end)
{
    char path[400], name[600];
    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 7, "/x.rec", 7);
    tnd_open_progress_t self = {.actor = "read"};
    tnd_open_progress_doing(&self, "reading-everything-there-is-in", path);
    tnd_open_progress_count(&self, 1, 2, "a unit with a name that does not fit");
    cr_assert_str_eq(self.file + strlen(self.file) - 6, "/x.rec");
    tnd_open_progress_name(&self, name, sizeof name);
    cr_assert(strstr(name, "/x.rec (1 of 2 ") != NULL, "%s", name);
}
