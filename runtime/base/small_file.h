/*  runtime/base/small_file.h - the start of a small file, such as those of /proc.  Threads: any. */
#ifndef TND_RUNTIME_BASE_SMALL_FILE_H
#define TND_RUNTIME_BASE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*  Reads as much as there is room for, and ends it with 0.  Returns false, with "", if the file is
 *  empty or cannot be read. */
bool tnd_small_file_read(const char *path, char *text, size_t room);

#endif
