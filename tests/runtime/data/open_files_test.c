/*  Covers runtime/data/open_files.h: reservations, the limits, and that nothing is left. */
#include "runtime/data/open_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <criterion/criterion.h>

/*  Every test is a process of its own. */
static void allow(rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static rlim_t soft_limit(void)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
}

Test(open_files, a_reservation_raises_the_soft_limit_and_no_further_than_needed)
{
    tnd_error_t error;
    allow(64, 1024);
    cr_assert_eq(tnd_open_files_reserve(10, &error), TND_OK);
    cr_assert_eq(soft_limit(), 64);
    cr_assert_eq(tnd_open_files_reserve(100, &error), TND_OK);
    cr_assert(soft_limit() >= 110 && soft_limit() < 256, "%lu", (unsigned long)soft_limit());
    rlim_t raised = soft_limit();
    tnd_open_files_release(100);
    cr_assert_eq(soft_limit(), raised);
    cr_assert_eq(tnd_open_files_reserve(100, &error), TND_OK);
    cr_assert_eq(soft_limit(), raised, "what was released is there again");
}

Test(open_files, more_than_the_hard_limit_is_refused_with_the_numbers)
{
    tnd_error_t error;
    allow(64, 128);
    uint64_t room = tnd_open_files_unreserved();
    cr_assert(room > 64 && room <= 128);
    cr_assert_eq(tnd_open_files_reserve(room + 1, &error), TND_FAILED);
    cr_assert_neq(strstr(error.text, "129 file descriptors are needed"), NULL, "%s", error.text);
    cr_assert_neq(strstr(error.text, "may have 128"), NULL, "%s", error.text);
    cr_assert_neq(strstr(error.text, "`ulimit -n 129`"), NULL, "%s", error.text);
    cr_assert_eq(tnd_open_files_unreserved(), room, "nothing was reserved");
    cr_assert_eq(tnd_open_files_reserve(room, &error), TND_OK);
    cr_assert_eq(tnd_open_files_unreserved(), 0);
    cr_assert_eq(tnd_open_files_reserve(1, &error), TND_FAILED);
}

Test(open_files, exhaustion_is_reported_and_may_pass)
{
    tnd_error_t error;
    allow(64, 64);
    cr_assert_eq(tnd_open_files_left(&error), TND_OK);
    int last = -1;
    for (int file; (file = open("/", O_PATH)) >= 0;)
        last = file;
    cr_assert_eq(tnd_open_files_left(&error), TND_FAILED);
    cr_assert_neq(strstr(error.text, "all 64 file descriptors"), NULL, "%s", error.text);
    close(last);
    cr_assert_eq(tnd_open_files_left(&error), TND_OK);
}

static bool is_open(int file)
{
    return fcntl(file, F_GETFD) >= 0;
}

Test(open_files, kept_files_are_bounded_and_give_way_to_reservations)
{
    enum { FILES = 128 };
    tnd_kept_file_t *files[FILES];
    int numbers[FILES], kept = 0;
    tnd_error_t error;
    allow(64, 128);
    uint64_t room = tnd_open_files_unreserved();
    for (int i = 0; i < FILES; i++) {
        numbers[i] = open("/", O_PATH);
        cr_assert_geq(numbers[i], 0, "one of those before was not closed");
        files[i] = tnd_kept_file_new(numbers[i]);
        kept += files[i] != NULL;
        cr_assert_eq(is_open(numbers[i]), files[i] != NULL);
    }
    cr_assert(kept > 32 && kept < 64, "%d", kept);
    cr_assert_eq(tnd_open_files_unreserved(), room, "they are not counted as reserved");

    cr_assert_eq(tnd_kept_file_borrow(files[0]), numbers[0]);
    cr_assert_eq(tnd_open_files_reserve(room, &error), TND_OK, "%s", error.text);
    cr_assert(is_open(numbers[0]), "it is in use");
    for (int i = 1; i < kept; i++)
        cr_assert_eq(tnd_kept_file_borrow(files[i]), -1);
    tnd_kept_file_return(files[0]);
    for (int i = 0; i < kept; i++)
        tnd_kept_file_destroy(&files[i]);
    cr_assert_not(is_open(numbers[0]));
}
