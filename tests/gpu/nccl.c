/*  tests/gpu/nccl.c - check 27: NCCL with one device.  Several of its members need several devices. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tests/gpu/gpu.h"
#include "transport/nccl/nccl_member.h"

enum { CHECK = 27, PART_BYTES = 4 << 20, COUNT = PART_BYTES / 4, PARTS = 50, TIMES = 20 };

static gpu_t gpu;
static const tnd_nccl_library_t *library;
static tnd_error_t error;

/*  When members are to stop; 0: never. */
static _Atomic uint64_t stop_ns;

static bool is_stopped(const void *context)
{
    (void)context;
    uint64_t at = atomic_load(&stop_ns);
    return at != 0 && tnd_clock_now() >= at;
}

static tnd_nccl_member_config_t config_of(uint32_t rank, uint32_t ranks, const tnd_nccl_id_t *id)
{
    return (tnd_nccl_member_config_t){.rank = rank,
                                      .ranks = ranks,
                                      .id = *id,
                                      .bytes = PART_BYTES,
                                      .patience_ns = UINT64_C(60000000000),
                                      .stopped = is_stopped};
}

static tnd_nccl_id_t make_id(void)
{
    tnd_nccl_id_t id;
    gpu_must_do(library->ncclGetUniqueId(&id) == ncclSuccess, "ncclGetUniqueId failed");
    return id;
}

static tnd_nccl_member_t *open_alone(void)
{
    tnd_nccl_member_t *member;
    const tnd_nccl_id_t id = make_id();
    const tnd_nccl_member_config_t config = config_of(0, 1, &id);
    gpu_must_do(tnd_nccl_member_open(&member, &config, &error) == TND_OK, error.text);
    return member;
}

/*  What one member adds is what it gave. */
static void check_values(tnd_nccl_member_t *member)
{
    uint64_t different = 0;
    for (uint32_t i = 0; i <= PARTS; i++) {
        uint32_t *values = tnd_nccl_member_part(member, i % TND_NCCL_PARTS);
        for (uint32_t n = 0; n < COUNT && i < PARTS; n++)
            values[n] = n * 2654435761u + i;
        if (i < PARTS)
            gpu_must_do(tnd_nccl_member_reduce(member, i % TND_NCCL_PARTS, COUNT, ncclUint32,
                                               ncclSum, &error) == TND_OK,
                        error.text);
        if (i == 0)
            continue;
        uint32_t before = (i - 1) % TND_NCCL_PARTS;
        gpu_must_do(tnd_nccl_member_await(member, before, &error) == TND_OK, error.text);
        values = tnd_nccl_member_part(member, before);
        for (uint32_t n = 0; n < COUNT; n++)
            different += values[n] != n * 2654435761u + i - 1;
    }
    gpu_exact(CHECK, "different_values", (double)different, 0);
}

static size_t free_memory(void)
{
    size_t unused = 0, all;
    GPU_CALL(&gpu, cuMemGetInfo_v2, &unused, &all);
    return unused;
}

static void check_again(void)
{
    size_t before = free_memory();
    uint64_t begun = tnd_clock_now();
    for (uint32_t i = 0; i < TIMES; i++) {
        tnd_nccl_member_t *member = open_alone();
        tnd_nccl_member_close(&member);
    }
    double seconds = (double)(tnd_clock_now() - begun) / 1e9 / TIMES;
    size_t after = free_memory();
    if (gpu.speeds)
        gpu_most(CHECK, "seconds_to_open_and_close", seconds, "s", 2);
    gpu_most(CHECK, "left_of_20_communicators",
             before > after ? (double)(before - after) / 1048576 : 0, "MiB", 2);
}

/*  Another member never comes. */
static void check_stop(void)
{
    tnd_nccl_member_t *member;
    const tnd_nccl_id_t id = make_id();
    const tnd_nccl_member_config_t config = config_of(0, 2, &id);
    uint64_t at = tnd_clock_now() + 500000000;
    atomic_store(&stop_ns, at);
    tnd_status_t status = tnd_nccl_member_open(&member, &config, &error);
    atomic_store(&stop_ns, 0);
    gpu_exact(CHECK, "a_meeting_that_is_stopped", status, TND_STOPPED);
    if (gpu.speeds)
        gpu_most(CHECK, "seconds_until_it_has_stopped", (double)(tnd_clock_now() - at) / 1e9, "s",
                 1);
}

static void *open_second(void *id)
{
    tnd_nccl_member_t *member;
    const tnd_nccl_member_config_t config = config_of(1, 2, id);
    tnd_error_t unused;
    if (tnd_nccl_member_open(&member, &config, &unused) == TND_OK)
        tnd_nccl_member_close(&member);
    return NULL;
}

/*  NCCL refuses two members on one device, unless it is told not to. */
static void check_twins(void)
{
    pthread_t second;
    tnd_nccl_member_t *member;
    tnd_nccl_id_t id = make_id();
    const tnd_nccl_member_config_t config = config_of(0, 2, &id);
    gpu_must_do(pthread_create(&second, NULL, open_second, &id) == 0, "no thread");
    tnd_status_t status = tnd_nccl_member_open(&member, &config, &error);
    bool named = status == TND_FAILED && strstr(error.text, "Duplicate GPU") != NULL;
    atomic_store(&stop_ns, 1);
    if (status == TND_OK)
        tnd_nccl_member_close(&member);
    pthread_join(second, NULL);
    atomic_store(&stop_ns, 0);
    if (!named)
        fprintf(stderr, "two members on one device: %d: %s\n", status, error.text);
    gpu_exact(CHECK, "two_on_one_device_are_named", named, 1);
}

int main(int argc, char **argv)
{
    char version[32];
    gpu_begin(&gpu, argc, argv);
    if (tnd_nccl_library(&library, &error) != TND_OK) {
        printf("skipped: %s\n", error.text);
        (void)gpu_end(&gpu);
        return 77;
    }
    printf("NCCL %s, %s\n", tnd_nccl_version_text(library->version, version, sizeof version),
           library->path);
    tnd_nccl_member_t *member = open_alone();
    check_values(member);
    tnd_nccl_member_close(&member);
    check_again();
    check_stop();
    check_twins();
    return gpu_end(&gpu);
}
