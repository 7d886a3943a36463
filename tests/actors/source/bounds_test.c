/*  Covers what is just beyond the usual in sources: weights of zero, quotes after a lone carriage return,
 *  extensions that begin alike. */
#include "tests/actors/source/opened.h"

static char folder[64], text[1024];

static void make_folder(void)
{
    strcpy(folder, "/tmp/tundish-bounds-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void drop_folder(void)
{
    remove_folder(folder);
}

static void write_file(const char *name, const void *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/*  Opens the source, which has so many rows. */
static void open_rows(opened_t *opened, const char *source, uint64_t rows)
{
    tnd_error_t error = {.text = ""};
    cr_assert_eq(open_source(opened, source, &error), TND_OK, "%s", error.text);
    cr_assert_eq(opened->facts.count, rows, "%s: %llu rows", source,
                 (unsigned long long)opened->facts.count);
}

/*  One row, whose first column is ragged bytes. */
static void expect_bytes(opened_t *opened, uint64_t row, const char *wanted)
{
    tnd_error_t error = {.text = ""};
    tnd_block_t *block = read_rows(opened, &row, 1, &error);
    cr_assert_not_null(block, "%s", error.text);
    size_t size = tnd_block_row_bytes(block, 0, 0);
    const char *found = tnd_block_row(block, 0, 0);
    cr_expect(size == strlen(wanted) && memcmp(found, wanted, size) == 0, "row %llu is `%.*s`",
              (unsigned long long)row, (int)size, found);
    tnd_block_drop(&block);
}

/* --- mix -------------------------------------------------------------------------------------- */

static const char *mix(const char *weights)
{
    snprintf(
        text, sizeof text,
        "source: {mix: {sources: [{memory: {x: {dtype: i64, data: [1, 2, 3]}}}, {memory: {x: "
        "{dtype: i64, data: [11, 12]}}}, {memory: {x: {dtype: i64, data: [21, 22, 23, 24]}}}], "
        "seed: 3, weights: %s}}",
        weights);
    return text;
}

/*  sample_from_datasets never draws a source of weight 0, also when the others have no more rows. */
Test(mix, a_source_of_weight_zero_gives_no_row, .init = make_folder, .fini = drop_folder)
{
    static const struct {
        const char *weights;
        uint64_t rows;
        int64_t sources; /* tens of the numbers that there may be, a bit each */
    } cases[] = {{"[1, 0, 0]", 3, 1}, {"[0, 1, 0]", 2, 2}, {"[0, 0, 1]", 4, 4}, {"[1, 0, 2]", 7, 5},
                 {"[0, 3, 1]", 6, 6}, {"[2, 1, 0]", 5, 3}, {"[1, 1, 1]", 9, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        opened_t opened;
        tnd_error_t error = {.text = ""};
        int64_t last[3] = {0, 10, 20};
        open_rows(&opened, mix(cases[i].weights), cases[i].rows);
        for (uint64_t row = 0; row < cases[i].rows; row++) {
            tnd_block_t *block = read_rows(&opened, &row, 1, &error);
            cr_assert_not_null(block, "%s", error.text);
            int64_t number = *(const int64_t *)tnd_block_row(block, 0, 0);
            tnd_block_drop(&block);
            cr_expect(cases[i].sources >> number / 10 & 1, "%s gives %d", cases[i].weights,
                      (int)number);
            cr_expect_eq(number, ++last[number / 10], "rows of a source keep their order");
        }
        close_source(&opened);
    }
}

Test(mix, the_least_weight_is_a_millionth_of_their_sum, .init = make_folder, .fini = drop_folder)
{
    opened_t opened;
    open_rows(&opened, mix("[1, 0.0000021, 1]"), 9);
    close_source(&opened);
    expect_refusal(mix("[1, 0.0000019, 1]"), "`weights`: 1.9e-06 is less than a millionth");
    expect_refusal(mix("[0, 0, 0]"), "`weights`: at least one must be above 0");
}

/* --- csv -------------------------------------------------------------------------------------- */

static const char *csv(const char *name, const char *more)
{
    snprintf(text, sizeof text, "source: {csv: {files: \"%s/%s\", column: x%s}}", folder, name,
             more);
    return text;
}

/*  As TensorFlow's CsvDataset: a lone \r ends a record, and a quote opens the first field of the next. */
Test(csv, a_field_in_quotes_after_a_lone_return, .init = make_folder, .fini = drop_folder)
{
    static const char data[] = "a\r\"b\nc\"\r\"\"\r\"d\re\",f\r\n\"g\"\rh";
    static const char *const rows[] = {"a", "\"b\nc\"", "\"\"", "\"d\re\",f", "\"g\"", "h"};
    opened_t opened;
    write_file("x.csv", data, sizeof data - 1);
    open_rows(&opened, csv("x.csv", ""), 6);
    for (uint64_t row = 0; row < 6; row++)
        expect_bytes(&opened, row, rows[row]);
    close_source(&opened);
}

/*  Options that decide where records end are part of the name of the index, which is used again. */
Test(csv, each_option_has_an_index_of_its_own, .init = make_folder, .fini = drop_folder)
{
    static const char data[] = "\"a;\nb\",c\nd;\"e\nf\"\n";
    static const struct {
        const char *options;
        uint64_t rows;
        const char *first, *last;
    } cases[] = {{"", 3, "\"a;\nb\",c", "f\""},
                 {", quotes: false", 4, "\"a;", "f\""},
                 /* A quote before a comma closes no field then. */
                 {", delimiter: ;", 1, "\"a;\nb\",c\nd;\"e\nf\"", "\"a;\nb\",c\nd;\"e\nf\""},
                 {", header: true", 2, "d;\"e", "f\""},
                 {", header: true, quotes: false", 3, "b\",c", "f\""}};
    write_file("x.csv", data, sizeof data - 1);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            opened_t opened;
            open_rows(&opened, csv("x.csv", cases[i].options), cases[i].rows);
            expect_bytes(&opened, 0, cases[i].first);
            expect_bytes(&opened, cases[i].rows - 1, cases[i].last);
            close_source(&opened);
        }
}

/*  With one of these headers the rows are those after it; another is named by its first field that differs. */
Test(csv, names_are_those_of_each_header, .init = make_folder, .fini = drop_folder)
{
    static const struct {
        const char *data, *wrong; /* NULL: it is right */
    } cases[] = {
        {"id,the \"x\"\n1,2\n", "x.csv:1: a field without quotes around it has a quote in it"},
        {"\xef\xbb\xbfid,\"the \"\"x\"\"\"\r1,2", NULL},
        {"id,\"the \"\"x\"\"\"\r\n1,2\r\n", NULL},
        {"\"the \"\"x\"\"\",id\n1,2\n",
         "x.csv:1: field 1 of the header is \"the \"x\"\", where `names` has \"id\""},
        {"id,\"the x\"\n1,2\n", "x.csv:1: field 2 of the header is \"the x\", where `names` has"},
        {"id\n1,2\n", "x.csv:1: the numbers of names differ: 1 in the header, 2 in `names`"},
        {"id,\"the \"\"x\"\"\",y\n1,2\n",
         "x.csv:1: the numbers of names differ: 3 in the header, 2 in `names`"},
        {"\n1,2\n", "x.csv:1: field 1 of the header is \"\", where `names` has \"id\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        opened_t opened;
        const char *topology = csv("x.csv", ", names: [id, 'the \"x\"']");
        write_file("x.csv", cases[i].data, strlen(cases[i].data));
        if (cases[i].wrong != NULL) {
            expect_refusal(topology, cases[i].wrong);
            continue;
        }
        open_rows(&opened, topology, 1);
        expect_bytes(&opened, 0, "1,2");
        close_source(&opened);
    }
}

/* --- tar -------------------------------------------------------------------------------------- */

/*  Adds a member of ustar; returns the end. */
static size_t add_member(char *archive, size_t at, const char *name, const char *content)
{
    char *head = archive + at;
    unsigned sum = 0;
    memset(head, 0, 1024);
    snprintf(head, 100, "%s", name);
    strcpy(head + 100, "0000644");
    snprintf(head + 124, 12, "%011zo", strlen(content));
    strcpy(head + 136, "00000000000");
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    memcpy(head + 512, content, strlen(content));
    return at + 1024;
}

/*  A file is of a column only if its extension is one of the column's, not if it begins or ends like
 *  one. */
Test(tar, extensions_that_begin_alike, .init = make_folder, .fini = drop_folder)
{
    static const char *const others[] = {"a.jp", "a.j",  "a.jpgx", "a.jpeg2",
                                         "a.pg", "a.eg", "a.jpg;"};
    static char archive[32768];
    size_t end = 0;
    opened_t opened;
    memset(archive, 0, sizeof archive);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        end = add_member(archive, end, others[i], "wrong");
    end = add_member(archive, end, "a.jpeg", "right");
    end = add_member(archive, end, "b.jpe", "wrong");
    end = add_member(archive, end, "b.jpg", "good");
    write_file("x.tar", archive, end + 1024);
    snprintf(text, sizeof text, "source: {tar: {files: \"%s/x.tar\", columns: {x: \"jpg;jpeg\"}}}",
             folder);
    open_rows(&opened, text, 2);
    expect_bytes(&opened, 0, "right");
    expect_bytes(&opened, 1, "good");
    close_source(&opened);
}
