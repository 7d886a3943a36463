/*  runtime/core/protocol/bad_way.h - what is done about bad records. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_BAD_WAY_H
#define TND_RUNTIME_CORE_PROTOCOL_BAD_WAY_H

/*  The policy for bad records. */
typedef enum {
    TND_BAD_STOP,       /* the run fails and names the record */
    TND_BAD_SKIP,       /* the record is dropped and counted */
    TND_BAD_QUARANTINE, /* and also written to the quarantine file */
    TND_BAD_END         /* as STOP, whatever the policy is */
} tnd_bad_way_t;

/*  Bytes of the text about a bad record, with its terminator. */
enum { TND_BAD_TEXT_MAX = 480 };

#endif
