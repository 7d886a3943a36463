/*  tools/new/file_series.h - files that hold one column together, one after the other: x-00.npy,
 * x-01.npy.
 *
 *  Names say it that differ in a number only, and contents of one type and shape of a row.  x1.npy
 *  and x2.npy with as many rows, whose number is part of a word, may well be two columns.
 *
 *  Ownership: texts live in the arena.  Threads: one.
 */
#ifndef TUNDISH_TOOLS_PARTS_H
#define TUNDISH_TOOLS_PARTS_H

#include "tools/new/detect_format.h"

/*  Makes one of files that are parts of a column, in the order of their numbers; it stands where
 *  the first of them stood.
 */
void tnd_file_series_join(tnd_detected_format_list_t *found, tnd_arena_t *arena);

/*  The files of one as a range, "part-[00-15].npy", as topologies write it; NULL: their numbers do
 *  not follow each other, or it is a single file.
 */
const char *tnd_file_series_range(tnd_arena_t *arena, const tnd_detected_format_t *item);

#endif
