/*  runtime/touch/touch.c - a touch: what a user asks of a run that is under way. */
#include "runtime/touch/touch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 40 };

/*  What follows a verb. */
enum { ACTOR = 1, OPTION = 2, VALUE = 4 };

static const struct {
    const char *name;
    unsigned words; /* a set of these, in this order */
    const char *usage;
} verbs[TND_TOUCH_KINDS] = {
    [TND_TOUCH_PAUSE] = {"pause", 0, "pause"},
    [TND_TOUCH_RESUME] = {"resume", 0, "resume"},
    [TND_TOUCH_DRAIN] = {"drain", 0, "drain"},
    [TND_TOUCH_RESTART] = {"restart", ACTOR, "restart ACTOR"},
    [TND_TOUCH_SET] = {"set", ACTOR | OPTION | VALUE, "set ACTOR OPTION VALUE"},
    [TND_TOUCH_SCALE] = {"scale", ACTOR | VALUE, "scale ACTOR NUMBER"},
    [TND_TOUCH_START_AGAIN] = {"start-again", 0, "start-again"},
};

const char *tnd_touch_verb(tnd_verb_t verb)
{
    return verbs[verb].name;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/*  Takes the next word, which ends at a blank or at the end of the line; false if it is empty, too
 *  long, or has other characters. */
static bool take_word(const char **at, const char *end, char *word, size_t room)
{
    size_t used = 0;
    while (*at < end && **at != ' ') {
        if (used + 1 >= room || !is_plain(**at))
            return false;
        word[used++] = *(*at)++;
    }
    word[used] = '\0';
    *at += *at < end;
    return used > 0;
}

tnd_status_t tnd_touch_read(tnd_touch_t *self, const char *line, size_t size, tnd_error_t *error)
{
    const char *at = line, *end = line + size;
    char verb[16];
    unsigned kind = 0;
    *self = (tnd_touch_t){.actor = ""};
    if (!take_word(&at, end, self->user, sizeof self->user) ||
        !take_word(&at, end, verb, sizeof verb))
        return tnd_fail(error, "not a touch: expected USER VERB ...");
    while (kind < TND_TOUCH_KINDS && strcmp(verbs[kind].name, verb) != 0)
        kind++;
    if (kind == TND_TOUCH_KINDS)
        return tnd_fail(error, "this program does not know the touch `%s`", verb);
    self->verb = (tnd_verb_t)kind;
    unsigned words = verbs[kind].words;
    if (((words & ACTOR) != 0 && !take_word(&at, end, self->actor, sizeof self->actor)) ||
        ((words & OPTION) != 0 && !take_word(&at, end, self->option, sizeof self->option)) ||
        ((words & VALUE) != 0 && !take_word(&at, end, self->value, sizeof self->value)))
        return tnd_fail(error, "not a touch: expected USER %s", verbs[kind].usage);
    return at == end && (size == 0 || end[-1] != ' ')
               ? TND_OK
               : tnd_fail(error, "`%s` is followed by too much", verb);
}

void tnd_touch_write(const tnd_touch_t *self, char line[TND_TOUCH_LINE])
{
    const char *words[] = {self->actor, self->option, self->value};
    size_t used =
        (size_t)snprintf(line, TND_TOUCH_LINE, "%s %s", self->user, verbs[self->verb].name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i][0] != '\0')
            used += (size_t)snprintf(line + used, TND_TOUCH_LINE - used, " %s", words[i]);
}

/*  Takes what is before `end`; returns what follows it, or NULL: there is none, or no room. */
static const char *take(const char *text, char end, char *word, size_t room)
{
    size_t size = strcspn(text, (const char[]){end, '\0'});
    if (size == 0 || size >= room || text[size] != end)
        return NULL;
    memcpy(word, text, size);
    word[size] = '\0';
    return text + size + (end != '\0');
}

tnd_status_t tnd_touch_parse_set(tnd_touch_t *touch, const char *text, tnd_error_t *error)
{
    const char *at = take(text, '.', touch->actor, sizeof touch->actor);
    at = at != NULL ? take(at, '=', touch->option, sizeof touch->option) : NULL;
    if (at == NULL || take(at, '\0', touch->value, sizeof touch->value) == NULL)
        return tnd_fail(error, "expected ACTOR.OPTION=VALUE, such as feed.depth=4, not `%.100s`",
                        text);
    return TND_OK;
}

tnd_status_t tnd_touch_parse_scale(tnd_touch_t *touch, const char *text, tnd_error_t *error)
{
    const char *at = take(text, '=', touch->actor, sizeof touch->actor);
    if (at == NULL || take(at, '\0', touch->value, sizeof touch->value) == NULL)
        return tnd_fail(error, "expected ACTOR=NUMBER, such as prep=2, not `%.100s`", text);
    return TND_OK;
}

/*  The name of the socket whose pages have this number in their file system. */
static void name_of(ino_t pages, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "tundish-%" PRIxMAX ".touch", (uintmax_t)pages);
}

tnd_status_t tnd_touch_path(const char *pages, char *path, size_t room, tnd_error_t *error)
{
    struct stat facts;
    const char *name = strrchr(pages, '/');
    if (name == NULL || stat(pages, &facts) != 0)
        return tnd_fail(error, "%s: %s", pages, strerror(errno));
    char own[NAME_SIZE];
    name_of(facts.st_ino, own);
    int size = snprintf(path, room, "%.*s/%s", (int)(name - pages), pages, own);
    if (size < 0 || (size_t)size >= room)
        return tnd_fail(error,
                        "%.*s: the path is too long for a socket; set XDG_RUNTIME_DIR to a "
                        "shorter one",
                        (int)(name - pages), pages);
    return TND_OK;
}

void tnd_touch_forget(int folder, int pages)
{
    struct stat facts;
    char name[NAME_SIZE];
    if (fstat(pages, &facts) != 0)
        return;
    name_of(facts.st_ino, name);
    (void)unlinkat(folder, name, 0);
}
