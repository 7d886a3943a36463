/*  Covers runtime/observe/inspection.h: pages of live, killed and hostile makers are read for what
 *  they are. */
#include "runtime/observe/inspection.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/base/clock.h"
#include "runtime/core/leader.h"
#include "runtime/plan/placement.h"

static char folder[] = "/tmp/tundish-test-XXXXXX";

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
}

static void end(void)
{
    cr_assert_eq(rmdir(folder), 0, "no file is left");
}

TestSuite(inspection, .init = begin, .fini = end);

static tnd_pages_t *pages_of(const char *run, uint32_t count)
{
    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_pages_new(&pages, run, "a", 1, (tnd_pages_shape_t){.actors = count}, &error),
                 TND_OK, "%s", error.text);
    return pages;
}

/*  The processes whose pages lie in the folder of this test: others may run on this machine. */
static const tnd_inspected_t *only(const tnd_inspection_t *made, uint32_t *count_p)
{
    const tnd_inspected_t *found = NULL;
    *count_p = 0;
    for (uint32_t p = 0; p < made->count; p++)
        if (strncmp(made->processes[p].path, folder, strlen(folder)) == 0) {
            found = &made->processes[p];
            (*count_p)++;
        }
    return found;
}

Test(inspection, what_an_actor_counts_is_read_while_it_lives)
{
    uint32_t count;
    tnd_pages_t *pages = pages_of("fashion", 3);
    tnd_statistics_t *page = tnd_pages_at(pages, 1);
    strcpy(page->actor, "read.0");
    strcpy(page->kind, "reader");
    tnd_statistics_state(page, TND_STATE_WAITING, 1, 1000);
    tnd_count(&page->rows_out, 7);

    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    const tnd_inspected_t *process = only(made, &count);
    cr_assert_eq(count, 1);
    cr_assert_str_eq(process->run, "fashion");
    cr_assert_str_eq(process->host, "a");
    cr_assert_eq(process->process, getpid());
    cr_assert_not(process->killed);
    cr_assert_not(process->stopped);
    cr_assert_eq(process->count, 1, "pages of actors that are elsewhere are left out");
    cr_assert_str_eq(process->actors[0].actor, "read.0");
    cr_assert_eq(process->actors[0].rows_out, 7);
    cr_assert_eq(process->actors[0].waiting_ns, 1000);
    cr_assert_eq(tnd_inspection_find(made, process, "read.0"), &process->actors[0]);
    cr_assert_null(tnd_inspection_find(made, process, "read.1"));
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&pages);
}

/*  A page has room for many, which most actors have none of. */
Test(inspection, the_devices_that_an_actor_has_are_read)
{
    uint32_t count;
    tnd_pages_t *pages = pages_of("fashion", 2);
    for (uint32_t i = 0; i < 2; i++) {
        tnd_statistics_t *page = tnd_pages_at(pages, i);
        strcpy(page->actor, i == 0 ? "feed" : "read.0");
        page->device_count = i == 0 ? 2 : 0;
        for (uint32_t d = 0; d < 3; d++)
            strcpy(page->devices[d].name, d == 1 ? "sim:1" : "sim:0");
        page->devices[1].since_ns = 5000 + i;
        page->devices[2].since_ns = 9000;
    }
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    const tnd_inspected_t *process = only(made, &count);
    cr_assert_eq(process->count, 2);
    cr_assert_str_eq(process->actors[0].devices[0].name, "sim:0");
    cr_assert_str_eq(process->actors[0].devices[1].name, "sim:1");
    cr_assert_str_eq(process->actors[0].devices[2].name, "");
    cr_assert_str_eq(process->actors[1].devices[0].name, "");
    cr_assert_eq(process->last_ns, 5000);
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&pages);
}

Test(inspection, pages_of_other_runs_are_left_alone)
{
    uint32_t count;
    tnd_pages_t *pages = pages_of("fashion", 1), *others = pages_of("other", 1);
    tnd_inspection_t *made = tnd_inspection_of_run("other", TND_LOOK_NOW);
    cr_assert_str_eq(only(made, &count)->run, "other");
    cr_assert_eq(count, 1);
    cr_assert_eq(made->count, 1);
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&others);

    pid_t child = fork();
    if (child == 0) {
        strcpy(tnd_pages_at(pages_of("other", 1), 0)->actor, "feed");
        raise(SIGKILL);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    made = tnd_inspection_of_run("fashion", TND_LOOK_NOW);
    cr_assert_str_eq(only(made, &count)->run, "fashion");
    cr_assert_eq(count, 1);
    tnd_inspection_destroy(&made);
    made = tnd_inspection_of_run("other", TND_LOOK_NOW);
    cr_assert(only(made, &count)->killed, "it was not removed by a look at another run");
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&pages);
}

Test(inspection, a_process_looks_at_its_own_run_without_the_others)
{
    enum { OTHERS = 40 };
    tnd_inspection_t *look = tnd_inspection_of_self(TND_LOOK_NOW);
    cr_assert_eq(look->count, 0);
    tnd_inspection_destroy(&look);
    tnd_pages_t *own = pages_of("mine", 1);
    tnd_pages_join(own, 7777);
    int ready[2], done[2];
    cr_assert(pipe(ready) == 0 && pipe(done) == 0);
    /* All have that name; the first is of the same run. */
    for (int i = 0; i < OTHERS; i++)
        if (fork() == 0) {
            char byte = 0;
            tnd_pages_t *other = pages_of("mine", 1);
            tnd_pages_join(other, i == 0 ? 7777 : 1000 + (uint64_t)i);
            close(done[1]);
            if (write(ready[1], &byte, 1) == 1)
                (void)!read(done[0], &byte, 1);
            tnd_pages_destroy(&other);
            _exit(0);
        }
    char bytes[OTHERS];
    for (ssize_t got = 0; got < OTHERS;)
        got += read(ready[0], bytes, sizeof bytes);
    look = tnd_inspection_of_self(TND_LOOK_DETAILS);
    cr_expect_eq(look->count, 2, "%u", look->count);
    for (uint32_t i = 0; i < look->count; i++)
        cr_expect_eq(look->processes[i].session, 7777);
    tnd_inspection_destroy(&look);
    close(done[1]);
    while (wait(NULL) > 0) {
    }
    tnd_pages_destroy(&own);
}

Test(inspection, a_file_that_never_got_its_name_is_removed_after_ten_minutes)
{
    static const int ages_s[] = {590, 610};
    char paths[2][300];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/tundish-mine-a-%d-1.pages.new", folder, i);
        int file = open(paths[i], O_WRONLY | O_CREAT | O_EXCL, 0600);
        struct timespec then = {.tv_sec = now.tv_sec - ages_s[i]};
        cr_assert_eq(futimens(file, (struct timespec[]){then, then}), 0);
        close(file);
    }
    tnd_pages_t *pages = pages_of("mine", 1);
    cr_expect_eq(access(paths[0], F_OK), 0, "a process may still make it");
    cr_expect_neq(access(paths[1], F_OK), 0);
    (void)unlink(paths[0]);
    tnd_pages_destroy(&pages);
}

Test(inspection, what_a_process_knows_of_its_run_is_read)
{
    uint32_t count;
    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    char text[256];
    tnd_pages_shape_t shape = {.actors = 2,
                               .hosts = 2,
                               .edges = 1,
                               .histories = 1,
                               .details = 1,
                               .timings = 2,
                               .rings = 2};
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, shape, &error), TND_OK);
    const tnd_run_record_t *record = tnd_pages_record(pages);
    record->page->step = 17;
    strcpy(record->hosts[1].name, "b");
    tnd_run_record_presence(&record->hosts[1], TND_PRESENCE_UP, 1000);
    tnd_run_record_presence(&record->hosts[1], TND_PRESENCE_UP, 2000);
    record->edges[0].to = 1;
    record->edges[0].ends[1].rows = 5;
    record->histories[0].seconds[63].rows = 8;
    for (uint64_t i = 0; i < TND_LOG_RECORDS + 1; i++)
        tnd_run_record_log(record, 2, "a", "prep.0", i == 0 ? "first" : "a\033later", i);

    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    const tnd_run_record_t *copy = &only(made, &count)->record;
    cr_assert_eq(copy->page->step, 17);
    cr_assert_str_eq(copy->hosts[1].name, "b");
    cr_assert_eq(copy->hosts[1].since_ns, 1000, "since it came");
    cr_assert_eq(copy->edges[0].ends[1].rows, 5);
    cr_assert_null(copy->histories, "they were not asked for");
    cr_assert_eq(copy->page->log_next, TND_LOG_RECORDS + 1);
    cr_assert(tnd_run_record_log_text(&copy->log[0], text, sizeof text));
    cr_assert_str_eq(text, "a prep.0 a?later");
    cr_assert_eq(copy->log[0].at_ns, TND_LOG_RECORDS);
    copy->log[0].after = 7;
    cr_assert_not(tnd_run_record_log_text(&copy->log[0], text, sizeof text), "half written");
    tnd_inspection_destroy(&made);

    made = tnd_inspection_new(TND_LOOK_HISTORIES);
    cr_assert_eq(only(made, &count)->record.histories[0].seconds[63].rows, 8);
    cr_assert_null(only(made, &count)->record.details, "they were not asked for");
    tnd_inspection_destroy(&made);

    record->instances[0].ring_count = 2;
    tnd_histogram_add(&record->timings[1].parts[TND_TIMING_REDUCE], 5000);
    tnd_actor_detail_read(&record->details[0], "/data/b.npy", 3, 4096);
    made = tnd_inspection_new(TND_LOOK_DETAILS);
    copy = &only(made, &count)->record;
    const tnd_timing_t *timing = tnd_run_record_timing(copy, 0, 1);
    cr_assert_eq(timing->parts[TND_TIMING_REDUCE].sum_ns, 5000);
    cr_assert_null(tnd_run_record_timing(copy, 0, 2), "it has one device");
    const tnd_actor_detail_t *detail = tnd_run_record_detail(copy, 0);
    cr_assert(tnd_actor_detail_file(detail, text, sizeof text));
    cr_assert_str_eq(text, "/data/b.npy");
    cr_assert_eq(detail->offset, 4096);
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&pages);
}

Test(inspection, processes_are_of_one_run_once_they_have_its_name_and_session)
{
    const tnd_inspected_t leader = {.run = "fashion", .host = "a", .session = 7};
    tnd_inspected_t other = {.run = "fashion", .host = "b", .session = 7};
    cr_assert(tnd_inspected_same(&leader, &other));
    other.session = 8;
    cr_assert_not(tnd_inspected_same(&leader, &other), "another run has the same name");
    other = (tnd_inspected_t){.run = "mnist", .host = "b", .session = 7};
    cr_assert_not(tnd_inspected_same(&leader, &other));
}

Test(inspection, a_process_that_met_its_leader_is_of_that_session)
{
    uint32_t count;
    tnd_pages_t *first = pages_of("fashion", 1), *second = NULL;
    tnd_error_t error;
    cr_assert_eq(
        tnd_pages_new(&second, "fashion", "a", 2, (tnd_pages_shape_t){.actors = 1}, &error), TND_OK,
        "%s", error.text);
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_not_null(only(made, &count));
    cr_assert_eq(count, 2, "two runs of one name in one process");
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&first);

    tnd_pages_join(second, 9);
    made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_eq(only(made, &count)->session, 9);
    cr_assert_eq(count, 1);
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&second);
}

/*  Sets the last change of the first actor and of the process in a file. */
static void set_last(const char *path, uint64_t last_ns)
{
    tnd_statistics_t page;
    int file = open(path, O_RDWR);
    cr_assert_eq(pread(file, &page, sizeof page, TND_PAGE_BYTES), (ssize_t)sizeof page);
    page.since_ns = last_ns;
    cr_assert_eq(pwrite(file, &page, sizeof page, TND_PAGE_BYTES), (ssize_t)sizeof page);
    close(file);
}

Test(inspection, a_stopped_process_is_seen_and_a_killed_one_is_kept_for_a_while)
{
    uint32_t count;
    int ready[2];
    char byte;
    uint64_t began = tnd_clock_now();
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        tnd_pages_t *pages = pages_of("left", 1);
        strcpy(tnd_pages_at(pages, 0)->actor, "feed");
        tnd_pages_at(pages, 0)->since_ns = tnd_clock_now();
        _exit(write(ready[1], "x", 1) == 1 && pause() != 0 ? 1 : 2);
    }
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    kill(child, SIGSTOP);
    int status;
    cr_assert_eq(waitpid(child, &status, WUNTRACED), child);

    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    const tnd_inspected_t *process = only(made, &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(process->process, child);
    cr_assert(process->stopped);
    cr_assert_not(process->killed);
    tnd_inspection_destroy(&made);

    kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, &status, 0), child);
    made = tnd_inspection_new(TND_LOOK_NOW);
    process = only(made, &count);
    cr_assert_eq(count, 1);
    cr_assert(process->killed);
    cr_assert_str_eq(process->actors[0].actor, "feed");
    cr_assert_geq(process->last_ns, began);
    cr_assert_not(tnd_inspection_runs(made, process));
    tnd_inspection_destroy(&made);

    made = tnd_inspection_new(TND_LOOK_NOW);
    process = only(made, &count);
    cr_assert_eq(count, 1);
    set_last(process->path, began - UINT64_C(601000000000));
    tnd_inspection_destroy(&made);
    made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_eq((only(made, &count), count), 1, "it is shown once more, and removed");
    tnd_inspection_destroy(&made);
    made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_null(only(made, &count));
    tnd_inspection_destroy(&made);
}

Test(inspection, a_parent_notes_the_signal_that_killed_its_child)
{
    uint32_t count;
    siginfo_t info;
    pid_t child = fork();
    if (child == 0) {
        tnd_pages_t *pages = pages_of("left", 1);
        strcpy(tnd_pages_at(pages, 0)->actor, "prep.0");
        tnd_pages_at(pages, 0)->since_ns = tnd_clock_now();
        raise(SIGKILL);
    }
    cr_assert_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    tnd_pages_note_death(getpid(), SIGTERM); /* of another process */
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_eq(only(made, &count)->killed_by, 0);
    tnd_inspection_destroy(&made);
    tnd_pages_note_death(child, SIGKILL);
    cr_assert_eq(waitid(P_PID, (id_t)child, &info, WEXITED), 0);
    made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_eq(only(made, &count)->killed_by, SIGKILL);
    (void)unlink(only(made, &count)->path);
    tnd_inspection_destroy(&made);
}

Test(inspection, the_end_of_a_run_removes_what_its_killed_processes_left)
{
    uint32_t count;
    int status;
    pid_t child = fork();
    if (child == 0) {
        tnd_pages_t *pages = pages_of("left", 1);
        strcpy(tnd_pages_at(pages, 0)->actor, "prep.0");
        tnd_pages_at(pages, 0)->since_ns = tnd_clock_now();
        raise(SIGKILL);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    tnd_pages_t *pages = pages_of("left", 1); /* of the same session */
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_not_null(only(made, &count));
    cr_assert_eq(count, 2);
    tnd_inspection_destroy(&made);

    tnd_pages_join(pages, 7);
    tnd_pages_forget(pages);
    made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_eq((only(made, &count), count), 2, "it was of another run");
    tnd_inspection_destroy(&made);

    tnd_pages_join(pages, 1);
    tnd_pages_forget(pages);
    made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_eq((only(made, &count), count), 1);
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&pages);
}

Test(inspection, of_the_killed_processes_of_a_host_the_latest_two_are_kept)
{
    uint32_t count = 0;
    int status;
    pid_t killed[3];
    for (int i = 0; i < 3; i++) {
        killed[i] = fork();
        if (killed[i] == 0) {
            tnd_pages_at(pages_of("left", 1), 0)->since_ns = tnd_clock_now();
            raise(SIGKILL);
        }
        cr_assert_eq(waitpid(killed[i], &status, 0), killed[i]);
    }
    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_pages_new(&pages, "left", "a", 2, (tnd_pages_shape_t){.actors = 1}, &error),
                 TND_OK, "%s", error.text);

    tnd_pages_join(pages, 1);

    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < made->count; p++)
        if (strncmp(made->processes[p].path, folder, strlen(folder)) == 0 &&
            made->processes[p].killed) {
            cr_assert_neq(made->processes[p].process, killed[0]);
            count++;
        }
    cr_assert_eq(count, 2);
    tnd_inspection_destroy(&made);
    tnd_pages_forget(pages);
    tnd_pages_destroy(&pages);
}

Test(inspection, a_process_whose_control_thread_wrote_later_is_kept_as_long)
{
    uint32_t count;
    int status;
    pid_t child = fork();
    if (child == 0) {
        tnd_pages_t *pages = pages_of("left", 1);
        strcpy(tnd_pages_at(pages, 0)->actor, "feed");
        tnd_pages_at(pages, 0)->since_ns = 1; /* it has waited since */
        tnd_pages_record(pages)->page->written_ns = tnd_clock_now();
        raise(SIGKILL);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    tnd_pages_t *pages = pages_of("next", 1); /* a new process removes old files */
    tnd_pages_join(pages, 9);
    for (int i = 0; i < 2; i++) {
        tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
        cr_assert_eq((only(made, &count), count), 2);
        tnd_inspection_destroy(&made);
    }
    tnd_pages_join(pages, 1);
    tnd_pages_forget(pages);
    tnd_pages_destroy(&pages);
}

Test(inspection, the_name_of_a_file_moves_no_cursor)
{
    char path[128];
    sprintf(path, "%s/tundish-\033[2J-a-1.pages", folder);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    cr_assert_eq(write(file, "x", 1), 1);
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    cr_assert_not_null(strstr(made->unread, "tundish-?[2J-a-1.pages: not shown: "), "%s",
                       made->unread);
    cr_assert_null(strchr(made->unread, '\033'));
    tnd_inspection_destroy(&made);
    close(file);
    (void)unlink(path);
}

/*  A file as `bytes` say. */
static void forge(char *path, const void *bytes, size_t size)
{
    sprintf(path, "%s/tundish-forged-a-1.pages", folder);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, bytes, size), (ssize_t)size);
    close(file);
}

Test(inspection, files_of_other_programs_are_reported_and_ignored)
{
    static char bytes[3 * TND_PAGE_BYTES];
    char path[128];
    uint32_t count;
    tnd_pages_header_t header = {.version = TND_PAGES_VERSION,
                                 .actor_bytes = sizeof(tnd_statistics_t),
                                 .shape = {.actors = 2},
                                 .process = 1};
    static const struct {
        const char *magic;
        uint32_t version, count;
        size_t size;
        const char *said;
    } cases[] = {
        {"TNDPAGES", TND_PAGES_VERSION, 2, 100, "it is not of tundish"},
        {"TNDPAGEX", TND_PAGES_VERSION, 2, sizeof bytes, "it is not of tundish"},
        {"TNDPAGES", TND_PAGES_VERSION + 1, 2, sizeof bytes, "another version"},
        {"TNDPAGES", TND_PAGES_VERSION, 3, sizeof bytes, "it is cut"},
        {"TNDPAGES", TND_PAGES_VERSION, UINT32_MAX, sizeof bytes, "it is cut"},
        {"TNDPAGES", TND_PAGES_VERSION, 2, 2 * TND_PAGE_BYTES + 1, "it is cut"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        memcpy(header.magic, cases[c].magic, sizeof header.magic);
        header.version = cases[c].version;
        header.shape.actors = cases[c].count;
        header.record_bytes = (uint32_t)tnd_run_record_bytes(&header.shape);
        memcpy(bytes, &header, sizeof header);
        forge(path, bytes, cases[c].size);
        tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
        cr_assert_null(only(made, &count), "case %zu", c);
        cr_assert_not_null(strstr(made->unread, cases[c].said), "case %zu: %s", c, made->unread);
        tnd_inspection_destroy(&made);
    }
}

Test(inspection, a_file_larger_than_any_run_needs_is_not_read)
{
    char path[128], page[TND_PAGE_BYTES] = {0};
    uint32_t count;
    tnd_pages_header_t header = {.magic = "TNDPAGES",
                                 .version = TND_PAGES_VERSION,
                                 .actor_bytes = sizeof(tnd_statistics_t),
                                 .shape = {.actors = 2}};
    header.record_bytes = (uint32_t)tnd_run_record_bytes(&header.shape);
    memcpy(page, &header, sizeof header);
    forge(path, page, sizeof page);
    cr_assert_eq(truncate(path, TND_PAGES_FILE_MAX), 0);
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_DETAILS);
    cr_assert_not_null(only(made, &count), "%s", made->unread);
    tnd_inspection_destroy(&made);
    forge(path, page, sizeof page);
    cr_assert_eq(truncate(path, TND_PAGES_FILE_MAX + 1), 0);
    made = tnd_inspection_new(TND_LOOK_DETAILS);
    cr_assert_null(only(made, &count));
    cr_assert_not_null(strstr(made->unread, "larger than"), "%s", made->unread);
    tnd_inspection_destroy(&made);
}

Test(inspection, a_page_of_noise_is_held_within_its_bounds)
{
    static char bytes[64 * TND_PAGE_BYTES];
    char path[128], text[512];
    uint32_t count;
    memset(bytes, 0xff, sizeof bytes);
    tnd_pages_header_t header = {.version = TND_PAGES_VERSION,
                                 .actor_bytes = sizeof(tnd_statistics_t),
                                 .shape = {.actors = 2,
                                           .hosts = 2,
                                           .edges = 2,
                                           .histories = 1,
                                           .details = 1,
                                           .timings = 1,
                                           .rings = 1},
                                 .process = -5};
    header.record_bytes = (uint32_t)tnd_run_record_bytes(&header.shape);
    memcpy(header.magic, "TNDPAGES", sizeof header.magic);
    memset(header.run, '\033', sizeof header.run);
    memcpy(bytes, &header, sizeof header);
    forge(path, bytes, sizeof bytes);

    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_DETAILS);
    const tnd_inspected_t *process = only(made, &count);
    cr_assert_eq(count, 1);
    cr_assert_lt(strlen(process->run), sizeof process->run);
    cr_assert_null(strchr(process->run, '\033'), "a name moves no cursor");
    cr_assert_eq(process->count, 2);
    const tnd_statistics_t *page = &process->actors[0];
    cr_assert_leq(page->state & 0xff, TND_STATE_FAILED);
    cr_assert_lt(strlen(page->actor), sizeof page->actor);
    cr_assert_leq(page->peer_count, TND_PAGE_PEERS);
    cr_assert_leq(page->device_count, TND_PAGE_DEVICES);
    cr_assert_lt(page->devices[3].state & 0xff, TND_DEVICE_STATES);
    tnd_times_t times;
    tnd_statistics_times(page, 1000, &times);
    const tnd_run_record_t *record = &process->record;
    cr_assert_leq(record->page->state, TND_LEADER_CORE_FAILED + 1);
    cr_assert_lt(record->page->control, TND_CONTROL_STATES);
    cr_assert_lt(record->page->host, 2);
    cr_assert_leq(record->page->chain_count, TND_PAGE_CHAINS);
    cr_assert_lt(record->hosts[1].presence, TND_PRESENCES);
    cr_assert_lt(strlen(record->hosts[1].name), sizeof record->hosts[1].name);
    cr_assert_lt(record->instances[1].host, 2);
    cr_assert_eq(record->instances[1].history, UINT32_MAX);
    cr_assert_lt(record->edges[1].to, 2);
    cr_assert_leq(record->edges[1].transport, TND_TRANSPORT_TCP);
    cr_assert(tnd_run_record_log_text(&record->log[0], text, sizeof text));
    cr_assert_eq(strspn(text, "?"), strlen(text), "it is terminated");
    const tnd_actor_detail_t *detail = &record->details[0];
    cr_assert_leq(detail->operation_count, TND_DETAIL_OPERATIONS);
    cr_assert_lt(strlen(detail->options), sizeof detail->options);
    cr_assert_lt(strlen(detail->operations[31].name), sizeof detail->operations[31].name);
    cr_assert(tnd_actor_detail_file(detail, text, sizeof text));
    cr_assert_null(tnd_run_record_timing(record, 1, 0), "its ring does not exist");
    cr_assert_eq(record->memory->count, TND_MEMORY_TERMS);
    cr_assert_lt(strlen(record->memory->terms[1].actor), sizeof record->memory->terms[1].actor);
    cr_assert_lt(strlen(record->memory->terms[1].what), sizeof record->memory->terms[1].what);
    tnd_inspection_destroy(&made);
}
