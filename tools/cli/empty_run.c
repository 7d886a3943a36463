/*  tools/cli/empty_run.c - why a run that ended well has fed no step. */
#include "tools/cli/empty_run.h"

#include <stdio.h>

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

const char *tnd_empty_run_text(const tnd_ledger_t *ledger, const char *drops, char *text,
                               size_t room)
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
    if (ledger->dropped > 0 && drops[0] != '\0') {
        add(&writer, " (", drops);
        add(&writer, ")", "");
    }
    return text;
}
