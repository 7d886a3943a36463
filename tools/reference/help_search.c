/*  tools/reference/help_search.c - searches a word in pages, things, keys and options. */
#include "tools/reference/help_search.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/arguments.h"
#include "tools/cli/json.h"
#include "tools/reference/reference.h"

typedef struct {
    const char *word, *title;
    tnd_help_search_t how;
    bool json, any;
} search_t;

/*  Whether `text` contains the word as a whole, in any case. */
static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text; at != NULL && (at = strcasestr(at, word)) != NULL; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[size]))
            return true;
    return false;
}

/*  Whether an item with this name, choices and sentence matches. */
static bool fits(const search_t *self, const char *name, const char *choices, const char *help)
{
    bool called = strcasecmp(name, self->word) == 0;
    if (self->how == TND_HELP_SEARCH_NAME)
        return called;
    return !called && (has_word(choices, self->word) || has_word(help, self->word));
}

/*  Prints what precedes an item. */
static void part(search_t *self)
{
    const char *first = self->json ? "{\"mentions\":[" : self->title;
    fputs(!self->any ? first : self->json ? "," : "", stdout);
    self->any = true;
}

static void print_json(const char *name, const char *help)
{
    tnd_json_begin(stdout, false, "name", name);
    tnd_json_member(stdout, "help", help);
}

static void visit_option(void *context, const char *path, const tnd_option_t *option)
{
    search_t *self = context;
    if (!fits(self, option->name, option->choices, option->help))
        return;
    part(self);
    if (self->json) {
        print_json(path, option->help);
        putchar('}');
    } else {
        printf("  %s\n      %s\n", path, option->help);
    }
}

static void visit_argument(search_t *self, const tnd_argument_t *argument)
{
    char owners[160];
    if (!fits(self, argument->name + strspn(argument->name, "-"), NULL, argument->help))
        return;
    part(self);
    tnd_argument_owners(argument, owners, sizeof owners);
    if (self->json) {
        print_json(argument->name, argument->help);
        printf(",\"commands\":\"%s\"}", owners);
    } else {
        printf("  %s%s%s of tundish %s\n      %s\n", argument->name,
               argument->value != NULL ? " " : "", argument->value != NULL ? argument->value : "",
               owners, argument->help);
    }
}

/*  A page, a command, or a kind, source or operation, whose text or sentence mentions the word. */
static void visit_thing(search_t *self, const char *name, const char *text)
{
    char line[160];
    if (!fits(self, name, NULL, text))
        return;
    part(self);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    if (self->json) {
        print_json(name, line);
        putchar('}');
    } else {
        printf("  %s\n      %s\n", name, line);
    }
}

static void visit_things(search_t *self)
{
    const tnd_topic_t *topic;
    const tnd_chapter_t *chapter;
    size_t count;
    const tnd_command_t *const *commands = tnd_commands(&count);
    for (size_t i = 0; (topic = tnd_topic(i)) != NULL; i++)
        visit_thing(self, topic->name, topic->text);
    for (size_t i = 0; i < count; i++)
        visit_thing(self, commands[i]->name, commands[i]->summary);
    for (size_t c = 0; (chapter = tnd_reference_chapter(c)) != NULL; c++)
        for (size_t i = 0; chapter->at(i) != NULL; i++)
            visit_thing(self, chapter->at(i)->name, chapter->at(i)->help);
}

bool tnd_help_search_print(const char *word, tnd_help_search_t how, const char *title, bool json)
{
    search_t self = {.word = word, .title = title, .how = how, .json = json};
    const tnd_argument_t *argument;
    if (how == TND_HELP_SEARCH_TEXT)
        visit_things(&self);
    tnd_reference_each(visit_option, &self);
    for (size_t i = 0; (argument = tnd_argument_at(i)) != NULL; i++)
        visit_argument(&self, argument);
    if (self.any && json)
        puts("]}");
    else if (self.any)
        puts("\n`tundish help NAME` describes a page or a part, NAME.KEY a key, `tundish COMMAND "
             "--help` a command.");
    return self.any;
}

static void offer_option(void *context, const char *path, const tnd_option_t *option)
{
    (void)path;
    tnd_nearest_offer(context, option->name);
}

void tnd_help_search_offer(tnd_nearest_t *nearest)
{
    const tnd_argument_t *argument;
    tnd_reference_each(offer_option, nearest);
    for (size_t i = 0; (argument = tnd_argument_at(i)) != NULL; i++)
        tnd_nearest_offer(nearest, argument->name + strspn(argument->name, "-"));
}
