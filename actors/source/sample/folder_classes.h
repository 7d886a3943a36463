/*  actors/source/sample/folder_classes.h - the classes of files in folders: which number is which label.
 *
 *  Lifecycle: zeroed; find, list or read; number; any number of reads; free.  Threads: one until then,
 *  reads on any. */
#ifndef TND_ACTORS_SOURCE_SAMPLE_FOLDER_CLASSES_H
#define TND_ACTORS_SOURCE_SAMPLE_FOLDER_CLASSES_H

#include "actors/file/names.h"

typedef struct {
    char **names; /* of class 0, 1, 2 ... */
    size_t count, room;
} tnd_folder_classes_t;

/*  The names of all folders, sorted by bytes; folders of one name are one class. */
void tnd_folder_classes_find(tnd_folder_classes_t *self, const tnd_names_t *names);
/*  The words of a list, sorted by bytes, each once. */
void tnd_folder_classes_find_words(tnd_folder_classes_t *self, const char *const *words,
                                   size_t count);
/*  The names of a list. */
void tnd_folder_classes_list(tnd_folder_classes_t *self, const tnd_strings_t *list);
/*  The lines of a text file; empty ones are left out.  Errors: TND_FAILED if it cannot be read. */
tnd_status_t tnd_folder_classes_read(tnd_folder_classes_t *self, const char *path,
                                     tnd_error_t *error) TND_CHECKED;

/*  Sets labels[f] to the class of folder `f`.  Errors: TND_FAILED if a name is listed twice, or that of
 *  a folder with files is not listed. */
tnd_status_t tnd_folder_classes_number(const tnd_folder_classes_t *self, const tnd_names_t *names,
                                       int32_t *labels, tnd_error_t *error) TND_CHECKED;
/*  Sets labels[i] to the class of word `i`.  Errors: TND_FAILED if a name is listed twice, or a word is
 *  not listed, whose number is then *unknown_p. */
tnd_status_t tnd_folder_classes_number_words(const tnd_folder_classes_t *self,
                                             const char *const *words, size_t count,
                                             int32_t *labels, size_t *unknown_p,
                                             tnd_error_t *error) TND_CHECKED;
/*  A sentence about classes without files, of which files[i] says how many class `i` has; NULL: there
 *  is none.  The caller frees it. */
char *tnd_folder_classes_empty(const tnd_folder_classes_t *self, const size_t *files);
/*  A sentence about classes that are whole numbers, but not in their order; NULL as above. */
char *tnd_folder_classes_disordered(const tnd_folder_classes_t *self);

void tnd_folder_classes_free(tnd_folder_classes_t *self);

#endif
