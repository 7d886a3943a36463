/*  Covers tools/watch/actor_history.h: what was before the first look. */
#include "tools/watch/actor_history.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/looks/history_span.h"

#define SECOND UINT64_C(1000000000)

/*  A process with one actor that has run for so many seconds; in second n it made n rows. */
static void write_seconds(tnd_inspected_t *process, tnd_history_t *history, uint64_t count)
{
    for (uint64_t n = 0; n < count; n++) {
        tnd_history_second_t *second = &history->seconds[n % TND_HISTORY_SECONDS];
        tnd_times_t times = {.cpu = 1};
        tnd_times_pack(&times, second->shares);
        second->rows = n;
        second->at_ns = (n + 1) * SECOND;
        tnd_history_span(history, n);
    }
    process->record.page->history_next = count;
}

/*  Rows per second of all seconds that are known at `now`; returns how many there are. */
static unsigned told(const tnd_actor_history_t *history, uint64_t now, double rows[700],
                     double ages[700])
{
    char *text = NULL, *at;
    size_t size;
    unsigned count = 0, aged = 0;
    FILE *out = open_memstream(&text, &size);
    tnd_actor_history_json(history, now, out);
    fclose(out);
    at = strstr(text, "\"ages_seconds\":[") + strlen("\"ages_seconds\":");
    while (*at != ']')
        ages[aged++] = strtod(at + 1, &at);
    at = strstr(text, "\"rows_per_second\":[") + strlen("\"rows_per_second\":");
    while (*at != ']')
        rows[count++] = strtod(at + 1, &at);
    cr_assert_eq(aged, count);
    free(text);
    return count;
}

Test(actor_history, the_first_look_has_ten_minutes)
{
    static tnd_run_page_t page;
    static tnd_host_record_t host;
    static tnd_instance_record_t instance = {.name = "read.0"};
    static tnd_history_t seconds;
    tnd_inspected_t process = {.run = "r",
                               .session = 1,
                               .process = 7,
                               .record = {.page = &page,
                                          .hosts = &host,
                                          .instances = &instance,
                                          .histories = &seconds,
                                          .shape = {.actors = 1, .hosts = 1, .histories = 1}}};
    tnd_inspection_t look = {.count = 1, .processes = &process};
    static double rows[700], ages[700];
    for (uint64_t count = 1; count < 3000; count = count * 3 / 2 + 1) {
        tnd_actor_history_t history = {0};
        memset(&seconds, 0, sizeof seconds);
        write_seconds(&process, &seconds, count);
        tnd_actor_history_add(&history, &look, &process);
        unsigned found = told(&history, count * SECOND, rows, ages);
        cr_assert(found == (count < 600 ? count : 600), "%u of %lu", found, (unsigned long)count);
        for (unsigned n = 0; n < found; n++) {
            cr_assert_float_eq(ages[n], found - 1 - n, 0.01);
            double made = (double)(count - found + n);
            cr_assert(rows[n] >= made - 5 && rows[n] <= made + 5, "second %g: %g", made, rows[n]);
        }
        tnd_actor_history_free(&history);
    }
}
