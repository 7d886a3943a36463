/*  tools/launch/run_options.h - the options of the commands that start a run: `run` and `up`. */
#ifndef TND_TOOLS_LAUNCH_RUN_OPTIONS_H
#define TND_TOOLS_LAUNCH_RUN_OPTIONS_H

#include "tools/cli/load.h"
#include "tools/cli/log.h"

/*  A text is NULL if it is not given. */
typedef struct {
    tnd_load_options_t load;
    tnd_log_options_t log;
    const char *host, *launch, *leader, *meet;
    const char *on, *via; /* of `up` */
    const char *report, *metrics, *save;
    uint64_t steps; /* UINT64_MAX: not given */
    bool json, watch, requeue;
} tnd_run_options_t;

/*  What both take, in the order of their help. */
#define TND_RUN_ARGUMENTS                                                                          \
    {TND_COMMON("--leader", tnd_run_options_t, leader)},                                           \
        {TND_COMMON("--meet", tnd_run_options_t, meet)},                                           \
        {TND_COMMON("--set", tnd_run_options_t, load.settings)},                                   \
        {TND_COMMON("--data", tnd_run_options_t, load.data)},                                      \
        {TND_COMMON("--steps", tnd_run_options_t, steps)},                                         \
        {TND_COMMON("--report", tnd_run_options_t, report)},                                       \
        {TND_COMMON("--metrics", tnd_run_options_t, metrics)},                                     \
        {TND_COMMON("--resume", tnd_run_options_t, load.resume)},                                  \
    {                                                                                              \
        TND_COMMON("--evaluate", tnd_run_options_t, load.evaluate)                                 \
    }

#endif
