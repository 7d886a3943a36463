/*  runtime/base/folder.h - the names in a folder, made durable.
 *
 *  A file that was synced and renamed may still have its old name after a power failure, until its
 *  folder is synced too.
 *
 *  Threads: any.
 *  Errors: false, with the reason in errno.  A folder that may not be read and a file system that
 *  cannot sync folders are not errors: there is nothing more a program can do.
 */
#ifndef TND_RUNTIME_BASE_FOLDER_H
#define TND_RUNTIME_BASE_FOLDER_H

#include <stdbool.h>

bool tnd_folder_sync(const char *folder);
/*  Syncs the folder that contains the file `path`. */
bool tnd_folder_sync_of(const char *path);

#endif
