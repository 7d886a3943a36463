/*  tools/cli/versions.c - the versions of the program and of its libraries. */
#include "tools/cli/versions.h"

#include <archive.h>
#include <czmq.h>
#include <isa-l.h>
#include <microhttpd.h>
#include <msgpack.h>
#include <ncurses.h>
#include <protobuf-c/protobuf-c.h>
#include <string.h>
#include <tundish/tundish.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>
#include <zmq.h>

#include "actors/file/decompress.h"
#include "actors/image/jpeg.h"
#include "actors/image/png.h"
#include "actors/text/json_record.h"
#include "runtime/interface/link.h"

enum { LIBRARIES = 16 };

typedef struct {
    const char *name;
    char version[32]; /* "": the program was built without it */
} library_t;

static void look(library_t libraries[LIBRARIES])
{
    int zmq[3], czmq[3], yaml[3];
    zmq_version(&zmq[0], &zmq[1], &zmq[2]);
    zsys_version(&czmq[0], &czmq[1], &czmq[2]);
    yaml_get_version(&yaml[0], &yaml[1], &yaml[2]);
    unsigned xxhash = XXH_versionNumber();
    static const char *const names[LIBRARIES] = {
        "zeromq",  "czmq",       "msgpack",    "libyaml",      "xxhash",        "isa-l",
        "zlib",    "libdeflate", "zstd",       "libarchive",   "libjpeg-turbo", "libspng",
        "jansson", "ncurses",    "protobuf-c", "libmicrohttpd"};
    for (int i = 0; i < LIBRARIES; i++)
        libraries[i].name = names[i];
    size_t room = sizeof libraries[0].version;
    snprintf(libraries[0].version, room, "%d.%d.%d", zmq[0], zmq[1], zmq[2]);
    snprintf(libraries[1].version, room, "%d.%d.%d", czmq[0], czmq[1], czmq[2]);
    snprintf(libraries[2].version, room, "%s", MSGPACK_VERSION);
    snprintf(libraries[3].version, room, "%d.%d.%d", yaml[0], yaml[1], yaml[2]);
    snprintf(libraries[4].version, room, "%u.%u.%u", xxhash / 10000, xxhash / 100 % 100,
             xxhash % 100);
    snprintf(libraries[5].version, room, "%d.%d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION,
             ISAL_PATCH_VERSION);
    snprintf(libraries[6].version, room, "%s", zlibVersion());
    const char *deflate = tnd_decompress_deflate_version();
    snprintf(libraries[7].version, room, "%s", deflate != NULL ? deflate : "");
    snprintf(libraries[8].version, room, "%s", tnd_decompress_zstd_version());
    int archive = archive_version_number();
    snprintf(libraries[9].version, room, "%d.%d.%d", archive / 1000000, archive / 1000 % 1000,
             archive % 1000);
    snprintf(libraries[10].version, room, "%s", tnd_jpeg_library());
    snprintf(libraries[11].version, room, "%s", tnd_png_library());
    snprintf(libraries[12].version, room, "%s", tnd_json_library());
    /* "ncurses 6.4.20221231" */
    const char *ncurses = strchr(curses_version(), ' ');
    snprintf(libraries[13].version, room, "%s", ncurses != NULL ? ncurses + 1 : "");
    snprintf(libraries[14].version, room, "%s", protobuf_c_version());
    snprintf(libraries[15].version, room, "%s", MHD_get_version());
}

void tnd_versions_print_libraries(FILE *out)
{
    library_t libraries[LIBRARIES];
    look(libraries);
    for (int i = 0; i < LIBRARIES; i++)
        fprintf(out, libraries[i].version[0] != '\0' ? "%s%s %s" : "%sno %s", i > 0 ? ", " : "",
                libraries[i].name, libraries[i].version);
}

bool tnd_versions_old(void)
{
    int zmq[3];
    zmq_version(&zmq[0], &zmq[1], &zmq[2]);
    return ZMQ_MAKE_VERSION(zmq[0], zmq[1], zmq[2]) < ZMQ_VERSION ||
           XXH_versionNumber() < XXH_VERSION_NUMBER;
}

void tnd_versions_print(FILE *out)
{
    fprintf(out, "tundish %s\nplugin ABI %u, wire ABI %d\n", TND_VERSION, TND_ABI, TND_WIRE_ABI);
    tnd_versions_print_libraries(out);
    fputc('\n', out);
}

void tnd_versions_print_json(FILE *out)
{
    library_t libraries[LIBRARIES];
    look(libraries);
    fprintf(out, "{\"tundish\":\"%s\",\"abi\":%u,\"wire\":%d", TND_VERSION, TND_ABI, TND_WIRE_ABI);
    for (int i = 0; i < LIBRARIES; i++)
        fprintf(out, libraries[i].version[0] != '\0' ? ",\"%s\":\"%s\"" : ",\"%s\":null",
                libraries[i].name, libraries[i].version);
    fputc('}', out);
}
