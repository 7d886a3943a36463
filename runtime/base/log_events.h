/*  runtime/base/log_events.h - the parts of log lines that `tundish chaos` and `tundish why` look for.
 *
 *  Who writes such a line and who reads it name the same text here, so that neither can change it
 *  alone. */
#ifndef TND_RUNTIME_BASE_LOG_EVENTS_H
#define TND_RUNTIME_BASE_LOG_EVENTS_H

#define TND_LOG_RESTART "it is started again in"
#define TND_LOG_GENERATION ": generation "
#define TND_LOG_BEGINS " begins at step "
#define TND_LOG_NO_CHECKPOINT "no checkpoint after step "

#endif
