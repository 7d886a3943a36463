/*  runtime/host/leader_steps.c - the reports of steps and their rows, until they are booked. */
#include "runtime/host/leader_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/reduction_tree.h"
#include "runtime/notes/page_text.h"
#include "runtime/text/quantity.h"

static report_t *report_of(chain_t *chain, uint64_t step)
{
    report_t *report = &chain->reports[step % STEPS_OPEN];
    if (report->step != step) {
        report->step = step;
        report->rows = 0;
        report->metric_count = 0;
        report->ragged = 0;
        memset(report->ragged_lanes, 0, sizeof report->ragged_lanes);
    }
    return report;
}

static uint32_t metric_of(report_t *report, const char *name, uint32_t replicas)
{
    for (uint32_t m = 0; m < report->metric_count; m++)
        if (strcmp(report->names[m], name) == 0)
            return m;
    if (report->metric_count == TND_METRICS_MAX)
        return TND_METRICS_MAX;
    uint32_t made = report->metric_count++;
    snprintf(report->names[made], TND_METRIC_NAME, "%s", name);
    for (uint32_t r = 0; r < replicas; r++)
        report->sum[made * replicas + r] = report->weight[made * replicas + r] = 0;
    return made;
}

/*  Lines "REPLICA SUM WEIGHT NAME". */
void tnd_leader_take_report(tnd_leader_t *self, chain_t *chain, const tnd_msg_t *msg)
{
    uint32_t index = (uint32_t)(chain - self->chains);
    uint32_t replicas = self->plan->chains[index].replicas;
    /* Another step would overwrite one that is not booked. */
    if (msg->commit.step - tnd_leader_core_cursor(chain->session)->step >= STEPS_OPEN)
        return;
    report_t *report = report_of(chain, msg->commit.step);
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->commit.payload);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        char *rest;
        tnd_metric_t found;
        if (self->writer != NULL && index == 0 &&
            tnd_checkpoint_writer_line(self->writer, msg->commit.step + 1, line))
            continue;
        unsigned long replica = strtoul(line, &rest, 10);
        if (rest == line || replica >= replicas || tnd_metric_parse(&found, rest) == 0)
            continue;
        uint32_t metric = metric_of(report, found.name, replicas);
        if (metric == TND_METRICS_MAX)
            continue;
        report->sum[metric * replicas + replica] = found.sum;
        report->weight[metric * replicas + replica] = found.weight;
    }
}

/*  A lane that repeats its report after a rewind has the same rows. */
void tnd_leader_take_bytes(chain_t *chain, const tnd_msg_t *msg)
{
    if (msg->part.step - tnd_leader_core_cursor(chain->session)->step >= STEPS_OPEN)
        return;
    report_t *report = report_of(chain, msg->part.step);
    uint64_t bit = 1ull << (msg->part.lane % 64),
             *lanes = &report->ragged_lanes[msg->part.lane / 64];
    if ((*lanes & bit) == 0)
        report->ragged += msg->part.ragged;
    *lanes |= bit;
}

/*  Each batcher bounds its own lane; whether a batch of all lanes is too large is known here, and is
 *  the same wherever the lanes are. */
static void check_bytes(tnd_leader_t *self, chain_t *chain, const report_t *report)
{
    char why[320], takes[TND_QUANTITY_SIZE], most[TND_QUANTITY_SIZE];
    if (chain->batch_ragged == 0 || report->ragged <= chain->batch_ragged)
        return;
    snprintf(why, sizeof why,
             "%s: the ragged rows of the batch of step %" PRIu64 " take %s over all lanes, but "
             "`bytes` of the batcher allows %s: raise it, use smaller batches, or cut long rows "
             "(pad_ragged)",
             tnd_leader_chain_name(self), report->step, tnd_quantity_size(report->ragged, takes),
             tnd_quantity_size(chain->batch_ragged, most));
    tnd_leader_core_fail(chain->session, why);
}

/*  The fixed tree over logical replicas, by halving, so that any placement gives the same bits. */
static double tree_sum(const double *values, uint32_t count)
{
    if (count == 1)
        return values[0];
    uint32_t left = tnd_reduction_tree_left(count);
    return tree_sum(values, left) + tree_sum(values + left, count - left);
}

/* --- bad records ------------------------------------------------------------------------------ */

static void add_reason(chain_t *chain, uint64_t step, uint32_t lane, const tnd_reason_t *reason)
{
    chain->reasons =
        tnd_grow(chain->reasons, chain->reason_count, &chain->reason_room, sizeof *chain->reasons);
    chain->reasons[chain->reason_count++] =
        (reasons_t){.step = step, .lane = lane, .reason = *reason};
}

/*  After a rewind, the repeated report of a lane replaces the earlier one. */
void tnd_leader_take_reasons(chain_t *chain, const tnd_msg_t *msg)
{
    uint64_t step = msg->bad.position;
    size_t kept = 0;
    for (size_t i = 0; i < chain->reason_count; i++)
        if (chain->reasons[i].step != step || chain->reasons[i].lane != msg->bad.lane)
            chain->reasons[kept++] = chain->reasons[i];
    chain->reason_count = kept;
    tnd_text_payload_reader_t reader;
    tnd_text_payload_read(&reader, msg->bad.payload);
    for (const char *line; (line = tnd_text_payload_line(&reader)) != NULL;) {
        tnd_reason_t reason = {0};
        int used = 0;
        if (sscanf(line, "%" SCNu64 " %n", &reason.count, &used) != 1 || used == 0)
            continue;
        snprintf(reason.who, sizeof reason.who, "%s", line + used);
        line = tnd_text_payload_line(&reader);
        snprintf(reason.first, sizeof reason.first, "%s", line != NULL ? line : "");
        add_reason(chain, step, msg->bad.lane, &reason);
    }
}

/*  Counts the records of steps before `step`. */
void tnd_leader_count_reasons(chain_t *chain, uint64_t step)
{
    size_t kept = 0;
    for (size_t i = 0; i < chain->reason_count; i++) {
        reasons_t one = chain->reasons[i];
        size_t same = 0;
        if (one.step != COUNTED && one.step < step) {
            while (same < kept && (chain->reasons[same].step != COUNTED ||
                                   strcmp(chain->reasons[same].reason.who, one.reason.who) != 0))
                same++;
            one.step = COUNTED;
            if (same < kept) {
                chain->reasons[same].reason.count += one.reason.count;
                continue;
            }
        }
        chain->reasons[kept++] = one;
    }
    chain->reason_count = kept;
}

void tnd_leader_count_last_reasons(chain_t *chain, const tnd_cursor_t *end)
{
    uint64_t reported = 0;
    for (size_t i = 0; i < chain->reason_count; i++)
        reported += chain->reasons[i].reason.count;
    bool all = reported <= end->ledger.bad - chain->before.bad;
    tnd_leader_count_reasons(chain, all ? COUNTED : end->step);
}

/*  Whether there are more bad records than allowed; then the run has failed. */
static void check_limit(tnd_leader_t *self, chain_t *chain, const tnd_ledger_t *ledger)
{
    char why[480];
    if (!tnd_ledger_exceeds(ledger, &chain->bad_limit, chain->epoch_rows))
        return;
    int used = snprintf(why, sizeof why,
                        "%s: %" PRIu64 " of %" PRIu64 " records are bad, more than "
                        "`max_bad` allows:",
                        tnd_leader_chain_name(self), ledger->bad, ledger->read);
    for (size_t i = 0; i < chain->reason_count && used > 0 && (size_t)used < sizeof why; i++)
        if (chain->reasons[i].step == COUNTED)
            used +=
                snprintf(why + used, sizeof why - (size_t)used, "%s %" PRIu64 " by %.100s (%.100s)",
                         i > 0 ? "," : "", chain->reasons[i].reason.count,
                         chain->reasons[i].reason.who, chain->reasons[i].reason.first);
    tnd_leader_core_fail(chain->session, why);
}

/* --- the record ------------------------------------------------------------------------------- */

/*  The metrics that a run page has room for. */
enum { METRICS = 4, NAME_WORDS = TND_METRIC_NAME / 8 };

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void record_metrics(tnd_leader_t *self, const tnd_metric_t *metrics, uint32_t count)
{
    if (self->output.record == NULL)
        return;
    tnd_run_page_t *page = self->output.record->page;
    for (uint32_t m = 0; m < count && m < METRICS; m++) {
        uint64_t bits;
        double value = metrics[m].weight != 0 ? metrics[m].sum / metrics[m].weight : 0;
        memcpy(&bits, &value, sizeof bits);
        tnd_page_text_write(page->metric_names[m], NAME_WORDS, metrics[m].name);
        write_to(&page->metrics[m], bits);
    }
    write_to(&page->metric_count, count < METRICS ? count : METRICS);
}

static void record_cursor(tnd_run_page_t *page, const tnd_cursor_t *cursor)
{
    const tnd_ledger_t *ledger = &cursor->ledger;
    write_to(&page->epoch, cursor->epoch);
    write_to(&page->step, cursor->step);
    write_to(&page->rows, cursor->rank);
    write_to(&page->read, ledger->read);
    write_to(&page->added, ledger->added);
    write_to(&page->fed, ledger->fed);
    write_to(&page->filtered, ledger->filtered);
    write_to(&page->bad, ledger->bad);
    write_to(&page->dropped, ledger->dropped);
    write_to(&page->padded, ledger->padded);
}

static void record_checkpoint(tnd_leader_t *self, tnd_run_page_t *page, uint64_t now)
{
    if (self->writer == NULL)
        return;
    uint64_t step = tnd_checkpoint_writer_last(self->writer);
    const char *why;
    uint64_t unwritten = tnd_checkpoint_writer_unwritten(self->writer, &why);
    if (unwritten > atomic_load_explicit(&page->unwritten, memory_order_relaxed))
        tnd_page_text_write(page->unwritten_why, TND_PAGE_WHY_WORDS, why);
    write_to(&page->unwritten, unwritten);
    const tnd_resume_t *resume = tnd_checkpoint_writer_resume(self->writer);
    if (step == self->kept_step)
        return;
    self->kept_step = step;
    write_to(&page->checkpoint_ns, resume != NULL && resume->step == step ? 0 : now);
    write_to(&page->checkpoint_step, step);
}

void tnd_leader_report_unwritten(tnd_leader_t *self)
{
    const tnd_observer_t *observer = self->config.observer;
    const char *why;
    if (self->writer == NULL || observer == NULL || observer->unwritten == NULL)
        return;
    bool last = tnd_checkpoint_writer_unwritten(self->writer, &why) > 0;
    uint64_t failed = tnd_checkpoint_writer_failed(self->writer);
    if (failed > 0)
        observer->unwritten(observer->context, failed, last, why);
}

static void record_backlog(const tnd_leader_t *self, tnd_run_page_t *page)
{
    const tnd_observer_t *observer = self->config.observer;
    tnd_backlog_t backlog = {.path = NULL};
    if (observer == NULL || observer->backlog == NULL)
        return;
    observer->backlog(observer->context, &backlog);
    if (backlog.path == NULL)
        return;
    if (page->metrics_path[0] == '\0')
        snprintf(page->metrics_path, sizeof page->metrics_path, "%s", backlog.path);
    write_to(&page->metrics_waits_ns, backlog.since_ns);
    write_to(&page->metrics_dropped, backlog.dropped);
    write_to(&page->metrics_reason, (uint64_t)backlog.reason);
}

static void record_pause(const tnd_leader_t *self, tnd_run_page_t *page)
{
    uint64_t step;
    bool paused = self->run.touches.paused_ns != 0 && !self->run.ended;
    (void)tnd_leader_core_is_paused(tnd_leader_session(self), &step);
    tnd_page_text_write(page->paused_by, NAME_WORDS, self->paused_by);
    write_to(&page->paused_step, step);
    write_to(&page->paused_ns, paused ? self->run.touches.paused_ns : 0);
}

static void note_place(tnd_leader_t *self, chain_t *chain, const tnd_cursor_t *cursor, uint64_t now)
{
    tnd_stream_place_t place = {
        .rows = cursor->ledger.read,
        .steps = chain == self->chains ? cursor->step : cursor->step - chain->first,
        .epochs = cursor->epoch,
        .epoch_rows = chain->epoch_read,
        .run_rows = chain->run_read,
        .run_steps = chain == self->chains ? self->config.steps_max : TND_UNKNOWN,
        .paused = self->run.touches.paused_ns != 0,
    };
    if (chain->bounds.epochs != 0) /* its stream is known */
        tnd_time_left_note(&chain->left, &place, now);
}

void tnd_leader_record(tnd_leader_t *self, uint64_t now)
{
    if (self->output.record == NULL)
        return;
    tnd_run_page_t *page = self->output.record->page;
    const tnd_leader_core_t *session = tnd_leader_session(self);
    uint64_t state = (uint64_t)tnd_leader_core_state(session) + 1;
    if (atomic_load_explicit(&page->state, memory_order_relaxed) != state) {
        write_to(&page->since_ns, now);
        write_to(&page->state, state);
    }
    write_to(&page->outcome, self->run.ended ? (uint64_t)self->outcome : 0);
    write_to(&page->chain, self->chain);
    write_to(&page->generation, tnd_leader_core_generation(session));
    record_cursor(page, tnd_leader_core_cursor(session));
    note_place(self, &self->chains[self->chain], tnd_leader_core_cursor(session), now);
    /* A run that drains ends sooner. */
    const tnd_time_left_t *left = &self->chains[self->chain].left;
    bool runs = tnd_leader_core_state(session) == TND_LEADER_CORE_RUNNING;
    write_to(&page->epoch_left_ns, runs ? tnd_time_left_epoch(left) : 0);
    write_to(&page->run_left_ns, runs ? tnd_time_left_run(left) : 0);
    record_checkpoint(self, page, now);
    record_backlog(self, page);
    record_pause(self, page);
    tnd_leader_record_hosts(self, now);
}

/* --- booking ---------------------------------------------------------------------------------- */

/*  Over all replicas; returns how many there are. */
static uint32_t sum_metrics(const report_t *report, uint32_t replicas,
                            tnd_metric_t metrics[TND_METRICS_MAX])
{
    for (uint32_t m = 0; m < report->metric_count; m++) {
        snprintf(metrics[m].name, sizeof metrics[m].name, "%s", report->names[m]);
        metrics[m].sum = tree_sum(report->sum + m * replicas, replicas);
        metrics[m].weight = tree_sum(report->weight + m * replicas, replicas);
    }
    return report->metric_count;
}

void tnd_leader_book(tnd_leader_t *self, chain_t *chain, const tnd_effect_t *effect, uint64_t now)
{
    uint32_t index = (uint32_t)(chain - self->chains);
    const tnd_observer_t *observer = self->config.observer;
    const tnd_cursor_t *cursor = effect->cursor;
    uint64_t step = cursor->step - 1;
    report_t *report = report_of(chain, step);
    tnd_metric_t metrics[TND_METRICS_MAX];
    uint32_t count = sum_metrics(report, self->plan->chains[index].replicas, metrics);
    bool last = cursor->step_of_epoch == 0;
    uint32_t epoch = last ? cursor->epoch - 1 : cursor->epoch;
    uint64_t rows = cursor->rank - chain->rank;
    uint64_t fed = cursor->ledger.fed - chain->fed;
    chain->rank = cursor->rank;
    chain->fed = cursor->ledger.fed;
    note_place(self, chain, cursor, now);
    check_bytes(self, chain, report);
    tnd_epoch_metrics_add(&chain->sums, epoch, last, rows, metrics, count);
    if (self->writer != NULL && index == 0)
        tnd_checkpoint_writer_booked(self->writer, cursor, &chain->sums, now);
    if (chain->reason_count > 0) {
        tnd_leader_count_reasons(chain, cursor->step);
        tnd_leader_note_reasons(self, chain);
        check_limit(self, chain, &cursor->ledger);
    }
    if (last)
        tnd_leader_inform(self, "%s: %" PRIu32 " epoch%s ended, the last with step %" PRIu64,
                          tnd_leader_chain_name(self), cursor->epoch,
                          cursor->epoch == 1 ? " has" : "s have", step);
    if (observer == NULL || observer->step == NULL)
        return;
    record_metrics(self, metrics, count);
    tnd_step_record_t record = {
        .chain = index,
        .step = index == 0 ? step : step - chain->first,
        .epoch = epoch,
        .rows = (uint32_t)rows,
        .fed = fed,
        .last_of_epoch = last,
        .metric_count = count,
        .metrics = metrics,
        .sums = &chain->sums,
        .cursor = cursor,
        .epoch_left_ns = tnd_time_left_epoch(&chain->left),
        .run_left_ns = tnd_time_left_run(&chain->left),
    };
    observer->step(observer->context, &record);
}

/*  Whether rows were read and no step was fed, which a program does not expect; without a program, if
 *  no row was good. */
static bool lacks_steps(const tnd_leader_t *self, const chain_t *chain, const tnd_cursor_t *end)
{
    const tnd_ledger_t *before = &chain->before, *now = &end->ledger;
    bool no_good =
        !self->config.may_be_empty && now->bad > before->bad && now->dropped == before->dropped;
    return (self->config.must_feed || no_good) && tnd_run_touches_goes_on(&self->run.touches) &&
           end->step == chain->first && now->read > before->read;
}

bool tnd_leader_fail_without_steps(tnd_leader_t *self, const chain_t *chain,
                                   const tnd_cursor_t *end)
{
    const tnd_ledger_t *ledger = &end->ledger;
    char why[640];
    if (!lacks_steps(self, chain, end))
        return false;
    int used = snprintf(why, sizeof why,
                        "%s: no step was fed: of %" PRIu64 " rows read %" PRIu64
                        " were filtered out, %" PRIu64 " bad and %" PRIu64 " dropped",
                        tnd_leader_chain_name(self), ledger->read, ledger->filtered, ledger->bad,
                        ledger->dropped);
    for (size_t i = 0; i < chain->reason_count && used > 0 && (size_t)used < sizeof why; i++)
        used += snprintf(why + used, sizeof why - (size_t)used,
                         "; %" PRIu64 " by %.100s, such as: %.200s", chain->reasons[i].reason.count,
                         chain->reasons[i].reason.who, chain->reasons[i].reason.first);
    tnd_leader_end(self, TND_OUTCOME_FAILED, why);
    return true;
}
