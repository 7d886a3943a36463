/*  runtime/meeting/meeting_file.h - a file of a shared folder in which rank 0 writes where it listens.
 *
 *  Some launchers do not tell where rank 0 is.  With `--meet DIR` rank 0 writes its addresses, its port
 *  and a random number, its life, into a file with the name of the job, and removes the file after the
 *  meeting; or after the run, if processes that come late may wait there for its next start.  The others send the life that they have read, and only the leader with this life takes
 *  them.  So a file that a killed leader left leads to no other meeting.
 *
 *  Threads: any; the file system may block. */
#ifndef TND_RUNTIME_MEETING_MEETING_FILE_H
#define TND_RUNTIME_MEETING_MEETING_FILE_H

#include "runtime/core/session/roster.h"
#include "runtime/meeting/meeting_place.h"

enum { TND_MEETING_FILE_ADDRESSES = 16, TND_MEETING_FILE_BYTES = 2048 };

typedef struct {
    uint64_t life; /* not 0 */
    uint32_t port;
    uint32_t count;
    char addresses[TND_MEETING_FILE_ADDRESSES][TND_ROSTER_TEXT];
} tnd_meeting_file_t;

/*  A number that no other leader has, in all likelihood. */
uint64_t tnd_meeting_file_life(void);

/*  Creates the file.
 *  Errors: TND_AGAIN if it exists; TND_FAILED if the folder cannot be written. */
tnd_status_t tnd_meeting_file_create(const tnd_meeting_place_t *place,
                                     const tnd_meeting_file_t *self,
                                     tnd_error_t *error) TND_CHECKED;
/*  Reads the file.
 *  Errors: TND_AGAIN if there is none, or not a whole one; TND_FAILED if the folder cannot be read. */
tnd_status_t tnd_meeting_file_read(const tnd_meeting_place_t *place, tnd_meeting_file_t *self,
                                   tnd_error_t *error) TND_CHECKED;
/*  Removes the file, if there is one, and if it is of this life; 0: in any case.
 *  Errors: TND_FAILED if it cannot be removed. */
tnd_status_t tnd_meeting_file_remove(const tnd_meeting_place_t *place, uint64_t life,
                                     tnd_error_t *error);

/*  Reads its text, which ends with a zero.
 *  Errors: false, and *self is undefined. */
bool tnd_meeting_file_parse(tnd_meeting_file_t *self, const char *text);

#endif
