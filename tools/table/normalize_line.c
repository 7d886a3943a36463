/*  tools/table/normalize_line.c - the line of a new topology that normalizes a column of numbers. */
#include "tools/table/normalize_line.h"

void tnd_normalize_line_print(const char *column, bool missing, FILE *out)
{
    if (missing)
        fprintf(out,
                "      - {normalize: {column: %s, mean: auto, std: auto, nan: mean}}  # a missing "
                "number becomes 0, the mean\n",
                column);
    else
        fprintf(out,
                "      # - {normalize: {column: %s, mean: auto, std: auto}}  # to mean 0 and "
                "deviation 1\n",
                column);
}
