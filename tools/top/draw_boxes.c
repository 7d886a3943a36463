/*  tools/top/draw_boxes.c - the boxes graph, edges, memory, hosts, devices and log. */
#include "tools/top/draw_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text/quantity.h"
#include "tools/cli/number_text.h"

size_t tnd_top_break(const char *text, size_t length, size_t width)
{
    if (length <= width)
        return length;
    size_t cut = width;
    while (cut > 0 && text[cut] != ' ')
        cut--;
    return cut == 0 ? width : cut;
}

static const char *const transports[] = {"inproc", "ipc", "tcp"};

tnd_ink_t tnd_top_time_ink(unsigned time)
{
    static const tnd_ink_t inks[TND_TOP_SHARES] = {
        TND_INK_BUSY,    TND_INK_IDLE, TND_INK_BLOCKED, TND_INK_BLOCKED, TND_INK_BLOCKED,
        TND_INK_BLOCKED, TND_INK_BUSY, TND_INK_READY,   TND_INK_PLAIN};
    return inks[time];
}

unsigned tnd_top_limited(size_t width, unsigned least, unsigned most)
{
    return width < least ? least : width > most ? most : (unsigned)width;
}

tnd_ink_t tnd_top_ink(const tnd_canvas_t *canvas, const tnd_top_actor_t *actor, const double *times)
{
    bool culprit = tnd_top_is_limiting(canvas->snapshot, actor);
    if (actor->stopped || actor->killed || actor->silent || actor->failed ||
        (culprit && !canvas->snapshot->verdict.flows))
        return TND_INK_FAULT;
    unsigned largest = TND_TOP_SHARES - 1;
    for (unsigned i = 0; i < TND_TOP_SHARES; i++)
        if (times[i] > times[largest])
            largest = i;
    return tnd_top_time_ink(largest);
}

void tnd_top_parts(const double *times, unsigned count, char *text, size_t room)
{
    bool used[TND_TOP_SHARES] = {false};
    size_t length = 0;
    text[0] = '\0';
    for (unsigned n = 0; n < count && length < room; n++) {
        unsigned largest = TND_TOP_SHARES;
        for (unsigned i = 0; i < TND_TOP_SHARES; i++)
            if (!used[i] && times[i] >= 0.05 &&
                (largest == TND_TOP_SHARES || times[i] > times[largest]))
                largest = i;
        if (largest == TND_TOP_SHARES)
            return;
        used[largest] = true;
        length += (size_t)snprintf(text + length, room - length, "%s%c%.0f", n > 0 ? " " : "",
                                   tnd_top_letters[largest], 100 * times[largest]);
    }
}

const char *tnd_top_age(double seconds, char text[32])
{
    if (seconds < 0)
        snprintf(text, 32, "-");
    else if (seconds < 10)
        snprintf(text, 32, "%.1f s", seconds);
    else if (seconds < 100)
        snprintf(text, 32, "%.0f s", seconds);
    else
        (void)tnd_time_text(seconds, text);
    return text;
}

/*  The length of a title in a text, which may be wider than its reader's screen. */
enum { TEXT_RULE = 80 };

void tnd_top_title(const tnd_canvas_t *canvas, unsigned row, unsigned number, const char *text)
{
    unsigned column = tnd_screen_put(canvas->screen, row, 1, TND_INK_BOLD, "%u %s ", number, text);
    bool once = canvas->view->interval_ns == 0;
    while (column + 1 < (once ? TEXT_RULE : canvas->screen->columns))
        column = tnd_screen_put(canvas->screen, row, column, TND_INK_PLAIN,
                                canvas->view->wide ? "\u2500" : "-");
}

/* --- graph ------------------------------------------------------------------------------------ */

unsigned tnd_top_mean_times(const tnd_canvas_t *canvas, const tnd_top_actor_t *actor,
                            double times[TND_TOP_SHARES])
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    unsigned count = 0, here = 0;
    memset(times, 0, TND_TOP_SHARES * sizeof *times);
    for (uint32_t a = 0; a < snapshot->actor_count; a++) {
        const tnd_top_actor_t *other = &snapshot->actors[a];
        if (other->chain != actor->chain || strcmp(other->actor, actor->actor) != 0)
            continue;
        count++;
        if (!other->here)
            continue;
        here++;
        for (unsigned i = 0; i < TND_TOP_SHARES; i++)
            times[i] += tnd_top_view_times(canvas->view, other)[i];
    }
    for (unsigned i = 0; i < TND_TOP_SHARES && here > 0; i++)
        times[i] /= here;
    return count;
}

/*  Whether this is the first instance of its actor. */
static bool is_first(const tnd_top_snapshot_t *snapshot, uint32_t index)
{
    const tnd_top_actor_t *actor = &snapshot->actors[index];
    if (actor->chain != snapshot->running_chain)
        return false;
    for (uint32_t a = 0; a < index; a++)
        if (snapshot->actors[a].chain == actor->chain &&
            strcmp(snapshot->actors[a].actor, actor->actor) == 0)
            return false;
    return true;
}

const tnd_top_actor_t *tnd_top_next_of(const tnd_top_snapshot_t *snapshot,
                                       const tnd_top_actor_t *last)
{
    const tnd_top_actor_t *found = NULL;
    for (uint32_t a = 0; a < snapshot->actor_count; a++) {
        const tnd_top_actor_t *actor = &snapshot->actors[a];
        bool after =
            last == NULL || actor->rank > last->rank || (actor->rank == last->rank && actor > last);
        if (is_first(snapshot, a) && after && (found == NULL || actor->rank < found->rank))
            found = actor;
    }
    return found;
}

/*  An edge between two actors, or NULL. */
static const tnd_top_edge_t *between(const tnd_top_snapshot_t *snapshot, const char *from,
                                     const char *to)
{
    for (uint32_t e = 0; e < snapshot->edge_count; e++)
        if (snapshot->edges[e].chain == snapshot->running_chain &&
            strcmp(snapshot->edges[e].from_actor, from) == 0 &&
            strcmp(snapshot->edges[e].to_actor, to) == 0)
            return &snapshot->edges[e];
    return NULL;
}

/*  The queue after an arrow and the credit before it: "31/32". */
static void edge_load(const tnd_top_edge_t *edge, char *text, size_t room)
{
    if (edge->call)
        text[0] = '\0';
    else if (edge->credit == TND_UNKNOWN)
        snprintf(text, room, "%" PRIu64, edge->queue);
    else
        snprintf(text, room, "%" PRIu64 "/%" PRIu64, edge->queue, edge->queue + edge->credit);
}

unsigned tnd_top_box_graph(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    static const char dashes[] = "------------------------------------------------";
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    const tnd_top_actor_t *last = NULL;
    unsigned column = 2, line = 1, blanks = 0; /* blanks after the last name */
    char use[TND_MACHINE_USE_TEXT], title[TND_MACHINE_USE_TEXT + 24];
    bool known = tnd_machine_use_text(&snapshot->machine, use)[0] != '\0';
    snprintf(title, sizeof title, "graph%s%s", known ? "   machine: " : "", use);
    tnd_top_title(canvas, tnd_box_row(top, height, 0), TND_BOX_GRAPH, title);
    for (const tnd_top_actor_t *actor; (actor = tnd_top_next_of(snapshot, last)) != NULL;
         last = actor) {
        char name[64], parts[64], arrow[96] = "", load[48] = "";
        double times[TND_TOP_SHARES];
        unsigned count = tnd_top_mean_times(canvas, actor, times);
        snprintf(name, sizeof name, count > 1 ? "%s x%u" : "%s", actor->actor, count);
        tnd_top_parts(times, 2, parts, sizeof parts);
        const tnd_top_edge_t *edge =
            last != NULL ? between(snapshot, last->actor, actor->actor) : NULL;
        if (edge != NULL) {
            snprintf(arrow, sizeof arrow, " %s%.*s%s--> ", edge->call ? "<--" : "--", (int)blanks,
                     dashes, transports[edge->transport]);
            edge_load(edge, load, sizeof load);
        } else if (last != NULL) {
            snprintf(arrow, sizeof arrow, "%*s", (int)blanks + 3, "");
        }
        unsigned length = (unsigned)strlen(arrow), named = (unsigned)strlen(name);
        unsigned width = named > strlen(parts) ? named : (unsigned)strlen(parts);
        if (last != NULL && column + length + width + 1 > canvas->screen->columns) {
            line += 2;
            column = 4;
        }
        unsigned upper = tnd_box_row(top, height, line), lower = tnd_box_row(top, height, line + 1);
        tnd_screen_put(canvas->screen, upper, column, TND_INK_PLAIN, "%s", arrow);
        if (length > blanks + 1)
            tnd_screen_field(canvas->screen, lower, column + blanks, length - blanks - 1, true,
                             TND_INK_PLAIN, load);
        column += length;
        tnd_screen_put(canvas->screen, upper, column, TND_INK_BOLD, "%s", name);
        tnd_screen_put(canvas->screen, lower, column, tnd_top_ink(canvas, actor, times), "%s",
                       parts);
        column += named;
        blanks = width - named < sizeof dashes - 1 ? width - named : 0;
    }
    return line + 2;
}

/* --- edges ------------------------------------------------------------------------------------ */

unsigned tnd_top_box_edges(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    unsigned line = 1;
    unsigned row = tnd_box_row(top, height, 0);
    size_t longest = 0;
    char title[160];
    for (uint32_t e = 0; e < snapshot->edge_count; e++) {
        size_t from = strlen(snapshot->edges[e].from), to = strlen(snapshot->edges[e].to);
        longest = from > longest ? from : longest;
        longest = to > longest ? to : longest;
    }
    /* Whole names, unless the numbers would have no room. */
    unsigned spare = canvas->screen->columns > 91 ? (canvas->screen->columns - 91) / 2 : 0;
    unsigned name = tnd_top_limited(longest, 10, 10 + spare < 47 ? 10 + spare : 47);
    unsigned at = 2 * name - 20; /* how far the columns after the names are to the right */
    snprintf(title, sizeof title,
             "edges   %-*s %-*s BY         ROWS/S    MB/s CREDIT  LOST     UP   ROUND TRIP",
             (int)name, "FROM", (int)name, "TO");
    tnd_top_title(canvas, row, TND_BOX_EDGES, title);
    for (uint32_t e = 0; e < snapshot->edge_count; e++) {
        const tnd_top_edge_t *edge = &snapshot->edges[e];
        char rate[TND_NUMBER_TEXT], age[32];
        if (edge->chain != snapshot->running_chain)
            continue;
        row = tnd_box_row(top, height, line++);
        tnd_screen_field(canvas->screen, row, 11, name, false, TND_INK_PLAIN, edge->from);
        tnd_screen_field(canvas->screen, row, 12 + name, name, false, TND_INK_PLAIN, edge->to);
        tnd_screen_put(canvas->screen, row, at + 33, TND_INK_PLAIN, "%s",
                       transports[edge->transport]);
        if (edge->known && !edge->call) {
            tnd_screen_field(canvas->screen, row, at + 40, 10, true, TND_INK_PLAIN,
                             tnd_grouped(edge->rows_per_second, rate));
            snprintf(rate, sizeof rate, "%.1f", edge->bytes_per_second * 1e-6);
            tnd_screen_field(canvas->screen, row, at + 50, 8, true, TND_INK_PLAIN, rate);
        } else {
            tnd_screen_put(canvas->screen, row, at + 49, TND_INK_PLAIN, "-       -");
        }
        snprintf(rate, sizeof rate, "%" PRIu64, edge->free);
        tnd_screen_field(canvas->screen, row, at + 58, 7, true, TND_INK_PLAIN,
                         edge->free != TND_UNKNOWN ? rate : "-");
        snprintf(rate, sizeof rate, "%" PRIu64, edge->lost);
        tnd_screen_field(canvas->screen, row, at + 65, 6, true,
                         edge->lost > 0 ? TND_INK_FAULT : TND_INK_PLAIN,
                         edge->lost > 0 ? rate : "-");
        tnd_screen_field(canvas->screen, row, at + 71, 7, true, TND_INK_PLAIN,
                         tnd_top_age(edge->up_seconds, age));
        snprintf(rate, sizeof rate, "%.2f ms", edge->round_trip_seconds * 1e3);
        tnd_screen_field(canvas->screen, row, at + 78, 13, true, TND_INK_PLAIN,
                         edge->round_trip_seconds > 0 ? rate : "-");
    }
    return line;
}

/* --- hosts, memory, devices ------------------------------------------------------------------- */

static const char *presence_text(const tnd_top_host_t *host)
{
    static const char *const names[] = {"not known", "has not come", "up", "away", "lost", "left"};
    return host->killed    ? "killed"
           : host->stopped ? "stopped"
           : host->silent  ? "silent"
                           : names[host->presence];
}

unsigned tnd_top_box_hosts(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    unsigned line = 1;
    int names = 10;
    for (uint32_t h = 0; h < snapshot->host_count; h++)
        names = (int)strlen(snapshot->hosts[h].name) > names ? (int)strlen(snapshot->hosts[h].name)
                                                             : names;
    tnd_top_title(canvas, tnd_box_row(top, height, 0), TND_BOX_HOSTS, "hosts");
    for (uint32_t h = 0; h < snapshot->host_count; h++) {
        const tnd_top_host_t *host = &snapshot->hosts[h];
        char age[32], process[48] = "", restarts[48] = "";
        unsigned row = tnd_box_row(top, height, line++);
        bool well = (host->presence == TND_PRESENCE_UP || host->presence == TND_PRESENCE_UNKNOWN) &&
                    !host->killed && !host->stopped && !host->silent;
        if (host->process != 0)
            snprintf(process, sizeof process, "  pid %" PRIu64, host->process);
        if (host->restarts > 0)
            snprintf(restarts, sizeof restarts, "  restarted %" PRIu64 " (at most %" PRIu32 ")",
                     host->restarts, host->restarts_max);
        tnd_screen_put(canvas->screen, row, 2, well ? TND_INK_PLAIN : TND_INK_FAULT,
                       "%-*s %-15s %-12s %8s%s%s%s%s", names, host->name, host->address,
                       presence_text(host), tnd_top_age(host->since_seconds, age), process,
                       host->leads ? "  leads" : "", restarts,
                       host->waited_for ? "  the run waits for it" : "");
    }
    return line;
}

unsigned tnd_top_box_memory(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    unsigned line = 1;
    tnd_top_title(canvas, tnd_box_row(top, height, 0), TND_BOX_MEMORY,
                  "memory   anonymous / at most (explain) / `memory:`");
    for (uint32_t h = 0; h < snapshot->host_count; h++) {
        const tnd_top_host_t *host = &snapshot->hosts[h];
        char used[TND_QUANTITY_SIZE], most[TND_QUANTITY_SIZE], limit[TND_QUANTITY_SIZE];
        if (!host->here || host->anonymous_bytes == 0)
            continue;
        bool over = host->memory_bytes != 0 && host->anonymous_bytes > host->memory_bytes;
        tnd_screen_put(canvas->screen, tnd_box_row(top, height, line++), 2,
                       over ? TND_INK_FAULT : TND_INK_PLAIN, "%-10s %10s / %10s / %s", host->name,
                       tnd_quantity_size(host->anonymous_bytes, used),
                       host->most_bytes != 0 ? tnd_quantity_size(host->most_bytes, most) : "-",
                       host->memory_bytes != 0 ? tnd_quantity_size(host->memory_bytes, limit)
                                               : "-");
    }
    return line;
}

const char *tnd_top_device_facts(const tnd_top_device_t *device, char *text, size_t room)
{
    char memory[TND_QUANTITY_SIZE], moved[TND_QUANTITY_SIZE], rate[TND_QUANTITY_SIZE], age[32];
    FILE *out = fmemopen(text, room, "w");
    text[0] = '\0';
    if (out == NULL)
        return text;
    fprintf(out, "%s%s%s", device->model, device->bus[0] != '\0' ? " at " : "", device->bus);
    if (device->memory > 0)
        fprintf(out, "%s%s", device->model[0] != '\0' ? ", " : "",
                tnd_quantity_size(device->memory, memory));
    if (device->bytes_moved > 0)
        fprintf(out, "%s%s moved, %s/s, link busy %.0f %%, waited for %.0f %%",
                ftell(out) > 0 ? "; " : "", tnd_quantity_size(device->bytes_moved, moved),
                tnd_quantity_size((uint64_t)device->bytes_per_second, rate),
                100 * device->link_share, 100 * device->link_wait_share);
    if (device->timed)
        fprintf(out, "%sat work %.0f %%, waited for rows %.0f %%", ftell(out) > 0 ? "; " : "",
                100 * device->work_share, 100 * device->rows_wait_share);
    if (device->pending[0] != '\0' && device->pending_seconds >= 1)
        fprintf(out, "%s%s takes %s", ftell(out) > 0 ? "; " : "", device->pending,
                tnd_top_age(device->pending_seconds, age));
    fclose(out);
    text[room - 1] = '\0';
    return text;
}

unsigned tnd_top_box_devices(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    static const char *const names[] = {"idle", "step", "reduce", "apply", "save"};
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    char facts[300];
    unsigned line = 1;
    tnd_top_title(canvas, tnd_box_row(top, height, 0), TND_BOX_DEVICES, "devices");
    for (uint32_t a = 0; a < snapshot->actor_count; a++)
        for (uint32_t d = 0; d < snapshot->actors[a].device_count; d++) {
            const tnd_top_device_t *device = &snapshot->actors[a].devices[d];
            unsigned row = tnd_box_row(top, height, line++);
            unsigned column =
                tnd_screen_put(canvas->screen, row, 2, TND_INK_PLAIN, "%-10s %-8s %-8s",
                               snapshot->actors[a].name, device->name, names[device->state]);
            for (unsigned s = 0; s < TND_DEVICE_STATES; s++)
                column = tnd_screen_put(canvas->screen, row, column, TND_INK_PLAIN, "  %s %.0f %%",
                                        names[s], 100 * device->shares[s]);
            if (tnd_top_device_facts(device, facts, sizeof facts)[0] != '\0')
                tnd_screen_put(canvas->screen, tnd_box_row(top, height, line++), 4,
                               device->pending_seconds >= 1 && device->pending[0] != '\0'
                                   ? TND_INK_FAULT
                                   : TND_INK_PLAIN,
                               "%s", facts);
        }
    return line;
}

/* --- log -------------------------------------------------------------------------------------- */

unsigned tnd_top_box_log(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    unsigned lines = snapshot->log_count;
    unsigned shown = height > 0 ? height - 1 : 0;
    unsigned first = lines > shown ? lines - shown : 0;
    tnd_top_title(canvas, tnd_box_row(top, height, 0), TND_BOX_LOG, "log");
    for (unsigned n = 0; n < shown && first + n < lines; n++) {
        const tnd_top_log_t *line = &snapshot->log[first + n];
        char age[32];
        tnd_screen_put(canvas->screen, top + 1 + n, 2,
                       line->level >= 2 ? TND_INK_FAULT : TND_INK_PLAIN, "%7s ago  %-7s %s",
                       tnd_top_age(line->age_seconds, age), levels[line->level], line->text);
    }
    return lines + 1;
}
