/*  runtime/core/checkpoint.c - the leader's decisions about checkpoints.  */
#include "runtime/core/checkpoint.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"
#include "runtime/tundish/types.h"

/*  What is known of one checkpoint before it is asked for. */
typedef struct {
    uint64_t step; /* TND_UNKNOWN: not in use */
    uint32_t have;
    char why[320];
} draft_t;

struct tnd_checkpoint {
    tnd_checkpoint_config_t config;
    tnd_keep_note_t word;
    uint64_t booked, finished;
    uint64_t due_ns, rated_ns, rated_step;
    bool hurried; /* the last one requested by time was too late for some feeder ... */
    bool overdue; /* ... or for all of them */
    bool forget_due, word_due;
    uint32_t drafts_max;
    draft_t *drafts;    /* by step % drafts_max */
    tnd_saved_t *parts; /* likewise, x replica */
    bool *has;          /* likewise */
    draft_t *whole;     /* to be written; NULL: none */
    draft_t *lacking;   /* to be reported as lacking a part */
    draft_t *waiting;   /* booked and lacking a part, which a last message may still bring */
    uint64_t *asked;    /* manifests that were asked for, and are not known to be done */
    uint64_t asked_count;
    uint64_t *kept; /* a ring of the newest `keep` checkpoints */
    uint64_t kept_count;
    uint64_t pinned; /* that has the best value, written or not; 0: none has */
};

/*  From the booked step to the last that a feeder may have done. */
static uint32_t drafts_of(const tnd_checkpoint_config_t *config)
{
    return config->ahead + 1;
}

/*  The newest `keep`, that of the best value, and one that is asked for or given up. */
static size_t asked_of(const tnd_checkpoint_config_t *config)
{
    return (size_t)config->keep + 2;
}

size_t tnd_checkpoint_bytes(const tnd_checkpoint_config_t *config)
{
    size_t drafts = drafts_of(config);
    return tnd_align(sizeof(tnd_checkpoint_t)) + tnd_align(drafts * sizeof(draft_t)) +
           tnd_align(drafts * config->replicas * sizeof(tnd_saved_t)) +
           tnd_align(drafts * config->replicas * sizeof(bool)) +
           tnd_align(asked_of(config) * sizeof(uint64_t)) +
           tnd_align(config->keep * sizeof(uint64_t));
}

tnd_checkpoint_t *tnd_checkpoint_init(void *memory, const tnd_checkpoint_config_t *config)
{
    assert(config->replicas > 0 && config->keep > 0 && config->ahead > 0);
    tnd_checkpoint_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->config = *config;
    self->booked = config->from;
    self->finished = TND_UNKNOWN;
    self->drafts_max = drafts_of(config);
    self->drafts = (draft_t *)at;
    at += tnd_align(self->drafts_max * sizeof(draft_t));
    self->parts = (tnd_saved_t *)at;
    at += tnd_align((size_t)self->drafts_max * config->replicas * sizeof(tnd_saved_t));
    self->has = (bool *)at;
    at += tnd_align((size_t)self->drafts_max * config->replicas * sizeof(bool));
    self->asked = (uint64_t *)at;
    at += tnd_align(asked_of(config) * sizeof(uint64_t));
    self->kept = (uint64_t *)at;
    self->word.every = config->every_steps;
    self->word.rest_steps = config->rest_steps;
    self->word.rest_epochs = config->rest_epochs;
    self->word_due = true;
    for (uint32_t i = 0; i < self->drafts_max; i++)
        self->drafts[i].step = TND_UNKNOWN;
    return self;
}

/*  A checkpoint is there: the one before that had the best value may go. */
static void keep_best(tnd_checkpoint_t *self, uint64_t step)
{
    self->word_due = self->forget_due = true;
    self->word.best = step;
}

static void keep(tnd_checkpoint_t *self, uint64_t step)
{
    self->kept[self->kept_count++ % self->config.keep] = step;
    if (step > 0 && step == self->pinned)
        keep_best(self, step);
}

void tnd_checkpoint_pin(tnd_checkpoint_t *self, uint64_t step)
{
    if (step == self->pinned)
        return;
    self->pinned = step;
    if (TND_BUG(BEST_NOT_AWAITED))
        keep_best(self, step);
    for (uint64_t i = 0; i < self->config.keep && i < self->kept_count; i++)
        if (self->kept[i] == step)
            keep_best(self, step);
}

void tnd_checkpoint_found(tnd_checkpoint_t *self, uint64_t step)
{
    keep(self, step);
}

/* --- reports of feeders ----------------------------------------------------------------------- */

static draft_t *find(tnd_checkpoint_t *self, uint64_t step)
{
    draft_t *draft = &self->drafts[step % self->drafts_max];
    return draft->step == step ? draft : NULL;
}

static size_t place_of(const tnd_checkpoint_t *self, const draft_t *draft)
{
    return (size_t)(draft - self->drafts) * self->config.replicas;
}

/*  NULL: the report is repeated, late or too far ahead. */
static draft_t *open_draft(tnd_checkpoint_t *self, uint64_t step, uint32_t replica)
{
    if (replica >= self->config.replicas || step < self->booked || step == self->finished ||
        step - self->booked >= self->drafts_max)
        return NULL;
    draft_t *draft = &self->drafts[step % self->drafts_max];
    if (draft->step != step) {
        memset(draft, 0, sizeof *draft);
        draft->step = step;
        memset(self->has + place_of(self, draft), 0, self->config.replicas * sizeof *self->has);
    }
    return draft;
}

void tnd_checkpoint_part(tnd_checkpoint_t *self, uint64_t step, uint32_t replica,
                         const tnd_saved_t *part)
{
    draft_t *draft = open_draft(self, step, replica);
    if (draft == NULL)
        return;
    size_t at = place_of(self, draft) + replica;
    self->parts[at] = *part;
    draft->have += !self->has[at];
    self->has[at] = true;
}

void tnd_checkpoint_unkept(tnd_checkpoint_t *self, uint64_t step, uint32_t replica, const char *why)
{
    draft_t *draft = open_draft(self, step, replica);
    if (draft == NULL)
        return;
    size_t length = strnlen(why, sizeof draft->why - 1);
    memcpy(draft->why, why, length);
    draft->why[length] = '\0';
}

/* --- when ------------------------------------------------------------------------------------- */

static bool is_whole(const tnd_checkpoint_t *self, const draft_t *draft)
{
    return draft != NULL &&
           draft->have + (TND_BUG(PART_NOT_AWAITED) ? 1 : 0) >= self->config.replicas;
}

/*  No more reports come for the checkpoint that waits. */
static void give_up(tnd_checkpoint_t *self)
{
    if (self->waiting != NULL)
        self->lacking = self->waiting;
    self->waiting = NULL;
}

static void close_draft(tnd_checkpoint_t *self, uint64_t step)
{
    draft_t *draft = find(self, step);
    bool whole = is_whole(self, draft);
    bool by_time = self->config.every_ns > 0 && step == self->word.step;
    if (by_time)
        self->hurried = !whole;
    self->overdue = by_time && draft == NULL;
    bool refused = !whole && draft != NULL && draft->why[0] != '\0' && self->lacking == NULL;
    if (whole || refused || TND_BUG(LAST_WORDS_UNHEARD))
        self->finished = step;
    self->whole = whole ? draft : NULL;
    self->waiting = whole || refused ? NULL : draft;
    if (refused)
        self->lacking = draft;
    if (TND_BUG(FORGOTTEN_EARLY) && whole) {
        self->word.below = step;
        self->forget_due = true;
    }
}

/*  How many steps ahead no feeder can have begun: the steps that feeders hold, and those that they
 *  did since their last report. */
static uint64_t ahead_of(tnd_checkpoint_t *self, uint64_t step, uint64_t now)
{
    uint64_t steps = step - self->rated_step, took = now - self->rated_ns;
    uint64_t lately = took > 0 ? (uint64_t)((double)steps * 1e9 / (double)took / 4) : 0;
    uint64_t ahead = self->config.depth + 4 + lately;
    self->rated_step = step;
    self->rated_ns = now;
    return self->hurried || ahead > self->config.ahead ? self->config.ahead : ahead;
}

void tnd_checkpoint_booked(tnd_checkpoint_t *self, uint64_t step, uint64_t now)
{
    give_up(self);
    /* A program may save its models after any step.  Those saved because an epoch ends are there. */
    if (tnd_checkpoint_asks(&self->word, step, 0) || find(self, step) != NULL)
        close_draft(self, step);
    self->booked = step;
    if (self->config.every_ns == 0)
        return;
    if (self->due_ns == 0) {
        self->due_ns = now + self->config.every_ns;
        self->rated_step = step;
        self->rated_ns = now;
    }
    /* The requested step is past: the next one is due. */
    if ((now < self->due_ns && !self->overdue) || self->word.step > step)
        return;
    self->overdue = false;
    self->due_ns = now + self->config.every_ns;
    self->word.step = step + ahead_of(self, step, now);
    self->word_due = true;
}

void tnd_checkpoint_end(tnd_checkpoint_t *self, uint64_t step)
{
    if (find(self, step) != NULL && step != self->finished)
        close_draft(self, step);
    give_up(self);
}

/*  A program that leaves waits for it. */
static void close_word(tnd_checkpoint_t *self, uint64_t step)
{
    self->word_due = self->word_due || step > self->word.closed;
    self->word.closed = step > self->word.closed ? step : self->word.closed;
}

/* --- what waits to be written ----------------------------------------------------------------- */

static void forget_asked(tnd_checkpoint_t *self, uint64_t step)
{
    uint64_t left = 0;
    for (uint64_t i = 0; i < self->asked_count; i++)
        if (self->asked[i] != step)
            self->asked[left++] = self->asked[i];
    self->asked_count = left;
}

/*  The oldest that would be deleted once those after it are written; 0: there is none. */
static uint64_t useless_one(const tnd_checkpoint_t *self)
{
    uint64_t keep = self->config.keep - (TND_BUG(GIVEN_UP_EARLY) ? 1 : 0);
    for (uint64_t i = 0; i + keep < self->asked_count; i++)
        if (self->asked[i] != self->pinned || TND_BUG(BEST_GIVEN_UP))
            return self->asked[i];
    return 0;
}

static bool next_given_up(tnd_checkpoint_t *self, tnd_checkpoint_effect_t *effect)
{
    uint64_t step = useless_one(self);
    if (step == 0)
        return false;
    forget_asked(self, step);
    effect->kind = TND_CHECKPOINT_GIVE_UP;
    effect->step = step;
    return true;
}

void tnd_checkpoint_failed(tnd_checkpoint_t *self, uint64_t step)
{
    forget_asked(self, step);
    close_word(self, step);
}

void tnd_checkpoint_written(tnd_checkpoint_t *self, uint64_t step)
{
    forget_asked(self, step);
    keep(self, step);
    self->word.written = step > self->word.written ? step : self->word.written;
    close_word(self, step);
    uint64_t oldest = self->kept_count > self->config.keep ? self->kept_count : 0;
    uint64_t below = self->kept[oldest % self->config.keep];
    self->forget_due = true;
    self->word_due = self->word_due || self->word.below != below;
    self->word.below = below;
}

bool tnd_checkpoint_next(tnd_checkpoint_t *self, tnd_checkpoint_effect_t *effect)
{
    memset(effect, 0, sizeof *effect);
    effect->why = "";
    if (self->whole != NULL || self->lacking != NULL) {
        draft_t **draft = self->lacking != NULL ? &self->lacking : &self->whole;
        effect->kind = self->lacking != NULL ? TND_CHECKPOINT_LACKS : TND_CHECKPOINT_WRITE;
        effect->step = (*draft)->step;
        effect->have = (*draft)->have;
        effect->why = (*draft)->why;
        effect->parts = self->parts + place_of(self, *draft);
        *draft = NULL;
        if (effect->kind == TND_CHECKPOINT_LACKS)
            close_word(self, effect->step);
        else
            self->asked[self->asked_count++] = effect->step;
        return true;
    }
    if (next_given_up(self, effect))
        return true;
    if (self->forget_due) {
        self->forget_due = false;
        effect->kind = TND_CHECKPOINT_FORGET;
        effect->step = self->word.below;
        effect->best = TND_BUG(BEST_FORGOTTEN) ? 0 : self->word.best;
        return true;
    }
    if (self->word_due) {
        self->word_due = false;
        effect->kind = TND_CHECKPOINT_KEEP;
        effect->word = self->word;
        return true;
    }
    return false;
}

tnd_keep_note_t tnd_checkpoint_word(const tnd_checkpoint_t *self)
{
    return self->word;
}

uint64_t tnd_checkpoint_last(const tnd_checkpoint_t *self)
{
    return self->kept_count > 0 ? self->kept[(self->kept_count - 1) % self->config.keep] : 0;
}

tnd_keep_note_t tnd_checkpoint_word_of_feeder(const tnd_keep_note_t *word, bool uneven)
{
    tnd_keep_note_t of_feeder = *word;
    if (uneven && word->rest_epochs > 0 && !TND_BUG(EMPTY_EPOCHS_COUNT))
        of_feeder.rest_epochs = 1;
    return of_feeder;
}
