/*  Covers runtime/observe/process.h: whether a process exists, is told apart from a later one of
 *  its number, and is known only where its number holds. */
#include "runtime/observe/process.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

/*  A process that ends on request. */
static tnd_process_t begin(int *end_p)
{
    int hold[2];
    cr_assert_eq(pipe(hold), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(hold[1]);
        _exit((int)read(hold[0], &byte, 1));
    }
    close(hold[0]);
    *end_p = hold[1];
    char state;
    tnd_process_t process = tnd_process_own();
    cr_assert_gt(process.number, 0, "this system does not tell");
    process.number = (int)child;
    process.start = tnd_process_start(child, &state);
    return process;
}

Test(process, one_that_has_ended_is_dead_before_and_after_it_is_reaped)
{
    int end;
    tnd_process_t process = begin(&end);
    cr_assert_eq(tnd_process_fate(&process), TND_FATE_ALIVE);
    close(end);
    siginfo_t info;
    cr_assert_eq(waitid(P_PID, (id_t)process.number, &info, WEXITED | WNOWAIT), 0);
    cr_assert_eq(tnd_process_fate(&process), TND_FATE_DEAD, "its parent has not asked");
    cr_assert_eq(waitpid(process.number, NULL, 0), process.number);
    cr_assert_eq(tnd_process_fate(&process), TND_FATE_DEAD);
}

Test(process, a_later_one_of_the_same_number_is_another)
{
    tnd_process_t process = tnd_process_own();
    cr_assert_eq(tnd_process_fate(&process), TND_FATE_ALIVE);
    process.start--;
    cr_assert_eq(tnd_process_fate(&process), TND_FATE_DEAD);
}

Test(process, nothing_is_known_of_one_on_another_machine)
{
    tnd_process_t process = tnd_process_own(), none = {0};
    process.machine[0] ^= 1;
    cr_assert_eq(tnd_process_fate(&process), TND_FATE_UNKNOWN);
    cr_assert_eq(tnd_process_fate(&none), TND_FATE_UNKNOWN);
}

Test(process, what_is_written_is_read_again_and_other_lines_are_not)
{
    char line[256];
    tnd_process_t process = tnd_process_own(), said = {0};
    FILE *out = fmemopen(line, sizeof line, "w");
    tnd_process_write(&process, out);
    fclose(out);
    cr_assert(tnd_process_read(&said, line), "%s", line);
    cr_assert_eq(said.number, process.number);
    cr_assert_eq(said.start, process.start);
    cr_assert_str_eq(said.machine, process.machine);
    static const char *const others[] = {"", "process", "process 1 2", "process -1 2 m",
                                         "3 0 1 9 tcp://127.0.0.1:7000"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_not(tnd_process_read(&said, others[i]), "%s", others[i]);
    cr_assert_eq(said.number, process.number);
}
