/*  actors/stored/record_options.h - what the sources of files of records have in common.  */
#ifndef TND_ACTORS_STORED_RECORD_OPTIONS_H
#define TND_ACTORS_STORED_RECORD_OPTIONS_H

#include "actors/stored/record_index.h"
#include "runtime/option/option_parse.h"
#include "runtime/text/byte_order_mark.h"

/*  Where compressed files are decompressed to. */
typedef struct {
    const char *dir;
    uint64_t limit; /* bytes of all files in it */
} tnd_spool_options_t;

typedef struct {
    tnd_strings_t files;
    const char *column;
    int index;            /* tnd_index_place_t */
    uint64_t index_limit; /* bytes; 0: none */
    uint64_t max;
    int compression;                  /* tnd_compression_t */
    const tnd_spool_options_t *spool; /* NULL: compressed files are read in order */
} tnd_record_options_t;

extern const tnd_table_t tnd_spool_table;

/*  Their options; `type` begins with a tnd_record_options_t. */
#define TND_RECORD_OPTIONS(type, ending, name)                                                     \
    {TND_OPTION_NAMED("files", type, records.files, PATHS, GRAPH),                                 \
     .example = "${data}/train-*." ending,                                                         \
     .help = "the files: a path, a pattern such as \"${data}/train-*." ending                      \
             "\", a range `part-[00-15]." ending "`, or a list of them"},                          \
        {TND_OPTION_NAMED("column", type, records.column, STRING, GRAPH), .fallback = name,        \
         .help = "the name of the column, which is ragged and has u8"},                            \
        {TND_OPTION_NAMED("index", type, records.index, ENUM, TUNE), .fallback = "cache",          \
         .choices = "cache|beside",                                                                \
         .help = "where the indexes of the files are kept: in $XDG_CACHE_HOME/tundish (else "      \
                 "~/.cache/tundish), or beside the files; those beside them are always used"},     \
        {TND_OPTION_NAMED("index_limit", type, records.index_limit, BYTES, TUNE), .fallback = "",  \
         .example = "10GiB",                                                                       \
         .help = "how many bytes of indexes $XDG_CACHE_HOME/tundish keeps: after opening, those "  \
                 "used longest ago are removed"},                                                  \
        {TND_OPTION_NAMED("compression", type, records.compression, ENUM, GRAPH),                  \
         .fallback = "auto", .choices = "none|gzip|zlib|zstd|auto",                                \
         .help = "how the files are compressed: auto goes by the first bytes of each, and for "    \
                 "zlib, which any text may begin with, by the names .zlib, .zz and .z; records "   \
                 "of compressed files are read in order only, unless they are spooled; the first " \
                 "run reads each once more before it starts, for the number of its records and "   \
                 "the memory of the longest, which its index keeps"},                              \
        {TND_OPTION_NAMED("spool", type, records.spool, TABLE, PLACE), .fallback = "",             \
         .table = &tnd_spool_table,                                                                \
         .help = "decompresses files once, to .npy files in a folder, so that their records are "  \
                 "read in any order: {dir: DIR, limit: 100GiB}"},                                  \
    {                                                                                              \
        TND_OPTION_NAMED("max", type, records.max, U64, GRAPH),                                    \
            .fallback = "longest", .choices = "longest=0", .range = "1..1099511627776",            \
            .help = "the greatest length of a row, for which memory is kept; "                     \
                    "longer ones are bad"                                                          \
    }

/*  Of sources of text. */
#define TND_BOM_OPTION(type)                                                                       \
    {                                                                                              \
        TND_OPTION_NAMED("bom", type, bom, ENUM, GRAPH),                                           \
            .fallback = "keep", .choices = TND_MARK_USES,                                          \
            .help = "what becomes of a byte order mark (EF BB BF) at the start of a file: `keep` " \
                    "leaves it in the first row, as TensorFlow does, with a warning"               \
    }

#endif
