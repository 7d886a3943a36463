/*  tests/actors/source/opened.h - a source opened as a reader opens it, and rows read from it. */
#ifndef TND_TESTS_ACTORS_SOURCE_OPENED_H
#define TND_TESTS_ACTORS_SOURCE_OPENED_H

#include <stdlib.h>
#include <unistd.h>

#include "actors/reader/stream_reader.h"
#include "actors/source/sources.h"
#include "tests/actors/parsed.h"

typedef struct {
    tnd_arena_t *arena;
    const tnd_source_t *source;
    void *state;
    tnd_source_scope_t scope;
    tnd_source_facts_t facts;
    tnd_block_pool_t *block_pool;
    tnd_stream_reader_t *writer; /* of a source with `fill` */
    bool late;                   /* rows that are read next may be checked where they are used */
} opened_t;

/*  Opens a source with its parsed options; `self` has an arena already. */
static inline tnd_status_t open_part(opened_t *self, const tnd_part_t *part, tnd_error_t *error)
{
    const tnd_source_spec_t *spec = tnd_source_spec_of(part->table);
    self->block_pool = tnd_block_pool_new();
    self->source = tnd_source_of(spec);
    cr_assert_not_null(self->source);
    self->state = calloc(1, self->source->state_bytes);
    tnd_status_t status =
        self->source->open(self->state, part->options, &self->scope, &self->facts, error);
    if (status == TND_OK && tnd_source_writes(self->source, &self->facts))
        self->writer =
            tnd_stream_reader_new(&(tnd_stream_reader_config_t){.source = self->source,
                                                                .state = self->state,
                                                                .schema = &self->facts.schema,
                                                                .name = "read",
                                                                .caps = self->facts.caps});
    return status;
}

static inline tnd_status_t open_scope(opened_t *self, const char *text, tnd_source_scope_t scope,
                                      tnd_error_t *error)
{
    *self = (opened_t){.arena = tnd_arena_new(), .scope = scope};
    return open_part(self, &parse_parts(self->arena, text)->source, error);
}

static inline tnd_status_t open_source(opened_t *self, const char *text, tnd_error_t *error)
{
    return open_scope(self, text, (tnd_source_scope_t){.lanes = 1}, error);
}

static inline void leave_source(opened_t *self)
{
    tnd_stream_reader_destroy(&self->writer);
    free(self->state);
    tnd_block_pool_destroy(&self->block_pool);
    tnd_arena_destroy(&self->arena);
}

static inline void close_source(opened_t *self)
{
    self->source->close(self->state);
    leave_source(self);
}

/*  A sealed block of these rows, or NULL and the error. */
static inline tnd_block_t *read_rows(opened_t *self, const uint64_t *index, uint32_t count,
                                     tnd_error_t *error)
{
    tnd_source_call_t call = {
        .indices = tnd_buffer_new((1 + self->facts.lists) * count * sizeof *index),
        .room =
            self->facts.copied > 0 ? tnd_buffer_new(tnd_source_room(&self->facts, count)) : NULL,
        .count = count,
        .late = self->late};
    memcpy(tnd_buffer_data(call.indices), index, count * sizeof *index);
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->facts.schema);
    block->note.rows = count;
    bool ended = false;
    tnd_status_t status =
        self->writer == NULL
            ? self->source->read(self->state, &call, block, error)
            : tnd_stream_reader_read(self->writer, 0, index, &count, block, &ended, error);
    tnd_buffer_drop(&call.indices);
    tnd_buffer_drop(&call.room);
    tnd_block_seal(block);
    if (status != TND_OK)
        tnd_block_drop(&block);
    return block;
}

/*  Opening must fail with a text that has all of the words, separated by `|`. */
static inline void expect_refusal(const char *text, const char *words)
{
    opened_t opened;
    tnd_error_t error = {.text = ""};
    cr_assert_eq(open_source(&opened, text, &error), TND_FAILED, "%s was opened", text);
    char copy[512];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, "|"); word != NULL; word = strtok(NULL, "|"))
        cr_assert_not_null(strstr(error.text, word), "no `%s` in: %s", word, error.text);
    leave_source(&opened);
}

/*  Runs the NumPy script for this test; skips the test where NumPy is missing.  The distribution's
 *  own Python is asked first: it is the one that has its packages. */
static inline const char *numpy_folder(char folder[64])
{
    static const char *const pythons[] = {"/usr/bin/python3", "python3"};
    char command[256];
    size_t i = 0;
    for (; i < 2; i++) {
        snprintf(command, sizeof command, "%s -c 'import numpy' 2>/dev/null", pythons[i]);
        if (system(command) == 0)
            break;
    }
    if (i == 2)
        cr_skip_test("python3 with numpy is needed for this comparison");
    strcpy(folder, "/tmp/tundish-numpy-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof command, "%s tests/oracle/make_npy.py %s", pythons[i], folder);
    cr_assert_eq(system(command), 0);
    return folder;
}

static inline void remove_folder(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

static inline void *read_whole(const char *path, size_t *size_p)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    *size_p = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*size_p + 1);
    cr_assert_eq(fread(data, 1, *size_p, file), *size_p);
    fclose(file);
    return data;
}

#endif
