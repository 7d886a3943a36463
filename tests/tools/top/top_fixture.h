/*  tests/tools/top/top_fixture.h - a made-up run on a screen. */
#ifndef TND_TESTS_TOOLS_TOP_TOP_FIXTURE_H
#define TND_TESTS_TOOLS_TOP_TOP_FIXTURE_H
#include "tools/top/draw.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static tnd_top_actor_t actors[40];
static tnd_top_edge_t edges[3];
static tnd_top_host_t hosts[2];
static tnd_top_log_t lines[1];
static tnd_top_snapshot_t run;
static tnd_top_view_t view;
static tnd_screen_t screen;

static inline void add(uint32_t index, const char *name, const char *actor, tnd_role_t role,
                       uint32_t rank, double rows)
{
    tnd_top_actor_t *it = &actors[index];
    *it = (tnd_top_actor_t){.role = role, .here = true, .rank = rank, .instance = index};
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(it->actor, sizeof it->actor, "%s", actor);
    strcpy(it->host, "a");
    strcpy(it->kind, "kind");
    strcpy(it->waits, "input");
    it->times[1] = 0.75; /* input */
    it->times[0] = 0.25; /* cpu */
    it->rows_per_second = rows;
    it->credit = TND_UNKNOWN;
}

static inline void begin(void)
{
    add(0, "batch.0", "batch", TND_ROLE_JOIN, 2, 900);
    add(1, "read.0", "read", TND_ROLE_READER, 0, 1000);
    add(2, "feed", "feed", TND_ROLE_FEEDER, 3, 800);
    add(3, "prep.0", "prep", TND_ROLE_WORKER, 1, 1200);
    edges[0] = (tnd_top_edge_t){.from_actor = "read", .to_actor = "prep", .transport = 1};
    edges[1] = (tnd_top_edge_t){.from_actor = "prep", .to_actor = "batch", .transport = 2};
    edges[2] = (tnd_top_edge_t){.from_actor = "batch", .to_actor = "feed", .credit = 3, .queue = 1};
    for (unsigned e = 0; e < 3; e++)
        edges[e].free = TND_UNKNOWN;
    hosts[0] = (tnd_top_host_t){.name = "a", .address = "127.0.0.1", .presence = TND_PRESENCE_UP};
    hosts[1] = (tnd_top_host_t){.name = "b", .address = "127.0.0.1", .presence = TND_PRESENCE_UP};
    lines[0] = (tnd_top_log_t){.text = "a leader feed is running", .level = 1};
    run = (tnd_top_snapshot_t){.run = "fashion",
                               .state = "running",
                               .step = 7946,
                               .rows_per_second = 120832,
                               .verdict = {.flows = true, .sentence = "fashion flows"},
                               .actors = actors,
                               .actor_count = 4,
                               .edges = edges,
                               .edge_count = 3,
                               .hosts = hosts,
                               .host_count = 1,
                               .log = lines,
                               .log_count = 1};
    tnd_top_view_begin(&view);
}

static inline void end(void)
{
    tnd_screen_free(&screen);
}

static inline void press(const char *keys)
{
    for (const char *key = keys; *key != '\0'; key++)
        tnd_top_view_key(&view, &run, (uint32_t)*key);
}

/*  The row of the screen that contains a text; -1: none does. */
static inline int row_of(const char *part)
{
    int found = -1;
    tnd_top_draw(&view, &run, NULL, &screen);
    for (unsigned row = 0; row < screen.rows && found < 0; row++) {
        char *text = tnd_screen_text(&screen, row);
        if (strstr(text, part) != NULL)
            found = (int)row;
        free(text);
    }
    return found;
}

#endif
