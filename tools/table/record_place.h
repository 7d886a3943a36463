/*  tools/table/record_place.h - where a record of a text file is, for people. */
#ifndef TND_TOOLS_TABLE_RECORD_PLACE_H
#define TND_TOOLS_TABLE_RECORD_PLACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *file; /* until its source is closed */
    uint64_t line;    /* at which it begins, from 1 */
    bool first;       /* of its file */
} tnd_record_place_t;

#endif
