/*  examples/seeds/002/distributed.c - what the page of DistributedDataset shows, with the same output.
 *
 *    strategy.experimental_distribute_dataset   a graph whose batcher has two replicas, on two devices
 *    for x in dist_dataset, next(iterator)      tnd_feed_next
 *    strategy.run(step)                         tnd_feed_run: `step` is called once per replica
 *    strategy.reduce(SUM, ...)                  tnd_replica_reduce; the sum is there in `apply`
 *    dist_dataset.element_spec                  tnd_feed_schema */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tundish/tundish.h>

enum { REPLICAS = 2, ROWS_MAX = 8 };

/*  What the step of each replica returned. */
typedef struct {
    size_t rows;
    double values[ROWS_MAX];
} result_t;

typedef struct {
    tnd_graph_t *graph;
    tnd_session_t *session;
    tnd_feed_t *feed;
} dataset_t;

static void check(const dataset_t *dataset, tnd_status_t status)
{
    if (status == TND_OK || status == TND_END)
        return;
    fprintf(stderr, "%s%s\n", tnd_graph_errors(dataset->graph),
            dataset->session != NULL ? tnd_session_error(dataset->session) : "");
    exit(1);
}

/*  `rows` says what is read, and how often: options of a reader. */
static dataset_t distribute(const char *rows, const char *size)
{
    dataset_t dataset = {.graph = tnd_graph_new("distributed", 0)};
    tnd_graph_add(dataset.graph, "read", "reader", rows);
    tnd_graph_add(dataset.graph, "batch", "batcher", "size: 4, replicas: 2");
    tnd_graph_set(dataset.graph, "batch.size", size);
    tnd_graph_add(dataset.graph, "feed", "feeder", "devices: [\"cpu:0\", \"cpu:1\"]");
    tnd_graph_add(dataset.graph, "sum", "reducer", NULL);
    tnd_graph_link(dataset.graph, "read -> batch -> feed <-> sum");
    check(&dataset, tnd_session_open(&dataset.session, dataset.graph, NULL));
    dataset.feed = tnd_session_feed(dataset.session, "feed");
    return dataset;
}

static void close(dataset_t *dataset)
{
    (void)tnd_session_destroy(&dataset->session);
    tnd_graph_destroy(&dataset->graph);
}

/* --- steps ------------------------------------------------------------------------------------ */

static tnd_status_t subtract(tnd_replica_t *replica, void *results)
{
    result_t *result = (result_t *)results + tnd_replica_id(replica);
    const float *x = tnd_replica_column(replica, "x"), *y = tnd_replica_column(replica, "y");
    result->rows = tnd_replica_rows(replica);
    for (size_t i = 0; i < result->rows; i++)
        result->values[i] = (double)(y[i] - 0.3F * x[i]);
    return TND_OK;
}

static tnd_status_t square(tnd_replica_t *replica, void *results)
{
    result_t *result = (result_t *)results + tnd_replica_id(replica);
    const float *x = tnd_replica_column(replica, "x");
    result->rows = tnd_replica_rows(replica);
    for (size_t i = 0; i < result->rows; i++)
        result->values[i] = (double)(x[i] * x[i]);
    return TND_OK;
}

static tnd_status_t show(tnd_replica_t *replica, void *results)
{
    result_t *result = (result_t *)results + tnd_replica_id(replica);
    const int32_t *x = tnd_replica_column(replica, "x");
    result->rows = tnd_replica_rows(replica);
    for (size_t i = 0; i < result->rows; i++)
        result->values[i] = x[i];
    return TND_OK;
}

/*  Each replica has a loss of its own; after the step all have the sum. */
static tnd_status_t lose(tnd_replica_t *replica, void *losses)
{
    float *loss = (float *)losses + tnd_replica_id(replica);
    *loss = 0.1F;
    return tnd_replica_reduce(replica, "sum", TND_SUM, TND_F32, loss, 1);
}

/* --- what is printed --------------------------------------------------------------------------- */

static void print_column(const result_t *result)
{
    printf("tf.Tensor(\n");
    for (size_t i = 0; i < result->rows; i++)
        printf("%s[%g%s]%s", i == 0 ? "[" : " ", result->values[i],
               result->values[i] == (int)result->values[i] ? "." : "",
               i + 1 < result->rows ? "\n" : "]");
    printf(", shape=(%zu, 1), dtype=float32)", result->rows);
}

static void print_numbers(const result_t *result)
{
    printf("tf.Tensor([");
    for (size_t i = 0; i < result->rows; i++)
        printf("%s%g", i > 0 ? " " : "", result->values[i]);
    printf("], shape=(%zu,), dtype=int32)", result->rows);
}

static void print_replicas(const result_t *results, void (*print)(const result_t *result))
{
    printf("PerReplica:{\n");
    for (int r = 0; r < REPLICAS; r++) {
        printf("  %d: ", r);
        print(&results[r]);
        printf(r + 1 < REPLICAS ? ",\n" : "\n}\n");
    }
}

static void print_spec(const tnd_feed_t *feed)
{
    const tnd_schema_t *schema = tnd_feed_schema(feed);
    for (uint32_t c = 0; c < schema->count; c++) {
        const tnd_column_t *column = &schema->columns[c];
        const char *dtype = column->dtype == TND_F32 ? "float32" : "int32";
        char spec[128];
        snprintf(spec, sizeof spec, "TensorSpec(shape=(None, %" PRIu64 "), dtype=tf.%s, name=None)",
                 column->shape[0], dtype);
        printf("%sPerReplicaSpec(%s, %s)", c == 0 ? "(" : ", ", spec, spec);
    }
    printf(")\n");
}

/* --- the page ---------------------------------------------------------------------------------- */

static void losses_of_replicas(void)
{
    dataset_t dataset = distribute("source: {memory: {x: {dtype: f32, shape: [1], data: [1]}, "
                                   "y: {dtype: f32, shape: [1], data: [1]}}}, order: [{repeat: 4}]",
                                   "4");
    result_t results[REPLICAS];
    tnd_status_t status;
    while ((status = tnd_feed_next(dataset.feed)) == TND_OK) {
        check(&dataset, tnd_feed_run(dataset.feed, subtract, NULL, results));
        printf("Loss is ");
        print_replicas(results, print_column);
    }
    check(&dataset, status);
    close(&dataset);
}

/*  Two epochs of three steps: each begins at the first row again. */
static void mean_losses(void)
{
    for (int epoch = 1; epoch <= 2; epoch++) {
        dataset_t dataset =
            distribute("source: {memory: {x: {dtype: f32, shape: [1], data: [1]}}}, "
                       "order: [{repeat: 50}]",
                       "4");
        double total = 0;
        for (int step = 0; step < 3; step++) {
            float losses[REPLICAS];
            check(&dataset, tnd_feed_next(dataset.feed));
            check(&dataset, tnd_feed_run(dataset.feed, lose, NULL, losses));
            total += (double)losses[0];
        }
        printf("Epoch %d, Loss: %.4f\n", epoch, total / 3);
        close(&dataset);
    }
}

static void squares(void)
{
    dataset_t dataset = distribute(
        "source: {memory: {x: {dtype: f32, shape: [1], data: [2]}}}, order: [{repeat: 100}]", "4");
    result_t results[REPLICAS];
    check(&dataset, tnd_feed_next(dataset.feed));
    check(&dataset, tnd_feed_run(dataset.feed, square, NULL, results));
    print_replicas(results, print_column);
    close(&dataset);
}

static void specs(void)
{
    dataset_t dataset =
        distribute("source: {memory: {x: {dtype: f32, shape: [1], data: [1]}, "
                   "y: {dtype: i32, shape: [1], data: [2]}}}, order: [{repeat: 100}]",
                   "16");
    print_spec(dataset.feed);
    close(&dataset);
}

static void endless(void)
{
    dataset_t dataset = distribute("source: {memory: {x: {dtype: i32, data: [1, 2, 3, 4]}}}, "
                                   "epochs: forever",
                                   "4");
    result_t results[REPLICAS];
    check(&dataset, tnd_feed_next(dataset.feed));
    check(&dataset, tnd_feed_run(dataset.feed, show, NULL, results));
    print_replicas(results, print_numbers);
    close(&dataset);
}

int main(void)
{
    losses_of_replicas();
    mean_losses();
    squares();
    specs();
    endless();
    return 0;
}
