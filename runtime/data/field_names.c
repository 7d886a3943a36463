/*  runtime/data/field_names.c - the names of the fields of records. */
#include "runtime/data/field_names.h"

#include <stdio.h>
#include <string.h>

void tnd_field_names_init(tnd_field_names_t *self, const char *column)
{
    memset(self, 0, sizeof *self);
    snprintf(self->column, sizeof self->column, "%s", column);
}

void tnd_field_names_add(tnd_field_names_t *self, const char *name, size_t size)
{
    size = size < TND_FIELD_NAME_MAX ? size : TND_FIELD_NAME_MAX;
    if (self->cut || size + 1 > sizeof self->text - self->used) {
        self->cut = true;
        return;
    }
    for (size_t i = 0; i < size; i++) {
        bool control = (unsigned char)name[i] < ' ' || name[i] == '\x7f';
        self->text[self->used++] = (char)(control ? ' ' : name[i]);
    }
    self->text[self->used++] = '\0';
    self->count++;
}

const char *tnd_field_names_next(const tnd_field_names_t *self, const char *name)
{
    const char *next = name == NULL ? self->text : name + strlen(name) + 1;
    return next < self->text + self->used ? next : NULL;
}

int64_t tnd_field_names_find(const tnd_field_names_t *self, const char *name)
{
    int64_t found = TND_FIELD_NAME_MISSING, place = 0;
    for (const char *at = NULL; (at = tnd_field_names_next(self, at)) != NULL; place++)
        if (strcmp(at, name) == 0)
            found = found == TND_FIELD_NAME_MISSING ? place : TND_FIELD_NAME_AGAIN;
    return found;
}

const char *tnd_field_names_text(const tnd_field_names_t *self, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (const char *name = NULL; (name = tnd_field_names_next(self, name)) != NULL;) {
        if (used + strlen(name) + sizeof ", `` ..." > room) {
            snprintf(text + used, room - used, " ...");
            break;
        }
        used += (size_t)snprintf(text + used, room - used, "%s`%s`", used > 0 ? ", " : "", name);
    }
    return text;
}

void tnd_field_names_merge(tnd_field_names_t *self, const tnd_field_names_t *other)
{
    if (self->column[0] == '\0') {
        *self = *other;
    } else if (self->differ[0] == '\0' && other->differ[0] != '\0') {
        memcpy(self->differ, other->differ, sizeof self->differ);
    } else if (self->differ[0] == '\0' && other->column[0] != '\0' &&
               (self->used != other->used || memcmp(self->text, other->text, self->used) != 0)) {
        snprintf(self->differ, sizeof self->differ,
                 "files of different lanes or hosts have different headers");
    }
}
