/*  actors/source/sample/folder_labels.c - the files of the source `folder`, and the label of each. */
#include "actors/source/sample/folder_labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"

static const tnd_option_t class_options[] = {
    {TND_OPTION(tnd_class_options_t, names, STRINGS, GRAPH), .fallback = "",
     .help = "the names of folders in the order of their numbers, from 0; also as a list alone, "
             "`classes: [cat, dog]`"},
    {TND_OPTION(tnd_class_options_t, file, PATH, GRAPH), .fallback = "",
     .example = "${data}/classes.txt", .help = "or a text file with one name on each line"},
};

const tnd_table_t tnd_class_table = {.name = "classes",
                                     .help = "which number is which label",
                                     .scalar = "names",
                                     TND_OPTIONS(class_options, tnd_class_options_t)};

static void add_note(tnd_folder_labels_t *self, char *note)
{
    if (note != NULL)
        self->notes[self->note_count++] = note;
}

/*  The classes of the options. */
static tnd_status_t given_classes(tnd_folder_labels_t *self, const tnd_class_options_t *given,
                                  tnd_error_t *error)
{
    if (given->file != NULL)
        return tnd_folder_classes_read(&self->classes, given->file, error);
    tnd_folder_classes_list(&self->classes, &given->names);
    return TND_OK;
}

static void note_empty_classes(tnd_folder_labels_t *self, const tnd_names_t *names)
{
    size_t *files = tnd_allocate_zeroed(self->classes.count, sizeof *files);
    for (size_t i = 0; i < names->count; i++)
        files[tnd_folder_labels_at(self, names, i)]++;
    add_note(self, tnd_folder_classes_empty(&self->classes, files));
    free(files);
}

static tnd_status_t label_folders(tnd_folder_labels_t *self, const tnd_names_t *names,
                                  const tnd_folder_file_options_t *chosen, tnd_error_t *error)
{
    if (chosen->classes == NULL)
        tnd_folder_classes_find(&self->classes, names);
    else
        TND_TRY(given_classes(self, chosen->classes, error));
    self->labels = tnd_allocate_zeroed(names->folder_count, sizeof *self->labels);
    TND_TRY(tnd_folder_classes_number(&self->classes, names, self->labels, error));
    if (chosen->label != NULL)
        note_empty_classes(self, names);
    return TND_OK;
}

/*  ----------------------------------------------------------------------------------- by a table */

/*  Entries that name no file are an error, or a note. */
static tnd_status_t check_missing(tnd_folder_labels_t *self, const tnd_folder_match_t *match,
                                  bool skips_bad, tnd_error_t *error)
{
    const tnd_folder_table_t *table = &self->table;
    if (match->missing == 0)
        return TND_OK;
    const tnd_folder_entry_t *first = &table->entries[match->first_missing];
    bool noted = skips_bad && match->missing < table->count;
    char *text = tnd_format_string(
        "folder: %zu of the %zu files that %s names %s not in `files`, "
        "with or without ending%s: the first is `%.100s` of line %" PRIu64,
        match->missing, table->count, table->path, match->missing == 1 ? "is" : "are",
        noted ? ", and left out" : "", first->name, first->line);
    if (noted) {
        add_note(self, text);
        return TND_OK;
    }
    (void)tnd_fail(error, "%s%s", text,
                   match->missing < table->count ? "; with `on_error: skip` they are left out"
                                                 : "");
    free(text);
    return TND_FAILED;
}

static void note_unnamed(tnd_folder_labels_t *self, const tnd_folder_match_t *match,
                         const tnd_names_t *names)
{
    char path[PATH_MAX];
    if (match->unnamed == 0)
        return;
    tnd_names_path(names, match->first_unnamed, path);
    add_note(self,
             tnd_format_string("folder: %zu of %zu files %s not in %s and left out, such as %s",
                               match->unnamed, names->count, match->unnamed == 1 ? "is" : "are",
                               self->table.path, path));
}

static bool is_named(const void *context, size_t index)
{
    return ((const int64_t *)context)[index] >= 0;
}

/*  The labels of the files that stay, from the entries of the table that name them. */
static tnd_status_t label_files(tnd_folder_labels_t *self, const tnd_names_t *names,
                                const tnd_folder_match_t *match,
                                const tnd_folder_file_options_t *chosen, tnd_error_t *error)
{
    const tnd_folder_table_t *table = &self->table;
    const char **words = tnd_allocate(table->count, sizeof *words);
    int32_t *labels = tnd_allocate_zeroed(table->count, sizeof *labels);
    size_t unknown = SIZE_MAX, kept = 0;
    tnd_error_t why;
    for (size_t i = 0; i < table->count; i++)
        words[i] = table->entries[i].word;
    if (chosen->classes == NULL)
        tnd_folder_classes_find_words(&self->classes, words, table->count);
    tnd_status_t status =
        chosen->classes != NULL ? given_classes(self, chosen->classes, error) : TND_OK;
    if (status == TND_OK && tnd_folder_classes_number_words(&self->classes, words, table->count,
                                                            labels, &unknown, &why) != TND_OK)
        status = unknown == SIZE_MAX
                     ? tnd_fail(error, "%s", why.text)
                     : tnd_fail(error, "folder: %s:%" PRIu64 ": %.300s", table->path,
                                table->entries[unknown].line, why.text);
    for (size_t i = 0; status == TND_OK && i < names->count; i++)
        if (match->entries[i] >= 0)
            self->labels[kept++] = labels[match->entries[i]];
    free(words);
    free(labels);
    return status;
}

static tnd_status_t use_table(tnd_folder_labels_t *self, tnd_names_t *names,
                              const tnd_folder_file_options_t *chosen,
                              const tnd_folder_match_t *match, bool skips_bad, tnd_error_t *error)
{
    self->labels = tnd_allocate_zeroed(names->count, sizeof *self->labels);
    TND_TRY(check_missing(self, match, skips_bad, error));
    note_unnamed(self, match, names);
    if (chosen->label != NULL)
        TND_TRY(label_files(self, names, match, chosen, error));
    tnd_names_keep(names, is_named, match->entries);
    if (chosen->label == NULL)
        return TND_OK;
    note_empty_classes(self, names);
    if (chosen->classes == NULL)
        add_note(self, tnd_folder_classes_disordered(&self->classes));
    return TND_OK;
}

static tnd_status_t find_by_table(tnd_folder_labels_t *self, tnd_names_t *names,
                                  const tnd_folder_file_options_t *chosen,
                                  const tnd_source_scope_t *scope, tnd_error_t *error)
{
    tnd_folder_match_t match = {0};
    TND_TRY(tnd_folder_table_read(&self->table, chosen->table, chosen->delimiter, chosen->path,
                                  chosen->label, scope, error));
    if (chosen->files.count > 0)
        TND_TRY(tnd_names_find(names, "folder", &chosen->files, error));
    else
        tnd_folder_table_list(&self->table, names);
    tnd_status_t status = tnd_folder_table_match(&self->table, names, &match, error);
    if (status == TND_OK)
        status = use_table(self, names, chosen, &match, scope->skips_bad, error);
    free(match.entries);
    tnd_folder_table_forget(&self->table);
    return status;
}

static tnd_status_t check_options(const tnd_folder_file_options_t *chosen, tnd_error_t *error)
{
    if (chosen->classes != NULL && chosen->label == NULL)
        return tnd_fail(error,
                        "folder: `classes` numbers the labels: name their column, `label: label`");
    if (chosen->path != NULL && chosen->table == NULL)
        return tnd_fail(error, "folder: `path` is a field of a table, which `table` names");
    return TND_OK;
}

tnd_status_t tnd_folder_labels_find(tnd_folder_labels_t *self, tnd_names_t *names,
                                    const tnd_folder_file_options_t *chosen,
                                    const tnd_source_scope_t *scope, tnd_error_t *error)
{
    TND_TRY(check_options(chosen, error));
    if (chosen->table != NULL) {
        TND_TRY(find_by_table(self, names, chosen, scope, error));
    } else {
        TND_TRY(tnd_names_find(names, "folder", &chosen->files, error));
        TND_TRY(label_folders(self, names, chosen, error));
    }
    self->found = XXH3_64bits(names->text, names->text_size);
    if (self->table.path != NULL)
        self->found =
            XXH3_64bits_withSeed(self->labels, names->count * sizeof *self->labels, self->found);
    return TND_OK;
}

void tnd_folder_labels_share(tnd_folder_labels_t *self, tnd_names_t *names, uint32_t lane,
                             uint32_t lanes)
{
    size_t kept = 0;
    for (size_t i = lane; self->table.path != NULL && i < names->count; i += lanes)
        self->labels[kept++] = self->labels[i];
    tnd_names_share(names, lane, lanes);
}

int32_t tnd_folder_labels_at(const tnd_folder_labels_t *self, const tnd_names_t *names,
                             size_t index)
{
    return self->labels[self->table.path != NULL ? index : tnd_names_folder_of(names, index)];
}

void tnd_folder_labels_free(tnd_folder_labels_t *self)
{
    for (size_t i = 0; i < self->note_count; i++)
        free(self->notes[i]);
    free(self->labels);
    tnd_folder_classes_free(&self->classes);
    tnd_folder_table_free(&self->table);
    *self = (tnd_folder_labels_t){0};
}
