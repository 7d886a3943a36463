/*  tests/sim/main.c - the program `simulate`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    uint64_t from, seeds, seed, without; /* without: faults to omit, one bit each */
    bool one, trace, json;
    const char *program, *plant;
} options_t;

static void usage(FILE *to, const char *program)
{
    fprintf(
        to,
        "usage: %s --seeds N [--from S] [--json]     run the seeds S ... S + N - 1 (S: 1)\n"
        "       %s --seed S [--trace] [--json] [--without FAULTS]\n"
        "                                              run one seed; --json prints its rows\n"
        "       %s --plant NAME [--seeds N] [--from S]\n"
        "                                              plant a known bug and find it\n"
        "       %s --plant list                      list the known bugs\n"
        "A seed is one run of a whole cluster on one thread, with faults.  The same seed gives\n"
        "the same run on every machine.  Exit status: 0 success; 1 a violated promise;\n"
        "2 wrong usage.\n",
        program, program, program, program);
}

static uint64_t number(const char *text, const char *what)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end) {
        fprintf(stderr, "simulate: %s needs a number, not `%s`\n", what, text);
        exit(2);
    }
    return value;
}

static options_t parse(int argc, char **argv)
{
    options_t options = {.from = 1, .seeds = 0, .program = argv[0]};
    for (int i = 1; i < argc; i++) {
        const char *key = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool takes = strcmp(key, "--seeds") == 0 || strcmp(key, "--from") == 0 ||
                     strcmp(key, "--seed") == 0 || strcmp(key, "--without") == 0 ||
                     strcmp(key, "--plant") == 0;
        if (takes && !value) {
            fprintf(stderr, "simulate: %s needs a value; see --help\n", key);
            exit(2);
        }
        i += takes;
        if (strcmp(key, "--help") == 0) {
            usage(stdout, argv[0]);
            exit(0);
        } else if (strcmp(key, "--seeds") == 0) {
            options.seeds = number(value, key);
        } else if (strcmp(key, "--from") == 0) {
            options.from = number(value, key);
        } else if (strcmp(key, "--seed") == 0) {
            options.seed = number(value, key);
            options.one = true;
        } else if (strcmp(key, "--without") == 0) {
            options.without = number(value, key);
        } else if (strcmp(key, "--plant") == 0) {
            options.plant = value;
        } else if (strcmp(key, "--trace") == 0) {
            options.trace = true;
        } else if (strcmp(key, "--json") == 0) {
            options.json = true;
        } else {
            fprintf(stderr, "simulate: unknown option %s; see --help\n", key);
            exit(2);
        }
    }
    if (!options.one && options.seeds == 0) {
        if (!options.plant) {
            usage(stderr, argv[0]);
            exit(2);
        }
        options.seeds = 1000;
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

static void print_summary(const sim_t *sim, uint64_t seeds, uint64_t violations, double seconds,
                          bool json)
{
    uint64_t faults = 0;
    for (uint32_t k = 0; k < SIM_FAULT_KINDS; k++)
        faults += sim->counts.faults[k];
    if (json) {
        printf("{\"seeds\":%" PRIu64 ",\"events\":%" PRIu64 ",\"blocks\":%" PRIu64
               ",\"checkpoints\":%" PRIu64 ",\"resumes\":%" PRIu64 ",\"faults\":{\"all\":%" PRIu64,
               seeds, sim->counts.events, sim->counts.blocks, sim->counts.checkpoints,
               sim->counts.resumes, faults);
        for (uint32_t k = 0; k < SIM_FAULT_KINDS; k++)
            printf(",\"%s\":%" PRIu64, sim_fault_name((sim_fault_kind_t)k), sim->counts.faults[k]);
        printf("},\"doubled\":%" PRIu64 ",\"violations\":%" PRIu64 ",\"seconds\":%.3f}\n",
               sim->counts.doubled, violations, seconds);
        return;
    }
    printf("%" PRIu64 " seeds, %" PRIu64 " events, %" PRIu64 " blocks, %" PRIu64
           " checkpoints, %" PRIu64 " resumes, %" PRIu64 " second chains, %" PRIu64
           " faults, %" PRIu64 " violations, %.2f s\n",
           seeds, sim->counts.events, sim->counts.blocks, sim->counts.checkpoints,
           sim->counts.resumes, sim->counts.seconds, faults, violations, seconds);
    printf("  %-14s %" PRIu64 "\n", "doubled", sim->counts.doubled);
    printf("  %-14s %" PRIu64 "\n", "silences", sim->counts.silences);
    printf("  %-14s %" PRIu64 "\n", "transfers", sim->counts.transfers);
    printf("  %-14s %" PRIu64 "\n", "strays", sim->counts.strays);
    printf("  %-14s %" PRIu64 "\n", "replaced", sim->counts.replaced);
    printf("  %-14s %" PRIu64 "\n", "hangs", sim->counts.hangs);
    printf("  %-14s %" PRIu64 "\n", "joins", sim->counts.joins);
    printf("  %-14s %" PRIu64 "\n", "openings", sim->counts.openings);
    printf("  %-14s %" PRIu64 "\n", "stalls", sim->counts.stalls);
    printf("  %-14s %" PRIu64 "\n", "last_steps", sim->counts.ends);
    printf("  %-14s %" PRIu64 "\n", "resumed", sim->counts.again);
    for (uint32_t k = 0; k < SIM_FAULT_KINDS; k++)
        printf("  %-14s %" PRIu64 "\n", sim_fault_name((sim_fault_kind_t)k), sim->counts.faults[k]);
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
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

static int run_many(sim_t *sim, const options_t *options)
{
    double begin = seconds_now();
    uint64_t violations = 0, done = 0;
    for (uint64_t seed = options->from; seed < options->from + options->seeds; seed++) {
        done++;
        if (sim_run(sim, seed, 0))
            continue;
        if (options->plant) {
            printf("%s: seed %" PRIu64 " finds it (number %" PRIu64 " of those tried): %s\n",
                   options->plant, seed, done, sim->violation);
            return 1;
        }
        if (violations++ < 3) {
            sim_counts_t counts = sim->counts;
            show(sim, options, seed);
            fflush(stdout); /* the program may be stopped before its end */
            sim->counts = counts;
        }
    }
    if (options->plant) {
        printf("%s: not found by %" PRIu64 " seeds\n", options->plant, done);
        return 0;
    }
    print_summary(sim, done, violations, seconds_now() - begin, options->json);
    return violations ? 1 : 0;
}

int main(int argc, char **argv)
{
    options_t options = parse(argc, argv);
    if (options.plant && strcmp(options.plant, "list") == 0) {
        for (int i = 0; i < PLANTS; i++)
            printf("%-22s %s\n", plants[i].name, plants[i].text);
        return 0;
    }
    if (options.plant && !plant(options.plant)) {
        fprintf(stderr, "simulate: unknown bug `%s`; --plant list lists them\n", options.plant);
        return 2;
    }
    sim_t *sim = calloc(1, sizeof *sim);
    if (!sim)
        return 2;
    sim_check_begin(sim);
    int status = options.one ? run_one(sim, &options) : run_many(sim, &options);
    sim_store_free(&sim->store);
    sim_agenda_free(&sim->agenda);
    for (uint32_t h = 0; h < SIM_HOSTS; h++)
        free(sim->hosts[h].frozen);
    free(sim->packets);
    free(sim);
    return status;
}
