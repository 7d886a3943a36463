/*  tools/top/view.c - what `tundish top` shows of a snapshot, as its user chose by keys. */
#include "tools/top/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

/*  The intervals that + and - choose, in milliseconds. */
static const uint64_t intervals_ms[] = {100, 200, 500, 1000, 2000, 5000, 10000};

enum { INTERVALS = sizeof intervals_ms / sizeof intervals_ms[0] };

/*  The commands that the palette knows, sorted, and the keys of those that are not touches. */
static const struct {
    const char *name;
    uint32_t key; /* 0: a touch */
} commands[] = {{"actors", 'a'}, {"devices", 'd'}, {"drain", 0},   {"edges", 'e'}, {"filter", '/'},
                {"follow", 'F'}, {"freeze", ' '},  {"graph", 'g'}, {"help", '?'},  {"hosts", 'h'},
                {"log", 'l'},    {"memory", 'm'},  {"pause", 0},   {"quit", 'q'},  {"restart", 0},
                {"resume", 0},   {"runs", 'R'},    {"scale", 0},   {"set", 0},     {"time", 't'},
                {"why", 'w'}};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

void tnd_top_view_begin(tnd_top_view_t *self)
{
    *self = (tnd_top_view_t){.rows = 24, .columns = 80, .interval_ns = 1000000000};
}

const double *tnd_top_view_times(const tnd_top_view_t *self, const tnd_top_actor_t *actor)
{
    if (self->window == 0 || actor->minute_seconds == 0)
        return actor->times;
    return self->window == 10 ? actor->ten : actor->minute;
}

/* --- rows ------------------------------------------------------------------------------------- */

typedef struct {
    const tnd_top_view_t *view;
    const tnd_top_snapshot_t *snapshot;
} order_t;

static bool is_shown(const tnd_top_view_t *self, const tnd_top_actor_t *actor)
{
    bool invert = self->filter[0] == '!';
    const char *word = self->filter + invert;
    if (*word == '\0')
        return true;
    bool has = strstr(actor->name, word) != NULL || strstr(actor->host, word) != NULL ||
               strstr(actor->kind, word) != NULL;
    return has != invert;
}

bool tnd_top_is_limiting(const tnd_top_snapshot_t *snapshot, const tnd_top_actor_t *actor)
{
    return strcmp(snapshot->verdict.actor, actor->name) == 0;
}

static double value_of(const tnd_top_view_t *view, const tnd_top_actor_t *actor)
{
    const double *times = tnd_top_view_times(view, actor);
    switch (view->sort) {
    case TND_SORT_BUSY:
        return times[0] + times[6];
    case TND_SORT_ROWS:
        return actor->rows_per_second;
    case TND_SORT_QUEUE:
        return (double)actor->queue;
    case TND_SORT_SINCE:
        return actor->since_seconds;
    default:
        return 0;
    }
}

static int in_order(const void *left, const void *right, void *context)
{
    const order_t *order = context;
    const tnd_top_view_t *view = order->view;
    uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
    const tnd_top_actor_t *a = &order->snapshot->actors[l], *b = &order->snapshot->actors[r];
    int result = 0;
    if (view->sorted && view->sort == TND_SORT_NAME) {
        result = strcmp(a->name, b->name);
    } else if (view->sorted && view->sort == TND_SORT_HOST) {
        result = strcmp(a->host, b->host);
    } else if (view->sorted) {
        double x = value_of(view, a), y = value_of(view, b);
        result = (x < y) - (x > y); /* the largest is first */
    } else {
        int first =
            tnd_top_is_limiting(order->snapshot, b) - tnd_top_is_limiting(order->snapshot, a);
        if (first != 0)
            return first;
    }
    if (result == 0)
        result = (a->rank > b->rank) - (a->rank < b->rank);
    if (result == 0)
        result = (l > r) - (l < r);
    return view->reverse ? -result : result;
}

static uint32_t workers_of(const tnd_top_snapshot_t *snapshot, const tnd_top_actor_t *actor)
{
    uint32_t count = 0;
    for (uint32_t a = 0; actor->role == TND_ROLE_WORKER && a < snapshot->actor_count; a++)
        count += snapshot->actors[a].chain == actor->chain &&
                 strcmp(snapshot->actors[a].actor, actor->actor) == 0;
    return count;
}

static int by_rate(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/*  Whether a worker of a group has a line of its own: it is stopped, killed or much slower. */
static bool stands_out(const tnd_top_snapshot_t *snapshot, const tnd_top_actor_t *actor)
{
    if (actor->stopped || actor->killed || actor->failed || tnd_top_is_limiting(snapshot, actor))
        return true;
    double *rates = tnd_allocate_zeroed(snapshot->actor_count + (size_t)1, sizeof *rates);
    uint32_t count = 0;
    for (uint32_t a = 0; a < snapshot->actor_count; a++)
        if (snapshot->actors[a].chain == actor->chain && !snapshot->actors[a].asleep &&
            strcmp(snapshot->actors[a].actor, actor->actor) == 0)
            rates[count++] = snapshot->actors[a].rows_per_second;
    qsort(rates, count, sizeof *rates, by_rate);
    double median = count > 0 ? rates[count / 2] : 0, least = count > 0 ? rates[0] : 0;
    free(rates);
    return !actor->asleep && actor->here && actor->rows_per_second < median / 2 &&
           actor->rows_per_second <= least;
}

tnd_top_row_t *tnd_top_view_rows(const tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot,
                                 size_t *count_p)
{
    tnd_top_row_t *rows = NULL;
    size_t room = 0, count = 0;
    uint32_t shown = 0, later = 0;
    uint32_t *order = tnd_allocate_zeroed(snapshot->actor_count + (size_t)1, sizeof *order);
    for (uint32_t a = 0; a < snapshot->actor_count; a++) {
        bool now = snapshot->actors[a].chain == snapshot->running_chain || self->filter[0] != '\0';
        if (now && is_shown(self, &snapshot->actors[a]))
            order[shown++] = a;
        later += !now;
    }
    order_t context = {self, snapshot};
    qsort_r(order, shown, sizeof *order, in_order, &context);
    for (uint32_t i = 0; i < shown; i++) {
        const tnd_top_actor_t *actor = &snapshot->actors[order[i]];
        uint32_t workers = workers_of(snapshot, actor);
        bool group = workers > TND_TOP_WORKERS && self->filter[0] == '\0' &&
                     strcmp(self->expanded, actor->actor) != 0 &&
                     (self->sorted || !tnd_top_is_limiting(snapshot, actor));
        bool first = true;
        for (size_t r = 0; group && r < count; r++)
            first = first && !(rows[r].kind == TND_ROW_GROUP &&
                               strcmp(snapshot->actors[rows[r].actor].actor, actor->actor) == 0);
        if (group && first) {
            rows = tnd_grow(rows, count, &room, sizeof *rows);
            rows[count++] =
                (tnd_top_row_t){.kind = TND_ROW_GROUP, .actor = order[i], .count = workers};
        }
        if (group && !stands_out(snapshot, actor))
            continue;
        rows = tnd_grow(rows, count, &room, sizeof *rows);
        rows[count++] = (tnd_top_row_t){.kind = TND_ROW_ACTOR, .actor = order[i]};
        for (uint32_t d = 0; d < actor->device_count; d++) {
            rows = tnd_grow(rows, count, &room, sizeof *rows);
            rows[count++] = (tnd_top_row_t){.kind = TND_ROW_DEVICE, .actor = order[i], .device = d};
        }
    }
    if (later > 0) {
        rows = tnd_grow(rows, count, &room, sizeof *rows);
        rows[count++] = (tnd_top_row_t){.kind = TND_ROW_LATER, .count = later};
    }
    free(order);
    *count_p = count;
    return rows;
}

static bool is_selectable(const tnd_top_row_t *row)
{
    return row->kind == TND_ROW_ACTOR || row->kind == TND_ROW_GROUP;
}

size_t tnd_top_view_selected(const tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot,
                             const tnd_top_row_t *rows, size_t count)
{
    size_t place = 0;
    for (size_t r = 0; r < count; r++) {
        if (!is_selectable(&rows[r]))
            continue;
        bool named = strcmp(snapshot->actors[rows[r].actor].name, self->selected) == 0;
        if (self->sorted && !self->follow ? r <= self->selected_row : named)
            place = r;
    }
    return place;
}

/* --- keys ------------------------------------------------------------------------------------- */

static void select_row(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot,
                       const tnd_top_row_t *rows, size_t place)
{
    self->selected_row = (unsigned)place;
    snprintf(self->selected, sizeof self->selected, "%s", snapshot->actors[rows[place].actor].name);
}

/*  Moves the selection by `steps` actors. */
static void move(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, int steps)
{
    size_t count;
    if (snapshot == NULL)
        return;
    tnd_top_row_t *rows = tnd_top_view_rows(self, snapshot, &count);
    size_t place = tnd_top_view_selected(self, snapshot, rows, count);
    for (int left = steps < 0 ? -steps : steps; left > 0; left--) {
        size_t next = place;
        do
            next += steps < 0 ? (size_t)-1 : 1;
        while (next < count && !is_selectable(&rows[next]));
        if (next >= count)
            break;
        place = next;
    }
    if (count > 0 && is_selectable(&rows[place]))
        select_row(self, snapshot, rows, place);
    free(rows);
}

static void open_selected(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot)
{
    size_t count;
    if (snapshot == NULL)
        return;
    tnd_top_row_t *rows = tnd_top_view_rows(self, snapshot, &count);
    size_t place = tnd_top_view_selected(self, snapshot, rows, count);
    if (count > 0 && rows[place].kind == TND_ROW_GROUP) {
        snprintf(self->expanded, sizeof self->expanded, "%s",
                 snapshot->actors[rows[place].actor].actor);
    } else if (count > 0 && rows[place].kind == TND_ROW_ACTOR) {
        select_row(self, snapshot, rows, place);
        self->page = TND_TOP_ACTOR;
        self->scroll = 0;
    }
    free(rows);
}

static void change_interval(tnd_top_view_t *self, int direction)
{
    int place = 0;
    while (place + 1 < INTERVALS && intervals_ms[place] * 1000000 < self->interval_ns)
        place++;
    place += direction;
    place = place < 0 ? 0 : place >= INTERVALS ? INTERVALS - 1 : place;
    self->interval_ns = intervals_ms[place] * 1000000;
}

static void show_alone(tnd_top_view_t *self, unsigned box)
{
    self->page = TND_TOP_MAIN;
    self->scroll = 0;
    self->alone = self->alone == box ? 0 : box;
}

static void show_page(tnd_top_view_t *self, tnd_top_page_t page)
{
    self->page = self->page == page ? TND_TOP_MAIN : page;
    self->scroll = 0;
}

static void go_back(tnd_top_view_t *self)
{
    if (self->page != TND_TOP_MAIN)
        self->page = TND_TOP_MAIN;
    else if (self->alone != 0)
        self->alone = 0;
    else if (self->expanded[0] != '\0')
        self->expanded[0] = '\0';
    else
        self->filter[0] = '\0';
    self->scroll = 0;
}

/*  Whether a command begins with what is typed.  Without touches there are none of their commands. */
static bool is_meant(const tnd_top_view_t *self, size_t command)
{
    return (commands[command].key != 0 || !self->touches.off) &&
           strncmp(commands[command].name, self->typed, strlen(self->typed)) == 0;
}

/*  The command that is typed, or the only one that begins so; or COMMANDS. */
static size_t complete(const tnd_top_view_t *self)
{
    size_t found = COMMANDS, count = 0;
    for (size_t c = 0; c < COMMANDS; c++) {
        if (!is_meant(self, c))
            continue;
        if (strcmp(commands[c].name, self->typed) == 0)
            return c;
        found = c;
        count++;
    }
    return count == 1 ? found : COMMANDS;
}

static void run_command(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot)
{
    size_t command = complete(self);
    const char *line =
        command < COMMANDS && commands[command].key == 0 ? commands[command].name : self->typed;
    if (tnd_touch_menu_command(&self->touches, line, self->message, sizeof self->message))
        return;
    if (command == COMMANDS)
        snprintf(self->message, sizeof self->message, "no command `%s`; tab completes",
                 self->typed);
    else
        tnd_top_view_key(self, snapshot, commands[command].key);
}

static void complete_typed(tnd_top_view_t *self)
{
    size_t whole = complete(self);
    if (whole < COMMANDS) {
        snprintf(self->typed, sizeof self->typed, "%s", commands[whole].name);
        return;
    }
    size_t used = 0;
    self->message[0] = '\0';
    for (size_t c = 0; c < COMMANDS && used < sizeof self->message; c++)
        if (is_meant(self, c))
            used += (size_t)snprintf(self->message + used, sizeof self->message - used, "%s%s",
                                     used > 0 ? " " : "", commands[c].name);
}

/*  A key while a line is typed. */
static void type(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, uint32_t key)
{
    size_t length = strlen(self->typed);
    char what = self->typing;
    if (key == TND_KEY_ENTER) {
        self->typing = 0;
        if (what == ':')
            run_command(self, snapshot);
    } else if (key == TND_KEY_ESCAPE) {
        self->typing = 0;
        if (what == '/')
            self->filter[0] = '\0';
    } else if (key == TND_KEY_BACKSPACE) {
        if (length > 0)
            self->typed[length - 1] = '\0';
    } else if (key == TND_KEY_TAB && what == ':') {
        complete_typed(self);
    } else if (key >= ' ' && key < 0x7f && length + 1 < sizeof self->typed) {
        self->typed[length] = (char)key;
        self->typed[length + 1] = '\0';
    }
    if (what == '/' && self->typing != 0)
        snprintf(self->filter, sizeof self->filter, "%s", self->typed);
}

static void begin_typing(tnd_top_view_t *self, char what)
{
    self->page = TND_TOP_MAIN;
    self->typing = what;
    self->typed[0] = '\0';
    if (what == '/')
        snprintf(self->typed, sizeof self->typed, "%s", self->filter);
}

static bool sort_key(tnd_top_view_t *self, uint32_t key)
{
    switch (key) {
    case '<':
        self->column = (self->column + TND_SORTS - 1) % TND_SORTS;
        return true;
    case '>':
        self->column = (self->column + 1) % TND_SORTS;
        return true;
    case 's':
        self->sorted = !self->sorted || self->sort != self->column;
        self->sort = self->column;
        return true;
    case 'r':
        self->reverse = !self->reverse;
        return true;
    case 'F':
        self->follow = !self->follow;
        return true;
    default:
        return false;
    }
}

/*  Moves within the actors, or scrolls a long page. */
static bool movement_key(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, uint32_t key)
{
    int page = self->rows > 12 ? (int)self->rows - 12 : 1;
    int steps = 0;
    switch (key) {
    case TND_KEY_UP:
    case 'k':
        steps = -1;
        break;
    case TND_KEY_DOWN:
    case 'j':
        steps = 1;
        break;
    case TND_KEY_PAGE_UP:
        steps = -page;
        break;
    case TND_KEY_PAGE_DOWN:
        steps = page;
        break;
    case TND_KEY_HOME:
        steps = -1000000;
        break;
    case TND_KEY_END:
        steps = 1000000;
        break;
    default:
        return false;
    }
    bool actors = self->page == TND_TOP_MAIN && (self->alone == 0 || self->alone == TND_BOX_ACTORS);
    if (actors)
        move(self, snapshot, steps);
    else if (steps < 0)
        self->scroll = self->scroll > (unsigned)-steps ? self->scroll - (unsigned)-steps : 0;
    else
        self->scroll = steps > page ? self->scroll : self->scroll + (unsigned)steps;
    return true;
}

unsigned tnd_top_selected_run(const tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot)
{
    if (self->selects && self->run < snapshot->run_count)
        return self->run;
    for (uint32_t r = 0; r < snapshot->run_count; r++)
        if (snapshot->runs[r].shown)
            return r;
    return 0;
}

/*  Opens the list of runs at the one that is shown. */
static void show_runs(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot)
{
    show_page(self, TND_TOP_RUNS);
    self->selects = false; /* the list may grow: first only the runs asked for were looked at */
    self->run = snapshot != NULL ? tnd_top_selected_run(self, snapshot) : 0;
}

/*  A key in the list of runs; returns false if it has no meaning of its own there. */
static bool runs_key(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, uint32_t key)
{
    uint32_t count = snapshot != NULL ? snapshot->run_count : 0;
    if (self->page != TND_TOP_RUNS)
        return false;
    self->run = count > 0 ? tnd_top_selected_run(self, snapshot) : 0;
    self->selects = true;
    if (key == TND_KEY_UP || key == 'k')
        self->run -= self->run > 0;
    else if (key == TND_KEY_DOWN || key == 'j')
        self->run += self->run + 1 < count;
    else if (key == TND_KEY_ENTER && count > 0)
        self->chooses = true;
    else
        return false;
    return true;
}

static bool box_key(tnd_top_view_t *self, uint32_t key)
{
    static const struct {
        uint32_t key;
        unsigned box;
    } boxes[] = {{'g', TND_BOX_GRAPH},  {'a', TND_BOX_ACTORS}, {'e', TND_BOX_EDGES},
                 {'m', TND_BOX_MEMORY}, {'h', TND_BOX_HOSTS},  {'d', TND_BOX_DEVICES},
                 {'l', TND_BOX_LOG},    {'t', TND_BOX_TIME}};
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++)
        if (boxes[i].key == key) {
            show_alone(self, boxes[i].box);
            return true;
        }
    if (key < '1' || key > '0' + TND_BOXES)
        return false;
    self->hidden ^= 1u << (key - '0');
    return true;
}

tnd_touch_target_t tnd_top_view_target(const tnd_top_view_t *self,
                                       const tnd_top_snapshot_t *snapshot)
{
    tnd_touch_target_t target = {.run = "", .instance = ""};
    size_t count;
    if (snapshot == NULL)
        return target;
    tnd_top_row_t *rows = tnd_top_view_rows(self, snapshot, &count);
    size_t place = tnd_top_view_selected(self, snapshot, rows, count);
    target.run = snapshot->run;
    target.paused = snapshot->paused[0] != '\0';
    if (count > 0 && rows[place].kind == TND_ROW_ACTOR)
        target.instance = snapshot->actors[rows[place].actor].name;
    free(rows);
    return target;
}

static bool touch_key(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, uint32_t key)
{
    const char *typed;
    tnd_touch_target_t target = tnd_top_view_target(self, snapshot);
    if (snapshot == NULL || !tnd_touch_menu_key(&self->touches, key, &target, &typed))
        return false;
    if (typed != NULL) {
        begin_typing(self, ':');
        snprintf(self->typed, sizeof self->typed, "%s", typed);
    }
    return true;
}

void tnd_top_view_key(tnd_top_view_t *self, const tnd_top_snapshot_t *snapshot, uint32_t key)
{
    self->message[0] = '\0';
    if (self->typing != 0) {
        type(self, snapshot, key);
        return;
    }
    if (touch_key(self, snapshot, key) || runs_key(self, snapshot, key))
        return;
    if (movement_key(self, snapshot, key) || sort_key(self, key) || box_key(self, key))
        return;
    switch (key) {
    case 'q':
        self->quit = true;
        break;
    case '?':
        show_page(self, TND_TOP_HELP);
        break;
    case 'w':
        show_page(self, TND_TOP_WHY);
        break;
    case 'R':
        show_runs(self, snapshot);
        break;
    case ' ':
        self->frozen = !self->frozen;
        break;
    case '+':
        change_interval(self, 1);
        break;
    case '-':
        change_interval(self, -1);
        break;
    case 'M':
        self->far = !self->far;
        break;
    case 'T':
        self->window = self->window == 0 ? 10 : self->window == 10 ? 60 : 0;
        break;
    case '/':
    case ':':
        begin_typing(self, (char)key);
        break;
    case TND_KEY_ENTER:
        open_selected(self, snapshot);
        break;
    case TND_KEY_ESCAPE:
    case TND_KEY_BACKSPACE:
        go_back(self);
        break;
    default:
        snprintf(self->message, sizeof self->message, "? shows the keys");
    }
}
