/*  tools/rows/show_text.c - prints the rows of a step as text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/text/json_string.h"
#include "tools/cli/terminal.h"
#include "tools/rows/contact_sheet.h"
#include "tools/rows/show.h"

enum {
    VALUES = 10,      /* of a column of numbers */
    ROWS = 2,         /* of a column of arrays */
    TEXTS = 3,        /* of a column of texts */
    TEXT_MAX = 70,    /* bytes of one */
    PICTURE_WIDE = 28 /* in characters; half as many lines, because characters are tall */
};

/*  Of the values that are numbers. */
typedef struct {
    double least, greatest, sum;
    uint64_t count, nans;
} range_t;

static void measure(range_t *range, const tnd_column_t *column, const uint8_t *data, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        double value = tnd_capture_number(column->dtype, data, i);
        if (isnan(value)) {
            range->nans++;
            continue;
        }
        if (range->count == 0 || value < range->least)
            range->least = value;
        if (range->count == 0 || value > range->greatest)
            range->greatest = value;
        range->sum += value;
        range->count++;
    }
}

/*  The rows that are shown: of one replica, or of all in order. */
typedef struct {
    const tnd_capture_t *capture;
    uint32_t first, count;
} view_t;

static uint64_t view_rows(const view_t *view)
{
    uint64_t rows = 0;
    for (uint32_t r = view->first; r < view->first + view->count; r++)
        rows += view->capture->replicas[r].rows;
    return rows;
}

/*  *elements_p: the elements of that row. */
static const uint8_t *view_row(const view_t *view, uint32_t column, uint64_t row,
                               uint64_t *elements_p)
{
    uint32_t r = view->first;
    while (row >= view->capture->replicas[r].rows)
        row -= view->capture->replicas[r++].rows;
    return tnd_capture_row(view->capture, r, column, row, elements_p);
}

/*  The mean of the part of an image that one character shows. */
static double shade(const tnd_column_t *column, const uint8_t *image, uint64_t top, uint64_t bottom,
                    uint64_t left, uint64_t right)
{
    uint64_t channels = column->rank == 3 ? column->shape[2] : 1, count = 0;
    double sum = 0;
    for (uint64_t y = top; y < bottom; y++)
        for (uint64_t x = left; x < right; x++)
            for (uint64_t c = 0; c < channels && c < 3; c++) {
                uint64_t at = (y * column->shape[1] + x) * channels + c;
                sum += tnd_capture_number(column->dtype, image, at);
                count++;
            }
    return count > 0 ? sum / (double)count : 0;
}

static void print_pictures(const view_t *view, uint32_t column_index, const range_t *range)
{
    static const char ramp[] = " .:-=+*#%@";
    const tnd_column_t *column = &view->capture->schema.columns[column_index];
    uint64_t height = column->shape[0], width = column->shape[1];
    uint64_t wide = width < PICTURE_WIDE ? width : PICTURE_WIDE;
    uint64_t tall = (height * wide + width) / (2 * width);
    uint64_t rows = view_rows(view), across = tnd_terminal_look(STDOUT_FILENO).columns / (wide + 2);
    tall = tall > 0 ? tall : 1;
    across = across > 0 ? across : 1;
    across = across < rows ? across : rows;
    double span = range->greatest > range->least ? range->greatest - range->least : 1;
    for (uint64_t line = 0; line < tall; line++) {
        fputs("    ", stdout);
        for (uint64_t picture = 0; picture < across; picture++) {
            uint64_t elements;
            const uint8_t *image = view_row(view, column_index, picture, &elements);
            for (uint64_t x = 0; x < wide; x++) {
                double value =
                    shade(column, image, line * height / tall, (line + 1) * height / tall,
                          x * width / wide, (x + 1) * width / wide);
                int level = (int)((value - range->least) / span * (sizeof ramp - 2) + 0.5);
                putchar(level >= 0 && level < (int)sizeof ramp - 1 ? ramp[level] : '?');
            }
            fputs(picture + 1 < across ? "  " : "\n", stdout);
        }
    }
}

static void print_values(const tnd_column_t *column, const uint8_t *data, uint64_t count)
{
    for (uint64_t i = 0; i < count && i < VALUES; i++)
        printf(" %.6g", tnd_capture_number(column->dtype, data, i));
    puts(count > VALUES ? " ..." : "");
}

/*  The bytes of the character at the start of a text; 0: it has none, or one that is not printed. */
static size_t character_of(const uint8_t *text, uint64_t size)
{
    char start[5] = "";
    bool blank = size > 0 && (text[0] == '\t' || text[0] == '\n' || text[0] == '\r');
    for (uint64_t i = 0; i < size && i + 1 < sizeof start; i++)
        start[i] = (char)text[i];
    return size == 0 || ((text[0] < ' ' || text[0] == 0x7f) && !blank) ? 0 : tnd_utf8_bytes(start);
}

/*  The end of what is printed of a text. */
static uint64_t end_of(const uint8_t *text, uint64_t size)
{
    uint64_t end = 0, bytes;
    while ((bytes = character_of(text + end, size - end)) > 0 && end + bytes <= TEXT_MAX)
        end += bytes;
    return end;
}

/*  Whether the rows of a column are bytes, and those that are shown are text. */
static bool is_text(const view_t *view, uint32_t index)
{
    const tnd_column_t *column = &view->capture->schema.columns[index];
    uint64_t rows = view_rows(view), size, all = 0;
    if (!column->ragged || column->dtype != TND_U8 || column->rank != 1)
        return false;
    for (uint64_t row = 0; row < rows && row < TEXTS; row++) {
        const uint8_t *text = view_row(view, index, row, &size);
        uint64_t end = end_of(text, size);
        all += size;
        if (end < size && character_of(text + end, size - end) == 0)
            return false;
    }
    return all > 0;
}

static void print_texts(const view_t *view, uint32_t index)
{
    uint64_t rows = view_rows(view), size;
    for (uint64_t row = 0; row < rows && row < TEXTS; row++) {
        const uint8_t *text = view_row(view, index, row, &size);
        uint64_t end = end_of(text, size);
        char shown[TEXT_MAX + 1] = "";
        for (uint64_t i = 0; i < end; i++)
            shown[i] = (char)text[i];
        fputs("    ", stdout);
        tnd_json_string_print(shown, stdout);
        puts(end < size ? " ..." : "");
    }
}

static void print_rows(const view_t *view, uint32_t column_index)
{
    const tnd_column_t *column = &view->capture->schema.columns[column_index];
    uint64_t rows = view_rows(view), elements;
    if (column->rank > 0) {
        for (uint64_t row = 0; row < rows && row < ROWS; row++) {
            const uint8_t *values = view_row(view, column_index, row, &elements);
            fputs("   ", stdout);
            print_values(column, values, elements);
        }
        return;
    }
    fputs("   ", stdout);
    for (uint64_t row = 0; row < rows && row < 2 * VALUES; row++)
        printf(" %.6g",
               tnd_capture_number(column->dtype, view_row(view, column_index, row, &elements), 0));
    puts(rows > 2 * VALUES ? " ..." : "");
}

static void print_lengths(const view_t *view, uint32_t index)
{
    range_t range = {0};
    for (uint32_t r = view->first; r < view->first + view->count; r++) {
        const tnd_capture_replica_t *replica = &view->capture->replicas[r];
        for (uint64_t row = 0; row < replica->rows; row++) {
            double length = (double)(replica->splits[index][row + 1] - replica->splits[index][row]);
            range.least = range.count == 0 || length < range.least ? length : range.least;
            range.greatest = length > range.greatest ? length : range.greatest;
            range.sum += length;
            range.count++;
        }
    }
    printf("  lengths %.0f to %.0f, mean %.6g", range.least, range.greatest,
           range.sum / (double)range.count);
}

static void print_column(const view_t *view, uint32_t index)
{
    const tnd_column_t *column = &view->capture->schema.columns[index];
    tnd_schema_t one = {.count = 1, .columns = {*column}};
    char text[256];
    range_t range = {0};
    for (uint32_t r = view->first; r < view->first + view->count; r++)
        measure(&range, column, view->capture->replicas[r].columns[index],
                tnd_capture_elements(view->capture, r, index));
    printf("  %s", tnd_schema_text(&one, text, sizeof text));
    if (column->ragged && view_rows(view) > 0)
        print_lengths(view, index);
    if (range.count + range.nans == 0) {
        puts(view_rows(view) > 0 ? "  all rows are empty" : "  no rows");
        return;
    }
    bool texts = is_text(view, index);
    if (range.count > 0 && !texts)
        printf("  min %.6g  max %.6g  mean %.6g", range.least, range.greatest,
               range.sum / (double)range.count);
    if (range.nans > 0)
        printf("  NaN %" PRIu64, range.nans);
    putchar('\n');
    if (tnd_contact_sheet_shows(column))
        print_pictures(view, index, &range);
    else if (texts)
        print_texts(view, index);
    else
        print_rows(view, index);
}

void tnd_show_text(const tnd_capture_t *capture, bool batches, bool replicas, uint64_t first)
{
    view_t all = {.capture = capture, .count = capture->replica_count};
    const tnd_capture_replica_t *any = &capture->replicas[0];
    uint64_t rows = view_rows(&all);
    if (batches) {
        printf("step %" PRIu64 ", epoch %" PRIu64 "%s: %" PRIu64 " rows", any->step, any->epoch,
               any->last ? ", its last" : "", rows);
        fputs(capture->replica_count > 1 ? " for replicas of" : "", stdout);
        for (uint32_t r = 0; r < capture->replica_count && capture->replica_count > 1; r++) {
            printf(" %" PRIu64, capture->replicas[r].rows);
            if (capture->replicas[r].padded > 0)
                printf("+%" PRIu64, capture->replicas[r].padded);
        }
        putchar('\n');
    } else {
        printf("rows %" PRIu64 " to %" PRIu64 ", epoch %" PRIu64 "\n", first,
               first + (rows > 0 ? rows - 1 : 0), any->epoch);
    }
    uint32_t views = replicas ? capture->replica_count : 1;
    for (uint32_t v = 0; v < views; v++) {
        view_t view = replicas ? (view_t){.capture = capture, .first = v, .count = 1} : all;
        if (replicas)
            printf(" replica %" PRIu32 ": %" PRIu64 " rows\n", v, view_rows(&view));
        for (uint32_t c = 0; c < capture->schema.count; c++)
            print_column(&view, c);
    }
}
