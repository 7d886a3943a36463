/*  tools/top/draw_time.c - the time axis: the rate of the run and what its actors did, as block
 *  characters. */
#include "tools/top/draw_internal.h"

#include <string.h>

#include "tools/cli/number_text.h"

/*  The least lines of the curve of the rate, and the columns of the numbers beside it. */
enum { CURVE = 4, NUMBERS = 34, LEVELS = 8 };

typedef struct {
    unsigned name, begin, scale; /* columns: of names, where the axis begins, of a moment */
} axis_t;

/*  An eighth to the whole of a cell; level 0 is blank. */
static const char *block_of(const tnd_canvas_t *canvas, unsigned level)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const ascii[] = {" ", ".", ".", ":", ":", "=", "=", "#", "#"};
    return (canvas->view->wide ? blocks : ascii)[level < LEVELS ? level : LEVELS];
}

/*  Draws one cell per column of a moment. */
static void put_moment(const tnd_canvas_t *canvas, unsigned row, const axis_t *axis,
                       unsigned moment, tnd_ink_t ink, unsigned level)
{
    for (unsigned i = 0; i < axis->scale; i++)
        tnd_screen_put(canvas->screen, row, axis->begin + moment * axis->scale + i, ink, "%s",
                       block_of(canvas, level));
}

static axis_t axis_of(const tnd_canvas_t *canvas)
{
    const tnd_top_actor_t *last = NULL;
    size_t longest = 0;
    for (const tnd_top_actor_t *actor; (actor = tnd_top_next_of(canvas->snapshot, last)) != NULL;
         last = actor)
        longest = strlen(actor->actor) > longest ? strlen(actor->actor) : longest;
    unsigned others = 4 + NUMBERS + TND_TOP_MOMENTS, columns = canvas->screen->columns;
    axis_t axis = {.name =
                       tnd_top_limited(longest, 8, columns > others + 20 ? columns - others : 20)};
    axis.begin = axis.name + 4;
    unsigned room = columns > axis.begin + NUMBERS ? columns - axis.begin - NUMBERS : 0;
    axis.scale = tnd_top_limited(room / TND_TOP_MOMENTS, 1, 4);
    return axis;
}

static const tnd_top_moment_t *moment_at(const tnd_canvas_t *canvas, const tnd_top_actor_t *actor,
                                         unsigned moment)
{
    return canvas->view->far ? &actor->spans[moment] : &actor->seconds[moment];
}

/*  The rate of the run at a moment: that of its feeders. */
static tnd_top_moment_t rate_at(const tnd_canvas_t *canvas, unsigned moment)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    tnd_top_moment_t sum = {0};
    for (uint32_t a = 0; a < snapshot->actor_count; a++) {
        const tnd_top_actor_t *actor = &snapshot->actors[a];
        if (actor->role != TND_ROLE_FEEDER || actor->chain != snapshot->running_chain ||
            !moment_at(canvas, actor, moment)->known)
            continue;
        sum.known = true;
        sum.rows += moment_at(canvas, actor, moment)->rows;
    }
    return sum;
}

static void draw_curve(const tnd_canvas_t *canvas, unsigned top, unsigned height,
                       const axis_t *axis)
{
    double most = 0, sum = 0;
    char text[TND_NUMBER_TEXT];
    unsigned known = 0, right = axis->begin + TND_TOP_MOMENTS * axis->scale + 2;
    for (unsigned m = 0; m < TND_TOP_MOMENTS; m++) {
        tnd_top_moment_t moment = rate_at(canvas, m);
        most = moment.rows > most ? moment.rows : most;
        sum += moment.rows;
        known += moment.known;
    }
    tnd_screen_put(canvas->screen, top, 2, TND_INK_PLAIN, "rows/s");
    for (unsigned m = 0; m < TND_TOP_MOMENTS && most > 0; m++) {
        unsigned eighths = (unsigned)(rate_at(canvas, m).rows / most * height * LEVELS + 0.5);
        for (unsigned line = 0; line < height && eighths > line * LEVELS; line++)
            put_moment(canvas, top + height - 1 - line, axis, m, TND_INK_BOLD,
                       eighths - line * LEVELS);
    }
    if (known == 0)
        return;
    tnd_screen_put(canvas->screen, top, right, TND_INK_PLAIN, "%s at most",
                   tnd_grouped(most, text));
    tnd_screen_put(canvas->screen, top + height - 1, right, TND_INK_PLAIN, "%s on average",
                   tnd_grouped(sum / known, text));
}

/*  What the instances of an actor did at a moment, on average. */
static tnd_top_moment_t moment_of(const tnd_canvas_t *canvas, const tnd_top_actor_t *actor,
                                  unsigned moment)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    tnd_top_moment_t mean = {0};
    unsigned count = 0, times[TND_TOP_SHARES] = {0};
    for (uint32_t a = 0; a < snapshot->actor_count; a++) {
        const tnd_top_actor_t *other = &snapshot->actors[a];
        if (other->chain != actor->chain || strcmp(other->actor, actor->actor) != 0 ||
            !moment_at(canvas, other, moment)->known)
            continue;
        count++;
        mean.known = true;
        mean.work += moment_at(canvas, other, moment)->work;
        times[moment_at(canvas, other, moment)->most]++;
    }
    mean.work = count > 0 ? mean.work / count : 0;
    for (unsigned i = 0; i < TND_TOP_SHARES; i++)
        if (times[i] > times[mean.most])
            mean.most = (uint8_t)i;
    return mean;
}

static void draw_actor(const tnd_canvas_t *canvas, unsigned row, const axis_t *axis,
                       const tnd_top_actor_t *actor)
{
    char parts[64];
    double times[TND_TOP_SHARES];
    (void)tnd_top_mean_times(canvas, actor, times);
    tnd_top_parts(times, 3, parts, sizeof parts);
    tnd_screen_field(canvas->screen, row, 2, axis->name, false, TND_INK_PLAIN, actor->actor);
    for (unsigned m = 0; m < TND_TOP_MOMENTS; m++) {
        tnd_top_moment_t moment = moment_of(canvas, actor, m);
        /* A moment that is known has a mark, also if nothing was done. */
        unsigned level = (unsigned)(moment.work * LEVELS + 0.5);
        if (moment.known)
            put_moment(canvas, row, axis, m, tnd_top_time_ink(moment.most), level > 0 ? level : 1);
    }
    tnd_screen_put(canvas->screen, row, axis->begin + TND_TOP_MOMENTS * axis->scale + 2,
                   tnd_top_ink(canvas, actor, times), "%s", parts);
}

/*  When the columns were. */
static void draw_ages(const tnd_canvas_t *canvas, unsigned row, const axis_t *axis)
{
    unsigned end = axis->begin + TND_TOP_MOMENTS * axis->scale;
    tnd_screen_put(canvas->screen, row, axis->begin, TND_INK_PLAIN, "%s",
                   canvas->view->far ? "10 min ago" : "60 s ago");
    tnd_screen_put(canvas->screen, row, axis->begin + TND_TOP_MOMENTS / 2 * axis->scale,
                   TND_INK_PLAIN, "%s", canvas->view->far ? "5 min ago" : "30 s ago");
    tnd_screen_put(canvas->screen, row, end - 3, TND_INK_PLAIN, "now");
}

unsigned tnd_top_box_time(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    const tnd_top_actor_t *last = NULL;
    axis_t axis = axis_of(canvas);
    unsigned actors = 0;
    while ((last = tnd_top_next_of(snapshot, last)) != NULL)
        actors++;
    if (actors == 0 || height == 0)
        return actors == 0 ? 0 : 2 + CURVE + actors;
    unsigned curve = height > 2 + CURVE + actors ? height - 2 - actors : CURVE;
    curve = curve < CURVE + TND_TOP_AXIS_MORE ? curve : CURVE + TND_TOP_AXIS_MORE;
    tnd_top_title(canvas, top, TND_BOX_TIME,
                  canvas->view->far
                      ? "time   the last ten minutes; height: at work; M: the last one"
                      : "time   the last minute; height: at work; M: the last ten");
    if (height > curve)
        draw_curve(canvas, top + 1, curve, &axis);
    unsigned line = 1 + curve;
    for (const tnd_top_actor_t *actor;
         line < height && (actor = tnd_top_next_of(snapshot, last)) != NULL; last = actor)
        draw_actor(canvas, top + line++, &axis, actor);
    if (line < height)
        draw_ages(canvas, top + line, &axis);
    return height;
}
