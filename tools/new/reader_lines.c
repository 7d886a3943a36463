/*  tools/new/reader_lines.c - the lines of a topology that read data files. */
#include "tools/new/reader_lines.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/text/json_string.h"
#include "tools/new/file_series.h"

const char *tnd_reader_directory(tnd_arena_t *arena, const tnd_detected_format_list_t *found)
{
    const char *first = found->items[0].path;
    size_t size = (size_t)(strrchr(first, '/') + 1 - first);
    for (size_t i = 0; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        for (size_t p = 0; p < item->path_count || p == 0; p++)
            while (strncmp(first, item->path_count > 0 ? item->paths[p] : item->path, size) != 0)
                do
                    size--;
                while (first[size - 1] != '/');
    }
    return tnd_arena_text(arena, first, size);
}

static void print_path(const char *path, const char *directory, FILE *out)
{
    if (directory == NULL) {
        tnd_json_string_print(path, out);
        return;
    }
    char *text = tnd_format_string("${data}/%s", path + strlen(directory));
    tnd_json_string_print(text, out);
    free(text);
}

/*  The files of an item: a path, a range, or a list. */
static void print_paths(tnd_arena_t *arena, const tnd_detected_format_t *item,
                        const char *directory, FILE *out)
{
    const char *range =
        item->pictures ? tnd_file_series_pattern(arena, item) : tnd_file_series_range(arena, item);
    bool list = item->path_count > 0 && range == NULL;
    fputs(list ? "[" : "", out);
    if (!list)
        print_path(range != NULL ? range : item->path, directory, out);
    for (size_t p = 0; list && p < item->path_count; p++) {
        fputs(p > 0 ? ", " : "", out);
        print_path(item->paths[p], directory, out);
    }
    fputs(list ? "]" : "", out);
}

/*  The options of `csv: {header: true}`, without the braces; NULL: there are none. */
static const char *options_of(tnd_arena_t *arena, const char *written)
{
    const char *begin = strchr(written, '{');
    const char *end = strrchr(written, '}');
    return begin != NULL && end > begin + 1
               ? tnd_arena_text(arena, begin + 1, (size_t)(end - begin - 1))
               : NULL;
}

void tnd_reader_lines_print(tnd_arena_t *arena, const tnd_detected_format_list_t *found,
                            const char *directory, int indent, FILE *out)
{
    const char *options = options_of(arena, found->items[0].written);
    fprintf(out, "%*s%s:", indent, "", found->items[0].source);
    if (options != NULL)
        fprintf(out, " {%s, ", options);
    else
        fputc('\n', out);
    for (size_t i = 0; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        fprintf(out, "%*s%s: ", options != NULL ? 0 : indent + 2, "",
                item->records ? "files" : item->column.name);
        print_paths(arena, item, directory, out);
        fputs(options == NULL ? "" : i + 1 < found->count ? ", " : "}", out);
        if (item->path_count > 0 && (options == NULL || i + 1 == found->count))
            fprintf(out, "  # %zu files, one after the other", item->path_count);
        fputs(options == NULL || i + 1 == found->count ? "\n" : "", out);
    }
}
