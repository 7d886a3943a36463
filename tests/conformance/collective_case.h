/*  tests/conformance/collective_case.h - a run of a collective: members, their device threads, a reducer.
 *
 *  Members are in this process; a thread carries what they send, as their feeders would, to the core of
 *  the reducer, and computes the roots with its code.  Replicas post what a *script* says, for some
 *  rounds; results are compared with the tree over all replicas, whose numbers have tests of their own.
 */
#ifndef TND_TESTS_CONFORMANCE_COLLECTIVE_CASE_H
#define TND_TESTS_CONFORMANCE_COLLECTIVE_CASE_H

#include <pthread.h>

#include "runtime/core/reducer.h"
#include "runtime/interface/collective.h"
#include "runtime/posts/roots.h"
#include "tests/conformance/device_arrays.h"

enum { CASE_LEAVES = 16, CASE_MEMBERS = 8, CASE_POSTINGS = 64, CASE_DEVICES = 8 };

/*  A sanitizer sees memory and threads, not results: some of each form are enough, and each takes ten times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CASE_SANITIZED = 1 };
#else
enum { CASE_SANITIZED = 0 };
#endif

typedef struct collective_case collective_case_t;
typedef struct case_member case_member_t;

/*  Memory of one posting of a replica. */
typedef struct {
    void *in, *out;
} case_array_t;

/*  What a replica posts in a round: adds postings to `posts`, whose number p has memory arrays[p].  It
 *  is called again for the same round, and then posts the same. */
typedef void case_script_fn(const collective_case_t *self, uint32_t leaf, uint64_t round,
                            case_array_t *arrays, tnd_postings_t *posts);

typedef struct {
    case_member_t *member;
    uint32_t number;
    pthread_t thread;
    bool ended;               /* its last reduction returned true */
    tnd_device_queue_t queue; /* with `on_devices`: to its device and back */
} case_thread_t;

struct case_member {
    collective_case_t *run;
    tnd_collective_t *collective;
    uint32_t first, count, thread_count;
    tnd_collective_thread_t shares[2];
    tnd_device_t devices[2];
    tnd_device_t *opened[2]; /* with `on_devices` */
    case_thread_t threads[2];
    const tnd_postings_t *posts[CASE_LEAVES];
    tnd_collective_round_t round;
    uint64_t rows[CASE_LEAVES];
    uint32_t arrived; /* at a meeting; guarded by the lock of the case */
    uint64_t meetings;
};

struct collective_case {
    const tnd_collective_ops_t *ops;
    uint32_t leaves, members, threads; /* threads of each member, at most 2 */
    uint64_t rounds, per_step;         /* of all steps, of each */
    uint64_t bucket;
    size_t most; /* elements of the larger arrays */
    case_script_fn *script;
    const tnd_device_ops_t *device; /* of all replicas */
    bool on_devices;                /* they post values in the memory of these */
    bool astray;                    /* in round 1 the last replica posts memory of the host so */
    bool checked;                   /* all replicas post the same: results are compared */
    uint32_t
        absent; /* members, the last ones, that post nothing; the others are ended while they wait */
    bool spoil;  /* results are of another shape */
    bool early;  /* threads await one posting after the other, where the collective can */
    bool starts; /* replicas start what they have posted while others post, likewise */

    case_member_t member[CASE_MEMBERS];
    tnd_postings_t posts[CASE_LEAVES];
    void **expected; /* by round x posting */
    tnd_partial_sums_t none[CASE_LEAVES];
    case_array_t arrays[CASE_LEAVES][CASE_POSTINGS];
    device_array_t device_arrays[CASE_LEAVES][CASE_POSTINGS];
    uint64_t buckets[1];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool pending;                        /* the carrier has something to do */
    bool aborted;                        /* as `failure` says, or on request */
    uint32_t running;                    /* device threads */
    uint32_t sent;                       /* values, to the reducer */
    uint64_t sent_bytes, received_bytes; /* by all members */
    char failure[512];
    void *reducer_memory;
    tnd_reducer_core_t *reducer;
    tnd_roots_t roots;
    tnd_actor_id_t carriers[CASE_LEAVES];
    const char *names[CASE_LEAVES];
};

/*  Ends the program with this text unless it is true. */
void case_expect(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*  Runs all rounds and compares each result; false: `failure` says why not.  The settings at the top are the caller's. */
bool case_run(collective_case_t *self);
/*  The rows of a replica in a round: some have none. */
uint64_t case_rows(const collective_case_t *self, uint32_t leaf, uint64_t round);
/*  The elements of a replica in a gather of a round. */
size_t case_gathered(uint32_t leaf, uint64_t round);
/*  The number of the values of posting `p`. */
uint64_t case_number(uint32_t leaf, uint64_t round, uint32_t p);
/*  Fills an array with values of a type that depend on the number: ordinary ones, NaN, infinities,
 *  denormals, zeros of both signs. */
void case_values(void *values, tnd_dtype_t dtype, size_t count, uint64_t number);

#endif
