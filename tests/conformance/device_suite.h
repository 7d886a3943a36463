/*  tests/conformance/device_suite.h - the conformance suite of runtime/interface/device.h.
 *
 *  Each test opens the device anew. */
#ifndef TND_TESTS_CONFORMANCE_DEVICE_SUITE_H
#define TND_TESTS_CONFORMANCE_DEVICE_SUITE_H

#include "tests/conformance/device_readers.h"
#include "tests/conformance/device_reductions.h"

/* --- memory ----------------------------------------------------------------------------------- */

static void stages_are_aligned_and_zero(suite_t *self)
{
    static const size_t sizes[] = {1, 63, 64, 65, 1000, 4096, 100003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t bytes = sizes[i], other = can(self, TND_DEVICE_OWN_MEMORY) ? 2 * bytes : bytes;
        tnd_stage_t stage;
        SUCCEED(self,
                self->ops->stage(self->device, bytes, other, bytes / 2, &stage, &self->error));
        EXPECT(self, stage.host_bytes == bytes && stage.device_bytes == other);
        EXPECT(self, (uintptr_t)stage.host % TND_STAGE_ALIGN == 0);
        EXPECT(self, (uintptr_t)stage.device % TND_STAGE_ALIGN == 0);
        EXPECT(self, can(self, TND_DEVICE_OWN_MEMORY) || stage.device == stage.host);
        EXPECT(self, stage.device != NULL || self->ops->address != NULL);
        for (size_t at = 0; at < bytes; at++)
            EXPECT(self, ((const uint8_t *)stage.host)[at] == 0);
        uint8_t *zeros = calloc(1, other);
        if (self->ops->address == NULL)
            expect_bytes(self, &stage, 0, zeros, other);
        free(zeros);
        is_open(self, self->ops->uploaded, &stage);
        is_open(self, self->ops->finished, &stage);
        self->ops->unstage(self->device, &stage);
    }
}

static void stages_that_are_too_large_are_refused(suite_t *self)
{
    tnd_stage_t stage;
    size_t bytes = self->fixture->too_large;
    if (bytes == 0)
        return;
    size_t host_bytes = can(self, TND_DEVICE_OWN_MEMORY) ? 64 : bytes;
    EXPECT(self, self->ops->stage(self->device, host_bytes, bytes, 64, &stage, &self->error) ==
                     TND_FAILED);
    expect(self, strncmp(self->error.text, self->fixture->name, strlen(self->fixture->name)) == 0,
           "the error begins with the name of the device", __LINE__, &self->error);
    stage = make_stage(self, 64, 64);
    fill(self, stage.host, 64);
    tnd_stage_piece_t piece = piece_at(&stage, 0, 64);
    upload(self, &stage, &piece, 1);
    await_upload(self, &stage);
    expect_bytes(self, &stage, 0, stage.host, 64);
    self->ops->unstage(self->device, &stage);
}

static void a_device_that_is_missing_is_refused(suite_t *self)
{
    tnd_device_t *device;
    if (self->fixture->missing == NULL)
        return;
    EXPECT(self, tnd_device_open(&device, self->fixture->missing, &self->fixture->config,
                                 &self->error) == TND_FAILED);
    expect(self, device == NULL && strstr(self->error.text, self->fixture->missing) != NULL,
           "the error names the device", __LINE__, &self->error);
    EXPECT(self, tnd_device_check(self->fixture->missing, self->fixture->missing, &self->error) ==
                     TND_FAILED);
}

/* --- uploads ---------------------------------------------------------------------------------- */

static void pieces_of_the_stage_arrive(suite_t *self)
{
    static const size_t sizes[] = {1, 2, 3, 7, 63, 64, 65, 127, 1000, 4095, 65537};
    tnd_stage_t stage = make_stage(self, 100000, 100000);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t bytes = sizes[i], second = (bytes + 127) / 64 * 64;
        fill(self, stage.host, 100000);
        tnd_stage_piece_t pieces[] = {piece_at(&stage, 0, bytes), piece_at(&stage, second, 33)};
        pieces[1].rows = 11;
        pieces[1].row_bytes = 3;
        upload(self, &stage, pieces, 2);
        await_upload(self, &stage);
        is_open(self, self->ops->uploaded, &stage);
        expect_bytes(self, &stage, 0, stage.host, bytes);
        expect_bytes(self, &stage, second, (const uint8_t *)stage.host + second, 33);
    }
    self->ops->unstage(self->device, &stage);
}

static void pieces_may_have_other_places_on_the_device(suite_t *self)
{
    if (!can(self, TND_DEVICE_OWN_MEMORY))
        return;
    tnd_stage_t stage = make_stage(self, 5000, 9000);
    fill(self, stage.host, 5000);
    tnd_stage_piece_t pieces[] = {piece_at(&stage, 0, 1999), piece_at(&stage, 2048, 2000)};
    pieces[0].to = 6400;
    pieces[1].to = 64;
    upload(self, &stage, pieces, 2);
    await_upload(self, &stage);
    expect_bytes(self, &stage, 6400, stage.host, 1999);
    expect_bytes(self, &stage, 64, (const uint8_t *)stage.host + 2048, 2000);
    self->ops->unstage(self->device, &stage);
}

static void an_upload_may_be_empty(suite_t *self)
{
    tnd_stage_t stage = make_stage(self, 128, 128);
    tnd_stage_piece_t none = piece_at(&stage, 0, 64);
    none.rows = 0;
    upload(self, &stage, NULL, 0);
    await_upload(self, &stage);
    upload(self, &stage, &none, 1);
    await_upload(self, &stage);
    self->ops->unstage(self->device, &stage);
}

/*  Page-locked memory that is not the stage's: here, of another one. */
static void lent_pieces_arrive(suite_t *self)
{
    enum { BYTES = 30000 };
    if (!can(self, TND_DEVICE_OWN_MEMORY))
        return;
    tnd_stage_t stage = make_stage(self, BYTES, BYTES), lender = make_stage(self, BYTES, BYTES);
    fill(self, stage.host, BYTES);
    fill(self, lender.host, BYTES);
    const uint8_t *lent = (const uint8_t *)lender.host + 5;
    tnd_stage_piece_t pieces[] = {piece_at(&stage, 0, 900),
                                  {.from = lent, .to = 1024, .rows = 77, .row_bytes = 101}};
    upload(self, &stage, pieces, 2);
    await_upload(self, &stage);
    expect_bytes(self, &stage, 0, stage.host, 900);
    expect_bytes(self, &stage, 1024, lent, 7777);
    self->ops->unstage(self->device, &stage);
    self->ops->unstage(self->device, &lender);
}

/*  Without waiting, and in each order of asking. */
static void many_stages_are_uploaded_at_once(suite_t *self)
{
    enum { STAGES = 12, BYTES = 20000 };
    tnd_stage_t stages[STAGES];
    for (size_t i = 0; i < STAGES; i++)
        stages[i] = make_stage(self, BYTES, BYTES);
    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < STAGES; i++) {
            fill(self, stages[i].host, BYTES / (i + 1));
            tnd_stage_piece_t piece = piece_at(&stages[i], 0, BYTES / (i + 1));
            upload(self, &stages[i], &piece, 1);
        }
        for (size_t i = 0; i < STAGES; i++) {
            size_t at = round % 2 == 0 ? i : STAGES - 1 - i;
            await_upload(self, &stages[at]);
            expect_bytes(self, &stages[at], 0, stages[at].host, BYTES / (at + 1));
        }
    }
    for (size_t i = 0; i < STAGES; i++)
        self->ops->unstage(self->device, &stages[i]);
}

/*  Stages that take the place of others, among some that stay. */
static void stages_are_zero_again(suite_t *self)
{
    enum { STAGES = 12, BYTES = 3000 };
    static const uint8_t zeros[BYTES];
    tnd_stage_t stages[STAGES];
    uint8_t kept[BYTES];
    fill(self, kept, BYTES);
    for (size_t i = 0; i < STAGES; i++) {
        stages[i] = make_stage(self, BYTES, BYTES);
        memcpy(stages[i].host, kept, BYTES);
        tnd_stage_piece_t piece = piece_at(&stages[i], 0, BYTES);
        upload(self, &stages[i], &piece, 1);
        await_upload(self, &stages[i]);
    }
    for (size_t i = 1; i < STAGES; i += 2)
        self->ops->unstage(self->device, &stages[i]);
    for (size_t i = 1; i < STAGES; i += 2)
        stages[i] = make_stage(self, BYTES, BYTES);
    for (size_t i = 0; i < STAGES; i++) {
        const uint8_t *expected = i % 2 == 0 ? kept : zeros;
        EXPECT(self, memcmp(stages[i].host, expected, BYTES) == 0);
        if (i % 2 == 0 || self->ops->address == NULL)
            expect_bytes(self, &stages[i], 0, expected, BYTES);
        self->ops->unstage(self->device, &stages[i]);
    }
}

/* --- casts ------------------------------------------------------------------------------------ */

enum { CAST_CHANNELS = 5, CAST_ROWS = 3 };

/*  Scales and biases that give normal numbers, denormals, ties, infinities and NaN. */
static const float scales[3][CAST_CHANNELS] = {
    {1, 1.0f / 255, 0x1p-126f, 3e38f, -0.0f},
    {0.017124753f, 0.017507f, 0.017429193f, 0x1p-140f, 1 + 0x1p-8f},
    {0x1p-20f, 0x1p-25f, 1e30f, -1, 65504},
};
static const float biases[3][CAST_CHANNELS] = {
    {0, -0.5f, 0x1p-149f, 3e38f, -0.0f},
    {-2.117904f, -2.0357143f, -1.8044444f, 0, 0x1p-9f},
    {0, 0x1p-24f, 0, 0x1p-133f, 8},
};

/*  Every kind of f32, then anything. */
static void fill_floats(suite_t *self, float *to, size_t count)
{
    static const uint32_t special[] = {
        0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f800000,
        0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x7f7fffff, 0x33000000, 0x33000001,
        0x38800000, 0x387fe000, 0x477fefff, 0x477ff000, 0x3f808000, 0x3f818000, 0x3f801000,
        0x3f803000, 0x7f7f8000, 0x7f7f7fff, 0x00008000, 0x00018000, 0x3f800000, 0xbf800000};
    for (size_t i = 0; i < count; i++) {
        uint32_t bits =
            i < sizeof special / sizeof special[0] ? special[i] : (uint32_t)next_random(self);
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void expect_cast(suite_t *self, tnd_row_cast_t *cast, uint64_t pixels, uint64_t rows)
{
    size_t size = tnd_dtype_size(cast->from), made = tnd_dtype_size(cast->to);
    cast->elements = pixels * cast->channels;
    size_t row_bytes = cast->elements * size, all = rows * cast->elements * made;
    SUCCEED(self, self->ops->prepare(self->device, cast, &self->error));
    tnd_stage_t stage = make_stage(self, rows * row_bytes + 64, all + 256);
    uint8_t *expected = malloc(all + 1);
    if (cast->from == TND_F32)
        fill_floats(self, stage.host, rows * cast->elements);
    else
        fill(self, stage.host, rows * row_bytes);
    /* A column without a cast after it must stay whole. */
    tnd_stage_piece_t beside = piece_at(&stage, 0, 64);
    beside.to = (all + 63) / 64 * 64 + 64;
    tnd_stage_piece_t pieces[] = {
        beside, {.from = stage.host, .to = 64, .rows = rows, .row_bytes = row_bytes, .cast = cast}};
    tnd_row_cast(cast, rows, expected, stage.host);
    upload(self, &stage, pieces, 2);
    await_upload(self, &stage);
    expect_bytes(self, &stage, 64, expected, all);
    expect_bytes(self, &stage, beside.to, stage.host, 64);
    self->ops->unstage(self->device, &stage);
    free(expected);
}

static void casts_give_the_bits_of_the_reference(suite_t *self)
{
    static const tnd_dtype_t from[] = {TND_U8, TND_I16, TND_U16, TND_F32};
    static const tnd_dtype_t to[] = {TND_F32, TND_F16, TND_BF16};
    static const uint64_t pixels[] = {1, 7, 64, 333};
    if (!can(self, TND_DEVICE_CASTS))
        return;
    for (size_t i = 0; i < 4 * 3 * 2 * 4 * 4; i++) {
        size_t set = i % 3;
        tnd_row_cast_t cast = {.from = from[i % 4],
                               .to = to[i / 4 % 3],
                               .channels_first = i / 12 % 2 != 0,
                               .channels = (uint32_t[]){1, 3, 4, CAST_CHANNELS}[i / 24 % 4],
                               .scale = scales[set],
                               .bias = biases[set]};
        expect_cast(self, &cast, pixels[i / 96], 1 + i % CAST_ROWS);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void *let_go(void *context)
{
    for (int i = 0; i < DEVICE_LOOKS; i++)
        sched_yield();
    atomic_store((_Atomic bool *)context, true);
    return NULL;
}

static void unstage_waits_for_work_under_way(suite_t *self)
{
    enum { BYTES = 200000 };
    const device_hooks_t *hooks = &self->fixture->hooks;
    for (int cycle = 0; cycle < 20; cycle++) {
        tnd_stage_t stage = make_stage(self, BYTES, BYTES);
        tnd_stage_piece_t piece = piece_at(&stage, 0, BYTES);
        fill(self, stage.host, 1000);
        upload(self, &stage, &piece, 1);
        self->ops->unstage(self->device, &stage);
        EXPECT(self, stage.host == NULL && stage.device == NULL);
    }
    if (!can(self, TND_DEVICE_STREAMS))
        return;
    _Atomic bool go = false;
    pthread_t thread;
    tnd_stream_handle_t stream = hooks->open(self->device);
    tnd_stage_t stage = make_stage(self, BYTES, BYTES);
    hooks->hold(self->device, stream, &go);
    SUCCEED(self, self->ops->mark(self->device, &stage, stream, &self->error));
    EXPECT(self, pthread_create(&thread, NULL, let_go, &go) == 0);
    self->ops->unstage(self->device, &stage);
    EXPECT(self, atomic_load(&go));
    pthread_join(thread, NULL);
    hooks->close(self->device, stream);
}

static uint64_t calls_of(const tnd_device_facts_t *facts)
{
    return facts->calls[TND_DEVICE_CALL_ALLOCATE] + facts->calls[TND_DEVICE_CALL_FREE] +
           facts->calls[TND_DEVICE_CALL_SYNCHRONIZE];
}

/*  After the start nothing is allocated or freed, and nothing waits. */
static void ten_thousand_cycles_cost_no_allocation(suite_t *self)
{
    enum { STAGES = 3, CYCLES = 10000, BYTES = 4096 };
    tnd_stage_t stages[STAGES];
    tnd_device_facts_t before, after;
    uint64_t bytes = 0;
    tnd_stream_handle_t stream = self->ops->stream(self->device);
    for (size_t i = 0; i < STAGES; i++)
        stages[i] = make_stage(self, BYTES, BYTES);
    for (uint32_t cycle = 0; cycle < CYCLES + STAGES; cycle++) {
        tnd_stage_t *stage = &stages[cycle % STAGES];
        settle(self, stage, self->ops->uploaded);
        if (cycle == STAGES) {
            for (size_t i = 0; i < STAGES; i++)
                await_upload(self, &stages[i]);
            self->ops->facts(self->device, &before);
            bytes = 0;
        }
        uint32_t size = 1 + (uint32_t)(next_random(self) % BYTES);
        memset(stage->host, (int)(cycle & 0xff), size);
        tnd_stage_piece_t piece = piece_at(stage, 0, size);
        upload(self, stage, &piece, 1);
        bytes += size;
        SUCCEED(self, self->ops->await(self->device, stage, stream, &self->error));
        SUCCEED(self, self->ops->mark(self->device, stage, stream, &self->error));
        if (cycle % 100 != 0)
            continue;
        await_upload(self, stage);
        expect_bytes(self, stage, 0, stage->host, size);
    }
    for (size_t i = 0; i < STAGES; i++) {
        await_upload(self, &stages[i]);
        settle(self, &stages[i], self->ops->finished);
    }
    self->ops->facts(self->device, &after);
    EXPECT(self, calls_of(&after) == calls_of(&before));
    /* A number that is not known is 0. */
    EXPECT(self, after.bytes_moved == 0 || after.bytes_moved - before.bytes_moved == bytes);
    EXPECT(self, after.link_ns == 0 || after.link_ns > before.link_ns);
    for (size_t i = 0; i < STAGES; i++)
        self->ops->unstage(self->device, &stages[i]);
}

/*  A device has room for fewer than all of them together. */
static void stages_that_come_and_go_leave_nothing(suite_t *self)
{
    enum { TIMES = 1000, BYTES = 4096 };
    tnd_device_facts_t before, after;
    self->ops->facts(self->device, &before);
    for (int time = 0; time < TIMES; time++) {
        tnd_stage_t stage = make_stage(self, BYTES, BYTES);
        tnd_stage_piece_t piece = piece_at(&stage, 0, BYTES);
        upload(self, &stage, &piece, 1);
        await_upload(self, &stage);
        self->ops->unstage(self->device, &stage);
    }
    self->ops->facts(self->device, &after);
    /* Others may use the device too; what all stages together have is more. */
    EXPECT(self, after.memory_free + TIMES * BYTES / 2 >= before.memory_free);
}

static void facts_describe_the_device(suite_t *self)
{
    tnd_device_facts_t facts;
    memset(&facts, 0xff, sizeof facts);
    self->ops->facts(self->device, &facts);
    EXPECT(self, memchr(facts.name, '\0', sizeof facts.name) != NULL);
    EXPECT(self, memchr(facts.bus, '\0', sizeof facts.bus) != NULL);
    EXPECT(self, memchr(facts.uuid, '\0', sizeof facts.uuid) != NULL);
    EXPECT(self, facts.memory_free <= facts.memory && facts.numa_node >= -1);
    EXPECT(self, facts.bytes_moved == 0);
    EXPECT(self, !can(self, TND_DEVICE_POINTERS) || self->ops->dlpack_type > 0);
    EXPECT(self, !can(self, TND_DEVICE_CASTS) || self->ops->prepare != NULL);
    EXPECT(self, can(self, TND_DEVICE_STREAMS) || self->ops->stream(self->device) == 0);
    EXPECT(self, can(self, TND_DEVICE_REDUCES) == (self->ops->reduction != NULL));
}

#define DEVICE_TESTS(TEST)                                                                         \
    TEST(facts_describe_the_device)                                                                \
    TEST(stages_are_aligned_and_zero)                                                              \
    TEST(stages_that_are_too_large_are_refused)                                                    \
    TEST(a_device_that_is_missing_is_refused)                                                      \
    TEST(pieces_of_the_stage_arrive)                                                               \
    TEST(pieces_may_have_other_places_on_the_device)                                               \
    TEST(an_upload_may_be_empty)                                                                   \
    TEST(lent_pieces_arrive)                                                                       \
    TEST(many_stages_are_uploaded_at_once)                                                         \
    TEST(stages_are_zero_again)                                                                    \
    TEST(casts_give_the_bits_of_the_reference)                                                     \
    TEST(the_own_stream_waits_and_reads)                                                           \
    TEST(streams_wait_for_the_copy)                                                                \
    TEST(the_next_upload_waits_for_all_readers)                                                    \
    TEST(a_stage_is_finished_when_its_last_reader_is)                                              \
    TEST(work_is_timed)                                                                            \
    TEST(values_are_copied_out_and_in)                                                             \
    TEST(nodes_have_the_bits_of_the_host)                                                          \
    TEST(a_result_may_take_the_place_of_an_input)                                                  \
    TEST(queues_and_streams_wait_for_each_other)                                                   \
    TEST(memory_that_is_not_the_devices_is_refused)                                                \
    TEST(areas_and_queues_that_come_and_go_leave_nothing)                                          \
    TEST(unstage_waits_for_work_under_way)                                                         \
    TEST(stages_that_come_and_go_leave_nothing)                                                    \
    TEST(ten_thousand_cycles_cost_no_allocation)

static void run_test(const device_fixture_t *fixture, const char *name, void (*test)(suite_t *))
{
    suite_t self = {.fixture = fixture, .test = name, .random = 0x9e3779b97f4a7c15};
    SUCCEED(&self, tnd_device_open(&self.device, fixture->name, &fixture->config, &self.error));
    self.ops = self.device->ops;
    test(&self);
    tnd_device_close(&self.device);
    EXPECT(&self, self.device == NULL);
    printf("%s: %s\n", fixture->name, name);
}

/*  Runs every test; a failure ends the program. */
static void device_suite(const device_fixture_t *fixture)
{
#define RUN_DEVICE_TEST(name) run_test(fixture, #name, name);
    DEVICE_TESTS(RUN_DEVICE_TEST)
#undef RUN_DEVICE_TEST
}

#endif
