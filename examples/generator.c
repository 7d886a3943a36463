/*  examples/generator.c - rows from a callback of the program, with several inputs and outputs.
 *
 *  A row is a noisy wave: the model gets its samples and its kind, and should predict its frequency
 *  and whether it is loud.  Any row can be made at any time, so the callback declares RANDOM, and
 *  the rows can be shuffled, sharded and read again.  The step reads all columns; instead of a real
 *  model it fits the mean frequency of each kind. */
#include <math.h>
#include <stdio.h>

#include <tundish/tundish.h>

enum { SAMPLES = 64, KINDS = 4, ROWS = 10000, REPLICAS = 2 };

/*  Numbers that depend on the row alone: the same for every reader, epoch and run. */
static double draw(uint64_t row, uint64_t which)
{
    uint64_t bits = row * 0x9e3779b97f4a7c15u + which * 0xd1b54a32d192ed03u;
    bits = (bits ^ bits >> 31) * 0x94d049bb133111ebu;
    return (double)((bits ^ bits >> 29) >> 11) * 0x1p-53;
}

/*  Columns in the order in which they were declared. */
static tnd_status_t make_rows(void *user, const uint64_t *index, size_t count, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    (void)user, (void)error;
    for (size_t r = 0; r < count; r++) {
        float *wave = tnd_rows_at(rows, 0, r), *frequency = tnd_rows_at(rows, 2, r);
        uint8_t *kind = tnd_rows_at(rows, 1, r), *loud = tnd_rows_at(rows, 3, r);
        *kind = (uint8_t)(index[r] % KINDS);
        *frequency = (float)(*kind + 1 + draw(index[r], 0) / 2);
        double loudness = draw(index[r], 1);
        *loud = loudness > 0.5;
        for (int i = 0; i < SAMPLES; i++)
            wave[i] = (float)(loudness * sin(6.2831853 * *frequency * i / SAMPLES) +
                              0.01 * draw(index[r], 2 + (uint64_t)i));
    }
    return TND_OK;
}

/*  The model: sums by kind, and their number of rows. */
typedef struct {
    float sums[2 * KINDS];
    float totals[2 * KINDS];
} model_t;

static tnd_status_t step(tnd_replica_t *replica, void *user)
{
    model_t *model = (model_t *)user + tnd_replica_id(replica);
    const uint8_t *kind = tnd_replica_column(replica, "kind");
    const float *frequency = tnd_replica_column(replica, "frequency");
    const float *wave = tnd_replica_column(replica, "wave");
    const uint8_t *loud = tnd_replica_column(replica, "loud");
    size_t rows = tnd_replica_rows(replica), right = 0;
    model->sums[0] = 0;
    for (int k = 0; k < 2 * KINDS; k++)
        model->sums[k] = 0;
    for (size_t r = 0; r < rows; r++) {
        float top = 0;
        for (int i = 0; i < SAMPLES; i++)
            top = fmaxf(top, wave[r * SAMPLES + (size_t)i]);
        right += (top > 0.5f) == (loud[r] != 0);
        model->sums[kind[r]] += frequency[r];
        model->sums[KINDS + kind[r]] += 1;
    }
    tnd_replica_report(replica, "loudness", (double)right, (double)rows);
    return tnd_replica_reduce(replica, "sum", TND_SUM, TND_F32, model->sums, 2 * KINDS);
}

static tnd_status_t apply(tnd_replica_t *replica, void *user)
{
    model_t *model = (model_t *)user + tnd_replica_id(replica);
    for (int k = 0; k < 2 * KINDS; k++)
        model->totals[k] += model->sums[k];
    return TND_OK;
}

static tnd_graph_t *compose(void)
{
    const uint64_t samples = SAMPLES;
    tnd_schema_t schema = {0};
    tnd_error_t error;
    if (tnd_schema_add(&schema, "wave", TND_F32, 1, &samples, &error) != TND_OK ||
        tnd_schema_add(&schema, "kind", TND_U8, 0, NULL, &error) != TND_OK ||
        tnd_schema_add(&schema, "frequency", TND_F32, 0, NULL, &error) != TND_OK ||
        tnd_schema_add(&schema, "loud", TND_BOOL, 0, NULL, &error) != TND_OK)
        fprintf(stderr, "%s\n", error.text);
    tnd_graph_t *graph = tnd_graph_new("waves", 7);
    tnd_graph_callback(graph, "waves", &schema, ROWS, TND_SOURCE_RANDOM, make_rows, NULL);
    tnd_graph_add(graph, "read", "reader", "source: waves, shuffle: global, epochs: 2");
    tnd_graph_add(graph, "batch", "batcher", "size: 100, replicas: 2");
    tnd_graph_add(graph, "feed", "feeder", NULL);
    tnd_graph_add(graph, "sum", "reducer", NULL);
    tnd_graph_link(graph, "read -> batch -> feed <-> sum");
    return graph;
}

int main(void)
{
    static model_t models[REPLICAS];
    tnd_graph_t *graph = compose();
    tnd_session_t *session = NULL;
    if (tnd_session_open(&session, graph, NULL) != TND_OK) {
        fputs(tnd_graph_errors(graph), stderr);
        tnd_graph_destroy(&graph);
        return 78;
    }
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    while (feed != NULL && tnd_feed_next(feed) == TND_OK)
        (void)tnd_feed_run(feed, step, apply, models);

    char digest[33] = "";
    double loudness = 0;
    if (tnd_session_wait(session) != TND_OK)
        fprintf(stderr, "%s\n", tnd_session_error(session));
    (void)tnd_session_digest(session, "feed", digest);
    (void)tnd_session_metric(session, "feed", "loudness", &loudness);
    for (int k = 0; k < KINDS; k++)
        printf("kind %d: frequency %.3f over %.0f rows\n", k,
               models[0].totals[k] / models[0].totals[KINDS + k], models[0].totals[KINDS + k]);
    printf("loudness told right: %.3f\nstream %s\n", loudness, digest);
    tnd_status_t outcome = tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return outcome == TND_OK ? 0 : 1;
}
