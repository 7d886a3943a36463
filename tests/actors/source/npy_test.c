/*  Covers actors/source/npy.c and columns.h: files that NumPy wrote give NumPy's rows, and other
 *  files are refused with the reason and the remedy. */
#include <sys/stat.h>

#include "tests/actors/source/opened.h"

/*  Reads rows (5 * i + 3) mod n of every file of this format and compares them with NumPy's. */
static size_t compare_all(const char *folder, const char *format, tnd_access_t access)
{
    char list[128], kind[8], name[64], dtype[8], text[512], path[192];
    size_t compared = 0;
    unsigned rows, row_bytes;
    snprintf(list, sizeof list, "%s/sources.txt", folder);
    FILE *file = fopen(list, "r");
    cr_assert_not_null(file);
    while (fscanf(file, "%7s %63s %7s %u %u", kind, name, dtype, &rows, &row_bytes) == 5) {
        if (strcmp(kind, format) != 0)
            continue;
        opened_t opened;
        tnd_error_t error;
        snprintf(text, sizeof text, "source: {%s: {x: \"%s/%s\"}}", format, folder, name);
        tnd_source_scope_t scope = {.lanes = 1, .access = access};
        cr_assert_eq(open_scope(&opened, text, scope, &error), TND_OK, "%s", error.text);
        cr_assert_eq(opened.facts.count, rows, "%s", name);
        cr_assert_str_eq(tnd_dtype_name(opened.facts.schema.columns[0].dtype), dtype);
        cr_assert_eq(tnd_schema_row_bytes(&opened.facts.schema), row_bytes, "%s", name);
        uint64_t index[16];
        for (unsigned i = 0; i < rows; i++)
            index[i] = (5 * i + 3) % rows;
        tnd_block_t *block = read_rows(&opened, index, rows, &error);
        cr_assert_not_null(block, "%s", error.text);
        size_t size;
        snprintf(path, sizeof path, "%s/%s.rows", folder, name);
        char *expected = read_whole(path, &size), *got = malloc(size);
        cr_assert_eq(tnd_block_copy(block, 0, 0, rows, got), size);
        cr_assert_eq(memcmp(got, expected, size), 0, "%s", name);
        if (access == TND_ACCESS_READ && opened.facts.copied > 0)
            cr_assert_neq(tnd_buffer_kind(block->columns[0].buffer), TND_BUFFER_MAPPED, "%s", name);
        tnd_block_drop(&block);
        close_source(&opened);
        free(expected);
        free(got);
        compared++;
    }
    fclose(file);
    return compared;
}

Test(npy, files_of_every_type_and_version_give_the_rows_of_numpy)
{
    char folder[64];
    numpy_folder(folder);

    cr_assert_eq(compare_all(folder, "npy", TND_ACCESS_MAP), 50);
    cr_assert_eq(compare_all(folder, "npy", TND_ACCESS_READ), 50);

    remove_folder(folder);
}

Test(npy, idx_files_of_every_type_raw_and_compressed_give_the_rows_of_numpy)
{
    char folder[64];
    numpy_folder(folder);

    cr_assert_eq(compare_all(folder, "idx", TND_ACCESS_MAP), 50);
    cr_assert_eq(compare_all(folder, "idx", TND_ACCESS_READ), 50);

    remove_folder(folder);
}

Test(npy, other_arrays_are_refused_with_the_remedy)
{
    static const char *const cases[][2] = {
        {"fortran", "Fortran order|numpy.ascontiguousarray"},
        {"objects", "Python objects|astype"},
        {"records", "structured array|each field"},
        {"big", "'>f4'|big-endian|astype('<f4')"},
        {"complex", "complex"},
        {"text", "text"},
        {"dates", "dates|view('int64')"},
        {"scalar", "without an axis"},
        {"truncated", "is truncated|100 rows should end at byte 928|ends at byte 919"},
        {"longer", "is longer than its rows|928 of 929"},
    };
    char folder[64], text[256], words[256];
    numpy_folder(folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "source: {npy: {x: \"%s/%s.npy\"}}", folder, cases[i][0]);
        snprintf(words, sizeof words, "%s/%s.npy|%s", folder, cases[i][0], cases[i][1]);
        expect_refusal(text, words);
    }
    remove_folder(folder);
}

static char path[128], text[256];

static void write_bytes(const void *data, size_t size)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void make_path(void)
{
    snprintf(path, sizeof path, "/tmp/tundish-npy-%d.npy", (int)getpid());
    snprintf(text, sizeof text, "source: {npy: {x: \"%s\"}}", path);
}

static void remove_path(void)
{
    unlink(path);
}

/*  A version 1.0 file of this header and this many bytes of data; returns its size. */
static size_t write_npy(const char *header, size_t data_bytes)
{
    uint8_t bytes[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t length = strlen(header);
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + 10, header, length);
    for (size_t i = 0; i < data_bytes; i++)
        bytes[10 + length + i] = (uint8_t)i;
    write_bytes(bytes, 10 + length + data_bytes);
    return 10 + length + data_bytes;
}

TestSuite(npy_header, .init = make_path, .fini = remove_path);

Test(npy_header, is_read_in_every_spelling_of_a_dictionary)
{
    static const char *const headers[] = {
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }   \n",
        "{\"shape\":(3L,4L),\"descr\":\"<u1\",\"fortran_order\":False}",
        "{ 'fortran_order' : False , 'shape' : ( 3 , 4 , ) , 'descr' : 'u1' } ",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        opened_t opened;
        tnd_error_t error;
        write_npy(headers[i], 12);
        cr_assert_eq(open_source(&opened, text, &error), TND_OK, "%s", error.text);
        cr_assert_eq(opened.facts.count, 3);
        cr_assert_eq(opened.facts.schema.columns[0].shape[0], 4);
        close_source(&opened);
    }
}

Test(npy_header, if_damaged_is_refused_with_the_place)
{
    static const char *const cases[][2] = {
        {"", "byte 10"},
        {"{", "byte 11"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}", "byte 44|True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "a comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "length of an axis"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
         "length of an axis"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1)}", "9 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,9)}",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False}", "lacks `shape`"},
        {"{'descr': '<f4', 'descr': '<f4'}", "`descr` twice"},
        {"{'descr': '<f4', 'colour': 3}", "`colour`"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "end of the header"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}", "'<f16'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (3,)}", "unknown type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_npy(cases[i][0], 12);
        expect_refusal(text, cases[i][1]);
    }
}

Test(npy_header, of_another_format_or_truncated_is_refused)
{
    write_bytes("PK\3\4 a zip file of arrays", 24);
    expect_refusal(text, "not a .npy file|.npz");
    write_bytes("\x93NUMPY\1\0", 8);
    expect_refusal(text, "is truncated|byte 8");
    write_bytes("\x93NUMPY\7\0\0\0\0\0\0\0", 14);
    expect_refusal(text, "version 7.0");
    write_bytes("\x93NUMPY\1\0\xff\x00{'de", 14);
    expect_refusal(text, "is truncated|byte 14");
    write_bytes("\x93NUMPY\2\0\xff\xff\xff\xff{'", 14);
    expect_refusal(text, "4294967295 bytes");
}

Test(npy_header, cut_anywhere_is_refused_without_a_crash)
{
    size_t size = write_npy("{'descr': '<u2', 'fortran_order': False, 'shape': (3, 2), }", 12);
    for (size_t cut = size - 1; cut > 0; cut--) {
        cr_assert_eq(truncate(path, (off_t)cut), 0);
        expect_refusal(text, path);
    }
}

Test(npy_header, rows_in_a_run_need_no_index_and_others_share_the_list)
{
    static const uint64_t run[] = {1, 2}, mixed[] = {2, 0};
    opened_t opened;
    tnd_error_t error;
    write_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }", 12);
    cr_assert_eq(open_source(&opened, text, &error), TND_OK);

    tnd_block_t *block = read_rows(&opened, run, 2, &error);
    cr_assert_null(block->index);
    cr_assert_null(block->columns[0].index);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 1), 8);
    cr_assert_eq(tnd_buffer_kind(block->columns[0].buffer), TND_BUFFER_MAPPED);
    tnd_block_drop(&block);

    block = read_rows(&opened, mixed, 2, &error);
    cr_assert_not_null(block->index);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 0), 8);
    close_source(&opened);
    cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 1), 0, "a block outlives its source");
    tnd_block_drop(&block);
}

Test(npy_header, a_missing_row_and_a_file_that_shrank_are_errors)
{
    static const uint64_t beyond[] = {0, 3}, all[] = {0, 1, 2};
    opened_t opened;
    tnd_error_t error;
    write_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }", 12);
    cr_assert_eq(open_source(&opened, text, &error), TND_OK);

    cr_assert_null(read_rows(&opened, beyond, 2, &error));
    cr_assert_not_null(strstr(error.text, "row 3 was requested"), "%s", error.text);
    cr_assert_eq(truncate(path, 70), 0);
    cr_assert_null(read_rows(&opened, all, 3, &error));
    cr_assert_not_null(strstr(error.text, "shrank while it was mapped"), "%s", error.text);
    close_source(&opened);
}
