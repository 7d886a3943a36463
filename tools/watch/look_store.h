/*  tools/watch/look_store.h - the texts of the last looks, shared by all clients.
 *
 *  A client that reads slowly remembers the number of a look, not its text.  When the look has been
 *  discarded, the client is disconnected.  So the memory does not depend on the number of clients.
 *
 *  Ownership: the store's.  Threads: one. */
#ifndef TND_TOOLS_WATCH_LOOK_STORE_H
#define TND_TOOLS_WATCH_LOOK_STORE_H

#include <stdint.h>
#include <stdio.h>

/*  The texts that can be made of a look. */
typedef enum {
    TND_LOOK_TEXT_LIVE,
    TND_LOOK_TEXT_METRICS,
    TND_LOOK_TEXT_WHY,
    TND_LOOK_TEXT_HISTORY,
    TND_LOOK_TEXTS
} tnd_look_text_t;

/*  Looks that are stored. */
enum { TND_LOOKS_STORED = 8 };

typedef struct {
    struct {
        char *text; /* NULL: not made */
        size_t size;
    } texts[TND_LOOKS_STORED][TND_LOOK_TEXTS];
    uint64_t next; /* the number of the next look, from 0 */
    /*  Writes a text of the newest look. */
    void (*make)(void *context, tnd_look_text_t kind, FILE *out);
    void *context;
} tnd_look_store_t;

/*  Begins a new look: its texts are made when they are asked for.  The oldest one is discarded. */
void tnd_look_store_add(tnd_look_store_t *self);
/*  The number of the newest look; there must be one. */
uint64_t tnd_look_store_newest(const tnd_look_store_t *self);
/*  A text of a look, which lives until the next call of tnd_look_store_add; NULL if the look is no
 *  longer stored.  The text of a look that is not the newest must have been made before. */
const char *tnd_look_store_text(tnd_look_store_t *self, uint64_t number, tnd_look_text_t kind,
                                size_t *size_p);
void tnd_look_store_free(tnd_look_store_t *self);

#endif
