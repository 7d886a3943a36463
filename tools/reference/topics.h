/*  tools/reference/topics.h - the topics of `tundish help TOPIC`.
 *
 *  A topic is a text file in tools/reference/topics/ and a line in topics.def there.  Its first
 *  line is a title, its second is empty; indented lines are printed as they are.
 *
 *  Threads: any; all is const.
 */
#ifndef TUNDISH_TOOLS_TOPICS_H
#define TUNDISH_TOOLS_TOPICS_H

#include <stddef.h>

typedef struct {
    const char *name, *text;
} tnd_topic_t;

/*  The index-th topic; NULL after the last. */
const tnd_topic_t *tnd_topic(size_t index);
/*  Returns NULL if no topic has this name. */
const tnd_topic_t *tnd_topic_find(const char *name);
/*  The length of its title, which is the first line of its text. */
int tnd_topic_title_size(const tnd_topic_t *self);

#endif
