/*  tools/reference/topics.c - the list of help topics; the build embeds their texts. */
#include "tools/reference/topics.h"

#include <string.h>

#define TOPIC(name) extern const char tnd_topic_##name[];
#include "tools/reference/topics/topics.def"
#undef TOPIC

static const tnd_topic_t topics[] = {
#define TOPIC(name) {#name, tnd_topic_##name},
#include "tools/reference/topics/topics.def"
#undef TOPIC
};

const tnd_topic_t *tnd_topic(size_t index)
{
    return index < sizeof topics / sizeof topics[0] ? &topics[index] : NULL;
}

const tnd_topic_t *tnd_topic_find(const char *name)
{
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

int tnd_topic_title_size(const tnd_topic_t *self)
{
    return (int)strcspn(self->text, "\n");
}
