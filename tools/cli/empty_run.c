/*  tools/cli/empty_run.c - why a run that ended well has fed no step. */
#include "tools/cli/empty_run.h"

#include <stdio.h>

#include "runtime/core/lane/batch_room.h"
#include "tools/cli/number_text.h"

typedef struct {
    char *text;
    size_t room, used;
} writer_t;

static void add(writer_t *writer, const char *before, const char *text)
{
    int length =
        snprintf(writer->text + writer->used, writer->room - writer->used, "%s%s", before, text);
    writer->used += (size_t)length;
    if (writer->used >= writer->room)
        writer->used = writer->room - 1;
}

/*  The options that drop rows of a stream that is too short for a batch. */
static void add_options(writer_t *writer, const tnd_batcher_options_t *options)
{
    const struct {
        bool set;
        const char *name;
    } dropping[] = {
        {options->remainder == TND_REMAINDER_DROP, "`remainder: drop`"},
        {options->bucket != NULL && options->bucket->drop_remainder,
         "`drop_remainder: true` of `bucket`"},
        {options->pack != NULL && options->pack->drop_remainder,
         "`drop_remainder: true` of `pack`"},
        {options->skip > 0, "`skip`"},
    };
    const char *before = " (";
    for (size_t i = 0; i < sizeof dropping / sizeof *dropping; i++) {
        if (!dropping[i].set)
            continue;
        add(writer, before, dropping[i].name);
        before = ", ";
    }
    if (before[0] == ',')
        add(writer, ")", "");
}

const char *tnd_empty_run_text(const tnd_ledger_t *ledger, const tnd_batcher_options_t *options,
                               char *text, size_t room)
{
    const struct {
        uint64_t rows;
        const char *what;
    } parts[] = {
        {ledger->filtered, "filtered out"},
        {ledger->bad, "bad"},
        {ledger->dropped, "dropped by the batcher"},
    };
    writer_t writer = {.text = text, .room = room};
    const char *before = "";
    char number[TND_NUMBER_TEXT];
    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].rows == 0)
            continue;
        add(&writer, before, tnd_grouped((double)parts[i].rows, number));
        add(&writer, parts[i].rows == 1 ? " row was " : " rows were ", parts[i].what);
        before = ", ";
    }
    if (before[0] == '\0')
        add(&writer, "", "the source gave no rows");
    if (ledger->dropped > 0)
        add_options(&writer, options);
    return text;
}
