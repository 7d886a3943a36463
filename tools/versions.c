/*  tools/versions.c - which tundish this is, and what it stands on. */
#include "tools/versions.h"

#include <czmq.h>
#include <msgpack.h>
#include <tundish/tundish.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>
#include <zmq.h>

#include "runtime/link.h"

void tnd_versions_print_libraries(FILE *out)
{
    int zmq[3], czmq[3], yaml[3];
    zmq_version(&zmq[0], &zmq[1], &zmq[2]);
    zsys_version(&czmq[0], &czmq[1], &czmq[2]);
    yaml_get_version(&yaml[0], &yaml[1], &yaml[2]);
    unsigned xxhash = XXH_versionNumber();
    fprintf(out,
            "zeromq %d.%d.%d, czmq %d.%d.%d, msgpack %s, libyaml %d.%d.%d, xxhash %u.%u.%u, "
            "zlib %s",
            zmq[0], zmq[1], zmq[2], czmq[0], czmq[1], czmq[2], MSGPACK_VERSION, yaml[0], yaml[1],
            yaml[2], xxhash / 10000, xxhash / 100 % 100, xxhash % 100, zlibVersion());
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
    int zmq[3], yaml[3];
    zmq_version(&zmq[0], &zmq[1], &zmq[2]);
    yaml_get_version(&yaml[0], &yaml[1], &yaml[2]);
    unsigned xxhash = XXH_versionNumber();
    fprintf(out,
            "{\"tundish\":\"%s\",\"abi\":%u,\"wire\":%d,\"zeromq\":\"%d.%d.%d\","
            "\"libyaml\":\"%d.%d.%d\",\"xxhash\":\"%u.%u.%u\",\"zlib\":\"%s\"}",
            TND_VERSION, TND_ABI, TND_WIRE_ABI, zmq[0], zmq[1], zmq[2], yaml[0], yaml[1], yaml[2],
            xxhash / 10000, xxhash / 100 % 100, xxhash % 100, zlibVersion());
}
