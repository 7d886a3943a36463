/*  Covers runtime/checkpoint/data_table.h: the data that a checkpoint can be resumed with. */
#include "runtime/checkpoint/data_table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second_ns = 1000000000;

static tnd_data_file_t file(const char *name, uint32_t place)
{
    return (tnd_data_file_t){.place = place,
                             .size = 1000,
                             .modified_ns = 1700000000 * second_ns + 5,
                             .ends = 0xabc,
                             .file = true,
                             .name = name};
}

static tnd_data_table_t table_of(const tnd_data_file_t *files, size_t count)
{
    tnd_data_table_t table = {0};
    for (size_t i = 0; i < count; i++)
        tnd_data_table_add(&table, &files[i], "/data");
    tnd_data_table_settle(&table);
    return table;
}

/*  Compares two lists of files; `words`, between bars, must be in the error; NULL: they fit. */
static void compare(const tnd_data_file_t *was, size_t was_count, const tnd_data_file_t *is,
                    size_t is_count, bool trust, const char *words)
{
    tnd_data_table_t one = table_of(was, was_count), other = table_of(is, is_count);
    tnd_error_t error = {.text = ""};
    tnd_status_t status = tnd_data_table_compare(&one, &other, trust, &error);
    cr_expect_eq(status, words == NULL ? TND_OK : TND_FAILED, "%s", error.text);
    char *copy = strdup(words != NULL ? words : ""), *rest = copy;
    for (char *word; status != TND_OK && (word = strsep(&rest, "|")) != NULL;)
        cr_expect_not_null(strstr(error.text, word), "'%s' is not in: %s", word, error.text);
    free(copy);
    tnd_data_table_free(&one);
    tnd_data_table_free(&other);
}

static void compare_one(tnd_data_file_t was, tnd_data_file_t is, bool trust, const char *words)
{
    compare(&was, 1, &is, 1, trust, words);
}

Test(data_table, one_file)
{
    tnd_data_file_t was = file("/data/x.npy", 0), is = was;
    compare_one(was, is, false, NULL);
    is.size = 999;
    compare_one(was, is, true, "${data}/x.npy has changed|999 bytes and had 1000");
    is = was;
    is.ends++;
    compare_one(was, is, true, "${data}/x.npy has changed|first or last 64 KiB");
}

Test(data_table, a_time_that_differs)
{
    tnd_data_file_t was = file("/data/x.npy", 0), is = was;
    is.modified_ns++;
    compare_one(was, is, false,
                "${data}/x.npy may have changed|was 2023-11-14 22:13:20.000000005 UTC and is "
                "2023-11-14 22:13:20.000000006 UTC|no hash|--trust-data|verify: full");
    compare_one(was, is, true, NULL);
    /* A copy may have lost what is below a second, and no more. */
    is.modified_ns = 1700000000 * second_ns;
    compare_one(was, is, false, NULL);
    compare_one(is, was, false, NULL);
    is.modified_ns -= second_ns;
    compare_one(was, is, false, "was 2023-11-14 22:13:20 UTC and is 2023-11-14 22:13:19 UTC");
}

Test(data_table, hashes_of_whole_files_decide)
{
    tnd_data_file_t was = file("/data/x.npy", 0), is;
    was.hashed = true;
    was.whole[0] = 1, was.whole[1] = 2;
    is = was;
    is.modified_ns++;
    compare_one(was, is, false, NULL);
    is.whole[1]++;
    compare_one(was, is, true, "${data}/x.npy has changed|hash of its bytes");
    /* Also if the time was restored. */
    is.modified_ns = was.modified_ns;
    compare_one(was, is, false, "hash of its bytes");
    is = was;
    is.hashed = false;
    is.modified_ns++;
    compare_one(was, is, false, "did not hash|verify: full");
    compare_one(is, was, false, "has no hash|--trust-data");
}

Test(data_table, the_list_of_files)
{
    tnd_data_file_t was[] = {file("/data/a", 0), file("/data/b", 1)};
    tnd_data_file_t more[] = {file("/data/a", 0), file("/data/aa", 1), file("/data/b", 2)};
    tnd_data_file_t turned[] = {file("/data/b", 0), file("/data/a", 1)};
    tnd_data_file_t elsewhere = file("/database/a", 0);
    compare(was, 2, more, 3, true, "${data}/aa was added");
    compare(more, 3, was, 2, true, "${data}/aa was left out");
    compare(was, 2, turned, 2, true, "another order");
    compare(was, 1, &elsewhere, 1, true, "/database/a was added");
}

Test(data_table, several_hosts_may_have_copies)
{
    tnd_data_file_t was[] = {file("/data/a", 0), file("/data/a", 0), file("/data/b", 1)};
    was[1].modified_ns += 7 * second_ns;
    tnd_data_file_t is[] = {was[1], file("/data/b", 1)};
    compare(was, 3, is, 2, false, NULL);
    is[0].modified_ns++;
    compare(was, 3, is, 2, false, "may have changed");
    /* Every copy that is there now must be one that was. */
    tnd_data_file_t both[] = {was[0], is[0], was[2]};
    compare(was, 3, both, 3, false, "may have changed");
}

Test(data_table, lanes_with_files_of_their_own)
{
    tnd_data_file_t was[] = {file("/data/a", 0), file("/data/b", 0)}, is[2];
    was[1].lane = 1;
    memcpy(is, was, sizeof is);
    is[0].ends++;
    compare(was, 2, was, 2, false, NULL);
    compare(was, 2, is, 2, false, "${data}/a has changed");
    compare(was, 2, was, 1, false, "${data}/b was left out");
}

Test(data_table, a_source_without_files)
{
    tnd_data_file_t was = {.size = 10, .ends = 3, .name = "source `memory`"}, is = was;
    compare_one(was, is, false, NULL);
    is.size = 11;
    compare_one(was, is, true, "source `memory` has other rows|11 now, 10");
    is = was;
    is.ends = 4;
    compare_one(was, is, true, "source `memory` has other rows");
}

Test(data_table, as_text)
{
    char *text = NULL, *rest, *line, name[2000];
    size_t size = 0;
    memset(name, 'x', sizeof name);
    memcpy(name, "/data/", 6);
    strcpy(name + sizeof name - 4, "end");
    tnd_data_file_t files[] = {file("/data/two words\n", 0),
                               file(name, 1),
                               {.place = 2, .size = 3, .ends = 9, .name = "source `s`"}};
    files[0].hashed = true;
    files[0].whole[0] = UINT64_MAX;
    files[1].modified_ns = -1;
    tnd_data_table_t was = table_of(files, 3), is = {0};
    cr_assert_str_eq(was.files[0].name, "${data}/two words?");
    cr_assert_lt(strlen(was.files[1].name), TND_DATA_NAME);
    cr_assert_str_eq(was.files[1].name + strlen(was.files[1].name) - 4, "xend");
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < was.count; i++)
        tnd_data_table_write(&was, i, out);
    fclose(out);
    tnd_error_t error;
    rest = text;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        cr_assert_eq(tnd_data_table_read(&is, line, &error), TND_OK, "%s", error.text);
    tnd_data_table_settle(&is);
    cr_assert_eq(is.count, 3);
    cr_assert_eq(tnd_data_table_hash(&is), tnd_data_table_hash(&was));
    cr_assert_eq(tnd_data_table_compare(&was, &is, false, &error), TND_OK, "%s", error.text);
    static const char *const damaged[] = {"file",
                                          "file 0 0 10 5 abc - ",
                                          "file 0 0 10 5 abc -",
                                          "file 0 x 10 5 abc - n",
                                          "file 0 0 10 5 abc 12 n",
                                          "part 0 0 10 5 abc - n"};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
        cr_expect_eq(tnd_data_table_read(&is, damaged[i], &error), TND_FAILED, "%s", damaged[i]);
    cr_assert_eq(is.count, 3);
    free(text);
    tnd_data_table_free(&was);
    tnd_data_table_free(&is);
}

Test(data_table, the_hash_differs_where_entries_do)
{
    tnd_data_file_t one = file("/data/a", 0), other = one;
    tnd_data_file_t both[] = {one, one};
    tnd_data_table_t a = table_of(&one, 1), twice = table_of(both, 2);
    cr_assert_eq(twice.count, 1);
    cr_assert_eq(tnd_data_table_hash(&a), tnd_data_table_hash(&twice));
    other.modified_ns++;
    tnd_data_table_t b = table_of(&other, 1);
    cr_assert_neq(tnd_data_table_hash(&a), tnd_data_table_hash(&b));
    tnd_data_table_free(&a);
    tnd_data_table_free(&b);
    tnd_data_table_free(&twice);
}
