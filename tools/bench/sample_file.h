/*  tools/bench/sample_file.h - files with data for measurements.
 *
 *  The files are in a folder of their own in $TMPDIR (or /tmp), which is removed when the program
 *  ends.  They contain numbers that repeat after a prime number of bytes. */
#ifndef TND_TOOLS_BENCH_SAMPLE_FILE_H
#define TND_TOOLS_BENCH_SAMPLE_FILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char path[256];
    const uint8_t *rows; /* mapped, after the header */
    size_t row_bytes, count, header_bytes;
} bench_file_t;

/*  Writes rows without a header, of `bytes` in total; fewer, with a message, if disk or memory has
 *  no room for them and half as much again. */
bench_file_t bench_file_raw(const char *name, size_t row_bytes, size_t bytes);
/*  Writes such rows with the header of a .npy file of `columns` numbers per row; `count` rows. */
bench_file_t bench_file_npy(const char *name, const char *descr, size_t columns, size_t count);
/*  The number of bytes for which there is room, at most `bytes`; prints a message if it is less. */
size_t bench_file_room(size_t bytes);
/*  Writes length and checksums of a TFRecord frame around its `length` bytes, at `frame` + 12;
 *  without the code that is measured. */
void bench_frame(uint8_t *frame, uint64_t length);
/*  Unmaps its rows. */
void bench_file_unmap(bench_file_t *file);
/*  Writes it to the disk and drops its unmapped pages from the page cache. */
void bench_file_evict(const bench_file_t *file);
/*  Removes the file now. */
void bench_file_forget(bench_file_t *file);
/*  Reads the whole file, because page caches drop unused pages. */
void bench_file_touch(const bench_file_t *file);

#endif
