/*  actors/stored/tfrecord_frames.h - the frames of a TFRecord file.
 *
 *  A record is 8 bytes of length, 4 bytes of the length's checksum, the data, and 4 bytes of the
 *  data's checksum; numbers are little-endian.  A checksum is the CRC-32C of the bytes, rotated
 *  right by 15 bits, plus 0xa282ead8 (TensorFlow, `tsl/lib/io/record_writer.h`, `crc32c.h`).
 *
 *  Threads: any. */
#ifndef TND_ACTORS_STORED_TFRECORD_FRAMES_H
#define TND_ACTORS_STORED_TFRECORD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TND_TFRECORD_HEAD = 12, TND_TFRECORD_TAIL = 4 };
enum { TND_TFRECORD_AROUND = TND_TFRECORD_HEAD + TND_TFRECORD_TAIL };

/*  The length of the data of the record whose 12 first bytes are at `head`.  False: its checksum is
 *  wrong. */
bool tnd_tfrecord_length(const uint8_t *head, uint64_t *length_p);

/*  Whether the checksum after `size` bytes of data is right. */
bool tnd_tfrecord_data_matches(const uint8_t *data, size_t size);

#endif
