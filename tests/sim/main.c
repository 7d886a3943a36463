/*  tests/sim/main.c - the program `simulate`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/bug_injection.h"
#include "tests/sim/cluster.h"

enum tnd_bug tnd_bug_injected = TND_BUG_NONE;

static const struct {
    const char *name, *text;
} plants[] = {
#define TND_BUG_ROW(name, text) {#name, text},
    TND_BUGS(TND_BUG_ROW)
#undef TND_BUG_ROW
};

enum { PLANTS = sizeof plants / sizeof *plants };

typedef struct {
    uint64_t from, seeds, jobs;
    uint64_t seed, without; /* without: faults to omit, one bit each */
    bool trace, json;
    const char *program, *plant;
} options_t;

static void usage(FILE *to, const char *program)
{
    fprintf(
        to,
        "usage: %s --seeds N [--from S] [--jobs J]   run the seeds S ... S + N - 1 (S: 1)\n"
        "       %s --seed S [--trace] [--json] [--without FAULTS]\n"
        "                                              run one seed; --json prints its rows\n"
        "       %s --plant NAME [--seeds N] [--from S] [--jobs J]\n"
        "                                              plant a known bug and find it\n"
        "       %s --plant list                      list the known bugs\n"
        "A seed is one run of a whole cluster on one thread, with faults.  The same seed gives\n"
        "the same run on every machine.  J processes (as many as processors) share the seeds.\n"
        "Exit status: 0 success; 1 a violated promise; 2 wrong usage.\n",
        program, program, program, program);
}

static void refuse(const char *format, const char *text)
{
    fprintf(stderr, "simulate: ");
    fprintf(stderr, format, text);
    fprintf(stderr, "; see --help\n");
    exit(2);
}

static uint64_t number(const char *text, const char *key)
{
    char *end;
    uint64_t value = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || *text < '0' || *text > '9' || *end)
        refuse("%s needs a number", key);
    return value;
}

static options_t parse(int argc, char **argv)
{
    options_t options = {.from = 1, .program = argv[0]};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options.jobs = processors > 0 ? (uint64_t)processors : 1;
    options.seed = TND_UNKNOWN;
    const struct {
        const char *key;
        uint64_t *value;
    } numbers[] = {{"--seeds", &options.seeds},
                   {"--from", &options.from},
                   {"--jobs", &options.jobs},
                   {"--seed", &options.seed},
                   {"--without", &options.without}};
    for (int i = 1; i < argc; i++) {
        const char *key = argv[i];
        uint32_t n = 0;
        while (n < sizeof numbers / sizeof *numbers && strcmp(key, numbers[n].key) != 0)
            n++;
        if (n < sizeof numbers / sizeof *numbers) {
            *numbers[n].value = number(argv[++i], key);
        } else if (strcmp(key, "--help") == 0) {
            usage(stdout, argv[0]);
            exit(0);
        } else if (strcmp(key, "--plant") == 0 && i + 1 < argc) {
            options.plant = argv[++i];
        } else if (strcmp(key, "--trace") == 0) {
            options.trace = true;
        } else if (strcmp(key, "--json") == 0) {
            options.json = true;
        } else {
            refuse("unknown option %s", key);
        }
    }
    if (options.plant != NULL && options.seeds == 0)
        options.seeds = 1000;
    if ((options.seed == TND_UNKNOWN && options.seeds == 0) || options.jobs == 0) {
        usage(stderr, argv[0]);
        exit(2);
    }
    return options;
}

static bool plant(const char *name)
{
    for (int i = 0; i < PLANTS; i++)
        if (strcmp(plants[i].name, name) == 0) {
            tnd_bug_injected = (enum tnd_bug)(i + 1);
            return true;
        }
    return false;
}

/*  Omits faults, one after another, while the seed still fails. */
static uint64_t shrink(sim_t *sim, uint64_t seed)
{
    uint64_t mask = 0;
    for (uint32_t bit = 0; bit < 64; bit++)
        if ((bit & 31) < SIM_FAULTS && sim_run(sim, seed, mask | 1ull << bit) == false)
            mask |= 1ull << bit;
    (void)sim_run(sim, seed, mask);
    return mask;
}

static void print_config(const sim_plan_t *plan)
{
    static const char *const remainders[] = {"keep", "drop", "pad"};
    printf("{\"seed\":%" PRIu64 ",\"lanes\":%u,\"epochs\":%u,\"size\":%u,\"replicas\":%u,"
           "\"split\":\"%s\",\"remainder\":\"%s\",\"span_epochs\":%s,\"hosts\":%u,\"workers\":%u,"
           "\"readers\":%u,\"feeders\":%u,\"reductions\":%u,\"block_rows\":%u,",
           plan->seed, plan->lanes, plan->epochs, plan->size, plan->replicas,
           tnd_split_name(plan->split), remainders[plan->remainder],
           plan->span_epochs ? "true" : "false", plan->hosts, plan->workers, plan->readers,
           plan->feeders, plan->reductions, plan->block_rows);
    static const char *const feeds[] = {"together", "apart", "pieces"};
    printf("\"feed\":\"%s\",", feeds[plan->feed]);
    printf("\"skip\":%u,\"by_length\":%s,\"cached\":%s,", plan->skip,
           sim_plan_stores(plan) ? "true" : "false", plan->cached ? "true" : "false");
    if (plan->take > 0)
        printf("\"take\":%u,", plan->take);
    else
        printf("\"take\":null,");
    if (plan->steps_max == TND_UNKNOWN)
        printf("\"steps_max\":null,\"made\":[");
    else
        printf("\"steps_max\":%" PRIu64 ",\"made\":[", plan->steps_max);
    for (uint32_t l = 0; l < plan->lanes; l++) {
        printf("%s[", l ? "," : "");
        for (uint32_t e = 0; e < plan->epochs; e++) {
            printf("%s[", e ? "," : "");
            for (uint32_t p = 0; p < plan->count[l]; p++)
                printf("%s%d", p ? "," : "", sim_plan_made(plan, l, e, p));
            printf("]");
        }
        printf("]");
    }
    printf("],\"drain\":%s,\"rogue\":%s,\"finishes\":%s}\n", plan->drain ? "true" : "false",
           plan->rogue != SIM_NONE ? "true" : "false", plan->finishes ? "true" : "false");
}

static int run_one(sim_t *sim, const options_t *options)
{
    sim->trace = options->trace;
    if (options->json) {
        sim_plan_t plan;
        sim_plan_draw(&plan, options->seed, 0);
        print_config(&plan);
        sim->print_rows = true;
    }
    bool good = sim_run(sim, options->seed, options->without);
    sim->trace = sim->print_rows = false;
    if (!good) {
        fprintf(stderr, "seed %" PRIu64 ": %s\n", options->seed, sim->violation);
        sim_explain(sim);
    } else if (!options->json) {
        printf("seed %" PRIu64 ": %" PRIu64 " events, %" PRIu64 " blocks, %" PRIu64
               " steps, %.3f virtual s\n",
               options->seed, sim->counts.events, sim->counts.blocks, sim->booked,
               1e-9 * (double)sim->now);
    }
    return good ? 0 : 1;
}

static void show(sim_t *sim, const options_t *options, uint64_t seed)
{
    printf("seed %" PRIu64 ": %s\n", seed, sim->violation);
    sim_explain(sim);
    uint64_t mask = shrink(sim, seed);
    sim->trace = false;
    printf("with the fewest faults that still fail: %s\n", sim->violation);
    printf("to repeat: %s --seed %" PRIu64 " --trace --without %" PRIu64 "%s%s\n", options->program,
           seed, mask, options->plant ? " --plant " : "", options->plant ? options->plant : "");
}

/* --- many seeds ------------------------------------------------------------------------------- */

/*  What one process has done with its seeds. */
typedef struct {
    sim_counts_t counts;
    uint64_t done, violations;
    uint64_t found; /* the first seed that finds the planted bug; TND_UNKNOWN */
    char violation[1024];
} job_t;

/*  The seeds that are `which` modulo the number of jobs; with a plant, until one finds it. */
static void run_job(sim_t *sim, const options_t *options, job_t *jobs, uint64_t which)
{
    job_t *job = &jobs[which];
    for (uint64_t s = which; s < options->seeds; s += options->jobs) {
        for (uint64_t j = 0; j < options->jobs; j++)
            if (__atomic_load_n(&jobs[j].found, __ATOMIC_RELAXED) < options->from + s)
                return;
        job->done++;
        if (sim_run(sim, options->from + s, 0))
            continue;
        job->violations++;
        if (options->plant != NULL) {
            memcpy(job->violation, sim->violation, sizeof job->violation);
            __atomic_store_n(&job->found, options->from + s, __ATOMIC_RELAXED);
            return;
        }
        sim_counts_t counts = sim->counts;
        if (job->violations <= 3)
            show(sim, options, options->from + s);
        fflush(stdout); /* the program may be stopped before its end */
        sim->counts = counts;
    }
    job->counts = sim->counts;
}

static void print_summary(const job_t *all, double seconds)
{
    static const char *const names[] = {
        "events",   "blocks",     "checkpoints", "resumes",  "second_chains", "validations",
        "given_up", "last_steps", "resumed",     "silences", "transfers",     "strays",
        "replaced", "hangs",      "signals",     "joins",    "openings",      "stalls",
        "doubled",  "starts",     "left_out",    "pushes",   "redone",        "dealt",
        "syncs",    "ended_early"};
    enum { NAMES = sizeof names / sizeof *names };
    _Static_assert((NAMES + SIM_FAULT_KINDS) * sizeof(uint64_t) == sizeof(sim_counts_t),
                   "each count has a name");
    uint64_t counts[NAMES + SIM_FAULT_KINDS];
    memcpy(counts, &all->counts, sizeof counts);
    printf("%" PRIu64 " seeds, %" PRIu64 " violations, %.2f s\n", all->done, all->violations,
           seconds);
    for (uint32_t i = 0; i < NAMES + SIM_FAULT_KINDS; i++)
        printf("  %-14s %" PRIu64 "\n",
               i < NAMES ? names[i] : sim_fault_name((sim_fault_kind_t)(i - NAMES)), counts[i]);
}

/*  Adds up; of several seeds that find a planted bug, the first counts. */
static void add_job(job_t *all, const job_t *job)
{
    uint64_t sum[sizeof(sim_counts_t) / sizeof(uint64_t)], more[sizeof sum / sizeof *sum];
    memcpy(sum, &all->counts, sizeof sum);
    memcpy(more, &job->counts, sizeof more);
    for (uint32_t i = 0; i < sizeof sum / sizeof *sum; i++)
        sum[i] += more[i];
    memcpy(&all->counts, sum, sizeof sum);
    all->done += job->done;
    all->violations += job->violations;
    if (job->found >= all->found)
        return;
    all->found = job->found;
    memcpy(all->violation, job->violation, sizeof all->violation);
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int run_many(sim_t *sim, const options_t *options)
{
    double begin = seconds_now();
    job_t all = {.found = TND_UNKNOWN};
    job_t *jobs = mmap(NULL, options->jobs * sizeof *jobs, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs == MAP_FAILED)
        return 2;
    for (uint64_t j = 0; j < options->jobs; j++)
        jobs[j].found = TND_UNKNOWN;
    for (uint64_t j = 1; j < options->jobs; j++)
        if (fork() == 0) {
            run_job(sim, options, jobs, j);
            exit(0);
        }
    run_job(sim, options, jobs, 0);
    int status, bad = 0;
    while (wait(&status) > 0)
        bad += status != 0;
    for (uint64_t j = 0; j < options->jobs; j++)
        add_job(&all, &jobs[j]);
    if (bad > 0)
        fprintf(stderr, "simulate: %d processes have died\n", bad);
    else if (options->plant == NULL)
        print_summary(&all, seconds_now() - begin);
    else if (all.found == TND_UNKNOWN)
        printf("%s: not found by %" PRIu64 " seeds\n", options->plant, all.done);
    else
        printf("%s: seed %" PRIu64 " finds it (number %" PRIu64 " of those tried): %s\n",
               options->plant, all.found, all.found - options->from + 1, all.violation);
    return all.violations > 0 || bad > 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    options_t options = parse(argc, argv);
    if (options.plant && strcmp(options.plant, "list") == 0) {
        for (int i = 0; i < PLANTS; i++)
            printf("%-22s %s\n", plants[i].name, plants[i].text);
        return 0;
    }
    if (options.plant && !TND_BUGS_BUILT_IN)
        refuse("%s: a build with sanitizers has no bugs to plant", options.plant);
    if (options.plant && !plant(options.plant))
        refuse("unknown bug `%s`; --plant list lists them", options.plant);
    sim_t *sim = calloc(1, sizeof *sim);
    if (!sim)
        return 2;
    sim_check_begin(sim);
    int status = options.seed != TND_UNKNOWN ? run_one(sim, &options) : run_many(sim, &options);
    sim_store_free(&sim->store);
    sim_agenda_free(&sim->agenda);
    for (uint32_t h = 0; h < SIM_HOSTS; h++)
        free(sim->hosts[h].frozen);
    free(sim->packets);
    free(sim);
    return status;
}
