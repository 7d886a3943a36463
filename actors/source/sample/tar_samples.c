/*  actors/source/sample/tar_samples.c - the samples of a tar archive: the members of one key. */
#include "actors/source/sample/tar_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

void tnd_tar_samples_init(tnd_tar_samples_t *self, const tnd_tar_columns_t *columns,
                          tnd_content_t *content, tnd_tar_links_t *links)
{
    *self = (tnd_tar_samples_t){
        .columns = columns, .members = tnd_tar_members_new(content), .links = links};
}

void tnd_tar_samples_free(tnd_tar_samples_t *self)
{
    tnd_tar_members_destroy(&self->members);
    free(self->key);
    self->key = NULL;
}

/*  Whether `word` is in a list such as "jpg;jpeg". */
static bool is_listed(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, word, size) == 0 && (at[size] == ';' || at[size] == '\0'))
            return true;
    }
    return false;
}

static void mark_bad(tnd_tar_samples_t *self, tnd_tar_sample_t *sample, const char *why)
{
    if (sample->why != NULL)
        return;
    if (self->key != NULL)
        snprintf(self->why, sizeof self->why, "sample `%.80s`: %.220s", self->key, why);
    else
        snprintf(self->why, sizeof self->why, "%.300s", why);
    sample->why = self->why;
}

/*  The path of a hard link is that of a file before it; a symbolic one may be anywhere. */
static void add_link(tnd_tar_samples_t *self, const tnd_tar_member_t *member, uint32_t column,
                     tnd_tar_sample_t *sample)
{
    char text[224];
    if (self->links != NULL && !member->symbolic) {
        tnd_tar_links_add(self->links, member, self->count, column);
        return;
    }
    const char *slash = strrchr(member->path, '/');
    snprintf(text, sizeof text, "the file `%.60s` is a link to `%.60s`; %s",
             slash != NULL ? slash + 1 : member->path, member->link,
             member->symbolic ? "make the archive with `tar --hard-dereference --dereference`"
                              : "use `spool`, or make the archive with `tar --hard-dereference`");
    mark_bad(self, sample, text);
}

/*  A member of the sample. */
static tnd_status_t add(tnd_tar_samples_t *self, const tnd_tar_member_t *member,
                        tnd_tar_sample_t *sample, tnd_tar_take_fn *take, void *taker,
                        tnd_error_t *error)
{
    char text[224];
    uint32_t column = 0;
    while (column < self->columns->count &&
           !is_listed(self->columns->extensions[column], member->extension))
        column++;
    if (column == self->columns->count)
        return TND_OK;
    tnd_tar_place_t *place = &sample->places[column];
    if (place->size != TND_TAR_MISSING) {
        snprintf(text, sizeof text, "it has two files for column `%s`",
                 self->columns->names[column]);
        mark_bad(self, sample, text);
        return TND_OK;
    }
    *place = (tnd_tar_place_t){.offset = member->offset, .size = member->size};
    if (member->link != NULL) {
        add_link(self, member, column, sample);
        return TND_OK;
    }
    if (member->sparse) {
        snprintf(text, sizeof text, "the file of column `%s` is sparse, which is not supported",
                 self->columns->names[column]);
        mark_bad(self, sample, text);
    }
    tnd_error_t why;
    tnd_status_t status = take != NULL && !member->sparse
                              ? take(taker, self->members, column, member->size, &why)
                              : TND_OK;
    if (status == TND_REFUSED) {
        snprintf(text, sizeof text, "the file of column `%s`: %.160s", self->columns->names[column],
                 why.text);
        mark_bad(self, sample, text);
        return TND_OK;
    }
    if (status != TND_OK)
        *error = why;
    return status;
}

/*  Whether a member belongs to the sample that was begun. */
static bool is_of_sample(const tnd_tar_samples_t *self, const tnd_tar_member_t *member)
{
    if (member->damage != NULL || self->key == NULL)
        return member->damage != NULL && self->key == NULL;
    return member->key_size == self->key_size &&
           memcmp(member->key, self->key, self->key_size) == 0;
}

static void begin(tnd_tar_samples_t *self, const tnd_tar_member_t *member, tnd_tar_sample_t *sample)
{
    *sample = (tnd_tar_sample_t){.at = member->at};
    for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
        sample->places[i].size = TND_TAR_MISSING;
    free(self->key);
    self->key = NULL;
    if (member->damage != NULL) {
        mark_bad(self, sample, member->damage);
        return;
    }
    self->key_size = member->key_size;
    self->key = tnd_format_string("%.*s", (int)member->key_size, member->key);
}

static void check_columns(tnd_tar_samples_t *self, tnd_tar_sample_t *sample)
{
    char text[192];
    for (uint32_t i = 0; i < self->columns->count && sample->why == NULL; i++) {
        if (sample->places[i].size != TND_TAR_MISSING)
            continue;
        snprintf(text, sizeof text, "it has no file `.%s` for column `%s`",
                 self->columns->extensions[i], self->columns->names[i]);
        mark_bad(self, sample, text);
    }
}

tnd_status_t tnd_tar_samples_next(tnd_tar_samples_t *self, tnd_tar_sample_t *sample,
                                  tnd_tar_take_fn *take, void *taker, tnd_error_t *error)
{
    bool begun = false;
    while (!self->ended) {
        if (!self->ahead) {
            tnd_status_t status = tnd_tar_members_next(self->members, &self->next, error);
            self->ended = status == TND_END;
            if (self->ended)
                break;
            TND_TRY(status);
        }
        self->ahead = begun && !is_of_sample(self, &self->next);
        if (self->ahead)
            break;
        if (!begun)
            begin(self, &self->next, sample);
        begun = true;
        if (self->next.damage == NULL)
            TND_TRY(add(self, &self->next, sample, take, taker, error));
    }
    if (!begun)
        return TND_END;
    check_columns(self, sample);
    self->count++;
    return TND_OK;
}

/*  `seg.png` becomes the name `seg_png`.  Of two files with one extension, the sample is bad. */
static void name_column(tnd_tar_columns_t *self, const char *extension)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (strcmp(self->extensions[i], extension) == 0)
            return;
    char *name = self->names[self->count];
    snprintf(name, sizeof self->names[0], "%s", extension);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '.' ? '_' : *at;
    snprintf(self->extensions[self->count++], sizeof self->extensions[0], "%s", extension);
}

/*  Whether the archive has a file, of any name. */
static bool has_file(tnd_content_t *content)
{
    tnd_tar_members_t *members = tnd_tar_members_new(content);
    tnd_tar_member_t member;
    tnd_error_t ignored;
    bool found = tnd_tar_members_any(members, &member, &ignored) != TND_END;
    tnd_tar_members_destroy(&members);
    return found;
}

tnd_status_t tnd_tar_columns_of(tnd_tar_columns_t *self, tnd_content_t *content, tnd_error_t *error)
{
    tnd_tar_members_t *members = tnd_tar_members_new(content);
    tnd_tar_member_t member;
    char *key = NULL;
    tnd_status_t status;
    self->count = 0;
    while ((status = tnd_tar_members_next(members, &member, error)) == TND_OK) {
        if (member.damage != NULL && key == NULL)
            continue;
        if (member.damage != NULL || self->count == TND_COLUMNS_MAX ||
            (key != NULL &&
             (strlen(key) != member.key_size || memcmp(key, member.key, member.key_size) != 0)))
            break;
        if (key == NULL)
            key = tnd_format_string("%.*s", (int)member.key_size, member.key);
        if (strlen(member.extension) < TND_COLUMN_NAME_MAX)
            name_column(self, member.extension);
    }
    free(key);
    tnd_tar_members_destroy(&members);
    if (status == TND_FAILED)
        return TND_FAILED;
    if (self->count == 0 && !has_file(content))
        return TND_END;
    return self->count > 0
               ? TND_OK
               : tnd_fail(error,
                          "%s: has no files named `key.extension`, of which columns could be made; "
                          "name them, as in `columns: {image: jpg}`",
                          content->path);
}
