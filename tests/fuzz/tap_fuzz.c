/*  tests/fuzz/tap_fuzz.c - the tap at the end of a statistics file, which any process of the user can
 *  write.
 *
 *  The bytes choose the number of rows and of columns, then types and shapes, and are the rows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/events/tap_reader.h"
#include "tools/rows/tapped_rows.h"

enum { HEAD = 4, COLUMN = 8 };

/*  Uses every element of what was accepted. */
static void use(const tnd_tap_t *tap)
{
    tnd_capture_t capture;
    double sum = 0;
    tnd_tapped_rows(&capture, tap);
    for (uint32_t c = 0; c < capture.schema.count; c++)
        for (uint64_t row = 0; row < capture.replicas[0].rows; row++) {
            uint64_t elements;
            const uint8_t *data = tnd_capture_row(&capture, 0, c, row, &elements);
            for (uint64_t e = 0; e < elements; e++)
                sum += tnd_capture_number(capture.schema.columns[c].dtype, data, e);
        }
    volatile double used = sum;
    (void)used;
    tnd_capture_fini(&capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint8_t head[HEAD] = {0};
    tnd_tap_t *tap = aligned_alloc(64, sizeof *tap);
    if (tap == NULL)
        abort();
    memset(tap, 0, sizeof *tap);
    memcpy(head, bytes, size < HEAD ? size : HEAD);
    size_t at = size < HEAD ? size : HEAD;
    tap->note.rows = head[0] % (TND_TAP_ROWS + 2);
    tap->schema.count = head[1] % 5 == 4 ? UINT32_MAX - head[1] : head[1] % 5;
    for (uint32_t c = 0; c < 4 && size - at >= COLUMN; c++, at += COLUMN) {
        tnd_column_t *column = &tap->schema.columns[c];
        memset(column->name, 'a' + (int)c, bytes[at] % (sizeof column->name + 1));
        column->dtype = (tnd_dtype_t)(bytes[at + 1] % 20);
        column->rank = bytes[at + 2] % 10;
        memset(&column->ragged, bytes[at + 3], 1);
        for (uint32_t d = 0; d < TND_RANK_MAX; d++)
            column->shape[d] = (uint64_t)bytes[at + 4 + d % 4] << (bytes[at] >> 7) * 56;
    }
    tap->note.bytes = (uint32_t)(size - at) + (head[2] == 255 ? (uint32_t)head[3] << 24 : 0);
    memcpy(tap->rows, bytes + at, size - at < sizeof tap->rows ? size - at : sizeof tap->rows);
    if (tnd_tap_bound(tap))
        use(tap);
    free(tap);
    return 0;
}
