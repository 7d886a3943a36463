/*  tests/fuzz/folder_table_fuzz.c - a table that names files, and the files that it means. */
#include <assert.h>
#include <stdlib.h>

#include "actors/source/sample/folder_table.h"
#include "tests/fuzz/fuzz.h"

/*  Each entry names one of the files, or is missing. */
static void match(const tnd_folder_table_t *table, const tnd_names_t *names)
{
    tnd_folder_match_t match;
    tnd_error_t error = {.text = ""};
    if (tnd_folder_table_match(table, names, &match, &error) != TND_OK) {
        assert(error.text[0] != '\0');
    } else {
        size_t named = 0;
        for (size_t i = 0; i < names->count; i++)
            named += match.entries[i] >= 0;
        assert(named + match.missing == table->count && named + match.unnamed == names->count);
    }
    free(match.entries);
}

static void use(const tnd_folder_table_t *table)
{
    tnd_names_t names = {0};
    assert(table->count > 0);
    for (size_t i = 0; i < table->count; i++)
        assert(table->entries[i].name[0] != '\0' && table->entries[i].word[0] != '\0' &&
               table->entries[i].line > (i > 0 ? table->entries[i - 1].line : 1));
    tnd_folder_table_list(table, &names);
    match(table, &names);
    tnd_names_free(&names);
    tnd_names_folder(&names, "data/train");
    tnd_names_add(&names, "a.jpg");
    tnd_names_add(&names, "a.png");
    tnd_names_folder(&names, "data/train/more");
    tnd_names_add(&names, "a.jpg");
    match(table, &names);
    tnd_names_free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_folder_table_t table = {0};
    tnd_error_t error = {.text = ""};
    if (tnd_folder_table_parse(&table, "data/labels.csv", bytes, size, ',', "id", "label",
                               &error) == TND_OK)
        use(&table);
    else
        assert(error.text[0] != '\0');
    tnd_folder_table_free(&table);
    return 0;
}
