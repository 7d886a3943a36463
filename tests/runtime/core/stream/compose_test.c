/*  Covers runtime/core/stream/compose.h: against the Python definition of the stream
 *  (tests/oracle/lanes.txt), and by trying every future of every small state. */
#include "runtime/core/stream/compose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static size_t numbers(const char *text, uint64_t *out, size_t room)
{
    size_t count = 0;
    for (char *end; count < room; text = end, count++) {
        out[count] = strtoull(text, &end, 10);
        if (end == text)
            break;
    }
    return count;
}

Test(compose, batches_are_those_of_the_definition)
{
    FILE *file = fopen("tests/oracle/lanes.txt", "r");
    cr_assert_not_null(file);
    static char line[8192];
    unsigned epochs = 0;

    while (fgets(line, sizeof line, file)) {
        unsigned long size;
        unsigned lanes;
        int used = 0;
        if (sscanf(line, "epoch %lu %u : %n", &size, &lanes, &used) != 2) {
            cr_assert_eq(line[0], '#', "%s", line);
            continue;
        }
        uint64_t rows[8], expected[8], take[8];
        tnd_left_t left[8];
        tnd_composition_t composition;
        cr_assert_eq(numbers(line + used, rows, 8), lanes, "%s", line);
        for (unsigned lane = 0; lane < lanes; lane++)
            left[lane] = (tnd_left_t){rows[lane], true};
        char *at = strchr(line + used, ':') + 1;
        uint64_t step = 0;
        for (; numbers(at, expected, 8) == lanes; step++) {
            char *next = strchr(at, '/');
            cr_assert_eq(tnd_compose(size, lanes, step, left, take, &composition),
                         TND_COMPOSE_BATCH);
            uint64_t sum = 0;
            for (unsigned lane = 0; lane < lanes; lane++) {
                cr_assert_eq(take[lane], expected[lane], "step %lu of %s", step, line);
                left[lane].left -= take[lane];
                sum += take[lane];
            }
            cr_assert_eq(composition.rows, sum);
            cr_assert_eq(composition.last, next == NULL, "step %lu of %s", step, line);
            if (next == NULL) {
                step++;
                break;
            }
            at = next + 1;
        }
        cr_assert_eq(tnd_compose(size, lanes, step, left, take, &composition), TND_COMPOSE_OVER);
        epochs++;
    }
    fclose(file);
    cr_assert_eq(epochs, 120);
}

typedef struct {
    tnd_compose_t outcome;
    bool last;
    uint64_t take[3];
} future_t;

/*  The answer for lanes that have all ended. */
static future_t answer(uint64_t size, uint32_t lanes, uint64_t step, const uint64_t *rows)
{
    tnd_left_t left[3];
    tnd_composition_t composition;
    future_t future;
    memset(&future, 0, sizeof future);
    for (uint32_t lane = 0; lane < lanes; lane++)
        left[lane] = (tnd_left_t){rows[lane], true};
    future.outcome = tnd_compose(size, lanes, step, left, future.take, &composition);
    if (future.outcome == TND_COMPOSE_BATCH)
        future.last = composition.last;
    return future;
}

/*  Whether every future of `left` gives the same batch; a future adds rows to lanes not ended. */
static bool all_futures_agree(uint64_t size, uint32_t lanes, uint64_t step, const tnd_left_t *left,
                              future_t *agreed)
{
    uint64_t rows[3], reach = size + 2;
    bool first = true;
    for (uint64_t code = 0; code < reach * reach * reach; code++) {
        uint64_t more[3] = {code % reach, code / reach % reach, code / reach / reach};
        bool possible = true;
        for (uint32_t lane = 0; lane < 3; lane++) {
            possible &= more[lane] == 0 || (lane < lanes && !left[lane].ended);
            if (lane < lanes)
                rows[lane] = left[lane].left + more[lane];
        }
        if (!possible)
            continue;
        future_t future = answer(size, lanes, step, rows);
        if (!first && memcmp(&future, agreed, sizeof future) != 0)
            return false;
        *agreed = future;
        first = false;
    }
    return true;
}

Test(compose, a_batch_is_released_exactly_when_no_future_can_change_it)
{
    unsigned waits = 0, batches = 0, overs = 0;
    for (uint64_t size = 1; size <= 4; size++)
        for (uint32_t lanes = 1; lanes <= 3; lanes++)
            for (uint64_t step = 0; step < lanes; step++)
                for (unsigned code = 0; code < 1000; code++) {
                    tnd_left_t left[3];
                    unsigned digits[3] = {code % 10, code / 10 % 10, code / 100};
                    for (uint32_t lane = 0; lane < lanes; lane++)
                        left[lane] = (tnd_left_t){digits[lane] / 2, digits[lane] % 2};
                    uint64_t take[3] = {0, 0, 0};
                    tnd_composition_t composition;
                    tnd_compose_t outcome =
                        tnd_compose(size, lanes, step, left, take, &composition);
                    future_t future;
                    bool known = all_futures_agree(size, lanes, step, left, &future);
                    cr_assert_eq(outcome != TND_COMPOSE_WAIT, known);
                    waits += !known;
                    if (!known) {
                        cr_assert_lt(composition.waits_for, lanes);
                        cr_assert_not(left[composition.waits_for].ended);
                        continue;
                    }
                    cr_assert_eq(outcome, future.outcome);
                    overs += outcome == TND_COMPOSE_OVER;
                    batches += outcome == TND_COMPOSE_BATCH;
                    if (outcome == TND_COMPOSE_BATCH) {
                        cr_assert_eq(composition.last, future.last);
                        cr_assert_eq(memcmp(take, future.take, lanes * sizeof take[0]), 0);
                    }
                }
    cr_assert(waits > 1000 && batches > 1000 && overs > 10);
}
