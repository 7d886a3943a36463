/*  tools/report/fault.c - one thing that is wrong in a run: a cause of causes.def, and where it is. */
#include "tools/report/fault.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const tnd_cause_entry_t *tnd_cause(tnd_cause_t cause)
{
    static const tnd_cause_entry_t entries[TND_CAUSES] = {
#define CAUSE(NAME, name, code, traits, meaning, sentence, action, metric, test)                   \
    {#name, code, traits, meaning, sentence, action, #metric},
#include "tools/report/causes.def"
#undef CAUSE
    };
    return &entries[cause];
}

void tnd_fault_of(tnd_fault_t *self, tnd_cause_t cause, const tnd_seen_t *who,
                  const tnd_device_page_t *device)
{
    *self = (tnd_fault_t){.cause = cause, .process = who->process->process};
    snprintf(self->host, sizeof self->host, "%s", who->process->host);
    snprintf(self->machine, sizeof self->machine, "%s", who->process->machine);
    if (who->page != NULL) {
        snprintf(self->actor, sizeof self->actor, "%s", who->page->actor);
        self->thread = who->page->thread;
    }
    if (device != NULL) {
        snprintf(self->device, sizeof self->device, "%s", device->name);
        self->thread = device->thread;
    }
}

/*  Each word is its name and its text, both with their ends. */
void tnd_fault_word(tnd_fault_words_t *words, const char *name, const char *format, ...)
{
    size_t length = strlen(name) + 1, room = sizeof words->text - words->used;
    if (length + 1 > room)
        return;
    memcpy(words->text + words->used, name, length);
    va_list list;
    va_start(list, format);
    vsnprintf(words->text + words->used + length, room - length, format, list);
    va_end(list);
    words->used += length + strlen(words->text + words->used + length) + 1;
}

static const char *word_of(const tnd_fault_words_t *words, const char *name, size_t length)
{
    for (size_t at = 0; words != NULL && at < words->used;) {
        const char *key = words->text + at, *text = key + strlen(key) + 1;
        if (strlen(key) == length && memcmp(key, name, length) == 0)
            return text;
        at += (size_t)(text - key) + strlen(text) + 1;
    }
    return NULL;
}

/*  What replaces the braces at `at`, of `length` bytes: the word of that name, or nothing if it may be
 *  missing and is; NULL: the braces remain. */
static const char *replacement(const char *at, size_t length, const tnd_fault_words_t *own,
                               const tnd_fault_words_t *words)
{
    bool may_miss = length > 2 && at[length - 2] == '?';
    size_t size = length - 2 - may_miss;
    const char *word = word_of(words, at + 1, size);
    word = word != NULL ? word : word_of(own, at + 1, size);
    return word == NULL && may_miss ? "" : word;
}

/*  Copies a sentence, with words for its braces. */
static void fill(const char *sentence, const tnd_fault_words_t *own, const tnd_fault_words_t *words,
                 char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    while (*sentence != '\0' && used + 1 < room) {
        size_t length = *sentence == '{' ? strcspn(sentence, "}") + 1 : strcspn(sentence, "{");
        const char *word = *sentence == '{' ? replacement(sentence, length, own, words) : NULL;
        used +=
            (size_t)snprintf(text + used, room - used, "%.*s", word != NULL ? INT_MAX : (int)length,
                             word != NULL ? word : sentence);
        sentence += length;
    }
}

void tnd_fault_say(tnd_fault_t *self, const tnd_fault_words_t *words)
{
    char time[24];
    tnd_fault_words_t own = {.used = 0};
    const tnd_cause_entry_t *entry = tnd_cause(self->cause);
    tnd_fault_word(&own, "actor", "%s", self->actor);
    tnd_fault_word(&own, "host", "%s", self->host);
    tnd_fault_word(&own, "device", "%s", self->device);
    tnd_fault_word(&own, "process", "%d", self->process);
    tnd_fault_word(&own, "on", "%s%s", self->machine[0] != '\0' ? " on " : "", self->machine);
    tnd_fault_word(&own, "time", "%s", tnd_duration_text(self->since_ns, time));
    fill(entry->sentence, &own, words, self->text, sizeof self->text);
    fill(entry->action, &own, words, self->action, sizeof self->action);
}
