/*  runtime/base/folder.h - makes and removes folders, and makes the names in one durable.
 *
 *  After a power failure, a file that was synced and renamed may still have its old name if its
 *  folder was not synced.
 *
 *  Threads: any.  Errors: returns false, with the reason in errno.  A folder that cannot be read
 *  and a file system that cannot sync folders are not errors: the program can do no more. */
#ifndef TND_RUNTIME_BASE_FOLDER_H
#define TND_RUNTIME_BASE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/*  Creates the folder and its parents where they are missing. */
bool tnd_folder_make(const char *folder);

bool tnd_folder_sync(const char *folder);
/*  Syncs the folder that contains the file `path`. */
bool tnd_folder_sync_of(const char *path);

/*  The bytes of the files in a folder, without those of folders in it; 0: it cannot be read. */
uint64_t tnd_folder_bytes(const char *folder);

/*  What helps where nothing can be written for the reason `code`, for the end of a message. */
const char *tnd_folder_advice(int code);

/*  Removes a folder and its contents, if it exists. */
void tnd_folder_remove(const char *folder);

#endif
