/*  runtime/topology/link_syntax.c - splits the text of a link into words and arrows. */
#include "runtime/topology/link_syntax.h"

#include <string.h>

#include "runtime/option/option.h"

bool tnd_link_syntax_next(const tnd_value_t *value, const char **at_p, tnd_token_t *token_p)
{
    static const char arrow[] = "<->";
    const char *at = *at_p;
    while (*at == ' ' || *at == '\t' || *at == '\n')
        at++;
    size_t size = strspn(at, arrow);
    if (size == 0)
        size = strcspn(at, " \t\n<>");
    /* A `-` inside a name belongs to it; only before `>` it starts an arrow. */
    if (strspn(at, arrow) == 0)
        for (size_t i = 1; i < size; i++)
            if (at[i] == '-' && at[i + 1] == '>')
                size = i;
    *token_p = (tnd_token_t){.text = at, .size = size, .mark = value->mark};
    token_p->mark.column += (uint32_t)(at - value->text) + (value->quoted ? 1 : 0);
    token_p->mark.width = (uint32_t)size;
    *at_p = at + size;
    return size > 0;
}

bool tnd_link_syntax_is(const tnd_token_t *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

const char *tnd_link_syntax_corrected(tnd_arena_t *arena, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *corrected = "";
    bool backward = false;
    size_t names = 0;
    for (const char *at = text; *at != '\0';) {
        size_t gap = strcspn(at, letters);
        const char *left = memchr(at, '<', gap), *right = memchr(at, '>', gap);
        bool both = (left != NULL && right != NULL) || memmem(at, gap, "\xE2\x86\x94", 3) != NULL;
        backward =
            backward || (left != NULL && right == NULL) || memmem(at, gap, "\xE2\x86\x90", 3);
        at += gap;
        size_t size = strspn(at, letters);
        /* A `-` between letters belongs to a name. */
        while (size > 0 && at[size] == '-' && at[size + 1] != '\0' &&
               strchr(letters, at[size + 1]) != NULL)
            size += 1 + strspn(at + size + 1, letters);
        if (size == 0)
            break;
        const char *arrow = names == 0 ? "" : both ? " <-> " : " -> ";
        corrected = backward ? tnd_arena_format(arena, "%.*s%s%s", (int)size, at, arrow, corrected)
                             : tnd_arena_format(arena, "%s%s%.*s", corrected, arrow, (int)size, at);
        names++;
        at += size;
    }
    return names > 1 ? corrected : NULL;
}

bool tnd_link_syntax_is_plain(const tnd_token_t *token)
{
    for (size_t i = 0; i < token->size; i++)
        if (!tnd_options_in_word(token->text[i]) && token->text[i] != '-' && token->text[i] != '.')
            return false;
    return true;
}
