/*  tools/new/file_series.h - files that form one column together: x-00.npy, x-01.npy.
 *
 *  Their names differ only in a number that is a word of its own, and their rows have the same type
 *  and shape.  x1.npy and x2.npy with equal numbers of rows may be two columns.
 *
 *  Ownership: texts live in the arena.
 *  Threads: one. */
#ifndef TND_TOOLS_NEW_FILE_SERIES_H
#define TND_TOOLS_NEW_FILE_SERIES_H

#include "tools/new/detect_format.h"

/*  Joins files that are parts of a column, in order of their numbers, at the place of the first. */
void tnd_file_series_join(tnd_detected_format_list_t *found, tnd_arena_t *arena);

/*  Joins all files of records of one source, in order of their numbers if their names differ in
 *  nothing else. */
void tnd_file_series_join_records(tnd_detected_format_list_t *found, tnd_arena_t *arena);

/*  The files of a column as a range for topologies, "part-[00-15].npy"; NULL: the numbers have
 *  gaps, or it is a single file. */
const char *tnd_file_series_range(tnd_arena_t *arena, const tnd_detected_format_t *item);

/*  The pattern that matches exactly the files of an item, in one directory or in its
 *  subdirectories; NULL: there is none. */
const char *tnd_file_series_pattern(tnd_arena_t *arena, const tnd_detected_format_t *item);

#endif
