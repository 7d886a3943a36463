/*  Covers tools/report/fault.h: the entries of causes.def, and how their sentences are filled. */
#include "tools/report/fault.h"

#include <criterion/criterion.h>
#include <string.h>

static const tnd_inspected_t process = {.host = "b", .process = 77, .machine = "10.0.0.2"};

Test(fault, a_sentence_has_the_names_of_the_fault_and_the_words_of_its_finder)
{
    tnd_fault_t fault;
    tnd_fault_words_t words = {.used = 0};
    const tnd_seen_t who = {&process, NULL};
    tnd_fault_of(&fault, TND_CAUSE_STOPPED, &who, NULL);
    fault.since_ns = UINT64_C(12000000000);
    tnd_fault_word(&words, "actors", "%s, %s", "prep.0", "prep.1");
    tnd_fault_say(&fault, &words);
    cr_assert_str_eq(fault.text, "host b (prep.0, prep.1): process 77 has been stopped for 12 s");
    cr_assert_str_eq(fault.action, "kill -CONT 77 on 10.0.0.2 continues it");
    fault.machine[0] = '\0';
    tnd_fault_say(&fault, NULL);
    cr_assert_str_eq(fault.text, "host b ({actors}): process 77 has been stopped for 12 s");
    cr_assert_str_eq(fault.action, "kill -CONT 77 continues it");
}

Test(fault, a_word_with_a_question_mark_may_be_missing)
{
    tnd_fault_t fault = {.cause = TND_CAUSE_KILLED};
    tnd_fault_words_t words = {.used = 0};
    tnd_fault_word(&words, "it", "the run");
    tnd_fault_say(&fault, &words);
    cr_assert_str_eq(fault.action, "start the run again");
    tnd_fault_word(&words, "how", " with --resume");
    tnd_fault_say(&fault, &words);
    cr_assert_str_eq(fault.action, "start the run again with --resume");
}

/*  Words of any length neither overflow nor take another's place. */
Test(fault, words_for_which_there_is_no_room_are_cut)
{
    static char length[2 * sizeof((tnd_fault_words_t *)0)->text];
    tnd_fault_t fault = {.cause = TND_CAUSE_OUTPUT};
    tnd_fault_words_t words = {.used = 0};
    memset(length, 'x', sizeof length - 1);
    tnd_fault_word(&words, "how", "is too slow");
    tnd_fault_word(&words, "file", "%s", length);
    tnd_fault_word(&words, "without", " any loss");
    cr_assert_eq(words.used, sizeof words.text);
    tnd_fault_say(&fault, &words);
    cr_assert_eq(strlen(fault.text), sizeof fault.text - 1);
    cr_assert_eq(strspn(fault.text, "x"), sizeof fault.text - 1);
}

Test(fault, each_cause_has_a_name_of_its_own_and_a_code_of_why)
{
    for (unsigned a = 0; a < TND_CAUSES; a++) {
        const tnd_cause_entry_t *entry = tnd_cause((tnd_cause_t)a);
        cr_expect(entry->code >= 10 && entry->code <= 12, "%s", entry->name);
        cr_expect(entry->meaning[0] != '\0' && entry->sentence[0] != '\0', "%s", entry->name);
        for (unsigned b = 0; b < a; b++)
            cr_expect_str_neq(entry->name, tnd_cause((tnd_cause_t)b)->name);
    }
}
