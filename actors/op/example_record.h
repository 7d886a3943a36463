/*  actors/op/example_record.h - the shortest tf.Example or tf.SequenceExample that has some features.
 *
 *  Numbers are 0, byte strings empty.
 *
 *  Threads: that of the room. */
#ifndef TND_ACTORS_OP_EXAMPLE_RECORD_H
#define TND_ACTORS_OP_EXAMPLE_RECORD_H

#include "actors/op/example_features.h"
#include "runtime/data/room.h"

/*  A message with these features, and feature lists of one step; either may have none.  The bytes are
 *  the room's. */
tnd_ragged_t tnd_example_record(const tnd_features_t *features, const tnd_features_t *frames,
                                tnd_room_t *room);

#endif
