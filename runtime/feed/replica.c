/*  runtime/feed/replica.c - the functions of <tundish/tundish.h> that a step calls. */
#include "runtime/feed/replica.h"

#include <tundish/device_values.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/numeric/digest.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/feed/dlpack.h"
#include "runtime/text/json_string.h"

uint32_t tnd_replica_id(const tnd_replica_t *replica)
{
    return replica->id;
}

uint64_t tnd_replica_step(const tnd_replica_t *replica)
{
    return replica->note->step;
}

uint64_t tnd_replica_epoch(const tnd_replica_t *replica)
{
    return replica->note->epoch;
}

bool tnd_replica_last(const tnd_replica_t *replica)
{
    return replica->note->last_of_epoch;
}

size_t tnd_replica_rows(const tnd_replica_t *replica)
{
    return replica->rows;
}

size_t tnd_replica_padded(const tnd_replica_t *replica)
{
    return replica->padded;
}

const void *tnd_replica_column(const tnd_replica_t *replica, const char *name)
{
    int column = tnd_schema_find(replica->schema, name);
    return column >= 0 && replica->columns != NULL ? replica->columns[column] : NULL;
}

const uint64_t *tnd_replica_lengths(const tnd_replica_t *replica, const char *name)
{
    int column = tnd_schema_find(replica->schema, name);
    return column >= 0 && replica->columns != NULL ? replica->lengths[column] : NULL;
}

uint64_t tnd_replica_longest(const tnd_replica_t *replica, const char *name)
{
    const uint64_t *lengths = tnd_replica_lengths(replica, name);
    uint64_t longest = 0;
    int column = tnd_schema_find(replica->schema, name);
    if (lengths != NULL && replica->rows > 0 && (replica->bounded >> column & 1) != 0)
        return replica->strides[column] / tnd_column_unit(&replica->schema->columns[column]);
    for (uint32_t row = 0; lengths != NULL && row < replica->rows; row++)
        longest = lengths[row] > longest ? lengths[row] : longest;
    return longest;
}

const uint64_t *tnd_replica_splits(const tnd_replica_t *replica, const char *name)
{
    int column = tnd_schema_find(replica->schema, name);
    return column >= 0 && replica->columns != NULL ? replica->splits[column] : NULL;
}

size_t tnd_replica_stride(const tnd_replica_t *replica, const char *name)
{
    int column = tnd_schema_find(replica->schema, name);
    if (column < 0 || replica->columns == NULL)
        return 0;
    const tnd_column_t *of = &replica->schema->columns[column];
    return of->ragged ? replica->strides[column] : tnd_column_bytes(of);
}

bool tnd_replica_spec(const tnd_replica_t *replica, const char *name, tnd_dtype_t *dtype_p,
                      uint32_t *rank_p, uint64_t *shape)
{
    int found = tnd_schema_find(replica->schema, name);
    if (found < 0)
        return false;
    const tnd_column_t *column = &replica->schema->columns[found];
    *dtype_p = column->dtype;
    *rank_p = column->rank;
    memcpy(shape, column->shape, column->rank * sizeof *shape);
    return true;
}

/*  Records the reason and fails. */
static tnd_status_t refuse(tnd_replica_t *replica, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static tnd_status_t refuse(tnd_replica_t *replica, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(replica->error, sizeof replica->error, format, arguments);
    va_end(arguments);
    return TND_FAILED;
}

static tnd_status_t find_reducer(tnd_replica_t *replica, const char *name, uint32_t *found_p)
{
    char known[128] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < replica->reducer_count; i++)
        if (strcmp(replica->reducers[i], name) == 0) {
            *found_p = i;
            return TND_OK;
        }
    for (uint32_t i = 0; i < replica->reducer_count; i++)
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                     replica->reducers[i]);
    return refuse(replica,
                  "no reducer '%s' is linked to the feeder (there: %s); add a link such "
                  "as `feed <-> %s`",
                  name, replica->reducer_count > 0 ? known : "none", name);
}

/*  The column of weights of a reducer's means, or -1. */
static int weighing(const tnd_replica_t *replica, uint32_t reducer)
{
    return replica->weights != NULL && !replica->syncs ? replica->weights[reducer] : -1;
}

/*  As how many rows it counts: without rows, each replica as one. */
static uint32_t counted_rows(const tnd_replica_t *replica)
{
    return replica->syncs ? 1 : replica->rows;
}

static tnd_status_t check_place(tnd_replica_t *replica)
{
    if (replica->columns != NULL || replica->syncs)
        return TND_OK;
    return refuse(replica,
                  "a reduction is only possible inside a step, in `start` of a step table and "
                  "in tnd_feed_sync");
}

/*  The weights of the rows, as contiguous doubles. */
static tnd_status_t weigh(tnd_replica_t *replica, int column, double *weight_p)
{
    tnd_dtype_t dtype = replica->fed->columns[column].dtype;
    const char *data = replica->weighing[column];
    *weight_p = 0;
    for (uint32_t row = 0; row < replica->rows; row++) {
        double weight;
        tnd_cast(TND_F64, dtype, 1, &weight, data + row * tnd_dtype_size(dtype));
        if (!(weight >= 0 && isfinite(weight)))
            return refuse(replica,
                          "row %u of the replica has %g in weight column `%s`; a weight is finite "
                          "and not negative",
                          row, weight, replica->fed->columns[column].name);
        *weight_p += weight;
    }
    return TND_OK;
}

/*  The weights of all replicas are added, and values are multiplied by them in their own type. */
static tnd_status_t check_sum(tnd_replica_t *replica, tnd_dtype_t dtype, double weight)
{
    double most = (dtype == TND_F64 ? DBL_MAX : (double)FLT_MAX) / replica->replicas;
    if (weight <= most)
        return TND_OK;
    return refuse(replica,
                  "a mean of %s is weighed by %g; of %u replicas each may have %g at most, because "
                  "weights are added: divide all of them by the same number",
                  tnd_dtype_name(dtype), weight, replica->replicas, most);
}

/*  Posts for one replica.  A `weight` column weighs by its rows; -1: there is none. */
static tnd_status_t add_one(tnd_replica_t *replica, const tnd_posting_t *posting, int weight)
{
    double weighs = 0;
    if (weight >= 0) {
        TND_TRY(weigh(replica, weight, &weighs));
        TND_TRY(check_sum(replica, posting->dtype, weighs));
    }
    tnd_posting_t *added = tnd_postings_add(&replica->posts, posting);
    if (posting->root > 0)
        added->rows = replica->id == posting->root - 1;
    else if (!posting->weighted)
        added->rows = counted_rows(replica);
    if (weight < 0)
        return TND_OK;
    added->weighted = true;
    added->weight = weighs;
    added->rows = weighs > 0 ? replica->rows : 0;
    return TND_OK;
}

/*  What `apply` posts is a round of its own, so the one under way ends. */
static bool end_round(tnd_replica_t *replica)
{
    return !replica->under_way || replica->await(replica, TND_POSTINGS_MAX);
}

/*  Posts to the reducer that the posting names, also for the replicas that follow. */
static tnd_status_t add(tnd_replica_t *replica, const tnd_posting_t *posting, int weight)
{
    size_t size = tnd_dtype_size(posting->dtype);
    if (!end_round(replica))
        return refuse(replica, "the run has ended");
    if (replica->posts.count == TND_POSTINGS_MAX)
        return refuse(replica,
                      "reduction %d of step %" PRIu64 ": a replica posts at most %d at a time; put "
                      "several arrays into one, or post the rest in `apply`",
                      TND_POSTINGS_MAX + 1, replica->note->step, TND_POSTINGS_MAX);
    if ((uintptr_t)posting->data % size != 0 || (uintptr_t)posting->from % size != 0)
        return refuse(replica, "the values of a reduction are not aligned to their type");
    for (uint32_t i = 0; i <= replica->followers; i++)
        if (add_one(&replica[i], posting, weight) != TND_OK) {
            memmove(replica->error, replica[i].error, sizeof replica->error);
            return TND_FAILED;
        }
    return TND_OK;
}

static tnd_status_t post(tnd_replica_t *replica, const char *reducer, tnd_posting_t posting)
{
    TND_TRY(check_place(replica));
    TND_TRY(find_reducer(replica, reducer, &posting.reducer));
    return add(replica, &posting, -1);
}

static bool is_dtype(tnd_dtype_t dtype)
{
    return (int)dtype >= 0 && (int)dtype < TND_DTYPE_COUNT;
}

/*  Whether users may reduce values of that type so; bytes are carried only by broadcasts. */
static bool reduces(tnd_reduce_t reduce, tnd_dtype_t dtype)
{
    return is_dtype(dtype) && dtype != TND_U8 && tnd_reduction_tree_reduces(reduce, dtype);
}

/*  Reduces `in` to `out`; with `sharing`, each replica gets its share.  Writes the reducer into the posting. */
static tnd_status_t reduce(tnd_replica_t *replica, const char *reducer, tnd_posting_t *posting)
{
    TND_TRY(check_place(replica));
    if (posting->reduce == TND_GATHER)
        return refuse(replica, "what is gathered has an end of its own: tnd_replica_gather");
    if (!reduces(posting->reduce, posting->dtype))
        return refuse(replica, "values of that type cannot be reduced in that way: sum, min and "
                               "max take f16, bf16, f32, f64, i32 and i64, mean takes the floats");
    TND_TRY(find_reducer(replica, reducer, &posting->reducer));
    return add(replica, posting,
               posting->reduce == TND_MEAN ? weighing(replica, posting->reducer) : -1);
}

tnd_status_t tnd_replica_reduce_to(tnd_replica_t *replica, const char *reducer, tnd_reduce_t how,
                                   tnd_dtype_t dtype, const void *in, void *out, size_t count)
{
    return reduce(
        replica, reducer,
        &(tnd_posting_t){.reduce = how, .dtype = dtype, .count = count, .from = in, .data = out});
}

tnd_status_t tnd_replica_reduce(tnd_replica_t *replica, const char *reducer, tnd_reduce_t reduce,
                                tnd_dtype_t dtype, void *data, size_t count)
{
    return tnd_replica_reduce_to(replica, reducer, reduce, dtype, data, data, count);
}

/*  The stream of the device that a number means, as tnd_tensor_share has them. */
static tnd_status_t find_stream(tnd_replica_t *replica, int64_t stream, tnd_posting_t *posting)
{
    const tnd_device_ops_t *ops = replica->device->ops;
    bool streams = (ops->can & TND_DEVICE_STREAMS) != 0;
    if (stream == TND_STREAM_NONE && streams && ops->dlpack_type == DL_CUDA)
        stream = DL_CUDA_LEGACY_STREAM;
    if (stream == TND_STREAM_NONE || stream == TND_STREAM_UNSYNCHRONIZED)
        return TND_OK;
    if (!streams)
        return refuse(replica, "device %s:%" PRIu32 " has no streams: pass TND_STREAM_NONE",
                      ops->name, replica->device->ordinal);
    if (stream <= 0)
        return refuse(replica,
                      "stream %" PRId64 " is none of the device: pass TND_STREAM_NONE, "
                      "TND_STREAM_UNSYNCHRONIZED, 1, 2 or a handle",
                      stream);
    posting->streams = true;
    posting->stream = (uintptr_t)stream;
    return TND_OK;
}

tnd_status_t tnd_replica_reduce_device(tnd_replica_t *replica, const char *reducer,
                                       tnd_reduce_t how, tnd_dtype_t dtype, const void *in,
                                       void *out, size_t count, int64_t stream)
{
    tnd_posting_t posting = {.reduce = how,
                             .dtype = dtype,
                             .count = count,
                             .from = in,
                             .data = out,
                             .on_device = count > 0};
    TND_TRY(check_place(replica));
    if (replica->device->ops->reduction == NULL)
        return refuse(replica,
                      "device %s:%" PRIu32 " cannot reduce values in its memory: copy them to the "
                      "host, for tnd_replica_reduce",
                      replica->device->ops->name, replica->device->ordinal);
    if (replica->shares_model && !replica->applies)
        return refuse(replica, "the replica shares its model with others (accumulate), whose steps "
                               "overwrite what it has: call tnd_replica_reduce_device in `apply`");
    if (replica->began)
        return refuse(replica, "the replica has started what it had posted: call "
                               "tnd_replica_reduce_device before tnd_replica_begin");
    TND_TRY(find_stream(replica, stream, &posting));
    return reduce(replica, reducer, &posting);
}

void tnd_replica_share(const tnd_replica_t *replica, size_t count, size_t *begin_p, size_t *end_p)
{
    const tnd_posting_t whole = {.count = count, .unit = 1};
    size_t unused;
    tnd_posting_share(&whole, replica->replicas, replica->id, begin_p, &unused);
    tnd_posting_share(&whole, replica->replicas, replica->id + replica->followers, &unused, end_p);
}

tnd_status_t tnd_replica_scatter(tnd_replica_t *replica, const char *reducer, tnd_reduce_t how,
                                 tnd_dtype_t dtype, void *data, size_t count)
{
    return reduce(replica, reducer,
                  &(tnd_posting_t){.reduce = how,
                                   .dtype = dtype,
                                   .count = count,
                                   .from = data,
                                   .data = data,
                                   .sharing = TND_SHARE_OUT,
                                   .unit = 1});
}

tnd_status_t tnd_replica_gather_into(tnd_replica_t *replica, const char *reducer, tnd_dtype_t dtype,
                                     void *data, size_t count)
{
    if (!is_dtype(dtype))
        return refuse(replica, "type %d does not exist; the types are those of tnd_dtype_t",
                      (int)dtype);
    size_t size = tnd_dtype_size(dtype);
    return post(replica, reducer,
                (tnd_posting_t){.reduce = TND_SUM,
                                .dtype = TND_U8,
                                .count = count * size,
                                .from = data,
                                .data = data,
                                .sharing = TND_SHARE_IN,
                                .unit = (uint32_t)size});
}

tnd_values_t tnd_replica_values(tnd_replica_t *replica, const char *name, tnd_dtype_t dtype,
                                size_t count)
{
    tnd_values_t values = {.own = NULL};
    tnd_error_t why;
    if (!is_dtype(dtype))
        (void)refuse(replica, "type %d does not exist; the types are those of tnd_dtype_t",
                     (int)dtype);
    else if (tnd_value_table_find(replica->values, name, dtype, count, replica->local, &values,
                                  &why) != TND_OK)
        (void)refuse(replica, "%s", why.text);
    return values;
}

double tnd_replica_weight(tnd_replica_t *replica, const char *reducer)
{
    uint32_t found = 0;
    double weight = counted_rows(replica);
    if (find_reducer(replica, reducer, &found) != TND_OK)
        return -1;
    int column = weighing(replica, found);
    if (replica->columns == NULL || column < 0)
        return weight;
    return weigh(replica, column, &weight) == TND_OK ? weight : -1;
}

tnd_status_t tnd_replica_mean_to(tnd_replica_t *replica, const char *reducer, tnd_dtype_t dtype,
                                 const void *in, void *out, size_t count, double weight)
{
    if (!reduces(TND_MEAN, dtype))
        return refuse(replica, "a mean takes f16, bf16, f32 and f64");
    if (!(weight >= 0 && isfinite(weight)))
        return refuse(replica, "a mean is weighed by %g; a weight is finite and not negative",
                      weight);
    TND_TRY(check_sum(replica, dtype, weight));
    return post(replica, reducer,
                (tnd_posting_t){.reduce = TND_MEAN,
                                .dtype = dtype,
                                .count = count,
                                .from = in,
                                .data = out,
                                .rows = weight > 0 ? 1 : 0,
                                .weighted = true,
                                .weight = weight});
}

tnd_status_t tnd_replica_mean(tnd_replica_t *replica, const char *reducer, tnd_dtype_t dtype,
                              void *data, size_t count, double weight)
{
    return tnd_replica_mean_to(replica, reducer, dtype, data, data, count, weight);
}

tnd_status_t tnd_replica_broadcast(tnd_replica_t *replica, const char *reducer, uint32_t root,
                                   void *data, size_t bytes)
{
    if (root >= replica->replicas)
        return refuse(replica,
                      "a broadcast is of replica %" PRIu32 "; the run has replicas 0 to %" PRIu32,
                      root, replica->replicas - 1);
    return post(replica, reducer,
                (tnd_posting_t){.reduce = TND_SUM,
                                .dtype = TND_U8,
                                .count = bytes,
                                .from = data,
                                .data = data,
                                .root = root + 1});
}

tnd_status_t tnd_replica_same(tnd_replica_t *replica, const char *reducer, const char *name,
                              const void *data, size_t bytes)
{
    const tnd_digest_column_t column = {.data = data, .bytes = bytes, .ragged = true};
    tnd_digest_t digest = {0};
    tnd_digest_row(&digest, 0, &column, 1);
    return post(replica, reducer,
                (tnd_posting_t){.reduce = TND_GATHER,
                                .dtype = TND_U64,
                                .count = 2,
                                .same = name,
                                .hash = {digest.low, digest.high}});
}

tnd_status_t tnd_replica_gather(tnd_replica_t *replica, const char *reducer, tnd_dtype_t dtype,
                                const void *data, size_t count)
{
    if (!is_dtype(dtype))
        return refuse(replica, "type %d does not exist; the types are those of tnd_dtype_t",
                      (int)dtype);
    return post(
        replica, reducer,
        (tnd_posting_t){.reduce = TND_GATHER, .dtype = dtype, .count = count, .from = data});
}

tnd_status_t tnd_replica_begin(tnd_replica_t *replica)
{
    TND_TRY(check_place(replica));
    if (replica->applies || replica->syncs || replica->posts.count == 0)
        return TND_OK;
    for (uint32_t p = 0; !replica->began && p < replica->posts.count; p++)
        if (replica->posts.items[p].on_device)
            return TND_OK;
    replica->began = true;
    return replica->start(replica) ? TND_OK : refuse(replica, "the run has ended");
}

/*  Why it cannot wait for a posting, or TND_OK. */
static tnd_status_t check_await(tnd_replica_t *replica, uint32_t posting)
{
    uint32_t count = replica->under_way ? replica->posts.count : replica->reduced;
    if (!replica->applies)
        return refuse(
            replica,
            "tnd_replica_await is for `apply`: while steps run it would wait for ever, because "
            "replicas of one device run in turn, and the next one has not posted yet");
    if (!replica->under_way && replica->posts.count > 0)
        return refuse(
            replica,
            "what `apply` posts is reduced when it has returned, and it is called again: wait "
            "for posting %" PRIu32 " then",
            posting);
    if (posting >= count)
        return refuse(replica,
                      "it waits for posting %" PRIu32 ", and has posted %" PRIu32
                      " before this call of `apply`: the first one is number 0",
                      posting, count);
    return TND_OK;
}

tnd_status_t tnd_replica_await(tnd_replica_t *replica, uint32_t posting)
{
    TND_TRY(check_await(replica, posting));
    if (!replica->under_way || posting < replica->awaited || replica->await(replica, posting))
        return TND_OK;
    return refuse(replica, "the run has ended");
}

/*  Gathers whose results are there. */
static uint32_t gathers_of(const tnd_replica_t *replica)
{
    uint32_t count = 0;
    if (replica->gathers == NULL || !replica->under_way)
        return replica->gathers != NULL ? replica->gathers->count : 0;
    for (uint32_t p = 0; p < replica->awaited; p++)
        count +=
            replica->posts.items[p].reduce == TND_GATHER && replica->posts.items[p].same == NULL;
    return count;
}

const void *tnd_replica_gathered(const tnd_replica_t *replica, uint32_t gather, uint32_t of,
                                 size_t *count_p)
{
    const tnd_gathers_t *gathers = replica->gathers;
    *count_p = 0;
    if (gather >= gathers_of(replica) || (of >= gathers->replicas && of != TND_ALL_REPLICAS))
        return NULL;
    const tnd_gathered_t *gathered = &gathers->items[gather];
    bool all = of == TND_ALL_REPLICAS;
    size_t first = all ? 0 : gathered->first[of];
    *count_p = gathered->first[all ? gathers->replicas : of + 1] - first;
    return gathered->data + first * tnd_dtype_size(gathered->dtype);
}

/*  A name is one word of a text payload, and is printed. */
static void make_word(char name[TND_METRIC_NAME], const char *metric)
{
    size_t used = 0;
    memset(name, 0, TND_METRIC_NAME);
    while (*metric != '\0') {
        size_t bytes = tnd_utf8_bytes(metric);
        bool odd = bytes == 0 || (unsigned char)*metric <= ' ';
        bytes = odd ? 1 : bytes;
        if (used + bytes >= TND_METRIC_NAME)
            return;
        memcpy(name + used, odd ? "_" : metric, bytes);
        used += bytes;
        metric += bytes;
    }
}

static void add_metric(tnd_report_t *report, const char name[TND_METRIC_NAME], double sum,
                       double weight)
{
    uint32_t at = 0;
    while (at < report->count && strcmp(report->metrics[at].name, name) != 0)
        at++;
    if (at == TND_METRICS_MAX)
        return;
    tnd_metric_t *entry = &report->metrics[at];
    if (at == report->count) {
        report->count++;
        *entry = (tnd_metric_t){.sum = 0};
        memcpy(entry->name, name, TND_METRIC_NAME);
    }
    entry->sum += sum;
    entry->weight += weight;
}

void tnd_replica_report(tnd_replica_t *replica, const char *metric, double sum, double weight)
{
    char name[TND_METRIC_NAME];
    if (replica->report == NULL)
        return;
    make_word(name, metric);
    for (uint32_t i = 0; i <= replica->followers; i++)
        add_metric(replica[i].report, name, sum, weight);
}

void tnd_replica_error(tnd_replica_t *replica, const char *text)
{
    snprintf(replica->error, sizeof replica->error, "%s", text);
}
