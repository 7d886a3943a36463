/*  tools/rows/show_json.c - prints the rows of a step as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/cli/json.h"
#include "tools/rows/show.h"

static const uint64_t exact_max = UINT64_C(1) << 53;

static void print_unsigned(uint64_t value)
{
    printf(value > exact_max ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
}

static void print_signed(int64_t value)
{
    bool beyond = value > (int64_t)exact_max || value < -(int64_t)exact_max;
    printf(beyond ? "\"%" PRId64 "\"" : "%" PRId64, value);
}

static void print_element(tnd_dtype_t dtype, const void *data, uint64_t index)
{
    double number;
    switch (dtype) {
    case TND_U64:
        print_unsigned(((const uint64_t *)data)[index]);
        break;
    case TND_I64:
        print_signed(((const int64_t *)data)[index]);
        break;
    case TND_BOOL:
        fputs(((const uint8_t *)data)[index] != 0 ? "true" : "false", stdout);
        break;
    case TND_F16:
    case TND_BF16:
    case TND_F32:
        number = tnd_capture_number(dtype, data, index);
        if (isfinite(number))
            printf("%.9g", number);
        else
            tnd_json_number(stdout, number);
        break;
    case TND_F64:
        tnd_json_number(stdout, ((const double *)data)[index]);
        break;
    default:
        printf("%.0f", tnd_capture_number(dtype, data, index));
        break;
    }
}

static void print_columns(const tnd_capture_t *capture, uint32_t number)
{
    const tnd_capture_replica_t *replica = &capture->replicas[number];
    fputs("\"columns\":{", stdout);
    for (uint32_t c = 0; c < capture->schema.count; c++) {
        const tnd_column_t *column = &capture->schema.columns[c];
        fputs(c > 0 ? "," : "", stdout);
        tnd_json_text(stdout, column->name);
        printf(":{\"dtype\":\"%s\",\"shape\":[%" PRIu64, tnd_dtype_name(column->dtype),
               replica->rows);
        if (column->ragged)
            fputs(",null", stdout);
        for (uint32_t d = column->ragged ? 1 : 0; d < column->rank; d++)
            printf(",%" PRIu64, column->shape[d]);
        putchar(']');
        for (uint64_t row = 0; column->ragged && row <= replica->rows; row++)
            printf("%s%" PRIu64 "%s", row == 0 ? ",\"splits\":[" : ",", replica->splits[c][row],
                   row == replica->rows ? "]" : "");
        if (column->ragged && replica->padded_to[c] != TND_UNKNOWN)
            printf(",\"longest\":%" PRIu64, replica->padded_to[c]);
        fputs(",\"data\":[", stdout);
        uint64_t count = tnd_capture_elements(capture, number, c);
        for (uint64_t i = 0; i < count; i++) {
            if (i > 0)
                putchar(',');
            print_element(column->dtype, replica->columns[c], i);
        }
        fputs("]}", stdout);
    }
    fputs("}}", stdout);
}

void tnd_show_json(const tnd_capture_t *capture)
{
    for (uint32_t r = 0; r < capture->replica_count; r++) {
        const tnd_capture_replica_t *replica = &capture->replicas[r];
        printf("{\"step\":%" PRIu64 ",\"replica\":%" PRIu32 ",\"rows\":%" PRIu64, replica->step, r,
               replica->rows);
        if (replica->padded > 0)
            printf(",\"padded\":%" PRIu64, replica->padded);
        printf(",\"last\":%s,", replica->last ? "true" : "false");
        print_columns(capture, r);
        putchar('\n');
    }
}

void tnd_show_passing_json(const tnd_capture_t *capture, uint64_t first)
{
    printf("{\"first\":%" PRIu64 ",\"rows\":%" PRIu64 ",", first, capture->replicas[0].rows);
    print_columns(capture, 0);
}
