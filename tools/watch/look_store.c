/*  tools/watch/look_store.c - the texts of the last looks, shared by all clients. */
#include "tools/watch/look_store.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

static void forget(tnd_look_store_t *self, uint64_t number)
{
    for (int kind = 0; kind < TND_LOOK_TEXTS; kind++) {
        free(self->texts[number % TND_LOOKS_STORED][kind].text);
        self->texts[number % TND_LOOKS_STORED][kind].text = NULL;
    }
}

void tnd_look_store_add(tnd_look_store_t *self)
{
    forget(self, self->next++);
}

uint64_t tnd_look_store_newest(const tnd_look_store_t *self)
{
    return self->next - 1;
}

const char *tnd_look_store_text(tnd_look_store_t *self, uint64_t number, tnd_look_text_t kind,
                                size_t *size_p)
{
    if (number >= self->next || self->next - number > TND_LOOKS_STORED)
        return NULL;
    char **text = &self->texts[number % TND_LOOKS_STORED][kind].text;
    size_t *size = &self->texts[number % TND_LOOKS_STORED][kind].size;
    if (*text == NULL && number == tnd_look_store_newest(self)) {
        FILE *out = tnd_memory_stream(text, size);
        self->make(self->context, kind, out);
        fclose(out);
    }
    *size_p = *size;
    return *text;
}

void tnd_look_store_free(tnd_look_store_t *self)
{
    for (uint64_t slot = 0; slot < TND_LOOKS_STORED; slot++)
        forget(self, slot);
}
