/*  tools/table/record_table.c - the formats of records, by the source that reads them. */
#include "tools/table/record_table.h"

#include <string.h>

const tnd_record_table_t *tnd_record_table_at(const char *source, size_t index)
{
    static const tnd_record_table_t *const tables[] = {&tnd_csv_table, &tnd_json_table,
                                                       &tnd_text_table};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(tables[i]->source, source) == 0 && index-- == 0)
            return tables[i];
    return NULL;
}
