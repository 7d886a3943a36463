/*  Covers runtime/life/statistics.h: pages are shared memory that another process could read, time
 *  goes to the state that it was spent in, the file is gone afterwards.
 */
#include "runtime/life/statistics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/core/effect.h"

static tnd_pages_t *pages_in(char *folder)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 3, &error), TND_OK, "%s", error.text);
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
    cr_assert_eq(page->wait_ns[0], 200 + 1000, "waited for input");
    cr_assert_eq(page->wait_ns[3], 200, "waited for a watermark");
    tnd_pages_destroy(&pages);
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

Test(statistics, what_a_killed_process_left_is_swept)
{
    char folder[] = "/tmp/tundish-test-XXXXXX", left[128], other[128];
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    /* Numbers of processes end at 2^22. */
    snprintf(left, sizeof left, "%s/tundish-fashion-a-4194305.pages", folder);
    snprintf(other, sizeof other, "%s/somebody-else-4194305.pages", folder);
    fclose(fopen(left, "w"));
    fclose(fopen(other, "w"));

    tnd_pages_t *pages = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, &error), TND_OK, "%s", error.text);

    cr_assert_eq(files_in(folder), 2, "the new file and somebody else's");
    tnd_pages_destroy(&pages);
    cr_assert_eq(files_in(folder), 1);
}

Test(statistics, a_folder_that_cannot_be_written_is_named)
{
    setenv("XDG_RUNTIME_DIR", "/proc/no-such-folder", 1);
    tnd_pages_t *pages = NULL;
    tnd_error_t error;

    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, &error), TND_FAILED);

    cr_assert_not_null(strstr(error.text, "/proc/no-such-folder"));
    cr_assert_null(pages);
}

Test(statistics, a_file_that_a_killed_process_of_the_same_number_left_is_replaced)
{
    char folder[] = "/tmp/tundish-test-XXXXXX";
    tnd_pages_t *killed = pages_in(folder), *pages = NULL;
    tnd_error_t error;
    tnd_count(&tnd_pages_at(killed, 0)->rows_in, 5);

    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 3, &error), TND_OK, "%s", error.text);
    cr_assert_eq(tnd_pages_at(pages, 0)->rows_in, 0);
    tnd_pages_destroy(&pages);
    tnd_pages_destroy(&killed);
    cr_assert_eq(files_in(folder), 0);
    cr_assert_eq(rmdir(folder), 0);
}
