/*  actors/stored/chunk_hasher.h - hashes of the chunks of a file while it is written
 *  (chunk_hashes.h).
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_STORED_CHUNK_HASHER_H
#define TND_ACTORS_STORED_CHUNK_HASHER_H

#include <stddef.h>
#include <stdint.h>

enum { TND_CHUNK_BITS = 16, TND_CHUNK_BYTES = 1 << TND_CHUNK_BITS };

typedef struct tnd_chunk_hasher tnd_chunk_hasher_t;

tnd_chunk_hasher_t *tnd_chunk_hasher_new(void);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_chunk_hasher_destroy(tnd_chunk_hasher_t **self_p);

/*  The next bytes of the file. */
void tnd_chunk_hasher_add(tnd_chunk_hasher_t *self, const void *data, size_t size);
/*  The hashes of all chunks; nothing can be added afterwards. */
const uint64_t *tnd_chunk_hasher_end(tnd_chunk_hasher_t *self, size_t *count_p);

#endif
