/*  tests/conformance/collective_test.c - the conformance suite of runtime/interface/collective.h, for one
 *  collective of transport/collective/collectives.def.
 *
 *  Usage: test_conformance_collective NAME [DEVICE].  With a kind of device, replicas post values in its memory.
 *  Exits with 77 if this machine has no device of that kind. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/posts/tensor.h"
#include "tests/conformance/collective_case.h"

/* --- scripts ---------------------------------------------------------------------------------- */

static void *room(void **memory, size_t bytes)
{
    if (*memory == NULL)
        *memory = malloc(bytes + 1);
    return *memory;
}

/*  Adds a posting with values of its own.  Every other one is reduced in place. */
static tnd_posting_t *add(const collective_case_t *self, uint32_t leaf, uint64_t round,
                          case_array_t *arrays, tnd_postings_t *posts, tnd_posting_t posting)
{
    uint32_t p = posts->count;
    size_t bytes = posting.count * tnd_dtype_size(posting.dtype);
    case_expect(p < CASE_POSTINGS, "more than %d postings", CASE_POSTINGS);
    posting.from = room(&arrays[p].in, bytes);
    posting.data = p % 2 == 0 || posting.sharing != TND_SHARE_NONE ? arrays[p].in
                                                                   : room(&arrays[p].out, bytes);
    case_values(arrays[p].in, posting.dtype, posting.count, case_number(leaf, round, p));
    if (!posting.weighted && posting.root == 0)
        posting.rows = case_rows(self, leaf, round);
    tnd_postings_add(posts, &posting);
    return &posts->items[p];
}

static const tnd_dtype_t dtypes[] = {TND_F16, TND_BF16, TND_F32, TND_F64, TND_I32, TND_I64};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0], FLOATS = 4 };

/*  Both halves of an all-reduce, of arrays with fewer elements than replicas, and with more. */
static void post_shares(const collective_case_t *self, uint32_t leaf, uint64_t round,
                        case_array_t *arrays, tnd_postings_t *posts)
{
    const size_t counts[] = {0, 3, self->most};
    for (uint32_t c = 0; c < 3; c++) {
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_SUM,
                            .dtype = TND_F32,
                            .count = counts[c],
                            .sharing = TND_SHARE_OUT,
                            .unit = 1});
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_MEAN,
                            .dtype = TND_BF16,
                            .count = counts[c],
                            .sharing = TND_SHARE_OUT,
                            .unit = 1});
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_SUM,
                            .dtype = TND_U8,
                            .count = counts[c] * 4,
                            .sharing = TND_SHARE_IN,
                            .unit = 4});
    }
}

/*  All operations of all types; counts that fill no cache line, one or several. */
static void post_all(const collective_case_t *self, uint32_t leaf, uint64_t round,
                     case_array_t *arrays, tnd_postings_t *posts)
{
    static const tnd_reduce_t reduces[] = {TND_SUM, TND_MIN, TND_MAX, TND_MEAN};
    const size_t counts[] = {7, 0, self->most, 1, 64};
    for (uint32_t d = 0; d < DTYPES; d++)
        for (uint32_t r = 0; r < (d < FLOATS ? 4 : 3); r++)
            add(self, leaf, round, arrays, posts,
                (tnd_posting_t){
                    .reduce = reduces[r], .dtype = dtypes[d], .count = counts[posts->count % 5]});
    for (uint32_t d = 0; d < FLOATS; d++) {
        double weight = 0.75 * ((leaf + round) % 3);
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_MEAN,
                            .dtype = dtypes[d],
                            .count = counts[(d + 2) % 5],
                            .weighted = true,
                            .weight = weight,
                            .rows = weight > 0});
    }
    post_shares(self, leaf, round, arrays, posts);
    uint32_t root = (uint32_t)(round % self->leaves);
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_SUM,
                        .dtype = TND_U8,
                        .count = self->most,
                        .root = root + 1,
                        .rows = leaf == root});
    tnd_posting_t *gather =
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_GATHER, .dtype = TND_U16, .count = 5});
    gather->count = case_gathered(leaf, round);
    case_values(arrays[posts->count - 1].in, TND_U16, gather->count, leaf + round * CASE_LEAVES);
    tnd_postings_add(posts, &(tnd_posting_t){.reduce = TND_GATHER,
                                             .dtype = TND_U64,
                                             .count = 2,
                                             .same = "weights",
                                             .hash = {round, 5}});
}

/*  Many small arrays of one operation, which travel together, before and after a large one. */
static void post_many(const collective_case_t *self, uint32_t leaf, uint64_t round,
                      case_array_t *arrays, tnd_postings_t *posts)
{
    for (uint32_t p = 0; p < 40; p++)
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_SUM,
                            .dtype = TND_F32,
                            .count = p == 20 ? self->most : p * 100 % 700});
}

/*  A large array in many pieces, more than may be under way; then shares of large ones. */
static void post_large(const collective_case_t *self, uint32_t leaf, uint64_t round,
                       case_array_t *arrays, tnd_postings_t *posts)
{
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_MEAN, .dtype = TND_BF16, .count = self->most});
    if (round == 1) {
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_SUM,
                            .dtype = TND_F32,
                            .count = self->most / 3,
                            .sharing = TND_SHARE_OUT,
                            .unit = 1});
        add(self, leaf, round, arrays, posts,
            (tnd_posting_t){.reduce = TND_SUM,
                            .dtype = TND_U8,
                            .count = self->most - 1,
                            .sharing = TND_SHARE_IN,
                            .unit = 8});
    }
}

static void post_nothing(const collective_case_t *self, uint32_t leaf, uint64_t round,
                         case_array_t *arrays, tnd_postings_t *posts)
{
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_SUM, .dtype = TND_I64, .count = 0});
}

/*  The last replica posts one element more in round 1. */
static void post_unlike(const collective_case_t *self, uint32_t leaf, uint64_t round,
                        case_array_t *arrays, tnd_postings_t *posts)
{
    size_t more = leaf == self->leaves - 1 && round == 1;
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_SUM, .dtype = TND_F32, .count = 3});
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_MAX, .dtype = TND_F64, .count = 11})
        ->count = 10 + more;
}

/*  Replica 1 has other weights than the others in round 1. */
static void post_drifted(const collective_case_t *self, uint32_t leaf, uint64_t round,
                         case_array_t *arrays, tnd_postings_t *posts)
{
    (void)self, (void)arrays;
    tnd_postings_add(posts, &(tnd_posting_t){.reduce = TND_GATHER,
                                             .dtype = TND_U64,
                                             .count = 2,
                                             .same = "weights",
                                             .hash = {7, leaf == 1 && round == 1}});
}

static void post_half(const collective_case_t *self, uint32_t leaf, uint64_t round,
                      case_array_t *arrays, tnd_postings_t *posts, tnd_sharing_t sharing)
{
    bool gives = sharing == TND_SHARE_IN;
    size_t bytes = self->most * sizeof(float);
    void *data = room(&arrays[0].in, bytes);
    case_values(data, TND_F32, self->most, case_number(leaf, round, 0));
    tnd_postings_add(posts, &(tnd_posting_t){.reduce = gives ? TND_SUM : TND_MEAN,
                                             .dtype = gives ? TND_U8 : TND_F32,
                                             .count = gives ? bytes : self->most,
                                             .from = data,
                                             .data = data,
                                             .rows = case_rows(self, leaf, round),
                                             .sharing = sharing,
                                             .unit = gives ? sizeof(float) : 1});
}

static void post_whole(const collective_case_t *self, uint32_t leaf, uint64_t round,
                       case_array_t *arrays, tnd_postings_t *posts)
{
    post_half(self, leaf, round, arrays, posts, TND_SHARE_NONE);
}

static void post_scatter(const collective_case_t *self, uint32_t leaf, uint64_t round,
                         case_array_t *arrays, tnd_postings_t *posts)
{
    post_half(self, leaf, round, arrays, posts, TND_SHARE_OUT);
}

static void post_gather_into(const collective_case_t *self, uint32_t leaf, uint64_t round,
                             case_array_t *arrays, tnd_postings_t *posts)
{
    post_half(self, leaf, round, arrays, posts, TND_SHARE_IN);
}

/* --- runs ------------------------------------------------------------------------------------- */

static void place(collective_case_t *self, uint32_t leaves, uint32_t members)
{
    self->leaves = leaves;
    self->members = members;
    case_expect(case_run(self), "%s: %" PRIu32 " replicas, %" PRIu32 " processes: %s",
                self->ops->name, leaves, members, self->failure);
}

static bool uses_devices(const collective_case_t *self)
{
    return self->ops->usable != NULL;
}

/*  A run with devices takes longer: some of each form. */
static bool is_tried(const collective_case_t *self, uint32_t leaves, uint32_t members)
{
    if (CASE_SANITIZED && leaves != 3 && leaves != 8 && leaves != CASE_LEAVES)
        return false;
    if (self->on_devices)
        return (leaves == 3 && members == 2) || (leaves == 8 && (members == 1 || members == 3));
    return !uses_devices(self) || leaves <= 3 || leaves == 5 || leaves == 8;
}

static void
reduces_all_operations_and_types_for_1_to_16_replicas_of_1_to_8_processes(collective_case_t *self)
{
    static const uint32_t members[] = {1, 2, 3, CASE_MEMBERS};
    self->script = post_all;
    self->rounds = 2;
    self->most = 300;
    for (uint32_t leaves = 1; leaves <= CASE_LEAVES; leaves++)
        for (uint32_t m = 0; m < 4; m++)
            if (members[m] <= leaves && is_tried(self, leaves, members[m]))
                place(self, leaves, members[m]);
}

static void buckets_of_any_size_change_no_bit_and_a_step_may_post_again(collective_case_t *self)
{
    static const uint64_t buckets[] = {0, 1, 4096, 1 << 20};
    self->script = post_many;
    self->rounds = 4;
    self->per_step = 2;
    self->most = 500000;
    for (uint32_t b = uses_devices(self) || self->on_devices ? 3 : 0; b < 4; b++) {
        self->bucket = buckets[b];
        place(self, 5, 2);
    }
}

/*  More elements than TND_PIECES_OPEN pieces of four bytes each hold; 8 divides one less. */
enum { MANY_PIECES = 2200001 };
_Static_assert(MANY_PIECES > TND_PIECES_OPEN * (TND_PIECE_BYTES / 4), "a sum of bf16 is of f32");

static void has_more_pieces_than_may_be_under_way(collective_case_t *self)
{
    self->script = post_large;
    self->rounds = 2;
    self->most = MANY_PIECES;
    place(self, CASE_SANITIZED ? 3 : 8, 3);
    if (self->on_devices || CASE_SANITIZED)
        return;
    if (!uses_devices(self))
        place(self, 3, 3);
    place(self, 3, 1);
}

static void
results_are_there_when_they_are_awaited_while_others_are_on_their_way(collective_case_t *self)
{
    const uint32_t stride = CASE_SANITIZED ? 3 : 1;
    self->early = true;
    self->rounds = 4;
    self->per_step = 2;
    self->most = 20000;
    for (uint32_t members = self->on_devices ? 4 : 1; members <= 4; members += stride) {
        self->script = post_all;
        place(self, 7, members);
        self->script = post_many;
        place(self, 8, members);
    }
    self->script = post_large;
    self->rounds = self->per_step = 1;
    self->most = MANY_PIECES;
    place(self, 3, 2);
}

static void what_is_started_while_steps_run_has_the_same_bits(collective_case_t *self)
{
    const uint32_t stride = CASE_SANITIZED ? 3 : 1;
    self->starts = true;
    self->per_step = 2;
    for (uint32_t members = 1; members <= 4; members += stride) {
        self->early = members % 2 == 0;
        self->rounds = 6;
        self->most = 20000;
        self->script = post_all;
        place(self, 7, members);
        self->script = post_many;
        place(self, 8, members);
    }
    self->script = post_large;
    self->rounds = 2;
    self->most = MANY_PIECES;
    place(self, 3, 2);
}

/*  Bytes that M members send and receive, in arrays. */
static double arrays_moved(collective_case_t *self, uint32_t members, case_script_fn *script)
{
    self->script = script;
    place(self, 8, members);
    return (double)(self->sent_bytes + self->received_bytes) /
           (double)(self->most * sizeof(float) * self->rounds);
}

/*  An all-reduce sends M arrays of S and receives as many.  A gather receives what is not there yet; a
 *  scatter sends all and receives one array in all, so it comes as close to the half as 1 / M. */
static void the_halves_of_an_all_reduce_move_half_the_bytes(collective_case_t *self)
{
    if (self->ops->usable != NULL) /* a library moves them, and counts for itself */
        return;
    self->rounds = 1;
    self->most = 100000;
    for (uint32_t members = 2; members <= 8; members *= 2) {
        double whole = arrays_moved(self, members, post_whole);
        double scatter = arrays_moved(self, members, post_scatter);
        double gather = arrays_moved(self, members, post_gather_into);
        printf("%" PRIu32 " members: %.3f arrays, scatter %.3f, gather %.3f\n", members, whole,
               scatter, gather);
        case_expect(whole > (members < 8 ? 1.99 : 1.7) * members, "%g",
                    whole); /* some have no rows */
        case_expect(gather < 1.01 * members, "gather: %g", gather);
        case_expect(scatter < 1.01 * (members + 1), "scatter: %g", scatter);
    }
}

static void arrays_without_elements_are_barriers(collective_case_t *self)
{
    self->script = post_nothing;
    self->rounds = 50;
    place(self, 4, 1);
    place(self, 4, 4);
}

/*  It fails with this reason, and all threads return. */
static void refuse(collective_case_t *self, uint32_t leaves, uint32_t members, const char *why)
{
    self->leaves = leaves;
    self->members = members;
    self->checked = false;
    for (int early = 0; early < 2; early++) {
        self->early = early > 0;
        case_expect(!case_run(self), "it succeeds: %s", why);
        case_expect(strcmp(self->failure, why) == 0, "%s", self->failure);
    }
}

static void names_the_replica_that_posts_something_else(collective_case_t *self)
{
    self->script = post_unlike;
    self->rounds = 3;
    refuse(self, 2, 1,
           "feed: in step 1 replicas 0 and 1 posted different reductions: all replicas post the "
           "same ones in the same order; number 1 is 10 elements of f64 (max) of replica 0, 11 "
           "elements of f64 (max) of replica 1");
    refuse(
        self, 2, 2,
        "mean: in step 1 replica 1 posted 11 elements of f64 to reduction 1, replica 0 10 of f64: "
        "all replicas post the same reductions in the same order");
}

/*  One replica scatters what the other one reduces. */
static void post_otherwise(const collective_case_t *self, uint32_t leaf, uint64_t round,
                           case_array_t *arrays, tnd_postings_t *posts)
{
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_SUM,
                        .dtype = TND_F32,
                        .count = 3,
                        .sharing = leaf == 0 ? TND_SHARE_NONE : TND_SHARE_OUT,
                        .unit = 1});
}

static void names_the_replica_that_scatters(collective_case_t *self)
{
    self->script = post_otherwise;
    self->rounds = 1;
    refuse(self, 2, 1,
           "feed: in step 0 replicas 0 and 1 posted different reductions: all replicas post the "
           "same ones in the same order; number 0 is 3 elements of f32 (sum) of replica 0, 3 "
           "elements of f32 (scatter of the sum) of replica 1");
    refuse(
        self, 2, 2,
        "mean: in step 0 replica 1 posted 3 elements of f32 (scatter of the sum) to reduction 0, "
        "replica 0 3 of f32 (sum): all replicas post the same reductions in the same order");
}

static void names_the_replica_whose_array_is_not_the_same(collective_case_t *self)
{
    static const char why[] = "feed: in step 1 array `weights` is not the same in all replicas: in "
                              "replica 1 it differs from "
                              "that in replica 0; all begin with the same values "
                              "(tnd_replica_broadcast) and change them by "
                              "what is reduced only";
    self->script = post_drifted;
    self->rounds = 3;
    refuse(self, 4, 1, why);
    refuse(self, 4, 2, why);
    refuse(self, 4, 4, why);
}

static void returns_from_any_wait_when_it_is_aborted(collective_case_t *self)
{
    self->script = post_large;
    self->rounds = 2;
    self->most = MANY_PIECES;
    self->absent = 1;
    refuse(self, 4, 2, "stopped");
    refuse(self, 3, 3, "stopped");
}

static void refuses_a_result_of_another_shape(collective_case_t *self)
{
    self->script = post_large;
    self->rounds = 1;
    self->most = 10;
    self->spoil = true;
    /* What replicas gather before NCCL reduces comes first. */
    refuse(
        self, 4, 2,
        uses_devices(self)
            ? "a value to be gathered lacks its head"
            : "feed: the result of a reduction of step 0 has another shape than what was posted");
}

/*  One of two replicas of a device has one element more. */
static void names_the_replica_that_posts_something_else_on_its_device(collective_case_t *self)
{
    self->script = post_unlike;
    self->rounds = 3;
    self->threads = 1;
    refuse(self, 2, 2,
           "mean: in step 1 replica 1 posted 11 elements of f64 to reduction 1, replica 0 10 of "
           "f64: all replicas post the same reductions in the same order");
}

/*  More than a chunk. */
static void post_unlike_large(const collective_case_t *self, uint32_t leaf, uint64_t round,
                              case_array_t *arrays, tnd_postings_t *posts)
{
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_SUM, .dtype = TND_F32, .count = 3});
    add(self, leaf, round, arrays, posts,
        (tnd_posting_t){.reduce = TND_SUM, .dtype = TND_F64, .count = 3000000 + (leaf == 1)});
}

static void names_the_elements_of_whole_arrays(collective_case_t *self)
{
    self->script = post_unlike_large;
    self->rounds = 1;
    refuse(self, 2, 2,
           "mean: in step 0 replica 1 posted 3000001 elements of f64 to reduction 1, replica 0 "
           "3000000 of f64: all replicas post the same reductions in the same order");
}

/*  As memory that was freed is. */
static void names_memory_that_is_not_the_devices(collective_case_t *self)
{
    static const char why[] =
        "feed: cuda:2: the values are not in the memory of a device: replica 1 "
        "posted them as number 0, and memory of its device has to stay there "
        "until `apply` runs";
    if (strcmp(self->device->name, "cuda") != 0) /* others cannot tell */
        return;
    self->script = post_whole;
    self->rounds = 2;
    self->most = 100;
    self->astray = true;
    refuse(self, 2, 2, why);
}

typedef struct {
    const char *name;
    void (*check)(collective_case_t *self);
} check_t;

#define CHECK(name)                                                                                \
    {                                                                                              \
#name, name                                                                                \
    }
static const check_t checks[] = {
    CHECK(reduces_all_operations_and_types_for_1_to_16_replicas_of_1_to_8_processes),
    CHECK(buckets_of_any_size_change_no_bit_and_a_step_may_post_again),
    CHECK(has_more_pieces_than_may_be_under_way),
    CHECK(results_are_there_when_they_are_awaited_while_others_are_on_their_way),
    CHECK(what_is_started_while_steps_run_has_the_same_bits),
    CHECK(the_halves_of_an_all_reduce_move_half_the_bytes),
    CHECK(arrays_without_elements_are_barriers),
    CHECK(names_the_replica_that_posts_something_else),
    CHECK(names_the_replica_that_scatters),
    CHECK(names_the_replica_whose_array_is_not_the_same),
    CHECK(returns_from_any_wait_when_it_is_aborted),
    CHECK(refuses_a_result_of_another_shape),
};

/*  With values on devices. */
static const check_t device_checks[] = {
    CHECK(reduces_all_operations_and_types_for_1_to_16_replicas_of_1_to_8_processes),
    CHECK(buckets_of_any_size_change_no_bit_and_a_step_may_post_again),
    CHECK(has_more_pieces_than_may_be_under_way),
    CHECK(results_are_there_when_they_are_awaited_while_others_are_on_their_way),
    CHECK(arrays_without_elements_are_barriers),
    CHECK(names_the_replica_that_posts_something_else_on_its_device),
    CHECK(names_the_elements_of_whole_arrays),
    CHECK(names_memory_that_is_not_the_devices),
    CHECK(returns_from_any_wait_when_it_is_aborted),
};
#undef CHECK

#define COLLECTIVE(name) extern const tnd_collective_ops_t tnd_collective_##name;
#include "transport/collective/collectives.def"
#undef COLLECTIVE

/*  By the name in the list: two may have the same one for users. */
static const tnd_collective_ops_t *named(const char *name)
{
    static const struct {
        const char *name;
        const tnd_collective_ops_t *ops;
    } all[] = {
#define COLLECTIVE(name) {#name, &tnd_collective_##name},
#include "transport/collective/collectives.def"
#undef COLLECTIVE
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].ops;
    return NULL;
}

static const tnd_device_ops_t *device_of_kind(const char *kind)
{
    size_t count;
    const tnd_device_ops_t *const *all = tnd_registry_devices(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, kind) == 0)
            return all[i];
    return NULL;
}

static void run_check(const check_t *check, const tnd_collective_ops_t *ops, const char *kind)
{
    collective_case_t *self = calloc(1, sizeof *self);
    printf("%s\n", check->name);
    self->ops = ops;
    self->device = device_of_kind(kind != NULL ? kind : ops->usable != NULL ? "cuda" : "cpu");
    case_expect(self->device != NULL, "unknown device `%s`", kind);
    self->on_devices = kind != NULL;
    self->threads = 2;
    self->per_step = 1;
    self->bucket = 1 << 20;
    self->checked = true;
    check->check(self);
    free(self);
}

/*  And has none, since it found no compiler of them. */
static bool needs_kernels(const tnd_collective_ops_t *ops, const char *kind)
{
    bool adds = kind != NULL || (ops->usable != NULL && (ops->orders >> TND_ORDER_TREE & 1) != 0);
    const tnd_device_ops_t *device = device_of_kind(kind != NULL ? kind : "cuda");
    return adds && device->reduction == NULL;
}

int main(int argc, char **argv)
{
    const tnd_collective_ops_t *ops = named(argc == 2 || argc == 3 ? argv[1] : "");
    const char *kind = argc == 3 ? argv[2] : NULL;
    tnd_error_t why;
    case_expect(ops != NULL, "usage: test_conformance_collective NAME [DEVICE]");
    if (kind != NULL && tnd_device_check(kind, kind, &why) != TND_OK) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    if (needs_kernels(ops, kind)) {
        printf("skipped: this build has no kernels\n");
        return 77;
    }
    for (size_t i = 0; kind == NULL && i < sizeof checks / sizeof checks[0]; i++)
        run_check(&checks[i], ops, kind);
    for (size_t i = 0; kind != NULL && i < sizeof device_checks / sizeof device_checks[0]; i++)
        run_check(&device_checks[i], ops, kind);
    return 0;
}
