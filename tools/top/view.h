/*  tools/top/view.h - what `tundish top` shows of a snapshot, as its user chose by keys.
 *
 *  Pure: a key changes the view, and the view and a snapshot give the rows of the actors' box.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_TOP_VIEW_H
#define TND_TOOLS_TOP_VIEW_H

#include "tools/top/snapshot.h"
#include "tools/top/touch_menu.h"

/*  Keys without a character. */
enum {
    TND_KEY_UP = 0x110000,
    TND_KEY_DOWN,
    TND_KEY_PAGE_UP,
    TND_KEY_PAGE_DOWN,
    TND_KEY_HOME,
    TND_KEY_END,
    TND_KEY_ENTER,
    TND_KEY_ESCAPE,
    TND_KEY_BACKSPACE,
    TND_KEY_TAB
};

typedef enum {
    TND_TOP_MAIN,
    TND_TOP_ACTOR,
    TND_TOP_WHY,
    TND_TOP_HELP,
    TND_TOP_RUNS
} tnd_top_page_t;

/*  The boxes, by their numbers on the screen. */
enum {
    TND_BOX_GRAPH = 1,
    TND_BOX_ACTORS,
    TND_BOX_EDGES,
    TND_BOX_MEMORY,
    TND_BOX_HOSTS,
    TND_BOX_DEVICES,
    TND_BOX_LOG,
    TND_BOX_TIME,
    TND_BOXES = TND_BOX_TIME
};

/*  The columns by which actors are sorted. */
typedef enum {
    TND_SORT_NAME,
    TND_SORT_HOST,
    TND_SORT_BUSY,
    TND_SORT_ROWS,
    TND_SORT_QUEUE,
    TND_SORT_SINCE,
    TND_SORTS
} tnd_top_sort_t;

typedef struct {
    unsigned rows, columns;
    bool wide;       /* characters beyond ASCII may be drawn */
    unsigned hidden; /* bit b: box b */
    unsigned alone;  /* the box that has the whole screen; 0: none */
    tnd_top_page_t page;
    char selected[48];     /* name of an actor; "": the first */
    unsigned selected_row; /* where it was, for when rows move */
    unsigned scroll;       /* rows of a long page above its first visible one */
    tnd_top_sort_t column; /* chosen by < and > */
    tnd_top_sort_t sort;
    bool sorted, reverse; /* not sorted: in the order of the plan */
    bool follow;          /* keeps the actor selected, not its place */
    bool frozen, quit;
    bool far;             /* the time axis has the last ten minutes, not the last one */
    unsigned window;      /* 0: between two looks; 10, 60: seconds */
    uint64_t interval_ns; /* 0: it is drawn once, as text */
    char typing;          /* `/` or `:` while a line is typed; 0: none */
    char typed[48];       /* that line */
    char filter[48];      /* actors whose name, host or kind contains it; `!` inverts */
    char expanded[32];    /* the actor whose workers all have a line */
    char message[192];    /* shown until the next key */
    unsigned run;         /* the selected one of the list of runs, once a key has selected it */
    bool selects;         /* one has */
    bool chooses;         /* the caller is to show that one instead */
    tnd_touch_menu_t touches;
} tnd_top_view_t;

typedef enum {
    TND_ROW_ACTOR,
    TND_ROW_DEVICE,
    TND_ROW_GROUP, /* `count` workers of one actor, of which `actor` is the first */
    TND_ROW_LATER  /* `count` actors of other chains */
} tnd_top_row_kind_t;

typedef struct {
    tnd_top_row_kind_t kind;
    uint32_t actor, device, count;
} tnd_top_row_t;

enum { TND_TOP_WORKERS = 8 }; /* more workers of one actor share a line */

/*  The view at the start: every box, two looks, an interval of a second. */
void tnd_top_view_begin(tnd_top_view_t *self);
/*  Handles a key: a character or TND_KEY_*.  `snapshot` may be NULL. */
void tnd_top_view_key(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, uint32_t key);
/*  Whether the verdict names this actor: it limits the run, or all others wait for it. */
bool tnd_top_is_limiting(const tnd_top_snapshot_t *snapshot, const tnd_top_actor_t *actor);
/*  The rows of the actors' box, unless it is sorted with the limiting actor first; the caller frees
 *  them. */
tnd_top_row_t *tnd_top_view_rows(const tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot,
                                 size_t *count_p);
/*  The index of the selected row, or 0. */
size_t tnd_top_view_selected(const tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot,
                             const tnd_top_row_t *rows, size_t count);
/*  The parts of the time of an actor in the chosen window. */
const double *tnd_top_view_times(const tnd_top_view_t *self, const tnd_top_actor_t *actor);
/*  The selected actor of a snapshot, which may be NULL, and the run. */
tnd_touch_target_t tnd_top_view_target(const tnd_top_view_t *self,
                                       const tnd_top_snapshot_t *snapshot);

/*  The selected one of the list of runs: the one that is shown, until a key selects another. */
unsigned tnd_top_selected_run(const tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot);

#endif
