/*  Covers actors/op/clip.c: against TensorFlow's clip_by_value (tests/oracle/clip.txt). */
#include "tests/actors/op/chain_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 64 };

/*  The numbers up to the end of the text or a bar, as f32 or i32; how many there are. */
static uint32_t parse_numbers(const char *text, bool floats, uint32_t bits[NUMBERS_MAX])
{
    uint32_t count = 0;
    char *end;
    for (double number = strtod(text, &end); end != text; number = strtod(text, &end)) {
        float wide = (float)number;
        int32_t whole = floats ? 0 : (int32_t)number;
        cr_assert_lt(count, NUMBERS_MAX);
        memcpy(&bits[count++], floats ? (const void *)&wide : &whole, sizeof bits[0]);
        text = end;
    }
    return count;
}

static bool is_nan(uint32_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000;
}

static void check_line(const char *line)
{
    char type[8], low[40], high[40], ops[256];
    uint32_t given[NUMBERS_MAX], wanted[NUMBERS_MAX];
    cr_assert_eq(sscanf(line, "%7s %39s %39s |", type, low, high), 3, "%s", line);
    bool floats = strcmp(type, "f32") == 0;
    const char *numbers_at = strchr(line, '|') + 1, *results_at = strchr(numbers_at, '|') + 1;
    uint32_t count = parse_numbers(numbers_at, floats, given);
    cr_assert_eq(parse_numbers(results_at, floats, wanted), count);
    tnd_schema_t schema = schema_of(floats ? TND_F32 : TND_I32, 0, NULL);
    snprintf(ops, sizeof ops, "{clip: {column: x, min: %s, max: %s}}", low, high);
    run_t run;
    tnd_error_t error;
    tnd_status_t status = open_chain(&run, ops, false, &schema, &error);
    if (strtod(low, NULL) > strtod(high, NULL)) { /* TensorFlow: the minimum everywhere */
        cr_assert_eq(status, TND_FAILED);
        cr_assert_not_null(strstr(error.text, "is greater than `max`"), "%s", error.text);
        close_chain(&run);
        return;
    }
    cr_assert_eq(status, TND_OK, "%s", error.text);
    tnd_block_t *block = numbers(run.block_pool, &schema, given, count), *out = NULL;
    cr_assert_eq(
        tnd_chain_run(run.chain, &plain_key, block, run.block_pool, run.pool, &out, &error), TND_OK,
        "%s", error.text);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t got;
        memcpy(&got, tnd_block_row(out, 0, i), sizeof got);
        bool both_nan = floats && is_nan(got) && is_nan(wanted[i]);
        cr_assert(both_nan || got == wanted[i], "number %u of %s: %x, not %x", i, line, got,
                  wanted[i]);
    }
    tnd_block_drop(&block);
    tnd_block_drop(&out);
    close_chain(&run);
}

Test(clip, gives_what_tensorflow_gives)
{
    FILE *file = fopen("tests/oracle/clip.txt", "r");
    static char line[4096];
    uint32_t cases = 0;
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (line[0] != '#') {
            check_line(line);
            cases++;
        }
    fclose(file);
    cr_assert_eq(cases, 7);
}
