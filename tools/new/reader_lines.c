/*  tools/new/reader_lines.c - the lines of a topology that read data files. */
#include "tools/new/reader_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text/json_string.h"
#include "tools/new/file_series.h"

/*  Shortens the directory of `size` bytes until the path begins with it. */
static size_t shorten(const char *directory, size_t size, const char *path)
{
    while (strncmp(directory, path, size) != 0)
        do
            size--;
        while (directory[size - 1] != '/');
    return size;
}

const char *tnd_reader_directory(tnd_arena_t *arena, const tnd_detected_format_list_t *found)
{
    const tnd_detected_format_t *first = &found->items[0];
    const char *text = first->pattern_count > 0 ? first->patterns[0].text : first->path;
    size_t size = first->pattern_count > 0 ? first->patterns[0].fixed
                                           : (size_t)(strrchr(text, '/') + 1 - text);
    for (size_t i = 0; i < found->count; i++) {
        const tnd_detected_format_t *item = &found->items[i];
        for (size_t p = 0; p < item->pattern_count; p++) {
            size_t fixed = item->patterns[p].fixed;
            size = shorten(text, fixed < size ? fixed : size, item->patterns[p].text);
        }
        if (item->table != NULL)
            size = shorten(text, size, item->table->path);
        for (size_t p = 0; item->pattern_count == 0 && (p < item->path_count || p == 0); p++)
            size = shorten(text, size, item->path_count > 0 ? item->paths[p] : item->path);
    }
    return tnd_arena_text(arena, text, size);
}

/*  A path as a topology has it, whose `data` is the directory; NULL: it has none. */
static const char *path_text(tnd_arena_t *arena, const char *path, const char *directory)
{
    return directory == NULL ? path
                             : tnd_arena_format(arena, "${data}/%s", path + strlen(directory));
}

/*  The files of an item: a path, a range, a pattern, or a list. */
static void print_paths(tnd_arena_t *arena, const tnd_detected_format_t *item,
                        const char *directory, FILE *out)
{
    size_t count;
    const char *const *paths = tnd_detected_files(item, arena, &count);
    const char *range = item->pattern_count > 0 ? NULL
                        : item->pictures        ? tnd_file_series_pattern(arena, item)
                                                : tnd_file_series_range(arena, item);
    bool list = count > 1 && range == NULL;
    fputs(list ? "[" : "", out);
    if (!list)
        tnd_json_string_print(path_text(arena, range != NULL ? range : paths[0], directory), out);
    for (size_t p = 0; list && p < count; p++) {
        fputs(p > 0 ? ", " : "", out);
        tnd_json_string_print(path_text(arena, paths[p], directory), out);
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
    const tnd_picture_table_t *table = found->items[0].table;
    const char *options =
        table == NULL
            ? options_of(arena, found->items[0].written)
            : tnd_picture_table_options(table, arena, path_text(arena, table->path, directory));
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
            fprintf(out, "  # %" PRIu64 " files, one after the other",
                    item->pattern_count > 0 ? item->rows : (uint64_t)item->path_count);
        fputs(options == NULL || i + 1 == found->count ? "\n" : "", out);
    }
}
