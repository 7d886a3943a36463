/*  runtime/looks/page_changes.h - what changed in a statistics file since an earlier look.
 *
 *  The file is compared with a copy of it, at most ten times a second, in blocks of 64 bytes.  Each
 *  comparison has a number, and each block the number of the last one that found it changed.  A
 *  question names a number and a block; the answer has the blocks from there on that changed since.
 *  Where it is full, the next question continues.  So any number of inspectors share one copy.
 *
 *  An answer is a tnd_look_answer_t and then, for each block, a word with its place (times 256) and
 *  with a bit for each of its eight words that is not 0, and these words.  All are 64-bit words of
 *  this machine's byte order.
 *
 *  Event rings and the tap, which follow the rest of the file, are left out.
 *
 *  Ownership: tnd_page_changes_free frees all.  Threads: one. */
#ifndef TND_RUNTIME_LOOKS_PAGE_CHANGES_H
#define TND_RUNTIME_LOOKS_PAGE_CHANGES_H

#include "runtime/core/protocol/inspectors.h"
#include "runtime/observe/pages.h"

enum { TND_LOOK_BLOCK_BYTES = 64, TND_LOOK_BLOCK_WORDS = 8 };

typedef struct {
    uint64_t version;     /* TND_PAGES_VERSION */
    uint64_t life;        /* of the copy; a question that names another begins anew */
    uint64_t since, from; /* what the question asked, or 0 */
    uint64_t number;      /* of the comparison */
    uint64_t to;          /* all changes before this block are known */
    uint64_t blocks;      /* of the file; 0: it could not be created */
    uint64_t hosts;       /* of the run */
    uint64_t now_ns;      /* time of that host */
} tnd_look_answer_t;

typedef struct tnd_page_changes tnd_page_changes_t;

/*  `life`: a number that no other copy of this process or host had. */
tnd_page_changes_t *tnd_page_changes_new(const tnd_pages_t *pages, uint32_t hosts, uint64_t life);
void tnd_page_changes_free(tnd_page_changes_t *self);

/*  Writes an answer into `bytes`, which has TND_LOOK_BYTES and the alignment of a word.  Returns its
 *  size. */
size_t tnd_page_changes_answer(tnd_page_changes_t *self, const tnd_look_question_t *question,
                               uint64_t now, uint8_t *bytes);

#endif
