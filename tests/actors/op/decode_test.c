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

Test(decode, what_cannot_be_is_refused_when_the_chain_is_opened)
{
    expect_ops_refused("{to_number: {column: number}}", "has no byte strings");
    expect_ops_refused("{to_number: {to: bf16}}", "`cast` makes them bf16");
    expect_ops_refused("{decode_raw: {to: int32}}", "type `int32` does not exist");
    expect_ops_refused("{decode_raw: {to: i64, shape: [100, 100]}}", "80000 bytes");
}
