/*  runtime/observe/statistics.c - counters of an actor in shared memory. */
#include "runtime/observe/statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/word.h"
#include "runtime/core/protocol/effect.h"

_Static_assert(sizeof(tnd_statistics_t) <= TND_PAGE_BYTES, "an actor's statistics fit on its page");

uint64_t tnd_statistics_last(const tnd_statistics_t *self)
{
    uint64_t last = atomic_load_explicit(&self->since_ns, memory_order_relaxed);
    uint64_t count = tnd_least(self->device_count, TND_PAGE_DEVICES);
    for (uint64_t d = 0; d < count; d++) {
        uint64_t since = atomic_load_explicit(&self->devices[d].since_ns, memory_order_relaxed);
        last = since > last ? since : last;
    }
    return last;
}

/* --- time ------------------------------------------------------------------------------------- */

/*  By bit of TND_WAIT_*. */
static const char *const wait_names[] = {
    "input", "credit", "order", "mark",   "window", "memory",
    "step",  "reduce", "peer",  "leader", "ended",
};

enum { WAIT_NAMES = sizeof wait_names / sizeof wait_names[0] };

const char *tnd_wait_name(unsigned bit)
{
    return bit < WAIT_NAMES ? wait_names[bit] : NULL;
}

const char *tnd_opening_text(const tnd_statistics_t *self)
{
    static const char *const texts[] = {
#define OPENING_TEXT(name, text) text,
        TND_OPENINGS(OPENING_TEXT)
#undef OPENING_TEXT
    };
    uint64_t opens = tnd_word_read(&self->opens);
    return opens < TND_OPENING_COUNT ? texts[opens] : "";
}

unsigned tnd_wait_foremost(uint32_t waits)
{
    /* Input comes after waits that keep an actor from using it, and before waits for more. */
    static const uint32_t ranks[] = {
        TND_WAIT_REDUCE, TND_WAIT_ORDER,  TND_WAIT_MARK,  TND_WAIT_WINDOW,
        TND_WAIT_CREDIT, TND_WAIT_STEP,   TND_WAIT_INPUT, TND_WAIT_MEMORY,
        TND_WAIT_PEER,   TND_WAIT_LEADER, TND_WAIT_ENDED,
    };
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        if (waits & ranks[i])
            return (unsigned)__builtin_ctz(ranks[i]);
    return (unsigned)__builtin_ctz(waits);
}

/*  An actor that wakes up, finds nothing and waits again has waited since before. */
static void note_waiting(tnd_statistics_t *self, uint32_t waits, uint64_t now)
{
    uint64_t moved = tnd_word_read(&self->blocks_in) + tnd_word_read(&self->blocks_out) +
                     tnd_word_read(&self->rows_in) + tnd_word_read(&self->rows_out);
    uint64_t word = moved << 4 | (waits != 0 ? tnd_wait_foremost(waits) : TND_WAIT_REASONS - 1);
    if (word == tnd_word_read(&self->moved) && tnd_word_read(&self->waiting_ns) != 0)
        return;
    tnd_word_write(&self->moved, word);
    tnd_word_write(&self->waiting_ns, now);
}

void tnd_statistics_state(tnd_statistics_t *self, tnd_state_t state, uint32_t waits, uint64_t now)
{
    uint64_t before = tnd_word_read(&self->state);
    uint64_t word = (uint64_t)state | (uint64_t)waits << 8;
    if (before == word)
        return;
    uint64_t spent = now - tnd_word_read(&self->since_ns);
    uint32_t reasons = (uint32_t)(before >> 8);
    if (tnd_word_read(&self->begun_ns) == 0)
        tnd_word_write(&self->begun_ns, now);
    else if ((before & 0xff) == TND_STATE_WORKING)
        tnd_count(&self->work_ns, spent);
    else if ((before & 0xff) == TND_STATE_WAITING && reasons != 0)
        tnd_count(&self->wait_ns[tnd_wait_foremost(reasons) % TND_WAIT_REASONS], spent);
    if (state == TND_STATE_WAITING)
        note_waiting(self, waits, now);
    tnd_word_write(&self->since_ns, now);
    atomic_store_explicit(&self->state, word, memory_order_release);
}

void tnd_statistics_device(tnd_device_page_t *self, tnd_device_state_t state, uint32_t replica,
                           uint64_t step, uint64_t now)
{
    uint64_t since = tnd_word_read(&self->since_ns);
    if (since != 0)
        tnd_count(&self->spent_ns[(tnd_word_read(&self->state) & 0xff) % TND_DEVICE_STATES],
                  now - since);
    tnd_word_write(&self->step, step);
    tnd_word_write(&self->since_ns, now);
    atomic_store_explicit(&self->state, (uint64_t)state | (uint64_t)replica << 8,
                          memory_order_release);
}

void tnd_statistics_device_wait(tnd_device_page_t *self, tnd_device_wait_t wait, uint64_t now)
{
    uint64_t before = tnd_word_read(&self->wait), since = tnd_word_read(&self->wait_since_ns);
    if (before == (uint64_t)wait)
        return;
    if (since != 0)
        tnd_count(&self->wait_ns[before % TND_DEVICE_WAITS], now - since);
    tnd_word_write(&self->wait_since_ns, now);
    tnd_word_write(&self->wait, wait);
}

const char *tnd_device_pending_text(const tnd_device_page_t *self, char *text, size_t room)
{
    uint64_t pending = tnd_word_read(&self->pending);
    text[0] = '\0';
    switch ((tnd_device_pending_t)(pending & 0xff)) {
    case TND_PENDING_COPY:
        snprintf(text, room, "the copy of step %" PRIu64 " to %s", pending >> 8, self->name);
        break;
    case TND_PENDING_WORK:
        snprintf(text, room, "the work of step %" PRIu64 " on %s", pending >> 8, self->name);
        break;
    case TND_PENDING_NOTHING:
        break;
    }
    return text;
}

void tnd_statistics_times(const tnd_statistics_t *self, uint64_t now, tnd_times_t *times)
{
    uint64_t word = tnd_word_read(&self->state), begun = tnd_word_read(&self->begun_ns);
    uint64_t since = tnd_word_read(&self->since_ns), waited = 0, waits[TND_WAIT_REASONS];
    tnd_state_t state = (tnd_state_t)(word & 0xff);
    memset(times, 0, sizeof *times);
    if (begun == 0)
        return;
    uint64_t until = state == TND_STATE_ENDED || state == TND_STATE_FAILED ? since : now;
    uint64_t whole = until > begun ? until - begun : 0, left = whole;
    for (unsigned w = 0; w < TND_WAIT_REASONS; w++) {
        waits[w] = tnd_word_read(&self->wait_ns[w]);
        if (state == TND_STATE_WAITING && word >> 8 != 0 && now > since &&
            w == tnd_wait_foremost((uint32_t)(word >> 8)))
            waits[w] += now - since;
        /* The values of a page are of different moments, so each is limited to the time left. */
        waits[w] = waits[w] < left ? waits[w] : left;
        left -= waits[w];
        waited += waits[w];
    }
    uint64_t busy = whole - waited,
             used = tnd_word_read(&self->cpu_ns) + tnd_word_read(&self->ready_ns);
    uint64_t work = tnd_word_read(&self->work_ns);
    if (state == TND_STATE_WORKING && now > since)
        work += now - since;
    used = used < whole ? used : whole;
    times->cpu = tnd_word_read(&self->cpu_ns) < used ? tnd_word_read(&self->cpu_ns) : used;
    times->run_queue = used - times->cpu;
    if (used > busy) {
        /* Falling asleep and waking up takes processor time, which is not waiting. */
        double share = waited > 0 ? (double)(whole - used) / (double)waited : 0;
        for (unsigned w = 0; w < TND_WAIT_REASONS; w++)
            waits[w] = (uint64_t)((double)waits[w] * share);
    } else {
        times->wait_io = busy - used < work ? busy - used : work;
    }
    times->wait_in = waits[__builtin_ctz(TND_WAIT_INPUT)];
    times->wait_credit = waits[__builtin_ctz(TND_WAIT_CREDIT)] +
                         waits[__builtin_ctz(TND_WAIT_WINDOW)] +
                         waits[__builtin_ctz(TND_WAIT_MEMORY)];
    times->wait_order = waits[__builtin_ctz(TND_WAIT_ORDER)] + waits[__builtin_ctz(TND_WAIT_MARK)];
    times->wait_step = waits[__builtin_ctz(TND_WAIT_STEP)];
    times->wait_reduce = waits[__builtin_ctz(TND_WAIT_REDUCE)];
    uint64_t sum = 0;
#define ADD_TIME(name, text) sum += times->name;
    TND_TIMES(ADD_TIME)
#undef ADD_TIME
    times->other = whole > sum ? whole - sum : 0;
}

enum { TIMES = sizeof(tnd_times_t) / sizeof(uint64_t), SHARE_WHOLE = 65535, SHARES_A_WORD = 4 };

_Static_assert((int)TIMES == (int)TND_HISTORY_SHARES,
               "a second of a history has room for each time");

/*  Scales parts so that they add up to `whole`; the largest takes what rounding leaves,
 *  which may be less than 0. */
static void scale_to(uint64_t parts[TIMES], uint64_t whole)
{
    double sum = 0;
    uint64_t scaled = 0;
    size_t largest = TIMES - 1; /* `other`, if all are 0 */
    for (size_t i = 0; i < TIMES; i++) {
        sum += (double)parts[i];
        if (parts[i] > parts[largest])
            largest = i;
    }
    for (size_t i = 0; i < TIMES && sum > 0; i++) {
        parts[i] = (uint64_t)((double)parts[i] / sum * (double)whole);
        scaled += parts[i];
    }
    parts[largest] += whole - scaled;
}

void tnd_times_between(const tnd_times_t *before, const tnd_times_t *after, uint64_t span_ns,
                       tnd_times_t *window)
{
    uint64_t was[TIMES], is[TIMES];
    memcpy(was, before, sizeof was);
    memcpy(is, after, sizeof is);
    for (size_t i = 0; i < TIMES; i++)
        is[i] = is[i] > was[i] ? is[i] - was[i] : 0;
    scale_to(is, span_ns);
    memcpy(window, is, sizeof is);
}

void tnd_times_pack(const tnd_times_t *window, _Atomic uint64_t shares[3])
{
    uint64_t parts[TIMES], words[3] = {0};
    memcpy(parts, window, sizeof parts);
    scale_to(parts, SHARE_WHOLE);
    for (size_t i = 0; i < TIMES; i++)
        words[i / SHARES_A_WORD] |= parts[i] << 16 * (i % SHARES_A_WORD);
    for (size_t w = 0; w < 3; w++)
        tnd_word_write(&shares[w], words[w]);
}

void tnd_times_unpack(const _Atomic uint64_t shares[3], uint64_t span_ns, tnd_times_t *window)
{
    uint64_t parts[TIMES];
    for (size_t i = 0; i < TIMES; i++)
        parts[i] =
            tnd_word_read(&shares[i / SHARES_A_WORD]) >> 16 * (i % SHARES_A_WORD) & SHARE_WHOLE;
    scale_to(parts, span_ns);
    memcpy(window, parts, sizeof parts);
}

uint64_t tnd_device_spent(const tnd_device_page_t *self, uint32_t states, uint64_t now)
{
    uint64_t spent = 0, since = tnd_word_read(&self->since_ns);
    for (unsigned s = 0; s < TND_DEVICE_STATES; s++)
        spent += (states >> s & 1) != 0 ? tnd_word_read(&self->spent_ns[s]) : 0;
    if ((states >> (tnd_word_read(&self->state) & 0xff) & 1) != 0 && now > since)
        spent += now - since;
    return spent;
}

uint64_t tnd_device_worked(const tnd_device_page_t *self, uint64_t now)
{
    if (tnd_word_read(&self->timed) == TND_TIMED_BY_THREAD)
        return tnd_device_spent(self, 1u << TND_DEVICE_STEP | 1u << TND_DEVICE_APPLY, now);
    uint64_t since = tnd_word_read(&self->pending_since_ns),
             until = tnd_word_read(&self->worked_until_ns);
    since = since > until ? since : until;
    bool works = tnd_word_read(&self->timed) != 0 && now > since &&
                 (tnd_word_read(&self->pending) & 0xff) == TND_PENDING_WORK;
    return tnd_word_read(&self->work_ns) + (works ? now - since : 0);
}

tnd_device_doing_t tnd_device_doing(const tnd_device_page_t *self)
{
    uint64_t state = tnd_word_read(&self->state), pending = tnd_word_read(&self->pending);
    tnd_device_doing_t doing = {.state = (tnd_device_state_t)(state & 0xff),
                                .replica = state >> 8,
                                .step = tnd_word_read(&self->step),
                                .since_ns = tnd_word_read(&self->since_ns)};
    if (doing.state != TND_DEVICE_IDLE || tnd_word_read(&self->timed) == 0 ||
        (pending & 0xff) != TND_PENDING_WORK)
        return doing;
    doing.state = TND_DEVICE_STEP;
    doing.step = pending >> 8;
    doing.since_ns = tnd_word_read(&self->pending_since_ns);
    return doing;
}

uint64_t tnd_device_waited(const tnd_device_page_t *self, tnd_device_wait_t wait, uint64_t now)
{
    uint64_t since = tnd_word_read(&self->wait_since_ns);
    bool waits = tnd_word_read(&self->wait) == (uint64_t)wait && since != 0 && now > since;
    uint64_t waited = tnd_word_read(&self->wait_ns[wait]) + (waits ? now - since : 0);
    if (wait != TND_DEVICE_WAIT_HOST || tnd_word_read(&self->timed) != TND_TIMED_BY_THREAD)
        return waited;
    /* Its copier sees the end of a step only: the host is waited for around it. */
    uint64_t worked = tnd_device_worked(self, now);
    return waited > worked ? waited - worked : 0;
}

uint64_t tnd_program_spent(const tnd_statistics_t *self, uint64_t now)
{
    uint64_t since = tnd_word_read(&self->program_since_ns);
    return tnd_word_read(&self->program_ns) + (since != 0 && now > since ? now - since : 0);
}

static uint64_t pack_share(double share)
{
    return (uint64_t)((share < 0 ? 0 : share > 1 ? 1 : share) * SHARE_WHOLE);
}

void tnd_feeder_shares_pack(double step, double program, _Atomic uint64_t shares[3])
{
    tnd_word_write(&shares[2], (tnd_word_read(&shares[2]) & SHARE_WHOLE) | pack_share(step) << 16 |
                                   pack_share(program) << 32);
}

void tnd_feeder_shares_unpack(const _Atomic uint64_t shares[3], double *step_p, double *program_p)
{
    uint64_t word = tnd_word_read(&shares[2]);
    *step_p = (double)(word >> 16 & SHARE_WHOLE) / SHARE_WHOLE;
    *program_p = (double)(word >> 32 & SHARE_WHOLE) / SHARE_WHOLE;
}
