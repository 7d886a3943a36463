/*  actors/op/text/class_list.h - texts that are the numbers 0, 1, 2 ...
 *
 *  Ownership: the texts are the caller's; free the list.  Threads: read-only once it is made; any. */
#ifndef TND_ACTORS_OP_TEXT_CLASS_LIST_H
#define TND_ACTORS_OP_TEXT_CLASS_LIST_H

#include "runtime/option/option.h"

typedef struct {
    const char *text;
    size_t size;
    uint64_t number;
} tnd_class_t;

typedef struct {
    tnd_class_t *items; /* in the order of sizes and bytes */
    size_t count;
    size_t longest; /* bytes of a text */
} tnd_class_list_t;

/*  Errors: TND_FAILED if a text is there twice. */
tnd_status_t tnd_class_list_init(tnd_class_list_t *self, const tnd_strings_t *texts,
                                 tnd_error_t *error) TND_CHECKED;
void tnd_class_list_free(tnd_class_list_t *self);

/*  The class of a text; NULL: it is none of them. */
const tnd_class_t *tnd_class_list_find(const tnd_class_list_t *self, const void *text, size_t size);

/*  "cat, dog, ..." into `text`, in the order of their numbers; returns text. */
const char *tnd_class_list_text(const tnd_class_list_t *self, char *text, size_t room);

#endif
