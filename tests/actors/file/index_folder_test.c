/*  Covers the names of actors/file/index_folder.h: an index has another name if the data file or the
 *  format of its records differs. */
#include "actors/file/index_folder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tnd_indexed_file_t data;
    const char *folder, *format;
} index_t;

static const index_t base = {
    .data = {.path = "/data/a.csv", .identity = 11, .size = 12, .modified_ns = 13},
    .folder = "/cache",
    .format = "csv-2c-quotes"};

static char *name_of(const index_t *self)
{
    return tnd_index_path(self->folder, &self->data, self->format);
}

static void compare(const index_t *other, bool same, const char *what)
{
    char *first = name_of(&base), *second = name_of(other);
    cr_expect_eq(strcmp(first, second) == 0, same, "%s: %s, %s", what, first, second);
    free(first);
    free(second);
}

#define CHANGED(field, value)                                                                      \
    do {                                                                                           \
        index_t changed_ = base;                                                                   \
        changed_.field = value;                                                                    \
        compare(&changed_, false, #field);                                                         \
    } while (0)

Test(index_folder, each_part_of_the_key_names_another)
{
    CHANGED(data.path, "/data/b.csv");
    CHANGED(data.identity, 10);
    CHANGED(data.identity, 11 + (UINT64_C(1) << 32));
    CHANGED(data.size, 13);
    CHANGED(data.size, 12 + (UINT64_C(1) << 32));
    CHANGED(data.modified_ns, 12);
    CHANGED(data.modified_ns, 13 + INT64_C(1000000000));
    CHANGED(data.modified_ns, -13);
    CHANGED(format, "csv-2c");
    CHANGED(folder, "/other");
}

/*  A folder of data that was moved keeps its indexes. */
Test(index_folder, a_file_of_another_folder_may_share_it)
{
    index_t moved = base;
    moved.data.path = "/elsewhere/a.csv";
    compare(&moved, true, "path");
}

Test(index_folder, its_name_tells_the_file_and_the_format)
{
    char *name = name_of(&base);
    cr_assert(tnd_index_is_name(name));
    cr_assert(strncmp(name, "/cache/a.csv.", 13) == 0, "%s", name);
    cr_assert_str_eq(name + 13 + 16, ".csv-2c-quotes.npy");
    free(name);
}
