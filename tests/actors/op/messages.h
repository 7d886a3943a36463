/*  tests/actors/op/messages.h - rows of byte strings through a chain, and what comes out as text.
 *
 *  The columns are `number`, from 0 on, and `record`; every row that an operation refuses is bad. */
#ifndef TND_TESTS_ACTORS_OP_MESSAGES_H
#define TND_TESTS_ACTORS_OP_MESSAGES_H

#include "actors/chain/chain.h"
#include "runtime/base/allocation.h"
#include "tests/actors/op/chain_fixture.h"

enum { MESSAGES_MAX = 32, LONGEST = 512 };

typedef struct {
    const uint8_t *at[MESSAGES_MAX];
    uint64_t sizes[MESSAGES_MAX];
    uint32_t count;
} messages_t;

typedef struct {
    run_t run;
    tnd_schema_t in;
    tnd_block_t *block, *made;
} parsed_t;

static inline void nothing(void *owner)
{
    (void)owner;
}

static inline tnd_status_t parse(parsed_t *self, const char *ops, const messages_t *messages,
                                 tnd_error_t *error)
{
    static uint8_t bytes[MESSAGES_MAX * LONGEST];
    static int32_t numbers[MESSAGES_MAX];
    *self = (parsed_t){0};
    cr_assert_eq(tnd_schema_add(&self->in, "number", TND_I32, 0, NULL, error), TND_OK);
    cr_assert_eq(
        tnd_schema_add_ragged(&self->in, "record", TND_U8, 1, (uint64_t[]){LONGEST}, error),
        TND_OK);
    TND_TRY(open_chain(&self->run, ops, true, &self->in, error));
    uint32_t rows = messages->count;
    self->block = tnd_block_pool_take(self->run.block_pool, &self->in);
    self->block->note =
        (tnd_block_note_t){.first = 0, .count = rows, .asked = rows, .rows = rows, .epoch = 1};
    self->block->index = tnd_buffer_new(2 * rows * sizeof(uint64_t));
    uint64_t *at = tnd_buffer_data(self->block->index), *lengths = at + rows, used = 0;
    for (uint32_t row = 0; row < rows; row++) {
        cr_assert_leq(messages->sizes[row], (uint64_t)LONGEST);
        if (messages->sizes[row] > 0)
            memcpy(bytes + used, messages->at[row], messages->sizes[row]);
        at[row] = used;
        lengths[row] = messages->sizes[row];
        used += messages->sizes[row];
        numbers[row] = (int32_t)row;
    }
    /* A copy of exactly these bytes, so that a sanitizer reports reads beyond them. */
    tnd_buffer_t *buffer = tnd_buffer_new(used + 1);
    memcpy(tnd_buffer_data(buffer), bytes, used);
    tnd_buffer_seal(buffer);
    tnd_buffer_seal(self->block->index);
    self->block->columns[0] = (tnd_block_column_t){
        .base = (uint8_t *)numbers,
        .stride = sizeof numbers[0],
        .buffer = tnd_buffer_wrap(TND_BUFFER_HEAP, numbers, sizeof numbers, nothing, NULL)};
    self->block->columns[1] = (tnd_block_column_t){.base = tnd_buffer_data(buffer),
                                                   .stride = 1,
                                                   .buffer = buffer,
                                                   .index = at,
                                                   .lengths = lengths};
    tnd_block_seal(self->block);
    cr_assert_eq(tnd_chain_run(self->run.chain, &plain_key, self->block, self->run.block_pool,
                               self->run.pool, &self->made, error),
                 TND_OK, "%s", error->text);
    return TND_OK;
}

/*  Fails if a row has more than the longest that its column declares, for which batches have room. */
static inline void expect_declared_lengths(const parsed_t *self, const char *name)
{
    for (uint32_t c = 0; c < self->made->schema->count; c++) {
        const tnd_column_t *column = &self->made->schema->columns[c];
        for (uint32_t row = 0; column->ragged && row < self->made->note.rows; row++)
            cr_expect_leq(tnd_block_row_bytes(self->made, c, row), tnd_column_bytes(column),
                          "%s: `%s`", name, column->name);
    }
}

static inline void close_parsed(parsed_t *self)
{
    tnd_block_drop(&self->block);
    tnd_block_drop(&self->made);
    close_chain(&self->run);
}

/*  The columns after `number` of the row that was made of a message, in hex; "bad" if there is none. */
static inline char *row_text(const parsed_t *self, uint32_t message)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    uint32_t row = 0;
    int32_t number = -1;
    for (; row < self->made->note.rows; row++) {
        memcpy(&number, tnd_block_row(self->made, 0, row), sizeof number);
        if (number == (int32_t)message)
            break;
    }
    if (row == self->made->note.rows)
        fputs("bad", out);
    for (uint32_t c = 1; row < self->made->note.rows && c < self->made->schema->count; c++) {
        const uint8_t *data = tnd_block_row(self->made, c, row);
        size_t bytes = tnd_block_row_bytes(self->made, c, row);
        fputs(c > 1 ? " " : "", out);
        for (size_t i = 0; i < bytes; i++)
            fprintf(out, "%02x", data[i]);
        fputs(bytes == 0 ? "-" : "", out);
    }
    fclose(out);
    return text;
}

/*  A `?` in `wanted` matches any digit. */
static inline bool is_as_wanted(const char *got, const char *wanted)
{
    if (strlen(got) != strlen(wanted))
        return strcmp(wanted, "any") == 0;
    for (; *got != '\0'; got++, wanted++)
        if (*wanted != '?' && *got != *wanted)
            return false;
    return true;
}

static inline uint8_t *bytes_of(const char *hex, uint64_t *size_p)
{
    uint64_t size = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
    uint8_t *bytes = tnd_allocate_zeroed(size + 1, 1);
    for (uint64_t i = 0; i < size; i++) {
        unsigned byte;
        cr_assert_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    *size_p = size;
    return bytes;
}

/*  The part of a line up to the next " | "; *line_p then follows it. */
static inline char *next_part(char **line_p, const char *separator)
{
    char *part = *line_p, *end = part != NULL ? strstr(part, separator) : NULL;
    *line_p = end != NULL ? end + strlen(separator) : NULL;
    if (end != NULL)
        *end = '\0';
    return part;
}

/*  Checks the lines NAME | OPERATIONS | MESSAGE ... | ROW ; ROW ... of a file, messages and columns
 *  in hex; a row may be `bad` or `any`, or the rows `some`: at least one is bad.  Returns how many
 *  lines there are. */
static inline uint32_t check_answers(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    char *text = NULL;
    size_t room = 0;
    uint32_t lines = 0;
    while (getline(&text, &room, file) > 0) {
        if (*text == '#')
            continue;
        text[strcspn(text, "\n")] = '\0';
        char *line = text, *name = next_part(&line, " | "), *ops = next_part(&line, " | ");
        char *records = next_part(&line, " | "), *rows = next_part(&line, " | "), *hex;
        messages_t messages = {0};
        for (; (hex = next_part(&records, " ")) != NULL; messages.count++)
            messages.at[messages.count] = bytes_of(hex, &messages.sizes[messages.count]);
        parsed_t parsed;
        tnd_error_t error;
        cr_assert_eq(parse(&parsed, ops, &messages, &error), TND_OK, "%s: %s", name, error.text);
        expect_declared_lengths(&parsed, name);
        if (strcmp(rows, "some") == 0) {
            cr_expect_gt(parsed.made->note.bad_count, 0u, "%s: no row is bad", name);
            rows = NULL;
        }
        for (uint32_t i = 0; rows != NULL; i++) {
            char *wanted = next_part(&rows, " ; "), *got = row_text(&parsed, i);
            cr_expect(is_as_wanted(got, wanted), "%s: row %u is %s, not %s", name, i, got, wanted);
            free(got);
        }
        close_parsed(&parsed);
        for (uint32_t i = 0; i < messages.count; i++)
            free((void *)(uintptr_t)messages.at[i]);
        lines++;
    }
    free(text);
    fclose(file);
    return lines;
}

static inline messages_t one_message(const char *hex)
{
    messages_t messages = {.count = 1};
    messages.at[0] = bytes_of(hex, &messages.sizes[0]);
    return messages;
}

static inline void expect_row(const char *ops, const char *hex, const char *wanted)
{
    parsed_t parsed;
    tnd_error_t error;
    messages_t messages = one_message(hex);
    cr_assert_eq(parse(&parsed, ops, &messages, &error), TND_OK, "%s", error.text);
    expect_declared_lengths(&parsed, ops);
    char *got = row_text(&parsed, 0);
    cr_expect_str_eq(got, wanted, "%s", ops);
    free(got);
    close_parsed(&parsed);
    free((void *)(uintptr_t)messages.at[0]);
}

/*  Expects that the operations cannot be opened, for a reason with these words. */
static inline void expect_ops_refused(const char *ops, const char *why)
{
    parsed_t parsed;
    tnd_error_t error;
    messages_t messages = one_message("00");
    cr_assert_eq(parse(&parsed, ops, &messages, &error), TND_FAILED, "%s", ops);
    cr_expect_not_null(strstr(error.text, why), "%s: %s", ops, error.text);
    close_parsed(&parsed);
    free((void *)(uintptr_t)messages.at[0]);
}

#endif
