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

Test(example, a_default_is_for_all_elements_or_for_each)
{
    expect_row("{parse_example: {features: {b: {dtype: f32, shape: [2], default: 1.5}}}}", INTS,
               "0000c03f0000c03f");
    expect_row("{parse_example: {features: {b: {dtype: i64, shape: [2], default: [1, -1]}}}}", INTS,
               "0100000000000000ffffffffffffffff");
    expect_row("{parse_example: {features: {b: {dtype: bytes, default: hi}}}}", INTS, "6869");
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
