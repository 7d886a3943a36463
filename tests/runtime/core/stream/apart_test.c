/*  Covers runtime/core/stream/apart.h and tnd_share_of_piece: against the workers of TensorFlow
 *  (tests/oracle/workers.txt), and by trying every future of small states. */
#include "runtime/core/stream/apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/stream/share.h"

enum { WORKERS = 4, PULLS = 64, ROWS = 11 };

/*  The rows of a worker of which all are known, in the parts that its replicas get. */
static size_t parts_of(const tnd_apart_t *apart, uint32_t lane, uint64_t rows, uint64_t *parts,
                       size_t most)
{
    uint32_t own = apart->replicas / apart->lanes;
    size_t count = 0;
    uint64_t taken = 0;
    for (uint64_t batch = 0; count + own <= most; batch++) {
        tnd_apart_take_t take;
        uint64_t sum = 0;
        cr_assert(tnd_apart_take(apart, lane, batch, taken, (tnd_left_t){rows, true}, &take));
        for (uint32_t which = 0; which < own; which++) {
            tnd_apart_part_t part = tnd_apart_part(apart, lane, batch, &take, which);
            cr_assert_eq(part.first, sum);
            parts[count++] = part.rows;
            sum += part.rows;
        }
        cr_assert_eq(sum, take.take);
        rows -= take.gone;
        taken += take.gone;
    }
    return count;
}

/*  The same of a worker that gets pieces of all batches. */
static size_t pieces_of(const tnd_apart_t *apart, uint32_t lane, uint64_t rows, uint64_t *parts)
{
    size_t count = 0;
    for (; rows >= (apart->drops ? apart->size : 1);) {
        tnd_share_batch_t batch = {.split = TND_SPLIT_REBATCH_LEGACY,
                                   .replicas = apart->replicas,
                                   .size = apart->size,
                                   .rows = rows < apart->size ? rows : apart->size};
        batch.mine_rows = batch.rows;
        for (uint32_t replica = 0; replica < apart->replicas; replica++) {
            tnd_share_t share = tnd_share_of_piece(&batch, apart->lanes, lane, replica);
            if (share.mine)
                parts[count++] = share.rows;
        }
        rows -= batch.rows;
    }
    return count;
}

typedef struct {
    uint64_t pulls[PULLS];
    size_t count;
    uint64_t rows;
} worker_t;

static void read_worker(char *text, worker_t *worker)
{
    char *end = text;
    for (worker->count = 0;; text = end) {
        uint64_t rows = strtoull(text, &end, 10);
        if (end == text)
            break;
        worker->pulls[worker->count++] = rows;
    }
    cr_assert_eq(sscanf(strchr(text, ';') + 1, "%lu", &worker->rows), 1);
}

/*  Processes that step together do so until all have ended. */
static void check_steps(const tnd_apart_t *apart, const worker_t *workers)
{
    uint64_t taken[WORKERS] = {0}, batch = 0;
    tnd_left_t left[WORKERS];
    tnd_apart_take_t takes[WORKERS];
    tnd_composition_t made;
    for (uint32_t lane = 0; lane < apart->lanes; lane++)
        left[lane] = (tnd_left_t){workers[lane].rows, true};
    for (; tnd_compose_apart(apart, batch, taken, left, takes, &made) == TND_COMPOSE_BATCH; batch++)
        for (uint32_t lane = 0; lane < apart->lanes; lane++) {
            taken[lane] += takes[lane].gone;
            left[lane].left -= takes[lane].gone;
        }
    cr_assert(batch > 0 && made.last);
    cr_assert_eq(batch * (apart->replicas / apart->lanes), workers[0].count);
}

Test(apart, workers_of_tensorflow_pull_the_same_parts)
{
    FILE *file = fopen("tests/oracle/workers.txt", "r");
    cr_assert_not_null(file);
    char line[1024], kind[8], way[8];
    unsigned pulls = 0, steps = 0, pieces = 0;
    while (fgets(line, sizeof line, file)) {
        tnd_apart_t apart = {.split = TND_SPLIT_REBATCH_V2};
        worker_t workers[WORKERS];
        unsigned drops, own;
        int used;
        if (sscanf(line, "%7s %7s %u %lu %u %u :%n", kind, way, &drops, &apart.size, &apart.lanes,
                   &own, &used) != 6)
            continue;
        apart.drops = drops;
        apart.replicas = own * apart.lanes;
        char *at = line + used;
        for (uint32_t lane = 0; lane < apart.lanes; lane++, at = strchr(at, '|') + 1)
            read_worker(at, &workers[lane]);
        for (uint32_t lane = 0; lane < apart.lanes; lane++) {
            const worker_t *worker = &workers[lane];
            uint64_t made[PULLS];
            size_t count = strcmp(way, "pieces") == 0
                               ? pieces_of(&apart, lane, worker->rows, made)
                               : parts_of(&apart, lane, worker->rows, made, PULLS);
            for (size_t i = 0; i < count; i++)
                cr_assert_eq(made[i], i < worker->count ? worker->pulls[i] : 0,
                             "pull %zu of worker %u in %s", i, lane, line);
            cr_assert(count >= worker->count, "%s", line);
            cr_assert(strcmp(way, "apart") == 0 || count == worker->count, "%s", line);
        }
        if (strcmp(kind, "steps") == 0 && strcmp(way, "apart") == 0)
            check_steps(&apart, workers);
        *(strcmp(way, "pieces") == 0 ? &pieces : strcmp(kind, "steps") == 0 ? &steps : &pulls) += 1;
    }
    fclose(file);
    cr_assert_eq(pulls, 16);
    cr_assert_eq(steps, 12);
    cr_assert_eq(pieces, 13);
}

/*  TensorFlow maps after `batch` over files: each worker's batch is cut by its own rows. */
Test(apart, a_short_batch_of_a_lane_is_cut_by_its_rows_with_the_legacy_split)
{
    const tnd_apart_t apart = {
        .split = TND_SPLIT_REBATCH_LEGACY, .size = 8, .lanes = 2, .replicas = 4};
    const uint64_t v2[] = {2, 2, 2, 2, 2, 2, 1, 0}, legacy[] = {2, 2, 2, 2, 2, 2, 1, 0};
    const uint64_t few[] = {2, 2, 2, 2, 1, 1, 1, 0};
    uint64_t made[8];
    parts_of(&apart, 0, 13, made, 8);
    cr_assert_arr_eq(made, legacy, sizeof made);
    parts_of(&apart, 0, 11, made, 8);
    cr_assert_arr_eq(made, few, sizeof made);
    tnd_apart_t rotates = apart;
    rotates.split = TND_SPLIT_REBATCH_V2;
    parts_of(&rotates, 1, 13, made, 8);
    cr_assert_arr_eq(made, v2, sizeof made);
    cr_assert_eq(tnd_apart_period(&apart), 2);
    cr_assert_eq(tnd_apart_period(&rotates), 0);
    rotates.size = 3;
    cr_assert_not(tnd_apart_possible(&rotates), "fewer rows than replicas");
    rotates = apart;
    rotates.size = 6;
    cr_assert_not(tnd_apart_possible(&rotates), "2 2 2 0");
    rotates.size = 7;
    cr_assert(tnd_apart_possible(&rotates), "2 2 2 1");
}

Test(apart, padding_fills_every_part_and_the_lanes_that_have_ended)
{
    const tnd_apart_t apart = {
        .split = TND_SPLIT_REBATCH_V2, .pads = true, .size = 7, .lanes = 2, .replicas = 4};
    tnd_apart_take_t take;
    cr_assert(tnd_apart_take(&apart, 1, 0, 0, (tnd_left_t){2, true}, &take));
    tnd_apart_part_t first = tnd_apart_part(&apart, 1, 0, &take, 0);
    tnd_apart_part_t second = tnd_apart_part(&apart, 1, 0, &take, 1);
    cr_assert(first.rows == 2 && first.padded == 0 && second.rows == 0 && second.padded == 1);
    cr_assert(tnd_apart_take(&apart, 1, 1, 2, (tnd_left_t){0, true}, &take));
    first = tnd_apart_part(&apart, 1, 1, &take, 0);
    cr_assert(first.rows == 0 && first.padded == 2);
}

typedef struct {
    tnd_compose_t outcome;
    bool last;
    uint64_t take[2], gone[2];
} future_t;

static future_t answer(const tnd_apart_t *apart, uint64_t batch, const uint64_t *taken,
                       const tnd_left_t *left)
{
    tnd_apart_take_t takes[2] = {{0}};
    tnd_composition_t made = {.last = false};
    future_t future;
    memset(&future, 0, sizeof future);
    future.outcome = tnd_compose_apart(apart, batch, taken, left, takes, &made);
    if (future.outcome != TND_COMPOSE_BATCH)
        return future;
    future.last = made.last;
    for (uint32_t lane = 0; lane < 2; lane++) {
        future.take[lane] = takes[lane].take;
        future.gone[lane] = takes[lane].gone;
    }
    return future;
}

/*  Compares what is decided now with what is decided once all rows are there. */
static unsigned check_futures(const tnd_apart_t *apart, uint64_t batch, const uint64_t taken[2],
                              const tnd_left_t left[2], unsigned *waits)
{
    future_t now = answer(apart, batch, taken, left), agreed = {0};
    bool agree = true, any = false;
    for (uint64_t more = 0; more < ROWS * ROWS; more++) {
        uint64_t add[2] = {more % ROWS, more / ROWS};
        if ((left[0].ended && add[0] > 0) || (left[1].ended && add[1] > 0))
            continue;
        const tnd_left_t then[2] = {{left[0].left + add[0], true}, {left[1].left + add[1], true}};
        future_t future = answer(apart, batch, taken, then);
        agree = agree && (!any || memcmp(&future, &agreed, sizeof future) == 0);
        agreed = future;
        any = true;
    }
    if (now.outcome == TND_COMPOSE_WAIT) {
        *waits += 1;
        cr_assert(!agree || apart->split == TND_SPLIT_REBATCH_LEGACY,
                  "batch %lu of %lu rows is known with %lu and %lu rows", batch, apart->size,
                  left[0].left, left[1].left);
        return 1;
    }
    cr_assert(agree && memcmp(&now, &agreed, sizeof now) == 0,
              "batch %lu of %lu rows changes with %lu%s and %lu%s rows", batch, apart->size,
              left[0].left, left[0].ended ? "" : "+", left[1].left, left[1].ended ? "" : "+");
    return 1;
}

Test(apart, a_batch_is_released_when_no_future_can_change_it)
{
    unsigned states = 0, waits = 0;
    for (uint32_t way = 0; way < 4; way++)
        for (uint64_t size = 2; size <= 5; size++)
            for (uint32_t own = 1; own <= 2; own++) {
                tnd_apart_t apart = {.split = (tnd_split_t)(way % 2),
                                     .drops = way >= 2,
                                     .size = size,
                                     .lanes = 2,
                                     .replicas = 2 * own};
                if (!tnd_apart_possible(&apart))
                    continue;
                for (uint64_t code = 0; code < 4 * ROWS * ROWS; code++) {
                    const uint64_t all[2] = {code / 4 % ROWS, code / 4 / ROWS};
                    const bool ended[2] = {code % 2, code / 2 % 2};
                    uint64_t taken[2] = {0, 0};
                    tnd_left_t left[2] = {{all[0], ended[0]}, {all[1], ended[1]}};
                    for (uint64_t batch = 0; batch < 4; batch++) {
                        states += check_futures(&apart, batch, taken, left, &waits);
                        future_t made = answer(&apart, batch, taken, left);
                        if (made.outcome != TND_COMPOSE_BATCH || made.last)
                            break;
                        for (uint32_t lane = 0; lane < 2; lane++) {
                            taken[lane] += made.gone[lane];
                            left[lane].left -= made.gone[lane];
                        }
                    }
                }
            }
    cr_assert(states > 10000 && waits > 4000, "%u states, %u waits", states, waits);
}

/*  A run that resumes counts what its lanes gave from a multiple of the period on. */
Test(apart, what_is_left_of_an_epoch_depends_on_its_cursor_alone)
{
    for (uint32_t way = 0; way < 4; way++)
        for (uint64_t size = 3; size <= 9; size += 3)
            for (uint64_t rows = 0; rows < 40; rows++) {
                tnd_apart_t apart = {.split = (tnd_split_t)(way % 2),
                                     .drops = way >= 2,
                                     .size = size,
                                     .lanes = 3,
                                     .replicas = 3};
                uint64_t period = tnd_apart_period(&apart), taken = 0, since = 0, steps = 0;
                tnd_left_t left = {rows, true};
                for (uint64_t batch = 0; batch < 20; batch++) {
                    tnd_apart_take_t whole, resumed;
                    since = period == 0 || batch % period == 0 ? 0 : since;
                    cr_assert(tnd_apart_take(&apart, 1, batch, taken, left, &whole));
                    cr_assert(tnd_apart_take(&apart, 1, batch, since, left, &resumed));
                    cr_assert(whole.take == resumed.take && whole.gone == resumed.gone &&
                                  (whole.take == 0 || whole.cut == resumed.cut),
                              "batch %lu of %lu rows over %lu", batch, rows, size);
                    steps = whole.take > 0 ? batch + 1 : steps;
                    taken += whole.gone;
                    since += whole.gone;
                    left.left -= whole.gone;
                }
                cr_assert(apart.drops || left.left == 0 || rows / size * 3 > 17);
                if (rows / size * 3 <= 17)
                    cr_assert_eq(tnd_apart_steps(&apart, 1, rows), steps, "%lu rows", rows);
            }
}
