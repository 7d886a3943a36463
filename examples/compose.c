/*  examples/compose.c - fashion.yaml as a C program: the graph is composed by calls, the loop is
 *  the program's own.  It prints what the same run by `tundish run fashion/fashion.yaml` prints.
 *
 *      compose [DIRECTORY OF THE DATA [EPOCHS [CHECKPOINTS]]]
 *
 *  With a folder for checkpoints it saves its models every 100 steps, and resumes from the newest
 *  checkpoint. */
#include <stdio.h>

#include <tundish/tundish.h>

#include "fashion/mlp.h"

enum { REPLICAS = 4 };

/*  The mean gradient of a replica's rows; the reducer makes it the mean over all of them. */
static tnd_status_t step(tnd_replica_t *replica, void *models)
{
    mlp_t *model = ((mlp_t **)models)[tnd_replica_id(replica)];
    size_t rows = tnd_replica_rows(replica);
    mlp_flush_denormals();
    float loss = mlp_backward(model, tnd_replica_column(replica, "image"),
                              tnd_replica_column(replica, "label"), rows);
    tnd_replica_report(replica, "loss", (double)loss * (double)rows, (double)rows);
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, model->grad, MLP_PARAMS);
}

static tnd_status_t apply(tnd_replica_t *replica, void *models)
{
    mlp_momentum(((mlp_t **)models)[tnd_replica_id(replica)], mlp_rate(tnd_replica_epoch(replica)),
                 0.9f);
    return TND_OK;
}

static tnd_status_t evaluate(tnd_replica_t *replica, void *models)
{
    size_t rows = tnd_replica_rows(replica), correct;
    float loss;
    mlp_evaluate(((mlp_t **)models)[tnd_replica_id(replica)], tnd_replica_column(replica, "image"),
                 tnd_replica_column(replica, "label"), rows, &correct, &loss);
    tnd_replica_report(replica, "accuracy", (double)correct, (double)rows);
    return TND_OK;
}

static tnd_status_t save(const char *file, uint32_t replica, void *models)
{
    char why[512];
    return mlp_save(((mlp_t **)models)[replica], file, why, sizeof why) ? TND_OK : TND_FAILED;
}

static tnd_status_t load(const char *file, uint32_t replica, void *models)
{
    char why[512];
    return mlp_load(((mlp_t **)models)[replica], file, why, sizeof why) ? TND_OK : TND_FAILED;
}

static tnd_graph_t *compose(const char *data, const char *epochs, const char *checkpoints)
{
    const char *scale = "ops: [{scale: {column: image, to: f32, range: [0, 1]}}]";
    tnd_graph_t *graph = tnd_graph_new("fashion", 7);
    tnd_graph_set(graph, "data", data);
    if (checkpoints != NULL) {
        tnd_graph_set(graph, "checkpoint.dir", checkpoints);
        tnd_graph_set(graph, "checkpoint.resume", "latest");
    }
    tnd_graph_add(graph, "read", "reader",
                  "source: {idx: {image: \"${data}/train-images-idx3-ubyte.gz\", "
                  "label: \"${data}/train-labels-idx1-ubyte.gz\"}}, shuffle: global");
    tnd_graph_set(graph, "read.epochs", epochs);
    tnd_graph_add(graph, "prep", "preprocessor", scale);
    tnd_graph_add(graph, "batch", "batcher", "size: 128, replicas: 4");
    tnd_graph_add(graph, "feed", "feeder", "depth: 4, devices: [\"cpu:0\", \"cpu:1\"]");
    tnd_graph_add(graph, "mean", "reducer", NULL);
    tnd_graph_link(graph, "read -> prep -> batch -> feed <-> mean");

    tnd_graph_add(graph, "test_read", "reader",
                  "source: {idx: {image: \"${data}/t10k-images-idx3-ubyte.gz\", "
                  "label: \"${data}/t10k-labels-idx1-ubyte.gz\"}}");
    tnd_graph_add(graph, "test_prep", "preprocessor", scale);
    tnd_graph_add(graph, "test_batch", "batcher", "size: 500, replicas: 4");
    tnd_graph_add(graph, "test", "feeder", "after: feed");
    tnd_graph_link(graph, "test_read -> test_prep -> test_batch -> test");
    return graph;
}

/*  Both loops.  A feed that ends otherwise than it should says so by the session's outcome. */
static void train(tnd_session_t *session, mlp_t **models, bool keeps)
{
    tnd_error_t error;
    tnd_feed_t *feed = tnd_session_feed(session, "feed");
    if (feed != NULL && tnd_feed_restore(feed, load, models, &error) == TND_FAILED) {
        fprintf(stderr, "%s\n", error.text);
        return;
    }
    for (uint64_t steps = 1; feed != NULL && tnd_feed_next(feed) == TND_OK; steps++) {
        bool ran = tnd_feed_run(feed, step, apply, models) == TND_OK;
        if (keeps && ran && steps % 100 == 0 && tnd_feed_save(feed, save, models, &error) != TND_OK)
            fprintf(stderr, "%s\n", error.text);
    }
    tnd_feed_t *test = tnd_session_feed(session, "test");
    while (test != NULL && tnd_feed_next(test) == TND_OK)
        (void)tnd_feed_run(test, evaluate, NULL, models);
}

int main(int count, char **arguments)
{
    tnd_graph_t *graph = compose(count > 1 ? arguments[1] : "/usr/share/datasets/fashion-mnist",
                                 count > 2 ? arguments[2] : "5", count > 3 ? arguments[3] : NULL);
    tnd_session_t *session = NULL;
    mlp_t *models[REPLICAS];
    if (tnd_session_open(&session, graph, NULL) != TND_OK) {
        fputs(tnd_graph_errors(graph), stderr);
        tnd_graph_destroy(&graph);
        return 78;
    }
    for (int i = 0; i < REPLICAS; i++)
        models[i] = mlp_new(7);
    train(session, models, count > 3);

    char digest[33] = "";
    double loss = 0, accuracy = 0;
    if (tnd_session_wait(session) != TND_OK)
        fprintf(stderr, "%s\n", tnd_session_error(session));
    (void)tnd_session_digest(session, "feed", digest);
    (void)tnd_session_metric(session, "feed", "loss", &loss);
    (void)tnd_session_metric(session, "test", "accuracy", &accuracy);
    printf("feed:  loss %.17g\ntest:  accuracy %.17g\nstream %s\n", loss, accuracy, digest);

    for (int i = 0; i < REPLICAS; i++)
        mlp_destroy(&models[i]);
    tnd_status_t outcome = tnd_session_destroy(&session);
    tnd_graph_destroy(&graph);
    return outcome == TND_OK ? 0 : 1;
}
