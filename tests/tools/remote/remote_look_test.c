/*  Covers tools/remote/remote_look.h: pages arrive as they were, on the clock of this machine. */
#include "tools/remote/remote_look.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { SECOND = 1000000000 };

static char *printed; /* the line */
static size_t printed_size;

/*  Some processes whose actor is 3 s old, 100 s after the start of its machine's clock. */
static void print_processes(uint32_t count)
{
    tnd_pages_shape_t shape = {.actors = 1, .hosts = 1};
    tnd_statistics_t actor = {.actor = "prep.0", .rows_out = 77};
    tnd_inspected_t process = {.run = "r",
                               .host = "b",
                               .path = "/run/x.pages",
                               .session = UINT64_MAX,
                               .process = 12,
                               .stopped = true,
                               .count = 1,
                               .actors = &actor};
    char unread[] = "a \"file\"\n";
    tnd_inspected_t processes[2];
    tnd_inspection_t look = {
        .now_ns = (uint64_t)100 * SECOND, .count = count, .processes = processes, .unread = unread};
    actor.begun_ns = (uint64_t)97 * SECOND;
    process.record_memory = tnd_allocate_zeroed(tnd_run_record_bytes(&shape), 1);
    process.record = tnd_run_record_at(process.record_memory, &shape);
    process.record.page->started_ns = (uint64_t)10 * SECOND;
    strcpy(process.record.hosts[0].name, "b");
    processes[0] = processes[1] = process;
    processes[1].process = 13;
    FILE *out = tnd_memory_stream(&printed, &printed_size);
    tnd_remote_look_print(out, &look);
    fclose(out);
    free(process.record_memory);
}

static void print_one(void)
{
    print_processes(1);
}

static tnd_inspection_t *read_at(const char *line, size_t size, uint64_t now, const char *wrong)
{
    tnd_inspection_t *look;
    tnd_error_t error = {.text = ""};
    tnd_status_t status = tnd_remote_look_read(line, size, "10.0.0.2", now, &look, &error);
    if (wrong == NULL)
        cr_assert_eq(status, TND_OK, "%s", error.text);
    else
        cr_assert(status != TND_OK && strstr(error.text, wrong) != NULL, "%s", error.text);
    return look;
}

static void free_printed(void)
{
    free(printed);
}

TestSuite(remote_look, .init = print_one, .fini = free_printed);

Test(remote_look, a_process_arrives_with_its_pages)
{
    tnd_inspection_t *look = read_at(printed, printed_size, (uint64_t)500 * SECOND, NULL);
    cr_assert_eq(look->count, 1);
    const tnd_inspected_t *process = &look->processes[0];
    cr_assert_str_eq(process->run, "r");
    cr_assert_str_eq(process->host, "b");
    cr_assert_str_eq(process->machine, "10.0.0.2");
    cr_assert_str_eq(process->path, "10.0.0.2:/run/x.pages");
    cr_assert_str_eq(look->unread, "a \"file\"\n");
    cr_assert(process->session == UINT64_MAX && process->process == 12);
    cr_assert(process->stopped && !process->killed);
    cr_assert_str_eq(process->actors[0].actor, "prep.0");
    cr_assert_eq(process->actors[0].rows_out, 77);
    cr_assert_str_eq(process->record.hosts[0].name, "b");
    tnd_inspection_destroy(&look);
}

Test(remote_look, times_become_those_of_this_machine_by_their_age)
{
    tnd_inspection_t *look = read_at(printed, printed_size, (uint64_t)500 * SECOND, NULL);
    cr_assert_eq(look->processes[0].actors[0].begun_ns, (uint64_t)497 * SECOND);
    cr_assert_eq(look->processes[0].actors[0].since_ns, 0, "an unknown time stays unknown");
    tnd_inspection_destroy(&look);
    /* This machine started after the process. */
    look = read_at(printed, printed_size, (uint64_t)50 * SECOND, NULL);
    cr_assert_eq(look->processes[0].record.page->started_ns, 1);
    cr_assert_eq(look->processes[0].actors[0].begun_ns, (uint64_t)47 * SECOND);
    tnd_inspection_destroy(&look);
}

/*  The line with another text instead of the first `what`. */
static char *changed(const char *what, const char *with)
{
    const char *at = strstr(printed, what);
    return tnd_format_string("%.*s%s%s", (int)(at - printed), printed, with, at + strlen(what));
}

Test(remote_look, a_damaged_process_does_not_hide_another)
{
    static const char *const changes[][2] = {
        {"\"count\":1", "\"count\":2"}, {"\"actors\":1", "\"actors\":0"},
        {"\"edges\":0", "\"edges\":9"}, {"\"pages\":\"", "\"pages\":\"="},
        {"\"pid\":12", "\"pid\":-1"},   {"\"run\":\"r\"", "\"rum\":\"r\""}};
    free(printed);
    print_processes(2);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        tnd_inspection_t *look = NULL;
        tnd_error_t error = {.text = ""};
        char *line = changed(changes[i][0], changes[i][1]);
        cr_assert_eq(tnd_remote_look_read(line, strlen(line), "m", 1, &look, &error), TND_OK);
        cr_assert_str_eq(error.text, "process 0 of what it prints is damaged");
        cr_assert_eq(look->count, 1);
        cr_assert_eq(look->processes[0].process, 13);
        tnd_inspection_destroy(&look);
        free(line);
    }
}

Test(remote_look, damaged_lines_are_refused)
{
    static const char *const changes[][3] = {
        {"\"now_ns\":1", "\"now_ns\":-", "is not of"},
        {"\"version\":", "\"versiom\":", "is not of"},
        {"\"version\":", "\"version\":9", "newer"},
        {"{", "[", "is not of"},
        {"\"actor_bytes\":", "\"actor_bytes\":1", "another build"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *line = changed(changes[i][0], changes[i][1]);
        (void)read_at(line, strlen(line), 1, changes[i][2]);
        free(line);
    }
    for (size_t size = 0; size + 1 < printed_size; size += 7)
        (void)read_at(printed, size, 1, "is not of");
}
