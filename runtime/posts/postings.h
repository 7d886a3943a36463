/*  runtime/posts/postings.h - a list of what one replica posted, which keeps its memory.
 *
 *  Threads: the device thread of the replica; others read while that one waits for them. */
#ifndef TND_RUNTIME_POSTS_POSTINGS_H
#define TND_RUNTIME_POSTS_POSTINGS_H

#include "runtime/posts/posting.h"

typedef struct {
    tnd_posting_t *items;
    uint32_t count;
    size_t room;
} tnd_postings_t;

/*  Adds one, and returns where it is until the next one is added; there are fewer than TND_POSTINGS_MAX. */
tnd_posting_t *tnd_postings_add(tnd_postings_t *self, const tnd_posting_t *posting);
/*  The list is complete: points postings at the hashes in it. */
void tnd_postings_settle(tnd_postings_t *self);
/*  Makes it equal to another list. */
void tnd_postings_copy(tnd_postings_t *self, const tnd_postings_t *from);
void tnd_postings_free(tnd_postings_t *self);

/*  Whether two replicas post the same things; else *first_p is the number of the first that differs,
 *  or that only one of them has. */
bool tnd_postings_fit(const tnd_postings_t *self, const tnd_postings_t *other, uint32_t *first_p);

/*  A hash of all that lists have in common which fit. */
typedef struct {
    uint64_t words[2];
} tnd_postings_shape_t;

tnd_postings_shape_t tnd_postings_shape(const tnd_postings_t *self);

enum { TND_POSTING_TEXT = 128 };

/*  Writes posting `number` in words: "10 elements of f32 (mean)", or "none". Returns `text`. */
const char *tnd_postings_text(const tnd_postings_t *self, uint32_t number,
                              char text[TND_POSTING_TEXT]);

enum { TND_POSTINGS_REFUSAL = 512 };

/*  Writes that two replicas have posted differently in a step, from posting `number` on. Returns
 *  `text`. */
const char *tnd_postings_refusal(uint64_t step, uint32_t one, const tnd_postings_t *own,
                                 uint32_t other, const tnd_postings_t *others, uint32_t number,
                                 char text[TND_POSTINGS_REFUSAL]);

#endif
