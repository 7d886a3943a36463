/*  actors/source/sample/folder_labels.h - the files of the source `folder`, and the label of each: the
 *  number of the class of its folder, or of its entry in a table.
 *
 *  Lifecycle: zeroed; find; share; any number of reads; free, also after a failure.  Threads: one until
 *  then, reads on any. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_FOLDER_LABELS_H
#define TND_ACTORS_SOURCE_SAMPLE_FOLDER_LABELS_H

#include "actors/source/sample/folder_classes.h"
#include "actors/source/sample/folder_table.h"

typedef struct {
    tnd_strings_t names;
    const char *file;
} tnd_class_options_t;

typedef struct {
    tnd_strings_t files;
    const char *table, *delimiter, *path, *label;
    const tnd_class_options_t *classes;
} tnd_folder_file_options_t;

extern const tnd_table_t tnd_class_table;

/*  Of files that the table does not name, of entries without a file, of classes without files, and of
 *  their order. */
enum { TND_FOLDER_NOTES_MAX = 4 };

typedef struct {
    tnd_folder_classes_t classes;
    tnd_folder_table_t table;          /* without a path: there is none */
    int32_t *labels;                   /* of each folder; with a table, of each file */
    uint64_t found;                    /* hash of the names and labels, of all lanes */
    char *notes[TND_FOLDER_NOTES_MAX]; /* what the user should know */
    size_t note_count;
} tnd_folder_labels_t;

/*  Finds the files and their labels.  With a table, `names` has those files only that it names.
 *  Errors: TND_FAILED as of tnd_names_find and folder_table.h; if the table names a file that is not
 *  there, unless the scope skips bad rows, which makes it a note. */
tnd_status_t tnd_folder_labels_find(tnd_folder_labels_t *self, tnd_names_t *names,
                                    const tnd_folder_file_options_t *options,
                                    const tnd_source_scope_t *scope,
                                    tnd_error_t *error) TND_CHECKED;
/*  As tnd_names_share, which it calls. */
void tnd_folder_labels_share(tnd_folder_labels_t *self, tnd_names_t *names, uint32_t lane,
                             uint32_t lanes);
/*  The label of file `index`. */
int32_t tnd_folder_labels_at(const tnd_folder_labels_t *self, const tnd_names_t *names,
                             size_t index);

void tnd_folder_labels_free(tnd_folder_labels_t *self);

#endif
