/*  tools/bench/sample_file.h - data to measure with: written, touched, removed at the end.
 *
 *  Files lie in a folder of their own in $TMPDIR (else /tmp), which is removed when the program
 *  ends.  They hold numbers that repeat after a prime number of bytes.
 */
#ifndef TND_TOOLS_BENCH_SAMPLE_FILE_H
#define TND_TOOLS_BENCH_SAMPLE_FILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char path[256];
    const uint8_t *rows; /* mapped, after the header */
    size_t row_bytes, count, header_bytes;
} bench_file_t;

/*  Writes rows without a header, of `bytes` in all; fewer, and says so, where disk or memory has
 *  no room for them and half as much again.
 */
bench_file_t bench_file_raw(const char *name, size_t row_bytes, size_t bytes);
/*  The same with the header of a .npy file of `columns` numbers a row; `count` rows. */
bench_file_t bench_file_npy(const char *name, const char *descr, size_t columns, size_t count);
/*  How many bytes there is room for, at most `bytes`; says so where it is less. */
size_t bench_file_room(size_t bytes);
/*  From here on its rows are not mapped. */
void bench_file_unmap(bench_file_t *file);
/*  Writes it to the disk and has the page cache forget it, as far as nothing maps it. */
void bench_file_evict(const bench_file_t *file);
/*  Removes it; the others go when the program ends. */
void bench_file_forget(bench_file_t *file);
/*  Reads all of it: page caches forget what has not been used for a while. */
void bench_file_touch(const bench_file_t *file);

#endif
