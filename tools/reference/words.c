/*  tools/reference/words.c - answers words that are no names here. */
#include "tools/reference/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/json.h"

enum { WIDTH = 88 };

static const tnd_word_t entries[] = {
#define WORD(words, answer, see) {words, answer, see},
#include "tools/reference/words.def"
#undef WORD
};

static const tnd_word_t *word_at(size_t index)
{
    return index < sizeof entries / sizeof entries[0] ? &entries[index] : NULL;
}

/*  Whether `one`, of `size` characters, is the same word. */
static bool is_word(const char *one, size_t size, const char *word)
{
    for (size_t i = 0; i < size; i++) {
        int letter = tolower((unsigned char)word[i]);
        if ((letter == '-' || letter == ' ' ? '_' : letter) != one[i])
            return false;
    }
    return word[size] == '\0';
}

const tnd_word_t *tnd_word_find(const char *word)
{
    const tnd_word_t *entry;
    for (size_t i = 0; (entry = word_at(i)) != NULL; i++)
        for (const char *at = entry->words; *at != '\0'; at += *at == ' ') {
            size_t size = strcspn(at, " ");
            if (size <= strlen(word) && is_word(at, size, word))
                return entry;
            at += size;
        }
    return NULL;
}

/*  Breaks lines at spaces; each begins with two. */
static void print_wrapped(const char *text)
{
    while (*text != '\0') {
        size_t size = strlen(text), end = size;
        if (size > WIDTH - 2)
            for (end = WIDTH - 2; end > 0 && text[end] != ' '; end--)
                ;
        printf("  %.*s\n", (int)end, text);
        text += end + (text[end] == ' ');
    }
}

static void print_see(const char *see, bool json)
{
    for (const char *at = see; *at != '\0'; at += *at == ' ') {
        int size = (int)strcspn(at, " ");
        if (json)
            printf("%s\"%.*s\"", at > see ? "," : "", size, at);
        else
            printf("%stundish help %.*s", at > see ? ", " : "", size, at);
        at += size;
    }
}

void tnd_word_print(const tnd_word_t *entry, const char *word, bool json)
{
    if (json) {
        tnd_json_begin(stdout, false, "name", word);
        printf(",\"is\":\"word\"");
        tnd_json_member(stdout, "help", entry->answer);
        printf(",\"see\":[");
        print_see(entry->see, true);
        puts("]}");
        return;
    }
    printf("%s:\n", word);
    print_wrapped(entry->answer);
    fputs("  See: ", stdout);
    print_see(entry->see, false);
    putchar('\n');
}
