/*  Covers actors/op/example.c: what TensorFlow answered to well-formed, odd and damaged messages
 *  (tests/oracle/parse_example.txt), and what the answers leave open: bounds and defaults. */
#include "tests/actors/op/messages.h"

Test(example, rows_are_those_of_tensorflow)
{
    cr_expect_gt(check_answers("tests/oracle/parse_example.txt"), 480u);
}

/*  Messages of one feature `a`, {feature {key: "a", value: {kind: list}}}: the ints 1, 2, 3, packed; the
 *  strings "hi" and "". */
#define INTS "0a0e0a0c0a016112071a050a03010203"
#define STRINGS "0a0f0a0d0a016112080a060a0268690a00"

Test(example, a_list_longer_than_max_is_a_bad_row)
{
    expect_row("{parse_example: {features: {a: {dtype: i64, ragged: true, max: 3}}}}", INTS,
               "010000000000000002000000000000000300000000000000");
    expect_row("{parse_example: {features: {a: {dtype: i64, ragged: true, max: 2}}}}", INTS, "bad");
    expect_row("{parse_example: {features: {a: {dtype: bytes, ragged: true, max: 2}}}}", STRINGS,
               "6869 02000000000000000000000000000000");
    expect_row("{parse_example: {features: {a: {dtype: bytes, ragged: true, max: 1}}}}", STRINGS,
               "bad");
}

/*  Numbers of 1 to 10 bytes, packed and with a tag each, and then more of them than are read at once. */
static const char sizes_packed[] =
    "0a7a0a780a016112731a710a6f01800180800180808001808080800180808080800180808080808001808080"
    "8080808001808080808080808001808080808080808080017fff7fffff7fffffff7fffffffff7fffffffffff"
    "7fffffffffffff7fffffffffffffff7fffffffffffffffff7fffffffffffffffffff0100";
static const char sizes_tagged[] =
    "0a90010a8d010a01611287011a84010801088001088080010880808001088080808001088080808080010880"
    "808080808001088080808080808001088080808080808080010880808080808080808001087f08ff7f08ffff"
    "7f08ffffff7f08ffffffff7f08ffffffffff7f08ffffffffffff7f08ffffffffffffff7f08ffffffffffffff"
    "ff7f08ffffffffffffffffff010800";
static const char sizes_values[] =
    "0100000000000000800000000000000000400000000000000000200000000000000000100000000000000000"
    "0800000000000000000400000000000000000200000000000000000100000000000000807f00000000000000"
    "ff3f000000000000ffff1f0000000000ffffff0f00000000ffffffff07000000ffffffffff030000ffffffff"
    "ffff0100ffffffffffffff00ffffffffffffff7fffffffffffffffff0000000000000000";
static const char many_packed[] =
    "0abb010ab8010a016112b2011aaf010aac0100f03de07bd0b901c0f701b0b502e03ad078c0b601b0f401a0b2"
    "02d037c075b0b301a0f10190af02c034b072a0b00190ee0180ac02b031a06f90ad0180eb01f0a802a02e906c"
    "80aa01f0e701e0a502902b8069f0a601e0e401d0a2028028f065e0a301d0e101c09f02f024e062d0a001c0de"
    "01b09c02e021d05fc09d01b0db01a09902d01ec05cb09a01a0d801909602c01bb059a0970190d501809302b0"
    "18a05690940180d201f08f02a015";
static const char many_values[] =
    "0000000000000000f01e000000000000e03d000000000000d05c000000000000c07b000000000000b09a0000"
    "00000000601d000000000000503c000000000000405b000000000000307a0000000000002099000000000000"
    "d01b000000000000c03a000000000000b059000000000000a0780000000000009097000000000000401a0000"
    "000000003039000000000000205800000000000010770000000000000096000000000000b018000000000000"
    "a037000000000000905600000000000080750000000000007094000000000000201700000000000010360000"
    "000000000055000000000000f073000000000000e09200000000000090150000000000008034000000000000"
    "7053000000000000607200000000000050910000000000000014000000000000f032000000000000e0510000"
    "00000000d070000000000000c08f000000000000701200000000000060310000000000005050000000000000"
    "406f000000000000308e000000000000e010000000000000d02f000000000000c04e000000000000b06d0000"
    "00000000a08c000000000000500f000000000000402e000000000000304d000000000000206c000000000000"
    "108b000000000000c00d000000000000b02c000000000000a04b000000000000906a00000000000080890000"
    "00000000300c000000000000202b000000000000104a0000000000000069000000000000f087000000000000"
    "a00a000000000000";

Test(example, integers_of_any_size_and_number_are_read)
{
    static const char ragged[] =
        "{parse_example: {features: {a: {dtype: i64, ragged: true, max: 99}}}}";
    expect_row(ragged, sizes_packed, sizes_values);
    expect_row(ragged, sizes_tagged, sizes_values);
    expect_row(ragged, many_packed, many_values);
    expect_row("{parse_example: {features: {a: {dtype: i64, shape: [67]}}}}", many_packed,
               many_values);
    expect_row("{parse_example: {features: {a: {dtype: i64, shape: [66]}}}}", many_packed, "bad");
}

Test(example, a_default_is_for_all_elements_or_for_each)
{
    expect_row("{parse_example: {features: {b: {dtype: f32, shape: [2], default: 1.5}}}}", INTS,
               "0000c03f0000c03f");
    expect_row("{parse_example: {features: {b: {dtype: i64, shape: [2], default: [1, -1]}}}}", INTS,
               "0100000000000000ffffffffffffffff");
    expect_row("{parse_example: {features: {b: {dtype: bytes, default: hi}}}}", INTS, "6869");
}

/*  core/util/example_proto_fast_parsing.cc, SkipExtraneousTag, ignores what
 *  CodedInputStream::Skip answers, which moves to the end of the input, or not at all for a length that
 *  is negative as an int. */
Test(example, an_unknown_field_that_claims_more_bytes_than_there_are_ends_the_message)
{
    const char *ops = "{parse_example: {features: {a: {dtype: i64, ragged: true}}}}";
    const char *wanted = "010000000000000002000000000000000300000000000000";
    expect_row(ops, INTS "1a02ffff", wanted);
    expect_row(ops, INTS "1a03ffff", wanted);
    expect_row(ops, INTS "1affffffff07ffff", wanted);
    expect_row(ops, "1a7f" INTS, "-");
    expect_row(ops, "1affffffff07" INTS, "-");
    expect_row(ops, "1affffffff0f" INTS, wanted);
    expect_row(ops, INTS "1aff", "bad");
    expect_row(ops, INTS "19ffff", "bad");
    expect_row("{parse_sequence_example: {context: {a: {dtype: i64, ragged: true}}}}",
               INTS "1a03ffff", wanted);
}

/*  The longest record of these tests has LONGEST bytes, 512. */
Test(example, a_default_may_be_longer_than_the_longest_record)
{
    char ops[2 * LONGEST], wanted[4 * LONGEST] = "", text[LONGEST + 2] = "";
    memset(text, 'x', LONGEST + 1);
    for (int i = 0; i <= LONGEST; i++)
        strcat(wanted, "78");
    snprintf(ops, sizeof ops, "{parse_example: {features: {b: {dtype: bytes, default: %s}}}}",
             text);
    expect_row(ops, INTS, wanted);
    snprintf(ops, sizeof ops,
             "{parse_example: {features: {b: {dtype: bytes, shape: [1], default: %s}}}}", text);
    strcat(wanted, " 0102000000000000");
    expect_row(ops, INTS, wanted);
    expect_row("{parse_example: {features: {b: {dtype: bytes, max: 2, default: hi}}}}", INTS,
               "6869");
    expect_ops_refused("{parse_example: {features: {b: {dtype: bytes, max: 1, default: hi}}}}",
                       "the default of feature `b` is longer than `max`");
}

Test(example, what_does_not_go_together_is_refused_by_name)
{
    expect_ops_refused("{parse_example: {features: {a: f64}}}",
                       "`f64`; the types are bytes, f32 and i64");
    expect_ops_refused("{parse_example: {column: number, features: {a: i64}}}", "has no records");
    expect_ops_refused(
        "{parse_example: {features: {a: {dtype: i64, shape: [3], default: [1, 2]}}}}",
        "has 3 values, its default 2");
    expect_ops_refused("{parse_example: {features: {a: {dtype: i64, max: 3}}}}",
                       "`max` is for ragged");
    expect_ops_refused("{parse_example: {features: {a: {dtype: i64, ragged: true, default: 3}}}}",
                       "no default");
    expect_ops_refused("{parse_example: {features: {a: {dtype: bytes, indices: b}}}}",
                       "two ragged axes");
    expect_ops_refused("{parse_example: {features: {number: i64}}}", "number");
    expect_ops_refused("{parse_sequence_example: {}}", "no feature is asked for");
}
