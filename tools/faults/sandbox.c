/*  tools/faults/sandbox.c - places all hosts on this machine, through a relay. */
#include "tools/faults/sandbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/folder.h"
#include "runtime/data/open_files.h"
#include "tools/cli/json.h"

/*  HOSTS_MAX: the last byte of an address identifies a host. */
enum { HOSTS_MAX = 250, WORK_HOSTS = 2, TRIES = 60, PORT_FIRST = 20001, PORTS_MAX = 512 };

static const char name_of_overlay[] = "chaos.yaml";

char *tnd_sandbox_path(const tnd_sandbox_t *self, const char *name)
{
    return tnd_format_string("%s/%s", self->folder, name);
}

uint32_t tnd_sandbox_relayed_host(const tnd_sandbox_t *self, uint32_t host)
{
    while (self->plan->hosts[host].isolated)
        host = self->plan->hosts[host].parent;
    return host;
}

/* --- the overlay ------------------------------------------------------------------------------ */

typedef struct {
    const tnd_plan_t *plan; /* of the user's files */
    uint32_t outer, inner;  /* addresses without their last byte */
    uint32_t ports;         /* of a host, without the port of control */
    uint32_t hosts;         /* printed so far */
    const char *folder;
    bool keep;
} overlay_t;

static void print_addresses(FILE *out, const overlay_t *overlay, uint32_t count)
{
    const uint32_t nets[] = {overlay->outer, overlay->inner};
    static const char *const names[] = {"address", "listen"};
    for (int i = 0; i < 2; i++) {
        uint32_t net = nets[i], first = overlay->hosts + 1;
        fprintf(out, "%s%s: \"%u.%u.%u.", i > 0 ? ", " : "", names[i], net >> 24, net >> 16 & 255,
                net >> 8 & 255);
        if (count == 1)
            fprintf(out, "%" PRIu32 "\"", first);
        else
            fprintf(out, "[%" PRIu32 "-%" PRIu32 "]\"", first, first + count - 1);
    }
}

/*  The number of hosts of a name such as node[0-3]. */
static uint32_t count_of(const char *name)
{
    const char *open = strchr(name, '['), *dash = open != NULL ? strchr(open, '-') : NULL;
    if (dash == NULL)
        return 1;
    return (uint32_t)(strtoul(dash + 1, NULL, 10) - strtoul(open + 1, NULL, 10) + 1);
}

static void print_given(FILE *out, overlay_t *overlay, const tnd_value_t *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const tnd_value_entry_t *entry = &hosts->entries[i];
        fputs("  ", out);
        tnd_json_text(out, entry->key);
        fputs(": {", out);
        print_addresses(out, overlay, count_of(entry->key));
        if (i == 0 && tnd_value_get(entry->value, "port") != NULL)
            fprintf(out, ", port: %d", PORT_FIRST);
        fprintf(out, ", ports: %d-%u, transport: tcp}\n", PORT_FIRST + 1,
                PORT_FIRST + (unsigned)overlay->ports);
        overlay->hosts += count_of(entry->key);
    }
}

/*  `count` hosts for all actors of a role, if the graph has any. */
static void print_own(FILE *out, overlay_t *overlay, const char *name, uint32_t count,
                      tnd_role_t role)
{
    const tnd_topology_t *topology = overlay->plan->topology;
    bool any = false, workers = role == TND_ROLE_WORKER;
    for (uint32_t a = 0; a < topology->actor_count; a++) {
        if (topology->actors[a].kind->role != role)
            continue;
        if (!any) {
            fprintf(out, "  %s: {", name);
            print_addresses(out, overlay, count);
            fprintf(out, ", ports: %d-%u, transport: tcp, actors: [", PORT_FIRST + 1,
                    PORT_FIRST + (unsigned)overlay->ports);
        }
        fprintf(out, "%s%s", any ? ", " : "", topology->actors[a].name);
        any = true;
    }
    if (!any)
        return;
    fputc(']', out);
    for (uint32_t a = 0, told = 0; workers && a < topology->actor_count; a++)
        if (topology->actors[a].kind->role == role)
            fprintf(out, "%s%s: 1", told++ > 0 ? ", " : ", workers: {", topology->actors[a].name);
    fputs(workers ? "}}\n" : "}\n", out);
    overlay->hosts += count;
}

static void print_overlay(FILE *out, overlay_t *overlay)
{
    const tnd_topology_t *topology = overlay->plan->topology;
    const tnd_value_t *hosts = tnd_value_get(topology->root, "hosts");
    char several[32];
    fprintf(out, "port: %d\nrestarts: {max: 1000000}\n", PORT_FIRST);
    if (overlay->plan->checkpoint != NULL || overlay->keep) {
        const tnd_checkpoint_options_t *given = overlay->plan->checkpoint;
        fputs("checkpoint: {dir: ", out);
        char *path = tnd_format_string("%s/checkpoints", overlay->folder);
        tnd_json_text(out, path);
        free(path);
        bool paced = given != NULL && (given->every.ns != 0 || given->every.steps != 0);
        fprintf(out, ", keep: 2%s}\n", paced ? "" : ", every: 1 s");
    }
    fputs("hosts:\n", out);
    if (hosts != NULL && hosts->type == TND_VALUE_MAP && hosts->count > 0) {
        print_given(out, overlay, hosts);
        return;
    }
    snprintf(several, sizeof several, "work[0-%d]", WORK_HOSTS - 1);
    print_own(out, overlay, "feed", 1, TND_ROLE_FEEDER);
    print_own(out, overlay, "read", 1, TND_ROLE_READER);
    print_own(out, overlay, "keep", 1, TND_ROLE_CACHE);
    print_own(out, overlay, several, WORK_HOSTS, TND_ROLE_WORKER);
    print_own(out, overlay, "batch", 1, TND_ROLE_JOIN);
    print_own(out, overlay, "reduce", 1, TND_ROLE_REDUCER);
    print_own(out, overlay, "hold", 1, TND_ROLE_PARAMETERS);
    print_own(out, overlay, "observe", 1, TND_ROLE_OBSERVER);
}

/* --- the relay -------------------------------------------------------------------------------- */

/*  The relay and the processes need many sockets. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/*  Descriptors of this process besides the listening sockets and connections of the relay. */
enum { OWN_FILES = 32 };

/*  Finds loopback addresses whose ports are free. */
static bool open_relay(tnd_sandbox_t *self, overlay_t *overlay, uint32_t hosts)
{
    tnd_relay_host_t relayed[HOSTS_MAX];
    tnd_error_t error = {0};
    if (tnd_open_files_reserve(hosts * (overlay->ports + 1) + OWN_FILES, &error) != TND_OK) {
        tnd_complain("chaos", "cannot start the relay: %s", error.text);
        return false;
    }
    for (unsigned t = 0; t < TRIES; t++) {
        uint32_t net = 1 + ((uint32_t)getpid() * 7 + t) % 4000;
        overlay->outer = 127u << 24 | (64 + net / 64) << 16 | (net % 64 * 2) << 8;
        overlay->inner = overlay->outer | 1 << 8;
        for (uint32_t h = 0; h < hosts; h++)
            relayed[h] = (tnd_relay_host_t){.outer = overlay->outer + h + 1,
                                            .inner = overlay->inner + h + 1,
                                            .ports_first = PORT_FIRST,
                                            .ports_last = PORT_FIRST + overlay->ports};
        if (tnd_relay_open(&self->relay, relayed, hosts, &error) == TND_OK)
            return true;
    }
    tnd_complain("chaos", "cannot start the relay: %s", error.text);
    return false;
}

/*  An upper bound of the ports at which one host listens. */
static uint32_t ports_of(const tnd_plan_t *plan)
{
    return 3 * plan->instance_count + 8 < PORTS_MAX ? 3 * plan->instance_count + 8 : PORTS_MAX;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool write_overlay(const tnd_sandbox_t *self, overlay_t *overlay)
{
    char *path = tnd_sandbox_path(self, name_of_overlay);
    FILE *out = fopen(path, "we");
    bool good = out != NULL;
    if (good) {
        print_overlay(out, overlay);
        good = ferror(out) == 0;
        good = fclose(out) == 0 && good;
    }
    if (!good)
        tnd_complain("chaos", "%s: cannot write: %s", path, strerror(errno));
    free(path);
    return good;
}

static int prepare(tnd_sandbox_t *self, const tnd_request_t *request,
                   const tnd_load_options_t *options, const tnd_plan_t *plain, bool keep)
{
    const tnd_value_t *hosts = tnd_value_get(plain->topology->root, "hosts");
    const char *root = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    self->own = hosts == NULL || hosts->type != TND_VALUE_MAP || hosts->count == 0;
    self->keeps = keep || plain->checkpoint != NULL;
    self->port = PORT_FIRST;
    overlay_t overlay = {.plan = plain, .ports = ports_of(plain), .keep = keep};
    uint32_t count = 0;
    for (uint32_t h = 0; h < plain->host_count; h++)
        count += !plain->hosts[h].isolated;
    if (self->own)
        count = 4 + WORK_HOSTS;
    if (count > HOSTS_MAX)
        return tnd_usage_error("chaos", "%" PRIu32 " hosts are too many processes for one machine",
                               count);
    self->folder = tnd_format_string("%s/tundish-chaos-XXXXXX", root);
    if (mkdtemp(self->folder) == NULL) {
        tnd_complain("chaos", "%s: cannot create the folder: %s", self->folder, strerror(errno));
        free(self->folder);
        self->folder = NULL;
        return TND_EXIT_FAILED;
    }
    self->device_faults = tnd_sandbox_path(self, "device_faults");
    overlay.folder = self->folder;
    raise_limit();
    if (!open_relay(self, &overlay, count) || !write_overlay(self, &overlay))
        return TND_EXIT_FAILED;
    self->files = tnd_allocate_zeroed(request->file_count + 1, sizeof *self->files);
    for (size_t i = 0; i < request->file_count; i++)
        self->files[self->file_count++] = request->files[i];
    self->files[self->file_count++] = tnd_sandbox_path(self, name_of_overlay);
    tnd_request_t all = *request;
    all.files = self->files;
    all.file_count = self->file_count;
    self->graph = tnd_load_graph(&all, options, NULL, false);
    if (!tnd_load_check(self->graph))
        return TND_EXIT_TOPOLOGY;
    self->plan = tnd_graph_plan(self->graph);
    return TND_EXIT_OK;
}

int tnd_sandbox_open(tnd_sandbox_t *self, const tnd_request_t *request,
                     const tnd_load_options_t *options, bool keep)
{
    tnd_graph_t *graph = tnd_load_graph(request, options, NULL, false);
    int code = TND_EXIT_TOPOLOGY;
    if (tnd_load_check(graph))
        code = prepare(self, request, options, tnd_graph_plan(graph), keep);
    tnd_graph_destroy(&graph);
    return code;
}

void tnd_sandbox_close(tnd_sandbox_t *self, bool remove)
{
    tnd_relay_close(&self->relay);
    tnd_graph_destroy(&self->graph);
    if (self->folder != NULL && remove)
        tnd_folder_remove(self->folder);
    free(self->device_faults);
    if (self->file_count > 0)
        free((void *)(uintptr_t)self->files[self->file_count - 1]);
    free((void *)(uintptr_t)self->files);
    free(self->folder);
    *self = (tnd_sandbox_t){0};
}
