/*  tests/transport/nccl/member.c - members of communicators over the libraries of tests/support: in threads
 *  of a process and in processes, and whatever goes wrong.
 *
 *  Usage: test_transport_nccl_member, with LD_LIBRARY_PATH for both libraries.  Each case is a process of its
 *  own; those libraries complain when it ends if something is left. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transport/nccl/expect.h"
#include "transport/nccl/nccl_member.h"

enum { MEMBERS = 3, COUNT = 1000, ROUNDS = 20 };

static const uint64_t long_ns = 100000000000;

/*  What all members of a process share. */
static _Atomic bool stop; /* all: one of them failed, or on request */
static tnd_nccl_id_t id;

typedef struct {
    uint32_t ordinal, rank, ranks;
    uint64_t patience_ns;
    tnd_status_t status;
    tnd_error_t error;
    pthread_t thread;
} member_t;

static bool is_stopped(const void *context)
{
    (void)context;
    return atomic_load(&stop);
}

static void make_id(void)
{
    const tnd_nccl_library_t *library;
    tnd_error_t error;
    EXPECT(tnd_nccl_library(&library, &error) == TND_OK, "%s", error.text);
    EXPECT(library->ncclGetUniqueId(&id) == ncclSuccess, "no id");
}

/*  Values that have no other sum, whatever the order. */
static void fill(float *values, uint32_t rank, uint32_t round)
{
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = (float)(i + round + 1000 * rank);
}

static void check(const float *values, uint32_t ranks, uint32_t round)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        float sum = (float)(ranks * (i + round) + 1000 * ranks * (ranks - 1) / 2);
        EXPECT(values[i] == sum, "round %u: element %u is %g, not %g", round, i, values[i], sum);
    }
}

/*  Reduces, two parts under way at a time. */
static tnd_status_t reduce(const member_t *self, tnd_nccl_member_t *member, tnd_error_t *error)
{
    for (uint32_t round = 0; round <= ROUNDS; round++) {
        uint32_t part = round % TND_NCCL_PARTS, before = (round + 1) % TND_NCCL_PARTS;
        if (round < ROUNDS) {
            fill(tnd_nccl_member_part(member, part), self->rank, round);
            TND_TRY(tnd_nccl_member_reduce(member, part, COUNT, ncclFloat32, ncclSum, error));
        }
        if (round == 0)
            continue;
        TND_TRY(tnd_nccl_member_await(member, before, error));
        check(tnd_nccl_member_part(member, before), self->ranks, round - 1);
    }
    return TND_OK;
}

static void *run(void *context)
{
    member_t *self = context;
    tnd_nccl_member_t *member;
    tnd_nccl_member_config_t config = {.ordinal = self->ordinal,
                                       .rank = self->rank,
                                       .ranks = self->ranks,
                                       .id = id,
                                       .bytes = COUNT * sizeof(float),
                                       .patience_ns = self->patience_ns,
                                       .stopped = is_stopped};
    self->status = tnd_nccl_member_open(&member, &config, &self->error);
    if (self->status == TND_OK)
        self->status = reduce(self, member, &self->error);
    if (self->status != TND_OK)
        atomic_store(&stop, true);
    tnd_nccl_member_close(&member);
    EXPECT(member == NULL, "it is still there");
    return NULL;
}

/*  Runs members in threads; the one that fails, if there is one. */
static const member_t *run_threads(member_t *members, uint32_t count)
{
    const member_t *failed = NULL;
    for (uint32_t i = 0; i < count; i++)
        EXPECT(pthread_create(&members[i].thread, NULL, run, &members[i]) == 0, "no thread");
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(members[i].thread, NULL);
        if (members[i].status == TND_FAILED)
            failed = &members[i];
    }
    return failed;
}

static const member_t *run_all(uint64_t patience_ns)
{
    static member_t members[MEMBERS];
    make_id();
    for (uint32_t i = 0; i < MEMBERS; i++)
        members[i] =
            (member_t){.ordinal = i, .rank = i, .ranks = MEMBERS, .patience_ns = patience_ns};
    return run_threads(members, MEMBERS);
}

/*  One of them fails with this text, after the name of its device; all others stop. */
static void fails(const char *text, uint64_t patience_ns)
{
    const member_t *failed = run_all(patience_ns);
    EXPECT(failed != NULL, "none fails: %s", text);
    EXPECT(strncmp(failed->error.text, "cuda:", 5) == 0 &&
               strcmp(failed->error.text + 8, text) == 0,
           "%s", failed->error.text);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void members_in_threads_of_a_process(void)
{
    const member_t *failed = run_all(long_ns);
    EXPECT(failed == NULL, "%s", failed->error.text);
}

static void members_in_processes(void)
{
    int status;
    make_id();
    for (uint32_t rank = 1; rank < MEMBERS; rank++)
        if (fork() == 0) {
            member_t member = {
                .ordinal = rank, .rank = rank, .ranks = MEMBERS, .patience_ns = long_ns};
            exit(run_threads(&member, 1) != NULL);
        }
    member_t first = {.ranks = MEMBERS, .patience_ns = long_ns};
    EXPECT(run_threads(&first, 1) == NULL, "%s", first.error.text);
    for (uint32_t rank = 1; rank < MEMBERS; rank++)
        EXPECT(wait(&status) > 0 && status == 0, "a process failed: %d", status);
}

static void one_alone(void)
{
    member_t only = {.ranks = 1, .patience_ns = long_ns};
    make_id();
    EXPECT(run_threads(&only, 1) == NULL, "%s", only.error.text);
}

static void answers_that_are_late(void)
{
    setenv("TND_NCCL_SLOW", "2000", 1);
    members_in_threads_of_a_process();
}

static void a_library_that_is_never_late(void)
{
    setenv("TND_NCCL_SLOW", "0", 1);
    members_in_threads_of_a_process();
}

#define TOLD(call)                                                                                 \
    call " failed: unhandled system error (run with NCCL_DEBUG=INFO for details): " call           \
         " was told to fail (2)"

static void a_meeting_that_fails(void)
{
    setenv("TND_NCCL_FAIL", "ncclCommInitRankConfig@2", 1);
    fails(TOLD("ncclCommInitRankConfig"), long_ns);
}

static void a_question_that_fails(void)
{
    setenv("TND_NCCL_FAIL", "ncclCommGetAsyncError@30", 1);
    fails(TOLD("ncclCommGetAsyncError"), long_ns);
}

static void a_reduction_that_fails(void)
{
    setenv("TND_NCCL_FAIL", "ncclAllReduce@7", 1);
    fails(TOLD("ncclAllReduce"), long_ns);
}

static void an_end_that_fails(void)
{
    member_t only = {.ranks = 1, .patience_ns = long_ns};
    setenv("TND_NCCL_FAIL", "ncclCommFinalize", 1);
    make_id();
    EXPECT(run_threads(&only, 1) == NULL, "%s", only.error.text);
}

static void an_abort_that_fails(void)
{
    setenv("TND_NCCL_FAIL", "ncclCommAbort@1", 1);
    members_in_threads_of_a_process();
}

static void a_connection_that_breaks(void)
{
    setenv("TND_NCCL_REMOTE", "60", 1);
    fails("ncclAllReduce failed: remote process exited or there was a network error: connection "
          "closed by remote peer 10.0.0.2<4711> (6)",
          long_ns);
}

static void members_that_never_meet(void)
{
    setenv("TND_NCCL_ALONE", "1", 1);
    fails("ncclCommInitRankConfig has not ended within 0.02 s; NCCL_DEBUG=INFO makes NCCL print "
          "what it does",
          20000000);
}

static void a_reduction_that_never_ends(void)
{
    setenv("TND_NCCL_NEVER", "9", 1);
    fails("ncclAllReduce has not ended within 0.5 s; NCCL_DEBUG=INFO makes NCCL print what it does",
          500000000);
}

static void one_device_of_two_members(void)
{
    member_t members[2] = {{.ranks = 2, .patience_ns = long_ns},
                           {.rank = 1, .ranks = 2, .patience_ns = long_ns}};
    make_id();
    const member_t *failed = run_threads(members, 2);
    EXPECT(failed != NULL, "they share it");
    EXPECT(strstr(failed->error.text,
                  "cuda:0: ncclCommInitRankConfig failed: invalid usage (run with NCCL_DEBUG=WARN "
                  "for details): Duplicate GPU detected : rank ") == failed->error.text,
           "%s", failed->error.text);
}

static void one_device_of_two_members_that_may_share_it(void)
{
    member_t members[2] = {{.ranks = 2, .patience_ns = long_ns},
                           {.rank = 1, .ranks = 2, .patience_ns = long_ns}};
    setenv("TND_NCCL_VERSION", "23000", 1);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    make_id();
    EXPECT(run_threads(members, 2) == NULL, "they do not share it");
}

static void a_process_that_is_killed(void)
{
    setenv("TND_NCCL_NEVER", "5", 1); /* in both */
    make_id();
    pid_t other = fork();
    if (other == 0) {
        member_t member = {.ordinal = 1, .rank = 1, .ranks = 2, .patience_ns = long_ns};
        exit(run_threads(&member, 1) != NULL);
    }
    member_t survivor = {.ranks = 2, .patience_ns = long_ns};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, run, &survivor) == 0, "no thread");
    usleep(20000); /* before they meet, or while they reduce: either is right */
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    EXPECT(survivor.status == TND_STOPPED, "%d: %s", survivor.status, survivor.error.text);
}

/*  Each call of the driver fails once: there is one sentence, and nothing is left. */
static void calls_of_the_driver_that_fail(void)
{
    static const char *const calls[] = {"cuDevicePrimaryCtxRetain@2",
                                        "cuStreamCreateWithPriority@1",
                                        "cuMemHostAlloc@2",
                                        "cuMemAlloc_v2@3",
                                        "cuEventCreate@4",
                                        "cuMemcpyHtoDAsync_v2@9",
                                        "cuMemcpyDtoHAsync_v2@9",
                                        "cuEventRecord@9",
                                        "cuEventQuery@50"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int status;
        if (fork() == 0) {
            setenv("TND_CUDA_FAIL", calls[i], 1);
            const member_t *failed = run_all(long_ns);
            size_t length = strcspn(calls[i], "@");
            EXPECT(failed != NULL && strncmp(failed->error.text + 8, calls[i], length) == 0,
                   "%s: %s", calls[i], failed != NULL ? failed->error.text : "none fails");
            exit(0);
        }
        EXPECT(wait(&status) > 0 && status == 0, "%s: %d", calls[i], status);
    }
}

static const struct {
    const char *name;
    void (*check)(void);
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(members_in_threads_of_a_process),
    CASE(members_in_processes),
    CASE(one_alone),
    CASE(answers_that_are_late),
    CASE(a_library_that_is_never_late),
    CASE(a_meeting_that_fails),
    CASE(a_question_that_fails),
    CASE(a_reduction_that_fails),
    CASE(an_end_that_fails),
    CASE(an_abort_that_fails),
    CASE(a_connection_that_breaks),
    CASE(members_that_never_meet),
    CASE(a_reduction_that_never_ends),
    CASE(one_device_of_two_members),
    CASE(one_device_of_two_members_that_may_share_it),
    CASE(a_process_that_is_killed),
    CASE(calls_of_the_driver_that_fail),
#undef CASE
};

int main(int argc, char **argv)
{
    int bad = 0, status;
    setenv("TND_CUDA_DEVICES", "3", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
            continue;
        puts(cases[i].name);
        fflush(stdout);
        if (fork() == 0) {
            cases[i].check();
            exit(0);
        }
        bad |= wait(&status) < 0 || status != 0;
    }
    return bad;
}
