/*  Covers actors/optimizer: the bits of NumPy in the documented order, the results of Keras, ranges that
 *  are updated apart, options that contradict each other, and what is saved and loaded. */
#include "actors/optimizer/optimizers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/option/option_parse.h"
#include "runtime/text/yaml.h"

enum { COUNT = 13, UPDATES_MAX = 20 };

typedef struct {
    tnd_part_t optimizer;
} chosen_t;

static const tnd_option_t chosen_options[] = {
    {TND_OPTION(chosen_t, optimizer, PART, GRAPH), .help = "an optimizer",
     .parts = tnd_optimizer_table},
};
static const tnd_table_t chosen_table = {
    .name = "chosen", .help = "an optimizer", TND_OPTIONS(chosen_options, chosen_t)};

/*  An optimizer as a topology file chooses it. */
typedef struct {
    tnd_arena_t *arena;
    const tnd_optimizer_ops_t *ops;
    const void *options;
    void *state;
} made_t;

static tnd_status_t make(made_t *self, const char *text, size_t count, tnd_error_t *error)
{
    char line[256];
    snprintf(line, sizeof line, "{optimizer: %s}", text);
    self->arena = tnd_arena_new();
    tnd_origin_t *origin = tnd_arena_take(self->arena, sizeof *origin);
    *origin = (tnd_origin_t){.name = "test",
                             .text = tnd_arena_text(self->arena, line, strlen(line)),
                             .size = strlen(line)};
    tnd_options_context_t context = {.arena = self->arena,
                                     .diagnostics = tnd_diagnostics_new(self->arena)};
    tnd_value_t *value = tnd_yaml_parse(self->arena, context.diagnostics, origin, 0);
    const chosen_t *chosen =
        tnd_options_parse(&context, &chosen_table, value, "chosen", (tnd_mark_t){.origin = origin});
    if (chosen == NULL)
        tnd_diagnostics_print(context.diagnostics, stderr);
    cr_assert_not_null(chosen, "%s", line);
    self->ops = tnd_optimizer_of(chosen->optimizer.table);
    self->options = chosen->optimizer.options;
    self->state = calloc(1, self->ops->state_bytes);
    tnd_status_t status = self->ops->open(self->state, self->options, count, error);
    if (status != TND_OK) {
        free(self->state);
        tnd_arena_destroy(&self->arena);
    }
    return status;
}

static made_t made(const char *text, size_t count)
{
    made_t self;
    tnd_error_t error;
    cr_assert_eq(make(&self, text, count, &error), TND_OK, "%s: %s", text, error.text);
    return self;
}

static void destroy(made_t *self)
{
    self->ops->close(self->state);
    free(self->state);
    tnd_arena_destroy(&self->arena);
}

static void update(const made_t *self, uint64_t number, size_t count, const float *gradient,
                   float *values)
{
    self->ops->apply(self->state, &(tnd_update_t){.number = number,
                                                  .count = count,
                                                  .gradient = gradient,
                                                  .before = values,
                                                  .after = values});
}

/* --- what others compute ----------------------------------------------------------------------- */

typedef struct {
    char options[200], name[8];
    float before[COUNT], gradients[UPDATES_MAX][COUNT], numpy[COUNT], keras[COUNT];
    size_t updates;
} case_t;

/*  The numbers up to the next bar; *text_p moves past it. */
static size_t parse_bits(const char **text_p, float *values, size_t room)
{
    size_t count = 0;
    int used;
    uint32_t bits;
    while (sscanf(*text_p, " %x%n", &bits, &used) == 1) {
        cr_assert_lt(count, room);
        memcpy(&values[count++], &bits, sizeof bits);
        *text_p += used;
    }
    *text_p = strchr(*text_p, '|') != NULL ? strchr(*text_p, '|') + 1 : "";
    return count;
}

static case_t parse_case(const char *line)
{
    case_t self;
    char options[160];
    cr_assert_eq(sscanf(line, "%7s %159[^|]", self.name, options), 2, "%s", line);
    snprintf(self.options, sizeof self.options, "{%s: %s}", self.name, options);
    const char *at = strchr(line, '|') + 1;
    cr_assert_eq(parse_bits(&at, self.before, COUNT), COUNT);
    self.updates = parse_bits(&at, self.gradients[0], UPDATES_MAX * COUNT) / COUNT;
    cr_assert_eq(parse_bits(&at, self.numpy, COUNT), COUNT);
    cr_assert_eq(parse_bits(&at, self.keras, COUNT), COUNT);
    return self;
}

static void check_bits(const case_t *self, const float *values, const float *wanted)
{
    for (size_t i = 0; i < COUNT; i++)
        cr_expect(memcmp(&values[i], &wanted[i], sizeof values[i]) == 0 ||
                      (isnan(values[i]) && isnan(wanted[i])),
                  "%s, parameter %zu: %.9g, not %.9g", self->options, i, (double)values[i],
                  (double)wanted[i]);
}

/*  Adam's alpha has another last bit of a power there: 2^-24 of 1, in a difference of 0.001 at least. */
static void check_near(const case_t *self, const float *values)
{
    for (size_t i = 0; i < COUNT; i++) {
        double change = fabs((double)self->keras[i] - (double)self->before[i]);
        if (isnan(values[i]) && isnan(self->keras[i]))
            continue;
        double bound = 1e-4 * change + 4e-7 * fabs((double)self->keras[i]) + 2e-8;
        cr_expect_leq(fabs((double)values[i] - (double)self->keras[i]), bound,
                      "%s, parameter %zu: %.9g, Keras %.9g", self->options, i, (double)values[i],
                      (double)self->keras[i]);
    }
}

static void check_case(const char *line)
{
    case_t self = parse_case(line);
    made_t optimizer = made(self.options, COUNT);
    float values[COUNT];
    memcpy(values, self.before, sizeof values);
    for (size_t i = 0; i < self.updates; i++)
        update(&optimizer, i + 1, COUNT, self.gradients[i], values);
    check_bits(&self, values, self.numpy);
    if (strcmp(self.name, "sgd") == 0)
        check_bits(&self, values, self.keras);
    else
        check_near(&self, values);
    destroy(&optimizer);
}

Test(optimizers, give_the_bits_of_numpy_and_the_results_of_keras)
{
    FILE *file = fopen("tests/oracle/optimizer.txt", "r");
    static char line[8192];
    uint32_t cases = 0;
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (line[0] != '#') {
            check_case(line);
            cases++;
        }
    fclose(file);
    cr_expect_eq(cases, 10);
}

/* --- ranges ------------------------------------------------------------------------------------ */

static const char *const kinds[] = {"{sgd: {rate: 0.3}}", "{sgd: {rate: 0.3, momentum: 0.9}}",
                                    "{sgd: {rate: 0.3, momentum: 0.9, nesterov: true}}",
                                    "{adam: {rate: 0.3}}"};
enum { KINDS = sizeof kinds / sizeof kinds[0], MANY = 1003 };

static void fill(float *values, uint64_t seed)
{
    for (size_t i = 0; i < MANY; i++)
        values[i] = (float)((seed * 48271 + i * 16807) % 2147483647) / 1e9f - 1;
}

/*  Updates the ranges that end at `ends`, the last first; `after` is not `before`. */
static void update_apart(const made_t *self, uint64_t number, const float *gradient,
                         const float *before, float *after)
{
    static const size_t ends[] = {0, 1, 8, 501, MANY};
    for (size_t r = 4; r > 0; r--) {
        size_t first = ends[r - 1];
        self->ops->apply(self->state, &(tnd_update_t){.number = number,
                                                      .first = first,
                                                      .count = ends[r] - first,
                                                      .gradient = gradient + first,
                                                      .before = before + first,
                                                      .after = after + first});
    }
}

Test(optimizers, ranges_that_are_updated_apart_give_the_same_bits)
{
    static float gradient[MANY], whole[MANY], apart[2][MANY];
    for (size_t k = 0; k < KINDS; k++) {
        made_t one = made(kinds[k], MANY), other = made(kinds[k], MANY);
        fill(whole, 1);
        fill(apart[0], 1);
        for (uint64_t u = 1; u <= 4; u++) {
            fill(gradient, u + 1);
            update(&one, u, MANY, gradient, whole);
            update_apart(&other, u, gradient, apart[(u - 1) % 2], apart[u % 2]);
        }
        cr_expect_arr_eq(whole, apart[0], sizeof whole, "%s", kinds[k]);
        destroy(&one);
        destroy(&other);
    }
}

/* --- options ----------------------------------------------------------------------------------- */

static void refuses(const char *options, const char *text)
{
    made_t self;
    tnd_error_t error = {.text = ""};
    cr_assert_eq(make(&self, options, 1, &error), TND_FAILED, "%s", options);
    cr_expect_not_null(strstr(error.text, text), "%s: %s", options, error.text);
}

Test(optimizers, options_that_contradict_each_other_are_refused)
{
    refuses("{sgd: {momentum: 1}}", "`momentum` is 1; it must be less than 1");
    refuses("{sgd: {nesterov: true}}", "`nesterov` needs a `momentum` above 0");
    refuses("{adam: {beta_1: 1}}", "`beta_1` is 1 and `beta_2` 0.999; both must be less than 1");
    refuses("{adam: {beta_2: 0.99999999}}", "`beta_2` 0.99999999; both must be less than 1");
    refuses("{adam: {epsilon: 1e-60}}", "`epsilon` is 1e-60; it must be above 0 as f32");
    made_t self = made("{adam: {beta_1: 0.9999999, beta_2: 0.9999999, epsilon: 1e-40}}", 1);
    float value = 1, gradient = 0;
    update(&self, 1, 1, &gradient, &value);
    cr_expect_eq(value, 1);
    destroy(&self);
}

/*  The allocator of the sanitizer ends the process. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

Test(optimizers, more_parameters_than_memory_are_an_error, .disabled = SANITIZED)
{
    made_t self;
    tnd_error_t error;
    cr_assert_eq(make(&self, "adam", (size_t)1 << 58, &error), TND_FAILED);
    cr_expect_str_eq(error.text, "cannot allocate 2 arrays of 288230376151711744 numbers for the "
                                 "optimizer");
}

/* --- files ------------------------------------------------------------------------------------- */

static char file[64];

static void begin_file(void)
{
    strcpy(file, "/tmp/optimizer_XXXXXX");
    int made_file = mkstemp(file);
    cr_assert_geq(made_file, 0);
    close(made_file);
}

static void end_file(void)
{
    (void)unlink(file);
}

TestSuite(files, .init = begin_file, .fini = end_file);

Test(files, a_loaded_optimizer_continues_with_the_same_bits)
{
    static float gradient[MANY], values[MANY], again[MANY];
    tnd_error_t error;
    for (size_t k = 0; k < KINDS; k++) {
        made_t one = made(kinds[k], MANY), other = made(kinds[k], MANY);
        size_t arrays = one.ops->arrays(one.options);
        cr_assert_eq(arrays, k == 0 ? 0 : k == 3 ? 2 : 1);
        fill(values, 1);
        for (uint64_t u = 1; u <= 6; u++) {
            if (u == 4) {
                memcpy(again, values, sizeof again);
                if (arrays > 0) {
                    cr_assert_eq(one.ops->save(one.state, NULL, 0, file, &error), TND_OK, "%s",
                                 error.text);
                    cr_assert_eq(other.ops->load(other.state, NULL, 0, file, &error), TND_OK, "%s",
                                 error.text);
                }
            }
            fill(gradient, u + 1);
            update(&one, u, MANY, gradient, values);
            if (u >= 4)
                update(&other, u, MANY, gradient, again);
        }
        cr_expect_arr_eq(values, again, sizeof values, "%s", kinds[k]);
        destroy(&one);
        destroy(&other);
    }
}

/*  The one array of a file after a first update with momentum is -gradient * rate. */
Test(files, numpy_reads_what_is_saved)
{
    made_t self = made("{sgd: {rate: 0.5, momentum: 0.9}}", 3);
    float values[3] = {0, 0, 0}, gradient[3] = {1, -2, 0.25f};
    tnd_error_t error;
    update(&self, 1, 3, gradient, values);
    cr_assert_eq(self.ops->save(self.state, NULL, 0, file, &error), TND_OK, "%s", error.text);
    FILE *in = fopen(file, "rb");
    uint8_t bytes[1024];
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    /* NEP 1: a magic string, the version, the length of the header, the header, the numbers. */
    uint16_t header = (uint16_t)(bytes[8] | bytes[9] << 8);
    const float wanted[3] = {-0.5f, 1, -0.125f};
    cr_assert_eq(memcmp(bytes, "\x93NUMPY\1\0", 8), 0);
    cr_assert_eq(size, 10u + header + sizeof wanted);
    bytes[9 + header] = 0; /* the line feed */
    cr_expect_not_null(strstr((char *)bytes + 10, "'descr': '<f4'"), "%s", bytes + 10);
    cr_expect_not_null(strstr((char *)bytes + 10, "'shape': (1, 3)"), "%s", bytes + 10);
    cr_expect_arr_eq(bytes + 10 + header, wanted, sizeof wanted);
    destroy(&self);
}

static void refuses_file(const char *options, size_t count, const char *text)
{
    made_t self = made(options, count);
    tnd_error_t error = {.text = ""};
    cr_assert_eq(self.ops->load(self.state, NULL, 0, file, &error), TND_FAILED);
    cr_expect_not_null(strstr(error.text, file), "%s", error.text);
    cr_expect_not_null(strstr(error.text, text), "%s", error.text);
    destroy(&self);
}

Test(files, a_file_of_another_optimizer_or_of_other_parameters_is_refused)
{
    made_t self = made("adam", 3);
    tnd_error_t error;
    cr_assert_eq(self.ops->save(self.state, NULL, 0, file, &error), TND_OK, "%s", error.text);
    destroy(&self);
    refuses_file("{sgd: {momentum: 0.9}}", 3,
                 "2 rows of f32, rank 1, first axis 3, but 1 rows of 3 f32 are kept");
    refuses_file("{sgd: {momentum: 0.9}}", 6, "but 1 rows of 6 f32 are kept");
    refuses_file("adam", 4, "but 2 rows of 4 f32 are kept");
    cr_assert_eq(truncate(file, 320 + 23), 0);
    refuses_file("adam", 3, "");
    cr_assert_eq(truncate(file, 0), 0);
    refuses_file("adam", 3, "empty");
    (void)unlink(file);
    refuses_file("adam", 3, "no such file");
}

Test(files, versions_are_saved_before_the_arrays_and_come_back)
{
    tnd_error_t error;
    const float one[] = {1, -2, 3}, two[] = {4, 5, 0.5f};
    float first[3], second[3];
    const char *const options[] = {"sgd", "{sgd: {momentum: 0.9}}", "adam"};
    for (size_t i = 0; i < 3; i++) {
        made_t self = made(options[i], 3);
        const float *const saved[] = {one, two};
        float *const loaded[] = {first, second};
        cr_assert_eq(self.ops->save(self.state, saved, 2, file, &error), TND_OK, "%s", error.text);
        cr_assert_eq(self.ops->load(self.state, loaded, 2, file, &error), TND_OK, "%s", error.text);
        cr_expect_arr_eq(first, one, sizeof one);
        cr_expect_arr_eq(second, two, sizeof two);
        cr_expect_eq(self.ops->load(self.state, loaded, 1, file, &error), TND_FAILED);
        destroy(&self);
    }
    (void)unlink(file);
}

Test(files, a_file_that_cannot_be_written_is_an_error)
{
    made_t self = made("adam", 3);
    tnd_error_t error;
    cr_assert_eq(self.ops->save(self.state, NULL, 0, "/nowhere/state", &error), TND_FAILED);
    cr_expect_str_eq(error.text, "/nowhere/state cannot be written: No such file or directory");
    cr_assert_eq(self.ops->save(self.state, NULL, 0, "/dev/full", &error), TND_FAILED);
    cr_expect_not_null(strstr(error.text, "/dev/full cannot be written"), "%s", error.text);
    destroy(&self);
}
