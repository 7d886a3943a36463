/*  tools/report/run_limit.c - the actor that bounds the rate of a run, and what a change would give. */
#include "tools/report/run_limit.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/text/quantity.h"
#include "tools/report/long_call.h"
#include "tools/report/slow_link.h"

/*  A connection limits the rate if no actor works for as much of the time. */
static const double link_works = 0.5;

/*  Advice is given for a worker that is at work for at least this share. */
static const double worth_advice = 0.7;

/*  If the workers of an actor are at work for less than this share, taken together, they wait for
 *  something else. */
static const double worth_workers = 0.6;

/*  Step and batch take turns if a feeder waits for its device for less than this share. */
static const double step_full = 0.9;

/*  The busiest actor is clear if it is at work for this share, and for so much more than the next. */
static const double clear_share = 0.5, clear_lead = 0.1;

/*  An actor that is at work for the first share, and makes less than the second one of the rows that
 *  are fed, lags. */
static const double full_share = 0.9, lag_share = 0.6;

/*  Of actors that work in turns, one is named that works for more than this share. */
static const double turns_share = 0.05;

/*  Instances of an actor whose shares differ by less are equally busy. */
static const double equal_share = 0.05;

/*  A device that waits for its link for more than this share is limited by it. */
static const double transfer_share = 0.5;

/*  What a device waits for is named if it does for more than this share. */
static const double worth_saying = 0.2;

/*  More work takes no processor from a control group that throttles for more than this share. */
static const double throttled_share = 0.01;

/*  Rows that are filtered are named if they are more than this share. */
static const double filtered_share = 0.5;

/*  A limit is judged over at least so many steps. */
enum { STEPS = 3, CALM_SECONDS = 8 };

typedef struct {
    const tnd_run_view_t *view;
    uint64_t seconds; /* of the histories; 0: the time between the two looks */
    double whole;     /* ns of that time */
    tnd_seen_t who;
    const tnd_device_page_t *device;
    double most, next; /* shares of the busiest actor and of the next one of another kind */
    double cores;      /* processors in use */
    bool lags;         /* the busiest actor makes fewer rows than are fed: `rate` per second */
    double rate;
} search_t;

/*  How an actor spent the time that is searched. */
static void times_of(const search_t *search, const tnd_seen_t *who, tnd_times_t *times)
{
    if (search->seconds > 0)
        tnd_seen_history(who, search->seconds, times);
    else
        tnd_run_view_times(search->view, who, times);
}

/*  The mean of a part of the last seconds of a feeder: that of its busiest device in its step, or of
 *  its program. */
static double part_of_history(const search_t *search, const tnd_seen_t *who, bool program)
{
    double sum = 0, parts[2];
    uint64_t count = tnd_seen_seconds(who);
    for (uint64_t age = 0; age < search->seconds && age < count; age++) {
        tnd_feeder_shares_unpack(tnd_seen_second(who, age)->shares, &parts[0], &parts[1]);
        sum += parts[program];
    }
    return sum / (double)search->seconds;
}

/*  The share of the time between the looks by which a time of a device grew. */
static double share_of_times(const search_t *search, uint64_t was, uint64_t is)
{
    double between = (double)tnd_run_view_window(search->view), more = (double)(is - was);
    return is <= was || between <= 0 ? 0 : more < between ? more / between : 1;
}

static double share_waited(const search_t *search, const tnd_device_page_t *was,
                           const tnd_device_page_t *is, tnd_device_wait_t wait)
{
    return share_of_times(search, tnd_device_waited(was, wait, search->view->before->now_ns),
                          tnd_device_waited(is, wait, search->view->after->now_ns));
}

/*  The share of the time that a device worked by its own events.  A program that keeps its rows until it
 *  gets the next ones makes all of that time seem work, also while the device has nothing to do. */
static double share_by_device(const search_t *search, const tnd_device_page_t *was,
                              const tnd_device_page_t *is)
{
    double works = share_of_times(search, tnd_device_worked(was, search->view->before->now_ns),
                                  tnd_device_worked(is, search->view->after->now_ns));
    double most = 1 - share_waited(search, was, is, TND_DEVICE_WAIT_ROWS) -
                  share_waited(search, was, is, TND_DEVICE_WAIT_LINK);
    most = most > 0 ? most : 0;
    return works < most ? works : most;
}

/*  The share of the time that a device, or its thread, was in its step.  A history has only that of the
 *  busiest one of a feeder. */
static double share_of_device(const search_t *search, const tnd_seen_t *who, uint32_t number,
                              uint32_t states)
{
    const tnd_statistics_t *old = tnd_run_view_before(search->view, who);
    uint64_t before = search->view->before->now_ns, after = search->view->after->now_ns;
    if (old == NULL || number >= old->device_count)
        return 0;
    if (search->seconds > 0)
        return number == 0 ? part_of_history(search, who, false) : 0;
    const tnd_device_page_t *was = &old->devices[number], *is = &who->page->devices[number];
    double thread = share_of_times(search, tnd_device_spent(was, states, before),
                                   tnd_device_spent(is, states, after));
    double itself = share_by_device(search, was, is);
    return itself > thread ? itself : thread;
}

/*  The share of the time that the program of a feeder spends between its steps. */
static double share_of_program(const search_t *search, const tnd_seen_t *who)
{
    const tnd_statistics_t *old = tnd_run_view_before(search->view, who);
    if (search->seconds > 0)
        return part_of_history(search, who, true);
    return old == NULL
               ? 0
               : share_of_times(search, tnd_program_spent(old, search->view->before->now_ns),
                                tnd_program_spent(who->page, search->view->after->now_ns));
}

/*  Whether two pages are of workers of the same actor: "prep.0" and "prep.3". */
static bool are_workers(const tnd_statistics_t *a, const tnd_statistics_t *b)
{
    size_t length = strcspn(a->actor, ".");
    return a->role == TND_ROLE_WORKER && b->role == TND_ROLE_WORKER && a->chain == b->chain &&
           strncmp(a->actor, b->actor, length) == 0 && strcspn(b->actor, ".") == length;
}

static void take_share(search_t *search, const tnd_seen_t *who, const tnd_device_page_t *device,
                       double share)
{
    bool same = search->who.page != NULL && (search->device == NULL) == (device == NULL) &&
                tnd_seen_are_of(search->who.page, who->page);
    /* Of instances that are equally busy, the first is named. */
    if (share > search->most + (same ? equal_share : 0)) {
        if (!same)
            search->next = search->most;
        search->most = share;
        search->who = *who;
        search->device = device;
    } else if (!same && share > search->next) {
        search->next = share;
    }
}

static double share_of(const search_t *search, uint64_t ns)
{
    return search->whole > 0 ? (double)ns / search->whole : 0;
}

/*  The threads that share a processor of this machine; 0: not known, or each has its own. */
static double crowd_of(const search_t *search, const tnd_seen_t *who)
{
    const tnd_machine_load_t *was = &search->view->before->load, *is = &search->view->after->load;
    double threads = was->runnable > is->runnable ? was->runnable : is->runnable;
    threads = is->load > threads ? is->load : threads;
    bool crowded = who->process->machine[0] == '\0' && is->processors > 0 &&
                   threads > (double)is->processors + 1;
    return crowded ? threads / is->processors : 0;
}

/*  The share of the time that an actor is at work, or ready to be, as that of a device.  An actor that
 *  hardly works but is often ready waits for other threads: it is not what others wait for. */
static double share_at_work(const search_t *search, const tnd_seen_t *who)
{
    tnd_times_t times;
    times_of(search, who, &times);
    double works = share_of(search, times.cpu + times.wait_io);
    double ready = share_of(search, times.run_queue), crowd = crowd_of(search, who);
    return works + (crowd > 0 && ready > works * crowd ? works * crowd : ready);
}

/*  The rows that an actor handed on. */
static double rows_of(const search_t *search, const tnd_seen_t *who)
{
    const tnd_statistics_t *old = tnd_run_view_before(search->view, who);
    uint64_t rows = 0;
    if (search->seconds == 0)
        return old != NULL && who->page->rows_out > old->rows_out
                   ? (double)(who->page->rows_out - old->rows_out)
                   : 0;
    for (uint64_t age = 0; age < search->seconds && age < tnd_seen_seconds(who); age++)
        rows += tnd_seen_second(who, age)->rows;
    return (double)rows;
}

/*  Whether all instances of an actor are at work all the time and hand on fewer rows than are fed, so
 *  that buffers run empty.  `*rows_p`: their rows. */
static bool lags_in_rows(const search_t *search, const tnd_seen_t *who, double *rows_p)
{
    tnd_seen_t other;
    double fed = 0, fed_ever = 0, ever = 0;
    bool full = true;
    *rows_p = 0;
    TND_EACH_ACTOR(search->view, other)
    {
        if (other.page->chain != who->page->chain)
            continue;
        if (tnd_seen_has_role(&other, TND_ROLE_FEEDER)) {
            fed += rows_of(search, &other);
            fed_ever += (double)other.page->rows_out;
        } else if (tnd_seen_are_of(other.page, who->page) && !other.page->asleep) {
            *rows_p += rows_of(search, &other);
            ever += (double)other.page->rows_out;
            full = full && (!tnd_seen_runs(&other) || share_at_work(search, &other) >= full_share);
        }
    }
    /* If rows become more on their way, an actor may hand on fewer than are fed. */
    return full && ever >= fed_ever && *rows_p < lag_share * fed;
}

/*  Such an actor will limit the rate, although buffers still feed the one that seems to. */
static void search_lag(search_t *search)
{
    tnd_seen_t who;
    double least = 0;
    TND_EACH_ACTOR(search->view, who)
    {
        double rows, share;
        bool makes = tnd_seen_has_role(&who, TND_ROLE_READER) ||
                     tnd_seen_has_role(&who, TND_ROLE_WORKER) ||
                     tnd_seen_has_role(&who, TND_ROLE_JOIN);
        if (!makes || !tnd_seen_runs(&who) || (share = share_at_work(search, &who)) < full_share ||
            !lags_in_rows(search, &who, &rows) || (search->lags && rows >= least))
            continue;
        least = rows;
        search->lags = true;
        search->rate = search->whole > 0 ? rows * 1e9 / search->whole : 0;
        search->who = who;
        search->device = NULL;
        search->most = share;
    }
}

static void search_actors(search_t *search)
{
    tnd_seen_t who;
    TND_EACH_ACTOR(search->view, who)
    {
        tnd_times_t times;
        const tnd_statistics_t *old = tnd_run_view_before(search->view, &who);
        if (who.process->killed || old == NULL)
            continue;
        times_of(search, &who, &times);
        search->cores += share_of(search, times.cpu);
        if (who.page->device_cpu_ns > old->device_cpu_ns)
            search->cores += (double)(who.page->device_cpu_ns - old->device_cpu_ns) /
                             (double)tnd_run_view_window(search->view);
        take_share(search, &who, NULL, share_at_work(search, &who));
        for (uint32_t d = 0; d < who.page->device_count; d++)
            take_share(
                search, &who, &who.page->devices[d],
                share_of_device(search, &who, d, 1 << TND_DEVICE_STEP | 1 << TND_DEVICE_APPLY));
    }
}

static void say_name(const tnd_run_view_t *view, tnd_verdict_t *verdict, const tnd_seen_t *who)
{
    char name[128];
    tnd_verdict_say(verdict, "%s", tnd_seen_name(view, who, name));
}

static void say_gain(tnd_verdict_t *verdict, double rate)
{
    if (verdict->limit.gain > 1.05 * rate)
        tnd_verdict_say(verdict, "; %s should give %.0f rows/s", verdict->limit.advice,
                        verdict->limit.gain);
    else
        verdict->limit.gain = 0;
}

/*  The operation that takes most of the time of an actor with several. */
static void say_operation(tnd_verdict_t *verdict, const tnd_seen_t *who)
{
    double share;
    const char *name = tnd_seen_operation(who, &share);
    if (name != NULL)
        tnd_verdict_say(verdict, " (%.0f %% of that in `%s`)", 100 * share, name);
}

/*  Rows of mapped files that the page cache does not have. */
static void say_disk(const search_t *search, tnd_verdict_t *verdict)
{
    const tnd_statistics_t *page = search->who.page;
    const tnd_statistics_t *old = tnd_run_view_before(search->view, &search->who);
    uint64_t window = tnd_run_view_window(search->view);
    if (old != NULL && page->faults > old->faults && window > 0)
        tnd_verdict_say(verdict, "; it waits for %.0f pages/s of its files from disk",
                        (double)(page->faults - old->faults) * 1e9 / (double)window);
}

/*  What the actor that limits the run can have; 0: not known. */
static double processors_of(const search_t *search)
{
    const tnd_inspected_t *process = search->who.process;
    double processors = search->view->after->load.processors;
    double quota = process->cores;
    if (process->processors > 0 && (processors == 0 || process->processors < processors))
        processors = process->processors;
    return quota > 0 && (processors == 0 || quota < processors) ? quota : processors;
}

/*  Whether the worker that limits the run computes, and other threads have all processors. */
static bool lacks_processor(const search_t *search)
{
    tnd_times_t times;
    times_of(search, &search->who, &times);
    return crowd_of(search, &search->who) > 0 && times.cpu > times.wait_io;
}

/*  What is to be done for one more worker: some may be asleep, because `scale` or the tuner put them
 *  there. */
static void advise_worker(const search_t *search, unsigned awake, bool asleep,
                          tnd_verdict_t *verdict)
{
    const char *actor = search->who.page->actor;
    int length = (int)strcspn(actor, ".");
    char *advice = verdict->limit.advice;
    size_t room = sizeof verdict->limit.advice;
    if (!asleep)
        snprintf(advice, room, "%u workers of %.*s", awake + 1, length, actor);
    else
        snprintf(advice, room, "waking a worker of %.*s (tundish scale %.*s=%u %s)", length, actor,
                 length, actor, awake + 1, verdict->word);
}

/*  What one more worker would give: until the next actor, or the processors, are the limit. */
static void expect_worker(const search_t *search, tnd_verdict_t *verdict)
{
    tnd_seen_t who;
    unsigned workers = 0;
    bool asleep = false;
    double busy = 0;
    double rate = search->lags ? search->rate : verdict->rows_per_second;
    double processors = processors_of(search);
    TND_EACH_ACTOR(search->view, who)
    if (are_workers(search->who.page, who.page) && tnd_seen_runs(&who)) {
        busy += who.page->asleep ? 0 : share_at_work(search, &who);
        workers += !who.page->asleep;
        asleep = asleep || who.page->asleep != 0;
    }
    if (workers == 0 || busy <= 0 || busy < worth_workers * workers || lacks_processor(search) ||
        tnd_run_view_throttled(search->view, search->who.process) > throttled_share)
        return;
    double gain = rate * (workers + 1) / busy;
    if (search->next > 0 && gain > rate / search->next)
        gain = rate / search->next;
    if (processors > 0 && search->cores > 0 && gain > rate * processors / search->cores)
        gain = rate * processors / search->cores;
    verdict->limit.gain = gain;
    advise_worker(search, workers, asleep, verdict);
}

/* --- what does not work ----------------------------------------------------------------------- */

static bool limit_by_program(const search_t *search, tnd_verdict_t *verdict)
{
    tnd_seen_t who, found = {NULL, NULL};
    /* A program that lends its rows to a device between its calls makes that seem to work. */
    double most = search->most - (search->device != NULL ? clear_lead : 0);
    most = most > 0 ? most : 0;
    TND_EACH_ACTOR(search->view, who)
    {
        double share =
            tnd_seen_has_role(&who, TND_ROLE_FEEDER) ? share_of_program(search, &who) : 0;
        if (share > most) {
            most = share;
            found = who;
        }
    }
    if (found.page == NULL)
        return false;
    tnd_verdict_limit(verdict, TND_BOUND_PROGRAM, &found, NULL, most);
    tnd_verdict_say(verdict,
                    "; its program limits it: %.0f %% of the time passes between steps of ",
                    100 * most);
    say_name(search->view, verdict, &found);
    return true;
}

/*  With one slot, a batch is made only while no step runs. */
static bool limit_by_depth(const search_t *search, tnd_verdict_t *verdict)
{
    tnd_seen_t who;
    TND_EACH_ACTOR(search->view, who)
    {
        const tnd_statistics_t *page = who.page;
        if (!tnd_seen_has_role(&who, TND_ROLE_FEEDER) || page->depth != 1 ||
            page->device_count == 0)
            continue;
        double share = share_of_device(search, &who, 0, UINT32_MAX & ~(1u << TND_DEVICE_IDLE));
        tnd_times_t times;
        times_of(search, &who, &times);
        /* While it waits for its device, the slot is full: that time remains with another slot. */
        double longer = share_of(search, times.wait_step + times.wait_reduce);
        if (longer >= step_full || search->most >= step_full)
            continue;
        longer = longer > search->most ? longer : search->most;
        longer = longer > share ? longer : share;
        tnd_verdict_limit(verdict, TND_BOUND_DEPTH, &who, NULL, share);
        strcpy(verdict->limit.advice, "`depth: 2`");
        verdict->limit.gain = verdict->rows_per_second / longer;
        tnd_verdict_say(verdict, "; step and batch take turns: the depth of ");
        say_name(search->view, verdict, &who);
        tnd_verdict_say(verdict, " is 1, and its step is at work %.0f %% of the time", 100 * share);
        say_gain(verdict, verdict->rows_per_second);
        return true;
    }
    return false;
}

static bool limit_by_link(const search_t *search, tnd_verdict_t *verdict)
{
    tnd_slow_link_t link;
    if (search->most >= link_works ||
        !tnd_slow_link_find(search->view, search->seconds, verdict->rows_per_second, &link))
        return false;
    if (link.slow)
        tnd_slow_link_add(&link, verdict);
    else
        tnd_verdict_limit(verdict, TND_BOUND_LINK, &link.from, NULL, 1);
    tnd_slow_link_say(search->view, &link, verdict);
    return true;
}

/*  The steps of the last seconds of the feeders, or of the time between the looks for 0. */
static double steps_in(const tnd_run_view_t *view, uint64_t seconds)
{
    tnd_seen_t who;
    double steps = 0;
    TND_EACH_ACTOR(view, who)
    {
        const tnd_statistics_t *old = tnd_run_view_before(view, &who);
        uint64_t rows = old != NULL && who.page->rows_out > old->rows_out
                            ? who.page->rows_out - old->rows_out
                            : 0;
        if (!tnd_seen_has_role(&who, TND_ROLE_FEEDER) || who.page->rows_out == 0)
            continue;
        if (seconds > 0)
            rows = 0;
        for (uint64_t age = 0; age < seconds && age < tnd_seen_seconds(&who); age++)
            rows += tnd_seen_second(&who, age)->rows;
        steps += (double)rows * (double)who.page->blocks_out / (double)who.page->rows_out;
    }
    return steps;
}

/*  The seconds that all actors which run have a history of. */
static uint64_t seconds_of(const tnd_run_view_t *view)
{
    tnd_seen_t who;
    uint64_t least = TND_HISTORY_SECONDS;
    TND_EACH_ACTOR(view, who)
    if (tnd_seen_runs(&who) && tnd_seen_seconds(&who) < least)
        least = tnd_seen_seconds(&who);
    return least < TND_HISTORY_SECONDS ? least : 0;
}

static search_t search_in(const tnd_run_view_t *view, uint64_t seconds)
{
    double window = (double)tnd_run_view_window(view);
    search_t search = {
        .view = view, .seconds = seconds, .whole = seconds > 0 ? (double)seconds * 1e9 : window};
    search_actors(&search);
    search_lag(&search);
    return search;
}

static bool is_clear(const search_t *search)
{
    tnd_seen_t who;
    double most = search->most, next = search->next;
    TND_EACH_ACTOR(search->view, who)
    {
        double share =
            tnd_seen_has_role(&who, TND_ROLE_FEEDER) ? share_of_program(search, &who) : 0;
        next = share > most ? most : share > next ? share : next;
        most = share > most ? share : most;
    }
    /* If no actor is busy, a longer time shows no other one. */
    bool busy = search->lags          ? true
                : most >= clear_share ? most - next >= clear_lead
                                      : search->seconds >= CALM_SECONDS;
    return busy && steps_in(search->view, search->seconds) >= STEPS;
}

/*  The time between two looks, if it has three steps and its busiest actor is clear; otherwise ever
 *  more of the histories.  So looks in a steady state agree, and a change is soon seen. */
static search_t search_clear(const tnd_run_view_t *view)
{
    static const uint64_t spans[] = {0, 2, 4, 8, 16, 32, TND_HISTORY_SECONDS};
    const search_t now = search_in(view, 0);
    search_t search = now;
    uint64_t most = seconds_of(view);
    for (size_t i = 1; i < sizeof spans / sizeof *spans && !is_clear(&search); i++) {
        if (spans[i - 1] >= most)
            break;
        search = search_in(view, spans[i] < most ? spans[i] : most);
    }
    /* Where no actor was busy, one that has become slow is. */
    return search.most < clear_share && !search.lags && now.most >= full_share ? now : search;
}

/*  The device that waits longest for something, if it is for more than this share; NULL if none does. */
static const tnd_device_page_t *longest_wait(const search_t *search, tnd_device_wait_t wait,
                                             double *share_p, tnd_seen_t *who_p)
{
    tnd_seen_t who;
    const tnd_device_page_t *device = NULL;
    TND_EACH_ACTOR(search->view, who)
    {
        const tnd_statistics_t *old = tnd_run_view_before(search->view, &who);
        for (uint32_t d = 0; old != NULL && d < who.page->device_count && d < old->device_count;
             d++) {
            const tnd_device_page_t *is = &who.page->devices[d];
            double share = share_waited(search, &old->devices[d], is, wait);
            if (share <= *share_p)
                continue;
            *share_p = share;
            *who_p = who;
            device = is;
        }
    }
    return device;
}

/*  A device waits for its link if it has done all that was copied, and a copy is under way.  With slots
 *  enough that is the limit if it waits for nothing else. */
static bool limit_by_transfer(const search_t *search, tnd_verdict_t *verdict)
{
    tnd_seen_t slowest;
    double most = worth_saying;
    const tnd_device_page_t *device = longest_wait(search, TND_DEVICE_WAIT_LINK, &most, &slowest);
    if (device == NULL)
        return false;
    uint32_t number = (uint32_t)(device - slowest.page->devices);
    double works = share_of_device(search, &slowest, number, 1 << TND_DEVICE_STEP);
    bool nothing_else = slowest.page->depth > 1 && most + works >= full_share;
    if (most <= transfer_share && !nothing_else)
        return false;
    tnd_verdict_limit(verdict, TND_BOUND_TRANSFER, &slowest, device, most);
    tnd_verdict_say(verdict, "; ");
    say_name(search->view, verdict, &slowest);
    tnd_verdict_say(verdict, " waits for the link of %s %.0f %% of the time", device->name,
                    100 * most);
    return true;
}

/*  Models are written while no step runs. */
static bool limit_by_save(const search_t *search, tnd_verdict_t *verdict)
{
    const tnd_run_view_t *view = search->view;
    const tnd_device_page_t *device = NULL;
    tnd_seen_t who, slowest = {NULL, NULL};
    double most = search->most > clear_share ? search->most : clear_share;
    TND_EACH_ACTOR(view, who)
    {
        const tnd_statistics_t *old = tnd_run_view_before(view, &who);
        for (uint32_t d = 0; old != NULL && d < who.page->device_count && d < old->device_count;
             d++) {
            const tnd_device_page_t *is = &who.page->devices[d];
            double share = share_of_times(
                search,
                tnd_device_spent(&old->devices[d], 1 << TND_DEVICE_KEEP, view->before->now_ns),
                tnd_device_spent(is, 1 << TND_DEVICE_KEEP, view->after->now_ns));
            if (share <= most)
                continue;
            most = share;
            slowest = who;
            device = is;
        }
    }
    if (device == NULL)
        return false;
    tnd_verdict_limit(verdict, TND_BOUND_SAVE, &slowest, device, most);
    strcpy(verdict->limit.advice, "a larger `checkpoint: every`, or a faster disk");
    tnd_verdict_say(verdict, "; ");
    say_name(view, verdict, &slowest);
    tnd_verdict_say(verdict, " (%s) writes its model %.0f %% of the time: %s would help",
                    device->name, 100 * most, verdict->limit.advice);
    return true;
}

/*  What a device loses while another actor limits the rate. */
static void say_starved(const search_t *search, tnd_verdict_t *verdict)
{
    tnd_seen_t who;
    double share = worth_saying;
    const tnd_device_page_t *device = longest_wait(search, TND_DEVICE_WAIT_ROWS, &share, &who);
    if (device != NULL)
        tnd_verdict_say(verdict, "; %s waits for rows %.0f %% of the time", device->name,
                        100 * share);
}

/*  The limit that would hold all rows, if those that are made again are like those in the store. */
static void say_cache_limit(const tnd_statistics_t *page, double share, tnd_verdict_t *verdict)
{
    char size[TND_QUANTITY_SIZE];
    if (page->kept == 0)
        return;
    tnd_verdict_say(verdict, ": a `limit:` of about %s would hold all",
                    tnd_quantity_size((uint64_t)((double)page->kept / share), size));
}

/*  The part of its rows that a cache has in its store; 0: all, none, or it is not known.  Without the
 *  number of samples, it is that of the rows which it handed on between the looks. */
static double share_stored(const tnd_statistics_t *page, const tnd_statistics_t *old)
{
    double all = (double)page->samples, stored = (double)page->kept_samples;
    if (page->samples == 0) {
        all = (double)(page->rows_out - old->rows_out);
        stored = (double)(page->stored - old->stored);
    }
    return page->unkept > 0 && page->stored > 0 && stored > 0 && stored < all ? stored / all : 0;
}

/*  A cache whose store is full, so that samples are made again. */
static void say_full_cache(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    tnd_seen_t who;
    TND_EACH_ACTOR(view, who)
    {
        const tnd_statistics_t *old = tnd_run_view_before(view, &who);
        double share = tnd_seen_has_role(&who, TND_ROLE_CACHE) && old != NULL
                           ? share_stored(who.page, old)
                           : 0;
        if (share <= 0)
            continue;
        tnd_verdict_say(
            verdict,
            "; the store of %s is full and has %.0f %% of its rows, the others are made again",
            who.page->actor, 100 * share);
        say_cache_limit(who.page, share, verdict);
        return;
    }
}

/*  Rows that are read and worked on in vain. */
static void say_filtered(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    const tnd_run_page_t *page = view->record != NULL ? view->record->page : NULL;
    double rows = page != NULL ? (double)(page->read + page->added) : 0;
    if (rows > 0 && (double)page->filtered > filtered_share * rows)
        tnd_verdict_say(verdict, "; %.3g %% of the rows are filtered",
                        100 * (double)page->filtered / rows);
}

/*  Of actors that work in turns, the busiest one between the looks. */
static void find_busiest_of_turns(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    search_t search = search_in(view, 0);
    if (search.who.page == NULL || search.most < turns_share) {
        tnd_verdict_say(verdict, ": no actor was working at this moment; try again");
        return;
    }
    char name[128];
    tnd_verdict_limit(verdict, search.device != NULL ? TND_BOUND_STEP : TND_BOUND_WORK, &search.who,
                      search.device, search.most);
    tnd_verdict_say(verdict, ": they work in turns, most of all %s, %.0f %% of the time",
                    tnd_seen_name(view, &search.who, name), 100 * search.most);
    if (search.device == NULL)
        say_operation(verdict, &search.who);
}

void tnd_run_limit_find_stalled(const tnd_run_view_t *view, tnd_chain_end_t end,
                                tnd_verdict_t *verdict)
{
    uint64_t seconds = seconds_of(view);
    seconds = seconds < CALM_SECONDS ? seconds : CALM_SECONDS;
    if (end == TND_CHAIN_TURNS)
        find_busiest_of_turns(view, verdict);
    if (seconds == 0 || verdict->limit.bound != TND_BOUND_NONE)
        return;
    search_t search = search_in(view, seconds);
    if (search.who.page == NULL || search.device != NULL || search.most < clear_share ||
        strcmp(search.who.page->actor, verdict->actor) != 0)
        return;
    tnd_long_call_t call = tnd_long_call(view, &search.who);
    if (call.hangs || call.usual_ns == 0)
        return;
    char time[24];
    tnd_verdict_limit(verdict, TND_BOUND_WORK, &search.who, NULL, search.most);
    tnd_verdict_say(verdict, "%s %.0f %% of the time, its calls take %s",
                    end == TND_CHAIN_WORKS ? "" : "; it is at work", 100 * search.most,
                    tnd_duration_text(call.usual_ns, time));
    say_operation(verdict, &search.who);
}

void tnd_run_limit_find(const tnd_run_view_t *view, tnd_verdict_t *verdict)
{
    search_t search = search_clear(view);
    if (limit_by_link(&search, verdict) || limit_by_program(&search, verdict) ||
        limit_by_save(&search, verdict) || limit_by_transfer(&search, verdict) ||
        limit_by_depth(&search, verdict) || search.who.page == NULL)
        return;
    bool step = search.device != NULL;
    tnd_verdict_limit(verdict, step ? TND_BOUND_STEP : TND_BOUND_WORK, &search.who, search.device,
                      search.most);
    tnd_verdict_say(verdict, step ? "; busiest is the step of " : "; busiest is ");
    say_name(view, verdict, &search.who);
    if (step)
        tnd_verdict_say(verdict, " (%s)", search.device->name);
    tnd_verdict_say(verdict, ", at work %.0f %% of the time", 100 * search.most);
    if (!step) {
        say_operation(verdict, &search.who);
        say_disk(&search, verdict);
        say_starved(&search, verdict);
        say_full_cache(view, verdict);
        say_filtered(view, verdict);
    }
    if (search.lags)
        tnd_verdict_say(verdict, ", which makes %.0f rows/s; buffers feed the rest", search.rate);
    if (!step && search.who.page->role == TND_ROLE_WORKER && search.most >= worth_advice) {
        expect_worker(&search, verdict);
        say_gain(verdict, search.lags ? search.rate : verdict->rows_per_second);
    }
}
