/*  tools/top/touch_menu.c - touches of `tundish top`: chosen by a key or typed, then confirmed. */
#include "tools/top/touch_menu.h"

#include <stdio.h>
#include <string.h>

static void ask(tnd_touch_menu_t *self, tnd_verb_t verb, const char *actor)
{
    self->touch = (tnd_touch_t){.verb = verb};
    snprintf(self->touch.actor, sizeof self->touch.actor, "%s", actor);
    self->state = TND_TOUCHES_ASKS;
}

static void ask_for_pause(tnd_touch_menu_t *self, const tnd_touch_target_t *target)
{
    ask(self, target->paused ? TND_TOUCH_RESUME : TND_TOUCH_PAUSE, "");
}

/*  A key while the menu is shown; any other one closes it. */
static void choose(tnd_touch_menu_t *self, uint32_t key, const tnd_touch_target_t *target,
                   const char **typed_p)
{
    self->state = TND_TOUCHES_NONE;
    switch (key) {
    case 'p':
        ask_for_pause(self, target);
        break;
    case 'd':
        ask(self, TND_TOUCH_DRAIN, "");
        break;
    case 'r':
        if (target->instance[0] != '\0')
            ask(self, TND_TOUCH_RESTART, target->instance);
        break;
    case 's':
        *typed_p = "set ";
        break;
    case 'c':
        *typed_p = "scale ";
        break;
    default:
        break;
    }
}

bool tnd_touch_menu_key(tnd_touch_menu_t *self, uint32_t key, const tnd_touch_target_t *target,
                        const char **typed_p)
{
    *typed_p = NULL;
    switch (self->state) {
    case TND_TOUCHES_CHOOSES:
        choose(self, key, target, typed_p);
        return true;
    case TND_TOUCHES_ASKS:
        self->state = key == 'y' ? TND_TOUCHES_DUE : TND_TOUCHES_NONE;
        return true;
    case TND_TOUCHES_NONE:
    case TND_TOUCHES_DUE:
        break;
    }
    if (self->off || (key != 'p' && key != 'u'))
        return false;
    if (key == 'p')
        ask_for_pause(self, target);
    else
        self->state = TND_TOUCHES_CHOOSES;
    return true;
}

/*  Reads the operand of a verb. */
static tnd_status_t take_operand(tnd_touch_t *touch, const char *text, tnd_error_t *error)
{
    switch (touch->verb) {
    case TND_TOUCH_PAUSE:
    case TND_TOUCH_RESUME:
    case TND_TOUCH_DRAIN:
    case TND_TOUCH_START_AGAIN:
        return *text == '\0' ? TND_OK
                             : tnd_fail(error, "%s takes no operand", tnd_touch_verb(touch->verb));
    case TND_TOUCH_RESTART:
        if (*text == '\0' || strlen(text) >= sizeof touch->actor)
            return tnd_fail(error, "expected an actor, such as restart prep.0");
        snprintf(touch->actor, sizeof touch->actor, "%s", text);
        return TND_OK;
    case TND_TOUCH_SET:
        return tnd_touch_parse_set(touch, text, error);
    case TND_TOUCH_SCALE:
        return tnd_touch_parse_scale(touch, text, error);
    }
    return tnd_fail(error, "no such touch");
}

bool tnd_touch_menu_command(tnd_touch_menu_t *self, const char *line, char *message, size_t room)
{
    size_t size = strcspn(line, " ");
    unsigned verb = 0;
    tnd_error_t error;
    while (verb < TND_TOUCH_KINDS && (strlen(tnd_touch_verb((tnd_verb_t)verb)) != size ||
                                      memcmp(tnd_touch_verb((tnd_verb_t)verb), line, size) != 0))
        verb++;
    if (self->off || verb == TND_TOUCH_KINDS)
        return false;
    ask(self, (tnd_verb_t)verb, "");
    if (take_operand(&self->touch, line + size + strspn(line + size, " "), &error) != TND_OK) {
        self->state = TND_TOUCHES_NONE;
        snprintf(message, room, "%s", error.text);
    }
    return true;
}

void tnd_touch_menu_text(const tnd_touch_menu_t *self, const tnd_touch_target_t *target, char *text,
                         size_t room)
{
    const tnd_touch_t *touch = &self->touch;
    text[0] = '\0';
    if (self->state == TND_TOUCHES_CHOOSES)
        snprintf(text, room, "p %s  d drain  r restart %s  s set  c scale  esc back",
                 target->paused ? "resume" : "pause", target->instance);
    if (self->state == TND_TOUCHES_ASKS)
        snprintf(text, room, "%s %s%s%s%s%s%s?  y does it, any other key does not",
                 tnd_touch_verb(touch->verb), touch->actor[0] != '\0' ? touch->actor : target->run,
                 touch->option[0] != '\0' ? "." : "", touch->option,
                 touch->value[0] != '\0' ? "=" : "", touch->value,
                 touch->actor[0] != '\0' ? " of this run" : "");
}
