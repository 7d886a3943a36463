/*  Covers runtime/observe/statistics.h: pages are shared memory that another process could read,
 *  time goes to the state that it was spent in, the file is gone afterwards. */
#include "runtime/observe/pages.h"
#include "runtime/pages/page_folders.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/looks/history_span.h"

#include "runtime/core/protocol/effect.h"

static tnd_pages_t *pages_in(char *folder)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, (tnd_pages_shape_t){.actors = 3}, &error),
                 TND_OK, "%s", error.text);
    return pages;
}

static int files_in(const char *folder)
{
    int count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

Test(statistics, time_goes_to_the_state_it_was_spent_in)
{
    char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_pages_t *pages = pages_in(folder);
    tnd_statistics_t *page = tnd_pages_at(pages, 1);

    tnd_statistics_state(page, TND_STATE_WORKING, 0, 1000);
    tnd_statistics_state(page, TND_STATE_WAITING, TND_WAIT_INPUT | TND_WAIT_MARK, 1500);
    tnd_statistics_state(page, TND_STATE_WAITING, TND_WAIT_INPUT, 1700);
    tnd_statistics_state(page, TND_STATE_RUNNING, 0, 2700);

    cr_assert_eq(page->work_ns, 500);
    cr_assert_eq(page->wait_ns[3], 200, "waited for a watermark above all");
    cr_assert_eq(page->wait_ns[0], 1000, "waited for input");
    tnd_pages_destroy(&pages);
}

Test(statistics, an_actor_that_wakes_and_finds_nothing_waits_since_before)
{
    char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_pages_t *pages = pages_in(folder);
    tnd_statistics_t *page = tnd_pages_at(pages, 0);

    tnd_statistics_state(page, TND_STATE_WAITING, TND_WAIT_INPUT, 1000);
    tnd_statistics_state(page, TND_STATE_RUNNING, 0, 2000);
    tnd_statistics_state(page, TND_STATE_WAITING, TND_WAIT_INPUT, 2010);
    cr_assert_eq(page->waiting_ns, 1000);
    tnd_statistics_state(page, TND_STATE_RUNNING, 0, 3000);
    tnd_count(&page->rows_in, 1);
    tnd_statistics_state(page, TND_STATE_WAITING, TND_WAIT_INPUT, 3010);
    cr_assert_eq(page->waiting_ns, 3010, "it had something to do meanwhile");
    tnd_statistics_state(page, TND_STATE_RUNNING, 0, 4000);
    tnd_statistics_state(page, TND_STATE_WAITING, TND_WAIT_CREDIT, 4010);
    cr_assert_eq(page->waiting_ns, 4010, "it waits for something else");
    tnd_pages_destroy(&pages);
}

static uint64_t sum_of(const tnd_times_t *times)
{
    uint64_t sum = 0;
#define ADD_TIME(name, text) sum += times->name;
    TND_TIMES(ADD_TIME)
#undef ADD_TIME
    return sum;
}

Test(statistics, the_times_of_an_actor_add_up_to_its_life)
{
    tnd_statistics_t page = {0};
    tnd_times_t times;
    tnd_statistics_times(&page, 5, &times);
    cr_assert_eq(sum_of(&times), 0, "it was not born");

    tnd_statistics_state(&page, TND_STATE_RUNNING, 0, 100);
    tnd_statistics_state(&page, TND_STATE_WORKING, 0, 200);
    tnd_statistics_state(&page, TND_STATE_WAITING, TND_WAIT_INPUT | TND_WAIT_ORDER, 700);
    tnd_statistics_state(&page, TND_STATE_RUNNING, 0, 900);
    tnd_statistics_state(&page, TND_STATE_WAITING, TND_WAIT_WINDOW, 1000);
    tnd_count(&page.cpu_ns, 300);
    tnd_count(&page.ready_ns, 50);
    tnd_statistics_times(&page, 1400, &times);
    cr_assert_eq(times.cpu, 300);
    cr_assert_eq(times.run_queue, 50);
    cr_assert_eq(times.wait_order, 200);
    cr_assert_eq(times.wait_credit, 400, "it waits now");
    cr_assert_eq(times.wait_io, 350, "of 500 in its work and 200 beside it, 350 were used");
    cr_assert_eq(sum_of(&times), 1300);

    /* More was computed than it was awake: waking up takes time. */
    tnd_count(&page.cpu_ns, 500);
    tnd_statistics_times(&page, 1400, &times);
    cr_assert_eq(times.cpu, 800);
    cr_assert_eq(times.wait_io, 0);
    cr_assert_leq(times.wait_order, 200);
    cr_assert_eq(sum_of(&times), 1300);

    tnd_statistics_state(&page, TND_STATE_ENDED, 0, 1500);
    tnd_statistics_times(&page, 99999, &times);
    cr_assert_eq(sum_of(&times), 1400, "its life is over");
}

Test(statistics, the_parts_of_a_window_are_never_negative_and_add_up)
{
    uint64_t seed = 7;
    for (int round = 0; round < 100000; round++) {
        uint64_t numbers[20];
        for (int i = 0; i < 20; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            numbers[i] = seed >> (8 + seed % 50);
        }
        tnd_times_t before, after, window;
        memcpy(&before, numbers, sizeof before);
        memcpy(&after, numbers + 9, sizeof after);
        uint64_t span = numbers[18] % 60000000000u;
        tnd_times_between(&before, &after, span, &window);
        cr_assert_eq(sum_of(&window), span, "round %d", round);
        cr_assert_leq(window.cpu, span);
        cr_assert_leq(window.other, span);

        _Atomic uint64_t shares[3];
        tnd_times_t unpacked;
        tnd_times_pack(&window, shares);
        tnd_times_unpack(shares, span, &unpacked);
        cr_assert_eq(sum_of(&unpacked), span);
        uint64_t off =
            unpacked.cpu > window.cpu ? unpacked.cpu - window.cpu : window.cpu - unpacked.cpu;
        cr_assert_leq(off, span / 5000 + 20, "a share is exact to 0.02 %%");

        double step = (double)(numbers[0] % 1000) / 999, program = 1 - step, got[2];
        tnd_times_t again;
        tnd_feeder_shares_pack(step, program, shares);
        tnd_feeder_shares_unpack(shares, &got[0], &got[1]);
        cr_assert(fabs(got[0] - step) < 1e-4 && fabs(got[1] - program) < 1e-4);
        tnd_times_unpack(shares, span, &again);
        cr_assert_eq(memcmp(&again, &unpacked, sizeof again), 0, "beside those of its thread");
    }
}

Test(statistics, a_window_is_the_difference_of_two_moments)
{
    tnd_times_t before = {.cpu = 100, .wait_in = 500, .wait_io = 30};
    tnd_times_t after = {.cpu = 400, .wait_in = 1200, .wait_io = 25}, window;
    tnd_times_between(&before, &after, 1000, &window);
    cr_assert_eq(window.cpu, 300);
    cr_assert_eq(window.wait_in, 700);
    cr_assert_eq(window.wait_io, 0, "it is not negative");
    tnd_times_between(&after, &after, 1000, &window);
    cr_assert_eq(window.other, 1000, "no time was booked");
}

Test(statistics, every_reason_to_wait_has_a_name_and_a_rank)
{
    for (unsigned bit = 0; bit < 11; bit++) {
        cr_assert_not_null(tnd_wait_name(bit));
        cr_assert_eq(tnd_wait_foremost(1u << bit), bit);
    }
    cr_assert_null(tnd_wait_name(11));
    cr_assert_eq(1u << tnd_wait_foremost(TND_WAIT_INPUT | TND_WAIT_STEP), TND_WAIT_STEP);
}

Test(statistics, each_actor_has_a_page_of_its_own_and_the_file_goes)
{
    char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_pages_t *pages = pages_in(folder);
    cr_assert_eq(files_in(folder), 1);

    tnd_count(&tnd_pages_at(pages, 0)->rows_in, 5);
    tnd_count(&tnd_pages_at(pages, 2)->rows_in, 7);

    cr_assert_eq(tnd_pages_at(pages, 0)->rows_in, 5);
    cr_assert_eq(tnd_pages_at(pages, 1)->rows_in, 0);
    cr_assert_eq(tnd_pages_at(pages, 2)->rows_in, 7);
    tnd_pages_destroy(&pages);
    cr_assert_null(pages);
    cr_assert_eq(files_in(folder), 0);
}

Test(statistics, the_page_of_a_killed_process_is_removed)
{
    char folder[] = "/tmp/tundish-test-XXXXXX", left[128], other[128];
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    /* Numbers of processes end at 2^22. */
    snprintf(left, sizeof left, "%s/tundish-fashion-a-4194305.pages", folder);
    snprintf(other, sizeof other, "%s/another-program-4194305.pages", folder);
    fclose(fopen(left, "w"));
    fclose(fopen(other, "w"));

    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, (tnd_pages_shape_t){.actors = 1}, &error),
                 TND_OK, "%s", error.text);

    cr_assert_eq(files_in(folder), 2, "the new file and that of another program");
    tnd_pages_destroy(&pages);
    cr_assert_eq(files_in(folder), 1);
}

Test(statistics, a_missing_runtime_directory_is_not_needed)
{
    setenv("XDG_RUNTIME_DIR", "/proc/no-such-folder", 1);
    tnd_pages_t *pages = NULL;
    tnd_error_t error;

    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, (tnd_pages_shape_t){.actors = 1}, &error),
                 TND_OK, "%s", error.text);

    tnd_pages_destroy(&pages);
}

Test(statistics, names_of_any_length_make_a_file_that_is_found)
{
    char folder[] = "/tmp/tundish-test-XXXXXX", name[400];
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    memset(name, 'n', sizeof name);
    for (size_t length = 63; length < sizeof name; length += 100) {
        tnd_pages_t *pages = NULL;
        tnd_error_t error;
        name[length] = '\0';
        cr_assert_eq(
            tnd_pages_new(&pages, name, name, UINT64_MAX, (tnd_pages_shape_t){.actors = 1}, &error),
            TND_OK, "%s", error.text);
        DIR *open = opendir(folder);
        for (struct dirent *entry; (entry = readdir(open)) != NULL;)
            cr_expect(entry->d_name[0] == '.' || tnd_pages_named(entry->d_name), "%s",
                      entry->d_name);
        closedir(open);
        tnd_pages_destroy(&pages);
        cr_expect_eq(files_in(folder), 0);
        name[length] = 'n';
    }
}

Test(statistics, a_folder_that_cannot_be_written_is_named)
{
    /* A folder in which not even root can create a file. */
    setenv("XDG_RUNTIME_DIR", "/proc", 1);
    if (access("/proc", W_OK) != 0)
        cr_skip_test("only root is told by access() that it may");
    tnd_pages_t *pages = NULL;
    tnd_error_t error;

    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, (tnd_pages_shape_t){.actors = 1}, &error),
                 TND_FAILED);

    cr_assert_not_null(strstr(error.text, "/proc/"));
    cr_assert_null(pages);
}

Test(statistics, pages_that_nobody_can_look_at_count_like_others)
{
    tnd_pages_t *pages = tnd_pages_new_unseen((tnd_pages_shape_t){.actors = 2});

    tnd_pages_join(pages, 7);
    tnd_count(&tnd_pages_at(pages, 1)->rows_in, 5);

    cr_assert_eq(tnd_pages_at(pages, 0)->rows_in, 0);
    cr_assert_eq(tnd_pages_at(pages, 1)->rows_in, 5);
    tnd_pages_destroy(&pages);
    cr_assert_null(pages);
}

Test(statistics, a_file_that_a_killed_process_of_the_same_number_left_is_replaced)
{
    char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_pages_t *killed = pages_in(folder), *pages = NULL;
    tnd_error_t error;
    tnd_count(&tnd_pages_at(killed, 0)->rows_in, 5);

    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, (tnd_pages_shape_t){.actors = 3}, &error),
                 TND_OK, "%s", error.text);
    cr_assert_eq(tnd_pages_at(pages, 0)->rows_in, 0);
    tnd_pages_destroy(&pages);
    tnd_pages_destroy(&killed);
    cr_assert_eq(files_in(folder), 0);
    cr_assert_eq(rmdir(folder), 0);
}

Test(statistics, ten_seconds_of_a_history_become_a_span)
{
    static tnd_history_t history;
    /* Seconds 60 to 69 are of span 6.  Half of them compute, the others wait for input. */
    for (uint64_t n = 0; n < 70; n++) {
        tnd_history_second_t *second = &history.seconds[n % TND_HISTORY_SECONDS];
        tnd_times_t times = {.cpu = n % 2 ? 100 : 0, .wait_in = n % 2 ? 0 : 100};
        tnd_times_pack(&times, second->shares);
        tnd_feeder_shares_pack(n % 2 ? 1 : 0, 0.5, second->shares);
        second->rows = n;
        second->bytes = 2 * n;
        second->queue = n;
        second->credit = 1000 + n;
        second->at_ns = 1 + n;
        tnd_history_span(&history, n);
    }
    const tnd_history_second_t *span = &history.spans[6];
    tnd_times_t times;
    double step, program;
    tnd_times_unpack(span->shares, 1000, &times);
    tnd_feeder_shares_unpack(span->shares, &step, &program);
    cr_assert_eq(span->rows, 645);
    cr_assert_eq(span->bytes, 1290);
    cr_assert(span->queue == 69 && span->credit == 1069 && span->at_ns == 70);
    cr_assert(times.cpu >= 499 && times.cpu <= 501 && times.wait_in >= 499, "%d", (int)times.cpu);
    cr_assert(step > 0.499 && step < 0.501 && program > 0.499 && program < 0.501);
    cr_assert_eq(history.spans[0].rows, 45);
    cr_assert_eq(history.spans[7].at_ns, 0, "it has not ended");
}

/*  A device that works on a step is not idle because its thread is. */
Test(statistics, a_device_that_works_is_in_a_step_while_its_thread_waits)
{
    static tnd_device_page_t page;
    page.state = TND_DEVICE_IDLE | 3 << 8;
    page.step = 6;
    page.since_ns = 100;
    page.pending = TND_PENDING_WORK | 7 << 8;
    page.pending_since_ns = 80;
    tnd_device_doing_t doing = tnd_device_doing(&page);
    cr_assert(doing.state == TND_DEVICE_IDLE && doing.step == 6 && doing.since_ns == 100,
              "its work is not timed");
    page.timed = TND_TIMED_BY_DEVICE;
    doing = tnd_device_doing(&page);
    cr_assert(doing.state == TND_DEVICE_STEP && doing.step == 7 && doing.since_ns == 80);
    cr_assert_eq(doing.replica, 3);
    page.pending = TND_PENDING_COPY | 7 << 8;
    cr_assert_eq(tnd_device_doing(&page).state, TND_DEVICE_IDLE);
    page.pending = TND_PENDING_WORK | 7 << 8;
    page.state = TND_DEVICE_REDUCE | 3 << 8;
    doing = tnd_device_doing(&page);
    cr_assert(doing.state == TND_DEVICE_REDUCE && doing.step == 6);
}

/*  A step that has ended on the device when it returns: the host is waited for before and after it only. */
Test(statistics, a_device_whose_steps_return_does_not_wait_for_the_host_in_a_step)
{
    static tnd_device_page_t page;
    tnd_statistics_device_wait(&page, TND_DEVICE_WAIT_HOST, 100);
    tnd_statistics_device(&page, TND_DEVICE_STEP, 0, 1, 130);
    cr_assert_eq(tnd_device_worked(&page, 180), 0, "its work is not timed");
    cr_assert_eq(tnd_device_waited(&page, TND_DEVICE_WAIT_HOST, 180), 80);
    page.timed = TND_TIMED_BY_THREAD;
    cr_assert_eq(tnd_device_worked(&page, 180), 50);
    cr_assert_eq(tnd_device_waited(&page, TND_DEVICE_WAIT_HOST, 180), 30);
    tnd_statistics_device(&page, TND_DEVICE_APPLY, 0, 1, 190);
    tnd_statistics_device(&page, TND_DEVICE_IDLE, 0, 1, 200);
    tnd_statistics_device_wait(&page, TND_DEVICE_WAIT_ROWS, 210);
    cr_assert_eq(tnd_device_worked(&page, 300), 70);
    cr_assert_eq(tnd_device_waited(&page, TND_DEVICE_WAIT_HOST, 300), 40);
    cr_assert_eq(tnd_device_waited(&page, TND_DEVICE_WAIT_ROWS, 300), 90);
}
