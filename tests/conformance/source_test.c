/*  tests/conformance/source_test.c - the contract of runtime/interface/source.h, for every source
 *  of actors/source/sources.def.
 *
 *  sources.def has the data that each is tried with.  The suite also runs over sources of programs:
 *  one that can be read in any order and one that cannot. */
#include <limits.h>

#include <isa-l.h>

#include "runtime/option/custom.h"
#include "tests/actors/source/opened.h"

enum { ROWS = 40, WIDTH = 4, LANES = 2 };

typedef struct {
    const char *name;
    /*  Writes rows [first, first + rows) to an open file. */
    void (*write)(FILE *out, uint32_t first, uint32_t rows);
    const char *file;     /* of the list, with its number; NULL: the source has no files */
    uint32_t files;       /* of as many rows each */
    uint32_t listed;      /* what a checkpoint lists: the files, or their folder */
    bool records;         /* a shorter file may have fewer rows, or a bad one */
    uint32_t lead, added; /* bytes before a row; what is added to its elements */
    tnd_dtype_t dtype;
    uint32_t width;   /* elements per row; 1: of rank 0 */
    const char *text; /* of the options, with the folder in place of each % */
} fixture_t;

static void write_rows(FILE *out, uint32_t first, uint32_t rows)
{
    for (uint32_t r = first; r < first + rows; r++)
        for (uint32_t i = 0; i < WIDTH; i++)
            fputc((int)(r + i), out);
}

static void write_idx(FILE *out, uint32_t first, uint32_t rows)
{
    const uint8_t head[] = {0, 0, 8, 2, 0, 0, 0, (uint8_t)rows, 0, 0, 0, WIDTH};
    fwrite(head, 1, sizeof head, out);
    write_rows(out, first, rows);
}

static void write_npy(FILE *out, uint32_t first, uint32_t rows)
{
    char head[128];
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
    snprintf(head, sizeof head, "{'descr': '|u1', 'fortran_order': False, 'shape': (%u, %d), }",
             rows, WIDTH);
    fprintf(out, "%-117s\n", head);
    write_rows(out, first, rows);
}

static void write_lines(FILE *out, uint32_t first, uint32_t rows)
{
    for (uint32_t r = first; r < first + rows; r++)
        fprintf(out, "%c%c%c%c\n", (int)(r + '0'), (int)(r + '1'), (int)(r + '2'), (int)(r + '3'));
}

/*  Each row is a file of a ustar archive: 512 bytes of header, 512 with the row. */
static void write_tar(FILE *out, uint32_t first, uint32_t rows)
{
    for (uint32_t r = first; r < first + rows; r++) {
        uint8_t block[1024] = {0};
        char *header = (char *)block;
        uint32_t sum = 8 * ' ';
        snprintf(header, 100, "%03u.x", r);
        snprintf(header + 100, 8, "%07o", 0644);
        snprintf(header + 124, 12, "%011o", WIDTH);
        snprintf(header + 136, 12, "%011o", 0);
        memcpy(header + 156, "0\0", 2);
        memcpy(header + 257, "ustar\00000", 8);
        for (uint32_t i = 0; i < 512; i++)
            sum += block[i];
        snprintf(header + 148, 8, "%06o", sum);
        header[155] = ' ';
        for (uint32_t i = 0; i < WIDTH; i++)
            block[512 + i] = (uint8_t)(r + i);
        fwrite(block, 1, sizeof block, out);
    }
    const uint8_t end[1024] = {0};
    fwrite(end, 1, sizeof end, out);
}

static void write_masked(FILE *out, const void *data, int size)
{
    uint32_t crc = ~crc32_iscsi((unsigned char *)(uintptr_t)data, size, UINT32_MAX);
    crc = (crc >> 15 | crc << 17) + 0xa282ead8U;
    fwrite(data, 1, (size_t)size, out);
    fwrite(&crc, 1, sizeof crc, out);
}

static void write_frames(FILE *out, uint32_t first, uint32_t rows)
{
    const uint64_t length = WIDTH;
    for (uint32_t r = first; r < first + rows; r++) {
        write_masked(out, &length, sizeof length);
        write_masked(
            out,
            (const uint8_t[]){(uint8_t)r, (uint8_t)(r + 1), (uint8_t)(r + 2), (uint8_t)(r + 3)},
            WIDTH);
    }
}

static const fixture_t fixtures[] = {
#define FILES(write, file) write, file, 2, 2, false, 0, 0
#define NO_FILES NULL, NULL, 0, 0, false, 0, 0
#define RECORDS(write, file, lead, added) write, file, 2, 2, true, lead, added
#define FOLDER(write, file) write, file, ROWS, 1, true, 0, 0
#define FIXTURE(name, files, dtype, width, text)                                                   \
    {#name, files, TND_##dtype, width, "source: {" #name ": " text "}"},
#include "tests/conformance/sources.def"
#undef FIXTURE
};

static tnd_status_t callback_open(void *state, void *shared, const char *options,
                                  const tnd_source_context_t *context, tnd_source_data_t *data,
                                  tnd_error_t *error)
{
    (void)state, (void)shared, (void)options, (void)context;
    data->count = ROWS;
    return tnd_schema_add(&data->schema, "x", TND_F32, 0, NULL, error);
}

static tnd_status_t callback_read(void *state, const uint64_t *index, size_t count,
                                  tnd_rows_t *rows, tnd_error_t *error)
{
    (void)state, (void)error;
    for (size_t r = 0; r < count; r++)
        *(float *)tnd_rows_at(rows, 0, r) = (float)index[r];
    return TND_OK;
}

static tnd_status_t sequence_read(void *state, const uint64_t *index, size_t count,
                                  tnd_rows_t *rows, tnd_error_t *error)
{
    uint64_t *next = state;
    if (index[0] != 0 && index[0] != *next)
        return tnd_fail(error, "row %u comes before row %u", (unsigned)*next, (unsigned)index[0]);
    *next = index[0] + count;
    return callback_read(state, index, count, rows, error);
}

static const tnd_source_ops_t callback = {.name = "callback",
                                          .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
                                          .state_bytes = 8,
                                          .open = callback_open,
                                          .read = callback_read};
static const tnd_source_ops_t sequence = {.name = "sequence",
                                          .caps = TND_SOURCE_REWINDS,
                                          .state_bytes = 8,
                                          .open = callback_open,
                                          .read = sequence_read};
/*  Sources of programs, which are not in the list. */
static const tnd_source_spec_t own[] = {
    {.table = {.name = "callback"},
     .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
     .custom = &callback},
    {.table = {.name = "sequence"}, .caps = TND_SOURCE_REWINDS, .custom = &sequence},
};
static const fixture_t of_own = {.name = "callback", .dtype = TND_F32, .width = 1};

typedef struct {
    const fixture_t *fixture;
    const tnd_source_spec_t *spec;
    char folder[64];
    char text[1024];
    opened_t opened;
} tried_t;

static void file_path(const tried_t *self, uint32_t number, char path[PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof name, self->fixture->file, number);
    snprintf(path, PATH_MAX, "%s/%s", self->folder, name);
}

static void make_data(tried_t *self, const tnd_source_spec_t *spec)
{
    size_t i = 0, used = 0;
    *self = (tried_t){.fixture = &of_own, .spec = spec, .folder = "/tmp/tundish-source-XXXXXX"};
    cr_assert_not_null(mkdtemp(self->folder));
    if (spec->custom != NULL)
        return;
    while (i < sizeof fixtures / sizeof fixtures[0] &&
           strcmp(fixtures[i].name, spec->table.name) != 0)
        i++;
    cr_assert(i < sizeof fixtures / sizeof fixtures[0],
              "add a line for `%s` to tests/conformance/sources.def", spec->table.name);
    self->fixture = &fixtures[i];
    for (uint32_t f = 0; self->fixture->file != NULL && f < self->fixture->files; f++) {
        char path[PATH_MAX];
        file_path(self, f, path);
        FILE *out = fopen(path, "w");
        cr_assert_not_null(out);
        self->fixture->write(out, f * ROWS / self->fixture->files, ROWS / self->fixture->files);
        fclose(out);
    }
    for (const char *from = self->fixture->text; *from != '\0'; from++)
        used += (size_t)snprintf(self->text + used, sizeof self->text - used, "%.*s",
                                 *from == '%' ? INT_MAX : 1, *from == '%' ? self->folder : from);
}

static void try_source(void (*check)(tried_t *self), const tnd_source_spec_t *spec)
{
    tried_t tried;
    make_data(&tried, spec);
    check(&tried);
    remove_folder(tried.folder);
}

static void each(void (*check)(tried_t *self))
{
    size_t count;
    const tnd_source_spec_t *const *specs = tnd_registry_sources(&count);
    for (size_t i = 0; i < count; i++)
        if (TND_NUMPY || strcmp(specs[i]->table.name, "python") != 0)
            try_source(check, specs[i]);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        try_source(check, &own[i]);
}

static void open_as(tried_t *self, tnd_source_scope_t scope)
{
    tnd_error_t error;
    tnd_status_t status;
    if (self->spec->custom != NULL) {
        tnd_custom_options_t options = {.table = &self->spec->table};
        const tnd_part_t part = {.table = options.table, .options = &options};
        self->opened = (opened_t){.arena = tnd_arena_new(), .scope = scope};
        status = open_part(&self->opened, &part, &error);
    } else {
        status = open_scope(&self->opened, self->text, scope, &error);
    }
    cr_assert_eq(status, TND_OK, "%s: %s", self->fixture->name, error.text);
}

static void expect_row(const tried_t *self, const tnd_block_t *block, uint32_t row, uint64_t index)
{
    const uint8_t *data = tnd_block_row(block, 0, row);
    for (uint32_t i = 0; i < self->fixture->width; i++) {
        float number = self->fixture->dtype == TND_F32 ? ((const float *)(const void *)data)[i]
                                                       : (float)data[i];
        cr_assert_eq(number, (float)(index + i + self->fixture->added), "%s: row %u is not %u",
                     self->fixture->name, row, (unsigned)index);
    }
}

static void read_and_expect(tried_t *self, const uint64_t *index, uint32_t count)
{
    tnd_error_t error;
    tnd_block_t *block = read_rows(&self->opened, index, count, &error);
    cr_assert_not_null(block, "%s: %s", self->fixture->name, error.text);
    for (uint32_t r = 0; r < count; r++)
        expect_row(self, block, r, index[r]);
    tnd_block_drop(&block);
}

static void check_facts(tried_t *self)
{
    open_as(self, (tnd_source_scope_t){.lanes = 1});
    const tnd_source_facts_t *facts = &self->opened.facts;
    cr_expect_eq(facts->count, ROWS, "%s", self->fixture->name);
    const tnd_column_t *x = &facts->schema.columns[0];
    cr_expect(facts->schema.count == 1 && strcmp(x->name, "x") == 0 &&
                  x->dtype == self->fixture->dtype && x->rank == (self->fixture->width > 1) &&
                  (x->rank == 0 || x->shape[0] == self->fixture->width ||
                   (self->fixture->records && x->ragged && x->shape[0] >= self->fixture->width &&
                    x->shape[0] <= self->fixture->width + 1u)),
              "%s", self->fixture->name);
    cr_expect_eq(facts->file_count, self->fixture->listed);
    uint64_t identity = facts->identity;
    close_source(&self->opened);
    open_as(self, (tnd_source_scope_t){.lanes = 1, .access = TND_ACCESS_READ});
    cr_expect_eq(self->opened.facts.identity, identity, "%s: read calls give other data",
                 self->fixture->name);
    close_source(&self->opened);
}

Test(source, reports_what_is_in_the_data)
{
    each(check_facts);
}

static void check_reads(tried_t *self)
{
    static const tnd_access_t ways[] = {TND_ACCESS_AUTO, TND_ACCESS_MAP, TND_ACCESS_READ};
    uint64_t index[ROWS];
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        open_as(self,
                (tnd_source_scope_t){.lanes = 1, .access = ways[way], .pattern = TND_PATTERN_ALL});
        for (uint32_t size = 1; size <= ROWS; size += 13)
            for (uint32_t first = 0; first < ROWS; first += size) {
                uint32_t count = ROWS - first < size ? ROWS - first : size;
                for (uint32_t i = 0; i < count; i++)
                    index[i] = first + i;
                read_and_expect(self, index, count);
            }
        if ((self->spec->caps & TND_SOURCE_RANDOM) == 0) {
            close_source(&self->opened);
            continue;
        }
        for (uint32_t i = 0; i < ROWS; i++)
            index[i] = (i * 27 + 5) % ROWS;
        if (self->opened.source->ahead_rows != NULL &&
            self->opened.source->ahead_rows(self->opened.state) > 0)
            self->opened.source->ahead(self->opened.state, index, ROWS);
        read_and_expect(self, index, ROWS);
        read_and_expect(self, (const uint64_t[]){ROWS - 1, 0, ROWS - 1}, 3);
        close_source(&self->opened);
    }
}

Test(source, gives_the_same_rows_in_any_order_and_split)
{
    each(check_reads);
}

static void check_lifetime(tried_t *self)
{
    const uint64_t index[] = {0, 1, 2, 3};
    tnd_error_t error;
    open_as(self, (tnd_source_scope_t){.lanes = 1});
    tnd_block_t *block = read_rows(&self->opened, index, 4, &error);
    cr_assert_not_null(block);
    self->opened.source->close(self->opened.state);
    if (self->spec->custom != NULL || self->fixture->file != NULL) /* others may be borrowed */
        for (uint32_t r = 0; r < 4; r++)
            expect_row(self, block, r, index[r]);
    tnd_block_drop(&block);
    leave_source(&self->opened);
}

Test(source, rows_outlive_it)
{
    each(check_lifetime);
}

static void check_lanes(tried_t *self)
{
    for (uint32_t lane = 0; lane < LANES; lane++) {
        open_as(self, (tnd_source_scope_t){.lane = lane, .lanes = LANES});
        bool files = (self->spec->caps & TND_SOURCE_FILES) != 0;
        cr_expect_eq(self->opened.facts.count, files ? ROWS / LANES : ROWS, "%s",
                     self->fixture->name);
        if (files) {
            tnd_error_t error;
            tnd_block_t *block = read_rows(&self->opened, (const uint64_t[]){0}, 1, &error);
            expect_row(self, block, 0, lane * ROWS / self->fixture->files);
            tnd_block_drop(&block);
        }
        close_source(&self->opened);
    }
}

/*  The row that a file and record lead to is the one that they are the place of. */
static void check_located(const opened_t *opened, uint64_t row)
{
    const tnd_source_locate_t *locate = opened->source->locate;
    tnd_source_place_t place;
    tnd_source_rows_t rows;
    uint64_t found = 0;
    opened->source->where(opened->state, row, &place);
    for (uint64_t f = 0; f < locate->files(opened->state); f++) {
        locate->file(opened->state, f, &rows);
        if (place.file == NULL || strcmp(rows.path, place.file) != 0)
            continue;
        cr_expect_lt(place.record, rows.rows);
        cr_expect_eq(locate->row(opened->state, f, place.record), row);
        found++;
    }
    cr_expect_eq(found, 1);
}

static void check_locate(tried_t *self)
{
    bool files = self->fixture->file != NULL;
    open_as(self, (tnd_source_scope_t){.lanes = 1});
    const tnd_source_locate_t *locate = self->opened.source->locate;
    cr_expect(!files || locate != NULL, "%s", self->fixture->name);
    for (uint64_t row = 0; row < ROWS && files; row++)
        check_located(&self->opened, row);
    cr_expect(files || locate == NULL || locate->files(self->opened.state) == 0);
    close_source(&self->opened);
}

Test(source, finds_the_row_of_a_file)
{
    each(check_locate);
}

Test(source, gives_each_lane_its_files)
{
    each(check_lanes);
}

static void check_places(tried_t *self)
{
    open_as(self, (tnd_source_scope_t){.lanes = 1});
    for (uint64_t row = 0; row < ROWS && self->opened.source->where != NULL; row++) {
        char path[PATH_MAX];
        uint8_t bytes[WIDTH];
        tnd_source_place_t place = {0};
        self->opened.source->where(self->opened.state, row, &place);
        if (self->fixture->file == NULL) {
            cr_expect_null(place.file);
            continue;
        }
        file_path(self, (uint32_t)(row * self->fixture->files / ROWS), path);
        cr_expect_str_eq(place.file, path);
        cr_expect_eq(place.record, row % (ROWS / self->fixture->files));
        FILE *file = fopen(place.file, "r");
        cr_assert(file != NULL &&
                  fseek(file, (long)place.offset + self->fixture->lead, SEEK_SET) == 0 &&
                  fread(bytes, 1, WIDTH, file) == WIDTH);
        fclose(file);
        cr_expect_eq(bytes[0], row + self->fixture->added, "%s: row %u is not at byte %u",
                     self->fixture->name, (unsigned)row, (unsigned)place.offset);
    }
    close_source(&self->opened);
}

Test(source, tells_the_file_and_offset_of_each_row)
{
    each(check_places);
}

/*  A file that lost its last bytes, or all: opening fails, and the error names the file. */
static void check_truncation(tried_t *self)
{
    static const int lost[] = {1, WIDTH * ROWS / 2 - 1};
    for (size_t i = 0; self->fixture->file != NULL && !self->fixture->records && i < 2; i++) {
        char path[PATH_MAX];
        tnd_error_t error = {.text = ""};
        file_path(self, 1, path);
        FILE *out = fopen(path, "w");
        self->fixture->write(out, ROWS / 2, ROWS / 2);
        long size = ftell(out);
        fclose(out);
        cr_assert_eq(truncate(path, size - lost[i]), 0);
        cr_assert_eq(open_source(&self->opened, self->text, &error), TND_FAILED, "%s was opened",
                     self->fixture->name);
        cr_expect(strstr(error.text, path) != NULL && strpbrk(error.text, "0123456789") != NULL,
                  "%s: the error names no file or number: %s", self->fixture->name, error.text);
        leave_source(&self->opened);
    }
}

Test(source, refuses_a_file_that_ends_early_by_name)
{
    each(check_truncation);
}

static void check_missing(tried_t *self)
{
    char path[PATH_MAX];
    tnd_error_t error = {.text = ""};
    if (self->fixture->file == NULL)
        return;
    file_path(self, 1, path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(open_source(&self->opened, self->text, &error), TND_FAILED);
    cr_expect_not_null(strstr(error.text, path), "%s: %s", self->fixture->name, error.text);
    leave_source(&self->opened);
}

Test(source, refuses_a_missing_file_by_name)
{
    each(check_missing);
}

/*  A file that shrinks after it was opened is an error of the read, never a signal. */
static void check_shrinking(tried_t *self)
{
    static const tnd_access_t ways[] = {TND_ACCESS_MAP, TND_ACCESS_READ};
    for (size_t way = 0; self->fixture->file != NULL && way < 2; way++) {
        char path[PATH_MAX];
        tnd_error_t error = {.text = ""};
        uint32_t files = self->fixture->files;
        file_path(self, files - 1, path);
        FILE *out = fopen(path, "w");
        self->fixture->write(out, ROWS - ROWS / files, ROWS / files);
        fclose(out);
        open_as(self, (tnd_source_scope_t){.lanes = 1, .access = ways[way]});
        cr_assert_eq(truncate(path, 0), 0);
        tnd_block_t *block = read_rows(&self->opened, (const uint64_t[]){ROWS - 1}, 1, &error);
        cr_expect_null(block, "%s gave a row that is gone", self->fixture->name);
        if (block == NULL)
            cr_expect_not_null(strstr(error.text, path), "%s: %s", self->fixture->name, error.text);
        tnd_block_drop(&block);
        close_source(&self->opened);
    }
}

Test(source, fails_with_the_name_of_a_file_that_shrinks)
{
    each(check_shrinking);
}
