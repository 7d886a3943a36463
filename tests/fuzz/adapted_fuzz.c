/*  tests/fuzz/adapted_fuzz.c - what `auto` options are, of a stored file or another host: the first byte
 *  names the operation, the others are its words, or those of the parts of rows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/ops.h"
#include "actors/reader/part_words.h"
#include "runtime/base/allocation.h"
#include "runtime/option/option_parse.h"
#include "tests/fuzz/fuzz.h"

static const tnd_mark_t nowhere;

static void put(tnd_arena_t *arena, tnd_value_t *map, const char *key, const char *text)
{
    tnd_value_put(arena, map, key, nowhere, tnd_value_scalar(arena, nowhere, text));
}

static void put_fields(tnd_arena_t *arena, tnd_value_t *map)
{
    static const char *const names[] = {"kind", "other"};
    tnd_value_t *fields = tnd_value_map(arena, nowhere);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tnd_value_t *field = tnd_value_map(arena, nowhere);
        put(arena, field, "dtype", "u8");
        put(arena, field, "classes", "auto");
        tnd_value_put(arena, fields, names[i], nowhere, field);
    }
    tnd_value_put(arena, map, "fields", nowhere, fields);
}

static const void *options_of(tnd_arena_t *arena, const tnd_op_t *op, bool fills)
{
    tnd_options_context_t context = {.arena = arena, .diagnostics = tnd_diagnostics_new(arena)};
    tnd_value_t *map = tnd_value_map(arena, nowhere);
    if (op == &tnd_op_decode_csv) {
        put_fields(arena, map);
    } else if (op == &tnd_op_lookup) {
        put(arena, map, "column", "record");
        put(arena, map, "vocabulary", "auto");
    } else {
        put(arena, map, "column", "x");
        put(arena, map, "mean", "auto");
        put(arena, map, "std", "auto");
        put(arena, map, "nan", fills ? "mean" : "keep");
    }
    return tnd_options_parse(&context, &op->spec->table, map, "fuzz", nowhere);
}

static void make_schema(tnd_schema_t *schema)
{
    const uint64_t three[] = {3}, longest[] = {1000};
    tnd_error_t error;
    tnd_status_t status = tnd_schema_add(schema, "x", TND_F32, 1, three, &error);
    assert(status == TND_OK);
    status = tnd_schema_add_ragged(schema, "record", TND_U8, 1, longest, &error);
    assert(status == TND_OK);
}

/*  Opens the operation with these words; returns what it tells then, or NULL. */
static char *open_with(const tnd_op_t *op, const void *options, char *words)
{
    tnd_schema_t in = {0};
    const tnd_adapted_item_t item = {.text = words};
    tnd_op_facts_t facts = {.rows_max = 1, .adapted = &item, .adapted_count = 1};
    void *state = tnd_allocate_zeroed(1, op->state_bytes);
    tnd_error_t error = {.text = ""};
    char *told = NULL;
    size_t size;
    make_schema(&in);
    memset(facts.passes, -1, sizeof facts.passes);
    if (op->open(state, options, &in, &facts, &error) == TND_OK) {
        FILE *out = tnd_memory_stream(&told, &size);
        tnd_status_t status = op->tell(state, out, &error);
        assert(status == TND_OK);
        fclose(out);
        op->close(state);
    } else {
        assert(error.text[0] != '\0');
    }
    free(state);
    return told;
}

/*  What is read can be written, and read again. */
static void send_again(const tnd_adapted_t *sent)
{
    tnd_adapted_t *again = NULL;
    char *lines, *rest;
    size_t size;
    FILE *out = tnd_memory_stream(&lines, &size);
    tnd_adapted_write(sent, out);
    fclose(out);
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        bool good = tnd_adapted_read(&again, line);
        assert(good);
    }
    assert(tnd_adapted_agree(sent, again));
    tnd_adapted_free(&again);
    free(lines);
}

/*  Of a list that is accepted, each row of each part can be found, and what is shown ends. */
static void read_parts(const char *words)
{
    tnd_part_words_t parts;
    if (!tnd_part_words_read(&parts, words))
        return;
    uint64_t sum = 0;
    for (uint32_t p = 0; p < parts.rows.parts; p++) {
        tnd_row_finder_t finder;
        uint64_t *before = tnd_allocate(tnd_row_finder_bytes(parts.rows.rows, parts.rows.parts), 1);
        tnd_row_finder_init(&finder, &parts.rows, 1U << p, before);
        for (uint64_t i = 0; i < parts.counts[p]; i++)
            assert(tnd_row_finder_row(&finder, i) < parts.rows.rows);
        tnd_row_finder_init(&finder, &parts.rows, ((1U << parts.rows.parts) - 1) ^ 1U << p, before);
        for (uint64_t i = 0; i < parts.rows.rows - parts.counts[p]; i++)
            assert(tnd_row_finder_row(&finder, i) < parts.rows.rows);
        sum += parts.counts[p];
        free(before);
    }
    assert(sum == parts.rows.rows);
    char *shown;
    size_t size;
    FILE *out = tnd_memory_stream(&shown, &size);
    tnd_part_words_show(&parts, "", 20, out);
    fclose(out);
    free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    const tnd_op_t *op = bytes[0] == 'n' || bytes[0] == 'm' ? &tnd_op_normalize
                         : bytes[0] == 'v'                  ? &tnd_op_lookup
                                                            : &tnd_op_decode_csv;
    char *words = tnd_allocate_zeroed(size, 1); /* exactly as many bytes, and a zero */
    memcpy(words, bytes + 1, size - 1);
    tnd_adapted_t *sent = NULL;
    bool plain = true; /* as lines of payloads are */
    for (const char *at = words; *at != '\0'; at++)
        plain = plain && (unsigned char)*at >= ' ';
    if (plain && tnd_adapted_read(&sent, words))
        send_again(sent);
    read_parts(words);
    tnd_adapted_free(&sent);
    tnd_arena_t *arena = tnd_arena_new();
    const void *options = options_of(arena, op, bytes[0] == 'm');
    char *told = open_with(op, options, words);
    if (told != NULL) { /* what is told can be read again */
        char *again = open_with(op, options, told);
        assert(again != NULL && (op == &tnd_op_normalize || strcmp(told, again) == 0));
        free(again);
    }
    free(told);
    free(words);
    tnd_arena_destroy(&arena);
    return 0;
}
