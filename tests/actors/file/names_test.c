/*  tests/actors/file/names_test.c - which files patterns name, and what a million names take. */
#include "actors/file/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

static char folder[64];

static void make_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    int file = open(path, O_CREAT | O_WRONLY, 0644);
    cr_assert_geq(file, 0);
    close(file);
}

static void make_folder(void)
{
    static const char *const files[] = {
        "train/dog/b.jpg",  "train/dog/a.jpg", "train/dog/c.txt",      "train/cat/z.jpg",
        "train/cat/.h.jpg", "train/ape.jpg",   "train/cat/deep/x.jpg", "test/dog/a.jpg"};
    strcpy(folder, "/tmp/tundish-names-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        make_file(files[i]);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(names, .init = make_folder, .fini = remove_all);

/*  The paths that patterns below the folder name, without the folder, or the error. */
static const char *found(const char *one, const char *two)
{
    static char text[1024];
    char patterns[2][256], path[PATH_MAX];
    const char *items[2] = {patterns[0], patterns[1]};
    snprintf(patterns[0], sizeof patterns[0], "%s/%s", folder, one);
    snprintf(patterns[1], sizeof patterns[1], "%s/%s", folder, two != NULL ? two : "");
    tnd_names_t names = {0};
    tnd_error_t error;
    tnd_strings_t all = {.items = items, .count = two != NULL ? 2 : 1};
    text[0] = '\0';
    if (tnd_names_find(&names, "files", &all, &error) != TND_OK)
        snprintf(text, sizeof text, "%s", error.text);
    for (size_t i = 0; i < names.count && text[0] != 'f'; i++) {
        tnd_names_path(&names, i, path);
        cr_assert_eq(strncmp(path, folder, strlen(folder)), 0);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                 path + strlen(folder) + 1);
    }
    tnd_names_free(&names);
    return text;
}

Test(names, a_pattern_is_followed_folder_by_folder)
{
    cr_expect_str_eq(found("train/*/*.jpg", NULL),
                     "train/cat/z.jpg train/dog/a.jpg train/dog/b.jpg");
    cr_expect_str_eq(found("t*/dog/?.jpg", NULL), "test/dog/a.jpg train/dog/a.jpg train/dog/b.jpg");
    cr_expect_str_eq(found("*/[cd]og/a.jpg", NULL), "test/dog/a.jpg train/dog/a.jpg");
    cr_expect_str_eq(found("train/dog/c.txt", "train/cat/*/*"),
                     "train/dog/c.txt train/cat/deep/x.jpg");
}

Test(names, two_stars_are_folders_of_any_depth)
{
    cr_expect_str_eq(found("**/a.jpg", NULL), "test/dog/a.jpg train/dog/a.jpg");
    cr_expect_str_eq(found("train/**/*.jpg", NULL),
                     "train/ape.jpg train/cat/z.jpg train/cat/deep/x.jpg train/dog/a.jpg "
                     "train/dog/b.jpg");
    cr_expect_str_eq(found("train/*/**", NULL),
                     "train/cat/z.jpg train/cat/deep/x.jpg train/dog/a.jpg train/dog/b.jpg "
                     "train/dog/c.txt");
    cr_expect(strstr(found("**/dog/**", NULL), "a pattern may have one `**`") != NULL);
}

/*  A link to a folder that it is in would be followed for ever. */
Test(names, links_are_followed_but_not_in_circles)
{
    char path[256];
    snprintf(path, sizeof path, "%s/train/cat/deep/up", folder);
    cr_assert_eq(symlink("..", path), 0);
    snprintf(path, sizeof path, "%s/more", folder);
    cr_assert_eq(symlink("test", path), 0);
    cr_expect_str_eq(found("train/cat/**/*.jpg", NULL), "train/cat/z.jpg train/cat/deep/x.jpg");
    cr_expect_str_eq(found("more/**/*.jpg", NULL), "more/dog/a.jpg");
}

Test(names, a_link_to_nothing_is_a_file_and_a_folder_that_is_one_an_error)
{
    char path[256];
    snprintf(path, sizeof path, "%s/train/dog/d.jpg", folder);
    cr_assert_eq(symlink("nothing", path), 0);
    cr_expect_str_eq(found("train/dog/*.jpg", NULL),
                     "train/dog/a.jpg train/dog/b.jpg train/dog/d.jpg");
    cr_expect_str_eq(found("train/dog/d.jpg", NULL), "train/dog/d.jpg");
    snprintf(path, sizeof path, "%s/train/owl", folder);
    cr_assert_eq(symlink("nothing", path), 0);
    cr_expect(strstr(found("train/*/*.jpg", NULL), "train/owl: cannot be read") != NULL);
}

Test(names, a_part_that_exists_as_it_is_written_is_not_a_pattern)
{
    make_file("[12]/x[1].jpg");
    make_file("1/x1.jpg");
    cr_expect_str_eq(found("[12]/*.jpg", NULL), "[12]/x[1].jpg");
    cr_expect_str_eq(found("[12]/x[1].jpg", NULL), "[12]/x[1].jpg");
    cr_expect_str_eq(found("[13]/*.jpg", NULL), "1/x1.jpg");
}

Test(names, what_names_no_file_or_one_twice_is_refused)
{
    cr_expect(strstr(found("train/*/*.png", NULL), "no file matches") != NULL);
    cr_expect(strstr(found("train", NULL), "is a directory") != NULL);
    cr_expect(strstr(found("train/dog/*.jpg", "train/d*/a.jpg"), "dog/a.jpg is named twice"));
    cr_expect(strstr(found("train/dog/*.txt", "train/dog/*.jpg"), "twice") == NULL);
}

/*  As many files as ImageNet has, with names of the same length. */
Test(names, a_million_names_take_less_than_64_MiB)
{
    enum { FILES = 1300000, FOLDERS = 1000 };
    tnd_names_t names = {0};
    char text[PATH_MAX];
    for (uint32_t i = 0; i < FILES; i++) {
        if (i % (FILES / FOLDERS) == 0) {
            snprintf(text, sizeof text, "/data/imagenet/train/n%08u", i);
            tnd_names_folder(&names, text);
        }
        snprintf(text, sizeof text, "n%08u_%07u.JPEG", i, i);
        tnd_names_add(&names, text);
    }
    tnd_names_settle(&names);
    cr_expect_lt(tnd_names_bytes(&names), (size_t)64 << 20);
    tnd_names_path(&names, 1234567, text);
    cr_expect_str_eq(text, "/data/imagenet/train/n01233700/n01234567_1234567.JPEG");
    tnd_names_share(&names, 3, 4);
    cr_expect_eq(names.count, FILES / 4);
    tnd_names_path(&names, 1000, text);
    cr_expect_str_eq(text, "/data/imagenet/train/n00003900/n00004003_0004003.JPEG");
    tnd_names_free(&names);
}
