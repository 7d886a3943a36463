/*  tools/cli/progress.c - shows the progress of a run. */
#include "tools/cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/topology/best_options.h"
#include "tools/cli/empty_run.h"
#include "tools/cli/load.h"
#include "tools/cli/number_text.h"
#include "tools/cli/terminal.h"

static const uint64_t plain_every_ns = 3000000000, rate_every_ns = 1000000000;
/*  Data that is opened faster is not shown. */
static const uint64_t open_after_ns = 500000000;
/*  During the run it is shown if no step has been committed for this time. */
static const uint64_t wait_ns = 2000000000;
/*  After this time without progress, the idle time is shown instead of the remaining time. */
static const uint64_t still_ns = 10000000000;

/*  This many epochs have a line each, even if they are short. */
enum { EPOCH_LINES = 10 };

void tnd_progress_init(tnd_progress_t *self, tnd_run_summary_t *summary, uint64_t steps_max,
                       bool quiet)
{
    *self = (tnd_progress_t){.summary = summary,
                             .steps_max = steps_max,
                             .quiet = quiet,
                             .plain_ns = tnd_clock_now(),
                             .out = stdout,
                             .terminal = STDOUT_FILENO};
}

/*  The part of the chain that is done, from 0 to 1; negative: unknown. */
static double share_done(const tnd_progress_t *self, const tnd_run_summary_chain_t *chain)
{
    double share = -1;
    const tnd_stream_t *stream = &chain->stream;
    uint64_t rows = chain->stream_known ? tnd_stream_run(stream) : TND_UNKNOWN;
    if (rows != TND_UNKNOWN)
        share = (double)chain->ledger.read / (double)rows;
    if (self->summary->chain == 0 && self->steps_max != TND_UNKNOWN) {
        double steps = (double)chain->steps / (double)self->steps_max;
        share = steps > share ? steps : share;
    }
    return share > 1 ? 1 : share;
}

/*  Seconds without progress, if that is long for this run; otherwise 0. */
static double still_for(const tnd_run_summary_chain_t *chain, uint64_t now)
{
    if (chain->last_ns == 0 || now < chain->last_ns + still_ns ||
        (now - chain->last_ns) / 4 <
            (chain->last_ns - chain->begun_ns) / (chain->here > 0 ? chain->here : 1))
        return 0;
    return (double)(now - chain->last_ns) * 1e-9;
}

static void measure(tnd_progress_t *self, const tnd_run_summary_chain_t *chain, uint64_t now)
{
    if (self->rate_ns == 0 || chain->ledger.fed < self->rate_rows) {
        self->rate_ns = chain->begun_ns != 0 ? chain->begun_ns : now;
        self->rate_rows = chain->before_fed;
    }
    if (now - self->rate_ns < rate_every_ns && self->rate != 0)
        return;
    if (now > self->rate_ns)
        self->rate =
            (double)(chain->ledger.fed - self->rate_rows) / ((double)(now - self->rate_ns) * 1e-9);
    if (now - self->rate_ns >= rate_every_ns) {
        self->rate_ns = now;
        self->rate_rows = chain->ledger.fed;
    }
}

/*  A time that was left when the last step was committed, as it is now; 0: not known, or past. */
static uint64_t still_left(uint64_t left_ns, const tnd_run_summary_chain_t *chain, uint64_t now)
{
    uint64_t since = now > chain->last_ns ? now - chain->last_ns : 0;
    return left_ns > since ? left_ns - since : 0;
}

static void print_bar(FILE *out, const tnd_terminal_t *terminal, double share)
{
    enum { WIDTH = 20 };
    int full = (int)(share * WIDTH + 0.5);
    fputs(terminal->colour ? "\033[36m" : "", out);
    for (int i = 0; i < WIDTH; i++) {
        if (i == full && terminal->colour)
            fputs("\033[90m", out);
        fputs(terminal->wide ? (i < full ? "━" : "─") : (i < full ? "=" : "-"), out);
    }
    fputs(terminal->colour ? "\033[0m" : "", out);
}

/*  "epoch 0 of 3": from 0, as everywhere else. */
static void print_epoch(const tnd_run_summary_chain_t *chain, uint64_t epoch, char *text,
                        size_t room)
{
    if (chain->stream_known && chain->stream.epochs != TND_ENDLESS)
        snprintf(text, room, "epoch %" PRIu64 " of %" PRIu32, epoch, chain->stream.epochs);
    else
        snprintf(text, room, "epoch %" PRIu64, epoch);
}

/*  Whether the first chain rests while the running one is fed. */
static bool rests(const tnd_run_summary_t *summary)
{
    return summary->chain > 0 && tnd_chain_repeats(&summary->plan->chains[summary->chain]) &&
           summary->chains[0].state < TND_LEADER_CORE_DONE;
}

/*  The first metric, after two spaces. */
static void print_metric(const tnd_metric_sums_t *sums, char *text, size_t room)
{
    text[0] = '\0';
    if (sums->count > 0)
        snprintf(text, room, "  %s %.4f", sums->of[0].name, tnd_run_summary_mean(&sums->of[0]));
}

static void print_name(const tnd_run_summary_t *summary, const tnd_run_summary_chain_t *chain,
                       char *text, size_t room)
{
    bool over = chain->stream_known && chain->epochs > 0 && chain->epochs >= chain->stream.epochs;
    char metric[64];
    const tnd_run_summary_chain_t *first = &summary->chains[0];
    print_metric(&first->sums.latest, metric, sizeof metric);
    if (rests(summary))
        snprintf(text, room, "after step %" PRIu64 "%s | %s", first->steps - 1, metric,
                 chain->plan->feeder);
    else if (summary->chain > 0)
        snprintf(text, room, "%s", chain->plan->feeder);
    else
        print_epoch(chain, over ? chain->epochs - 1 : chain->epochs, text, room);
}

/*  The last validation, beside the chain that is trained. */
static void print_validated(const tnd_run_summary_t *summary, char *text, size_t room)
{
    char metric[64];
    const tnd_validations_t *all = &summary->validations;
    text[0] = '\0';
    if (all->count == 0)
        return;
    const tnd_validated_t *last = &all->of[all->count - 1];
    print_metric(&last->sums, metric, sizeof metric);
    if (metric[0] != '\0')
        snprintf(text, room, " | %s%s", summary->plan->chains[last->chain].feeder, metric + 1);
}

/*  The text after name and bar. */
static void print_rest(const tnd_progress_t *self, const tnd_run_summary_chain_t *chain,
                       double share, uint64_t now, char *text, size_t room)
{
    char rate[32], left[TND_TIME_LEFT_TEXT];
    size_t used = 0;
    if (share >= 0)
        used += (size_t)snprintf(text + used, room - used, "  %.0f%%", share * 100);
    print_metric(&chain->sums.latest, text + used, room - used);
    used += strlen(text + used);
    double still = still_for(chain, now);
    if (still > 0) {
        snprintf(text + used, room - used, "  no step for %.0f s: `tundish why` finds the cause",
                 still);
        return;
    }
    used +=
        (size_t)snprintf(text + used, room - used, "  %s rows/s", tnd_grouped(self->rate, rate));
    if (self->rate >= 0.5 &&
        tnd_time_left_text(still_left(chain->epoch_left_ns, chain, now),
                           still_left(chain->run_left_ns, chain, now), left)[0] != '\0')
        used += (size_t)snprintf(text + used, room - used, "  %s", left);
    if (self->summary->chain == 0)
        print_validated(self->summary, text + used, room - used);
}

/*  Call it with the lock of the summary. */
static void clear(tnd_progress_t *self)
{
    if (self->drawn)
        fputs("\r\033[K", self->out);
    self->drawn = false;
    fflush(self->out);
}

void tnd_progress_clear(tnd_progress_t *self)
{
    pthread_mutex_lock(&self->summary->lock);
    clear(self);
    pthread_mutex_unlock(&self->summary->lock);
}

void tnd_progress_stop(tnd_progress_t *self)
{
    pthread_mutex_lock(&self->summary->lock);
    clear(self);
    self->stopped = true;
    pthread_mutex_unlock(&self->summary->lock);
}

static void draw(tnd_progress_t *self, const tnd_terminal_t *terminal,
                 const tnd_run_summary_chain_t *chain, uint64_t now)
{
    char name[192], rest[384];
    double share = share_done(self, chain);
    print_name(self->summary, chain, name, sizeof name);
    print_rest(self, chain, share, now, rest, sizeof rest);
    size_t bar = share >= 0 ? 22 : 0;
    if (bar + strlen(name) + strlen(rest) >= terminal->columns)
        bar = 0;
    size_t room =
        terminal->columns > bar + strlen(name) + 1 ? terminal->columns - bar - strlen(name) - 1 : 0;
    fprintf(self->out, "\r\033[K%s", name);
    if (bar > 0) {
        fputs("  ", self->out);
        print_bar(self->out, terminal, share);
    }
    fprintf(self->out, "%.*s", (int)room, rest);
    fflush(self->out);
    self->drawn = true;
}

static void say_state(tnd_progress_t *self, const tnd_run_summary_chain_t *chain)
{
    const tnd_run_summary_t *summary = self->summary;
    if (summary->plan->host_count > 1 && strcmp(self->waiting, summary->waiting) != 0) {
        snprintf(self->waiting, sizeof self->waiting, "%s", summary->waiting);
        clear(self);
        if (self->waiting[0] != '\0')
            fprintf(self->out, "waiting for %s\n", self->waiting);
        else if (!self->joined && chain->state >= TND_LEADER_CORE_OPENING &&
                 chain->state <= TND_LEADER_CORE_RUNNING)
            fprintf(self->out, "%s\n", "all hosts are here");
    }
    self->joined = self->joined || chain->state == TND_LEADER_CORE_RUNNING;
    if (chain->state == TND_LEADER_CORE_DRAINING && !self->draining) {
        self->draining = true;
        clear(self);
        fprintf(self->out, "%s\n", TND_PROGRESS_DRAINS);
    }
}

static void say_means(FILE *out, const tnd_metric_sums_t *sums)
{
    for (uint32_t m = 0; m < sums->count; m++)
        fprintf(out, "%s%s %.4f", m > 0 ? ", " : "  ", sums->of[m].name,
                tnd_run_summary_mean(&sums->of[m]));
}

/*  The line of an epoch that ended, with its means. */
static void say_epoch(tnd_progress_t *self, const tnd_run_summary_chain_t *chain, uint64_t now)
{
    char rows[32], name[64];
    /* A run that resumes reports the epoch in which it resumed, not earlier ones. */
    if (chain->epochs == self->epochs_shown || chain->ended_ns == 0)
        return;
    if (self->epoch_lines >= EPOCH_LINES && now - self->epoch_ns < plain_every_ns)
        return;
    self->epoch_lines++;
    self->epoch_ns = now;
    self->epochs_shown = chain->epochs;
    clear(self);
    print_epoch(chain, chain->epochs - 1, name, sizeof name);
    fputs(name, self->out);
    say_means(self->out, &chain->sums.ended);
    if (chain->sums.ended.partial && chain->sums.ended.count > 0)
        fprintf(self->out, " over its last %s rows",
                tnd_grouped((double)chain->sums.ended.rows, rows));
    /* An epoch without steps has no duration. */
    uint64_t spent_ns = chain->ended_ns > chain->begun_ns ? chain->ended_ns - chain->begun_ns : 0;
    fprintf(self->out, "  %s rows, %.1f s\n", tnd_grouped((double)chain->ended_fed, rows),
            (double)spent_ns * 1e-9);
}

/*  A line for each validation, unless they follow one another fast. */
static void say_validations(tnd_progress_t *self, uint64_t now)
{
    const tnd_run_summary_t *summary = self->summary;
    while (self->validations_seen < summary->validations.count) {
        const tnd_validated_t *it = &summary->validations.of[self->validations_seen++];
        bool fast =
            self->validation_lines >= EPOCH_LINES && now - self->validation_ns < plain_every_ns;
        if (it->steps <= summary->chains[0].before_steps || it->sums.count == 0 || fast)
            continue;
        self->validation_lines++;
        self->validation_ns = now;
        clear(self);
        fprintf(self->out, "%s after step %" PRIu64, summary->plan->chains[it->chain].feeder,
                it->steps - 1);
        say_means(self->out, &it->sums);
        fputc('\n', self->out);
    }
}

static void print_opening(const tnd_run_summary_t *summary,
                          const tnd_run_summary_opening_t *opening, uint64_t now, char *text,
                          size_t room)
{
    char of[80] = "", rest[256];
    if (summary->plan->host_count > 1)
        snprintf(of, sizeof of, " on %.70s", summary->plan->hosts[opening->host].name);
    tnd_open_progress_print(&opening->progress, &opening->pace, now, rest, sizeof rest);
    snprintf(text, room, "%s%s: %s", opening->progress.actor, of, rest);
}

/*  The one that has least done: the others are opened sooner. */
static const tnd_run_summary_opening_t *slowest(const tnd_run_summary_t *summary)
{
    const tnd_run_summary_opening_t *last = &summary->openings[0];
    for (size_t i = 1; i < summary->opening_count; i++)
        if (tnd_open_progress_share(&summary->openings[i].progress) <
            tnd_open_progress_share(&last->progress))
            last = &summary->openings[i];
    return last;
}

/*  How far hosts are with opening their data: on a terminal one of them, else all. */
static void show_openings(tnd_progress_t *self, const tnd_terminal_t *terminal, uint64_t now)
{
    char text[512];
    const tnd_run_summary_t *summary = self->summary;
    if (self->open_ns == 0)
        self->open_ns = now + open_after_ns;
    if (now < self->open_ns)
        return;
    if (terminal->line) {
        print_opening(summary, slowest(summary), now, text, sizeof text);
        fprintf(self->out, "\r\033[K%.*s", (int)terminal->columns - 1, text);
        self->drawn = true;
        return;
    }
    self->open_ns = now + plain_every_ns;
    for (size_t i = 0; i < summary->opening_count; i++) {
        print_opening(summary, &summary->openings[i], now, text, sizeof text);
        fprintf(self->out, "%s\n", text);
    }
}

/*  Call it with the lock of the summary. */
static void show(tnd_progress_t *self, const tnd_terminal_t *terminal, uint64_t now)
{
    const tnd_run_summary_chain_t *chain = &self->summary->chains[self->summary->chain];
    if (self->summary->chain != self->chain) {
        self->chain = self->summary->chain;
        self->rate_ns = 0;
        self->rate = 0;
    }
    say_state(self, chain);
    if (self->summary->chain == 0 || rests(self->summary))
        say_epoch(self, &self->summary->chains[0], now);
    say_validations(self, now);
    /* A host that is started again may be waited for. */
    bool waits = chain->steps == 0 || now > chain->last_ns + wait_ns;
    if (self->summary->opening_count > 0 && waits)
        show_openings(self, terminal, now);
    else if (self->open_ns != 0 && chain->steps == 0)
        clear(self);
    else if (chain->steps > 0) {
        measure(self, chain, now);
        if (terminal->line) {
            draw(self, terminal, chain, now);
        } else if (now - self->plain_ns >= plain_every_ns) {
            char name[192], rest[384];
            print_name(self->summary, chain, name, sizeof name);
            print_rest(self, chain, share_done(self, chain), now, rest, sizeof rest);
            fprintf(self->out, "%s%s\n", name, rest);
            self->plain_ns = now;
        }
    }
    fflush(self->out);
}

void tnd_progress_tick(tnd_progress_t *self)
{
    if (self->quiet)
        return;
    uint64_t now = tnd_clock_now();
    tnd_terminal_t terminal = tnd_terminal_look(self->terminal);
    pthread_mutex_lock(&self->summary->lock);
    if (!self->stopped)
        show(self, &terminal, now);
    pthread_mutex_unlock(&self->summary->lock);
}

static void say_stream(FILE *out, const tnd_run_summary_chain_t *chain)
{
    char digest[TND_DIGEST_TEXT_SIZE];
    tnd_digest_print(&chain->digest, digest);
    if (tnd_digest_is_empty(&chain->digest) && chain->ledger.fed > 0)
        fprintf(out, "stream not computed (digest: false)\n");
    else
        fprintf(out, "stream %s\n", digest);
}

/*  The means of the last epoch of each feeder. */
static void say_results(const tnd_progress_t *self)
{
    char rows[32];
    for (uint32_t c = 0; c < self->summary->plan->chain_count; c++) {
        const tnd_run_summary_chain_t *chain = &self->summary->chains[c];
        const tnd_metric_sums_t *sums = &chain->sums.latest;
        if (sums->count == 0 || chain->plan->feeder == NULL)
            continue;
        fprintf(self->out, "%s:", chain->plan->feeder);
        say_means(self->out, sums);
        (void)tnd_grouped((double)sums->rows, rows);
        if (sums->partial)
            fprintf(self->out, "  (only its last %s rows: an earlier run fed the others)\n", rows);
        else
            fprintf(self->out, "  (%s rows)\n", rows);
    }
}

/*  The best of the validations, if it is wanted. */
static void say_best(const tnd_progress_t *self)
{
    const tnd_run_summary_t *summary = self->summary;
    const tnd_best_t *best = &summary->best;
    if (summary->best_chain == 0 || best->step == 0)
        return;
    const tnd_chain_plan_t *chain = &summary->plan->chains[summary->best_chain];
    fprintf(self->out, "best:  %s %.4f of %s after step %" PRIu64 "%s%s\n", chain->best->metric,
            best->value, chain->feeder, best->step - 1,
            summary->best_kept ? ", its checkpoint is kept (--resume best)"
                               : ", without a checkpoint",
            tnd_best_ends(best) ? "; no better one followed, so the run has ended" : "");
}

/*  This run had no step: it evaluates a checkpoint, or the checkpoint was at the end of the stream. */
static void say_finished(const tnd_progress_t *self, const tnd_run_summary_chain_t *first)
{
    char rows[32], steps[32];
    const tnd_checkpoint_options_t *checkpoint = self->summary->plan->checkpoint;
    bool evaluates = checkpoint != NULL && checkpoint->evaluate;
    fprintf(self->out, "%s: the checkpoint has %s steps, %s rows",
            evaluates ? "evaluated" : "done already", tnd_grouped((double)first->steps, steps),
            tnd_grouped((double)first->ledger.fed, rows));
    if (self->steps_max <= first->steps && !evaluates)
        fprintf(self->out, ", and --steps limits the run to %" PRIu64, self->steps_max);
    else if (!evaluates && tnd_best_ends(&self->summary->best))
        fprintf(self->out, ", and `patience` has ended the run");
    else if (!evaluates)
        fprintf(self->out, ", which is the whole run");
    fputc('\n', self->out);
    say_results(self);
    say_best(self);
    say_stream(self->out, first);
    if (first->model[0] != '\0')
        fprintf(self->out, "model  %s\n", first->model);
    fflush(self->out);
}

void tnd_progress_end(tnd_progress_t *self, bool drained)
{
    char why[256];
    if (self->quiet)
        return;
    tnd_progress_clear(self);
    say_validations(self, tnd_clock_now()); /* made since the last tick */
    const tnd_run_summary_chain_t *first = &self->summary->chains[0];
    if (drained && first->steps == 0) {
        fprintf(self->out, "%s\n", "drained before the first step");
        fflush(self->out);
        return;
    }
    double seconds = tnd_run_summary_seconds(first);
    double fed = (double)(first->ledger.fed - first->before_fed);
    char rows[32], rate[32], steps[32], bytes[48] = "";
    /* Without a step, the data rate is of interest; the number of ragged rows is not enough. */
    if (!tnd_load_steps(self->summary->plan, 0) && first->stream_known && seconds > 0 &&
        tnd_schema_ragged(&first->stream.joined.schema) == 0)
        snprintf(bytes, sizeof bytes, ", %.1f MB/s",
                 fed * (double)tnd_schema_row_bytes(&first->stream.fed.schema) / seconds * 1e-6);
    if (!drained && first->here == 0 && first->steps > 0) {
        say_finished(self, first);
        return;
    }
    fprintf(self->out, "%s: %s step%s, %s rows, %" PRIu64 " epoch%s in %.1f s (%s rows/s%s)\n",
            drained ? "drained" : "done", tnd_grouped((double)first->steps, steps),
            first->steps == 1 ? "" : "s", tnd_grouped((double)first->ledger.fed, rows),
            first->epochs, first->epochs == 1 ? "" : "s", seconds,
            tnd_grouped(seconds > 0 ? fed / seconds : 0, rate), bytes);
    if (first->before_steps > 0)
        fprintf(self->out, "of these, %s steps before this run, which resumed after them\n",
                tnd_grouped((double)first->before_steps, steps));
    if (first->ledger.filtered + first->ledger.bad + first->ledger.dropped > 0)
        fprintf(
            self->out,
            "rows: %" PRIu64 " read, %" PRIu64 " filtered, %" PRIu64 " bad, %" PRIu64 " dropped\n",
            first->ledger.read, first->ledger.filtered, first->ledger.bad, first->ledger.dropped);
    for (uint32_t i = 0; i < first->reason_count; i++)
        fprintf(self->out, "bad: %" PRIu64 " by %s, such as%s%s: %s\n", first->reasons[i].count,
                first->reasons[i].who, first->reasons[i].where[0] != '\0' ? " " : "",
                first->reasons[i].where, first->reasons[i].first);
    if (first->steps == 0 && !drained)
        fprintf(self->out, "warning: no step was fed: %s\n",
                tnd_empty_run_text(&first->ledger, first->stream.batch.drops, why, sizeof why));
    if (self->summary->unwritten > 0)
        fprintf(self->out, "checkpoints: %" PRIu64 " could not be written, such as: %s\n",
                self->summary->unwritten, self->summary->unwritten_why);
    say_results(self);
    say_best(self);
    say_stream(self->out, first);
    if (first->model[0] != '\0')
        fprintf(self->out, "model  %s\n", first->model);
    fflush(self->out);
}
