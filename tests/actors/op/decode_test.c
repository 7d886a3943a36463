/*  Covers the operations of actors/op/text/ that read numbers: what TensorFlow answered
 *  (tests/oracle/decode.txt), and what its answers leave open: shapes, other types and new columns. */
#include "tests/actors/op/messages.h"

Test(decode, rows_are_those_of_tensorflow)
{
    cr_expect_eq(check_answers("tests/oracle/decode.txt"), 279u);
}

Test(decode, raw_bytes_of_one_shape_become_a_column_of_that_shape)
{
    const char *ops = "{decode_raw: {to: u16, shape: [2, 2], little_endian: false}}";
    expect_row(ops, "0001000200030004", "0100020003000400");
    expect_row(ops, "000100020003", "bad");
    expect_row("{decode_raw: {to: u8, into: raw}}", "0102", "0102 0102");
    expect_row("{decode_raw: {to: f64}}", "-", "-");
}

/*  Hexadecimal text of ASCII. */
#define MINUS_ONE "2d31"
#define TWO_HUNDRED "323030"

Test(decode, a_number_must_fit_its_type)
{
    expect_row("{to_number: {to: u8}}", TWO_HUNDRED, "c8");
    expect_row("{to_number: {to: i8}}", TWO_HUNDRED, "bad");
    expect_row("{to_number: {to: i8}}", MINUS_ONE, "ff");
    expect_row("{to_number: {to: u64}}", MINUS_ONE, "bad");
    expect_row("{to_number: {to: i16, into: n}}", TWO_HUNDRED, "323030 c800");
}

/*  The record `-1,200`, and `"a""b",`. */
#define RECORD "2d312c323030"
#define QUOTED                                                                                     \
    "226122226222"                                                                                 \
    "2c"

Test(decode, fields_of_csv_become_columns_with_defaults_and_bounds)
{
    expect_row("{decode_csv: {fields: {a: i16, b: string}}}", RECORD, "ffff 323030");
    expect_row("{decode_csv: {fields: {a: {dtype: string, max: 1}, b: u8}}}", RECORD, "bad");
    expect_row("{decode_csv: {fields: {a: i16}, select: [1]}}", RECORD, "c800");
    expect_row("{decode_csv: {fields: {a: string, b: {dtype: f64, default: 1.5}}}}", QUOTED,
               "612262 000000000000f83f");
    expect_row("{decode_csv: {fields: {a: string, b: {dtype: string, default: none}}}}", QUOTED,
               "612262 6e6f6e65");
    expect_row("{decode_csv: {fields: {a: string, b: string}}}", QUOTED, "bad");
}

/*  A document as hex. */
static const char *hex(const char *text)
{
    static char written[2 * LONGEST + 1];
    for (size_t i = 0; i <= strlen(text); i++)
        snprintf(written + 2 * i, 3, "%02x", (unsigned char)text[i]);
    written[2 * strlen(text)] = '\0';
    return written;
}

static void expect_json(const char *fields, const char *text, const char *wanted)
{
    char ops[256];
    snprintf(ops, sizeof ops, "{decode_json: {fields: {%s}}}", fields);
    expect_row(ops, hex(text), wanted);
}

Test(decode, values_of_json_become_columns)
{
    expect_json("a: i16, b: string", "{\"a\": -1, \"b\": \"\\u0000z\", \"c\": []}", "ffff 007a");
    expect_json("x: {path: a.b, dtype: u8}", "{\"a\": {\"b\": 7}}", "07");
    expect_json("x: {path: 1.b, dtype: u8}", "[0, {\"b\": 7}]", "07");
    expect_json("x: {path: a.4294967297, dtype: u8}", "{\"a\": [1, 2]}", "bad");
    expect_json("a: {dtype: u8, shape: [2, 2]}", "{\"a\": [[1, 2], [3, 4]]}", "01020304");
    expect_json("a: {dtype: u8, shape: [2, 2]}", "{\"a\": [1, 2, 3, 4]}", "bad");
    expect_json("a: {dtype: u8, shape: [2], default: 9}", "{}", "0909");
    expect_json("a: {dtype: i64, ragged: true}, b: u8", "{\"b\": 1}", "- 01");
    expect_json("a: {dtype: u16, ragged: true, max: 2}", "{\"a\": [1, 2]}", "01000200");
    expect_json("a: {dtype: u16, ragged: true, max: 2}", "{\"a\": [1, 2, 3]}", "bad");
    expect_json("a: {dtype: string, max: 2}", "{\"a\": \"abc\"}", "bad");
    expect_json("a: {dtype: string, default: none}", "{\"a\": null}", "6e6f6e65");
    expect_json("a: u8", "{\"a\": null}", "bad");
}

Test(decode, numbers_of_json_must_fit_their_type)
{
    expect_json("a: u8, b: i8, c: u8", "{\"a\": 255, \"b\": -128, \"c\": true}", "ff 80 01");
    expect_json("a: i64", "{\"a\": -9223372036854775808}", "0000000000000080");
    expect_json("a: u64", "{\"a\": 9223372036854775807}", "ffffffffffffff7f");
    expect_json("a: u64", "{\"a\": 9223372036854775808}", "bad");
    expect_json("a: u64", "{\"a\": -1}", "bad");
    expect_json("a: u8", "{\"a\": 256}", "bad");
    expect_json("a: i8", "{\"a\": -129}", "bad");
    expect_json("a: i8", "{\"a\": 1.5}", "bad");
    expect_json("a: i8", "{\"a\": 1.2e1}", "0c");
    expect_json("a: i64", "{\"a\": 9007199254740994.0}", "bad");
    expect_json("a: i8", "{\"a\": \"1\"}", "bad");
    expect_json("a: f32", "{\"a\": 1e39}", "bad");
    expect_json("a: f32, b: f64", "{\"a\": 1, \"b\": -0.5}", "0000803f 000000000000e0bf");
}

static void expect_csv(const char *options, const char *text, const char *wanted)
{
    char ops[256];
    snprintf(ops, sizeof ops, "{decode_csv: {%s}}", options);
    expect_row(ops, hex(text), wanted);
}

Test(decode, several_fields_of_csv_make_one_column)
{
    const char *table = "fields: {y: u8, x: {dtype: u8, shape: [2, 3]}, z: string}";
    expect_csv(table, "9,1,2,3,4,5,6,ab", "09 010203040506 6162");
    expect_csv(table, "9,1,2,3,4,5,ab", "bad");
    expect_csv(table, "9,1,2,3,4,5,6,7,ab", "bad");
    expect_csv(table, "9,1,2,,4,5,6,ab", "bad");
    expect_csv("fields: {x: {dtype: u16, shape: [3], default: 7}}", "1,,3", "010007000300");
    const char *spaces = "delimiter: spaces, fields: {x: {dtype: u8, shape: [2]}, t: string}";
    expect_csv(spaces, "1 2 ab", "0102 6162");
    expect_csv(spaces, "\t 1 \t 2\t\tab  ", "0102 6162");
    expect_csv(spaces, " 1 2 \"a b \" ", "0102 61206220");
    expect_csv(spaces, "1 2", "bad");
    expect_csv(spaces, "1 2 a b", "bad");
    expect_csv(spaces, "1 2 \"a\"b", "bad");
    expect_csv(spaces, "  ", "bad");
    expect_csv("fields: {x: {dtype: u8, shape: [2]}, y: u8}, select: [1, 3, 4]", "0,1,2,3,4,5",
               "0103 04");
    expect_csv("fields: {x: {dtype: f32, shape: [2], default: nan}}, na: [NA, '?']", "?,NA",
               "0000c07f0000c07f");
    expect_csv("fields: {x: {dtype: f32, shape: [2], default: nan}}, na: [NA, '?']", "NA?,1",
               "bad");
    expect_csv("fields: {x: {dtype: u8, default: 5}, y: u8}, na: [NA, '?']", "NA,1", "05 01");
}

Test(decode, texts_are_looked_up_in_a_map)
{
    const char *ops = "{lookup: {column: record, map: {'200': 2, '-1': 3, x: 4}, to: u8}}";
    expect_row(ops, TWO_HUNDRED, "02");
    expect_row(ops, MINUS_ONE, "03");
    expect_row(ops, "-", "bad");
    expect_row(ops, "78", "04");
    expect_row("{lookup: {column: record, map: {x: 4}, to: u8, missing: 9, into: n}}", MINUS_ONE,
               "2d31 09");
    expect_ops_refused("{lookup: {column: record, values: [1]}}", "looked up in a `map`");
}

Test(decode, what_cannot_be_is_refused_when_the_chain_is_opened)
{
    expect_ops_refused("{to_number: {column: number}}", "has no byte strings");
    expect_ops_refused("{to_number: {to: bf16}}", "`cast` makes them bf16");
    expect_ops_refused("{decode_raw: {to: int32}}", "type `int32` does not exist");
    expect_ops_refused("{decode_raw: {to: i64, shape: [100, 100]}}", "80000 bytes");
    expect_ops_refused("{decode_csv: {fields: {a: int}}}", "has the type `int`; the types are");
    expect_ops_refused("{decode_csv: {fields: {a: {dtype: u8, default: 300}}}}", "does not fit");
    expect_ops_refused("{decode_csv: {fields: {a: {dtype: u8, max: 3}}}}", "`max` is for strings");
    expect_ops_refused("{decode_csv: {fields: {a: u8, b: u8}, select: [1, 0]}}", "0 after 1");
    expect_ops_refused("{decode_csv: {fields: {a: u8}, select: [1, 2]}}", "`select` has 2 places");
    expect_ops_refused(
        "{decode_csv: {fields: {a: {dtype: u8, shape: [2]}, b: u8}, select: [1, 2]}}",
        "`select` has 2 places, the columns of `fields` take 3");
    expect_ops_refused("{decode_csv: {fields: {a: {dtype: string, shape: [2]}}}}", "one string");
    expect_ops_refused("{decode_csv: {fields: {a: u8}, delimiter: ab}}", "one byte");
    expect_ops_refused("{decode_csv: {fields: {number: u8}}}", "number");
    expect_ops_refused("{decode_json: {fields: {a: {dtype: string, shape: [2]}}}}", "one string");
    expect_ops_refused("{decode_json: {fields: {a: {dtype: u8, ragged: true, shape: [2]}}}}",
                       "no `shape`");
    expect_ops_refused("{decode_json: {column: number, fields: {a: u8}}}", "has no byte strings");
}
