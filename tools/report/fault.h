/*  tools/report/fault.h - one thing that is wrong in a run: a cause of causes.def, and where it is.
 *
 *  Threads: any.  Units: nanoseconds. */
#ifndef TND_TOOLS_REPORT_FAULT_H
#define TND_TOOLS_REPORT_FAULT_H

#include <stddef.h>
#include <stdint.h>

#include "tools/report/run_view.h"

typedef enum {
#define CAUSE(NAME, name, code, traits, meaning, sentence, action, metric, test) TND_CAUSE_##NAME,
#include "tools/report/causes.def"
#undef CAUSE
    TND_CAUSES
} tnd_cause_t;

/*  Traits of causes. */
enum {
    TND_CAUSE_IN_PAUSE = 1 << 0,  /* it is a fault of a paused run too */
    TND_CAUSE_OF_THREAD = 1 << 1, /* where a thread is shows more: tnd_evidence_add adds it */
    TND_CAUSE_SUFFERED = 1 << 2,  /* the actor that it names suffers from what others do */
    TND_CAUSE_OF_MACHINE = 1 << 3 /* other programs cause it; the run itself is healthy */
};

/*  An entry of causes.def, without its test. */
typedef struct {
    const char *name;
    int code;
    uint32_t traits;
    const char *meaning, *sentence, *action, *metric;
} tnd_cause_entry_t;

const tnd_cause_entry_t *tnd_cause(tnd_cause_t cause);

typedef struct {
    tnd_cause_t cause;
    char actor[48], host[64], device[24]; /* "": none in particular */
    int process;                          /* 0: not known */
    uint64_t thread;                      /* likewise */
    char machine[64];                     /* of its process; "": this one */
    uint64_t since_ns;                    /* for how long; 0: not known */
    char text[384];                       /* a sentence */
    char evidence[640];                   /* what shows it; "": the sentence says all */
    char action[256];                     /* what to do; "": nothing */
    char details[1024];                   /* more evidence: lines, each with its end */
} tnd_fault_t;

/*  Words for the braces of a sentence and an action.  With `used` 0 it has none. */
typedef struct {
    char text[1024];
    size_t used;
} tnd_fault_words_t;

/*  Fills the names of a fault from an actor, whose page may be NULL; `device` may be NULL. */
void tnd_fault_of(tnd_fault_t *self, tnd_cause_t cause, const tnd_seen_t *who,
                  const tnd_device_page_t *device);
/*  Adds a word, which the braces call `name`.  Texts longer than the room are cut. */
void tnd_fault_word(tnd_fault_words_t *words, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*  Fills sentence and action from the entry of the cause.  The names and the time of the fault must be
 *  filled; `words` may be NULL.  Braces for which a word is missing remain. */
void tnd_fault_say(tnd_fault_t *self, const tnd_fault_words_t *words);

#endif
