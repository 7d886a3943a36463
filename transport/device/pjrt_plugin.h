/*  transport/device/pjrt_plugin.h - the PJRT plugin of this process, and its client.
 *
 *  The plugin is the file that TUNDISH_PJRT names, or the first that Python's packages have.  It is
 *  loaded, and its client made, when it is first asked for.  Both stay until the process ends, as
 *  plugins cannot be unloaded.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_DEVICE_PJRT_PLUGIN_H
#define TND_TRANSPORT_DEVICE_PJRT_PLUGIN_H

#include "transport/device/pjrt_interface.h"

typedef struct {
    const table_t *table;
    void *client, *const *devices;
    uint32_t count;
    bool on_host; /* its devices are processors, their memory the host's */
} tnd_pjrt_plugin_t;

/*  Errors: NULL, and the reason in `why`; the same at each call. */
const tnd_pjrt_plugin_t *tnd_pjrt_plugin(char *why, size_t room);

/*  The calls below need the plugin to be there.  `place` is one of CALLS (pjrt_interface.h). */
bool tnd_pjrt_has(unsigned place);
/*  Errors: false, and the first line of the error in `why`; destroys it.  NULL is success. */
bool tnd_pjrt_succeeded(void *error, char *why, size_t room);
/*  Errors: false, and the first line of what the plugin says in `why`. */
bool tnd_pjrt_call(unsigned place, void *args, char *why, size_t room);

#endif
