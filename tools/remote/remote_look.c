/*  tools/remote/remote_look.c - an inspection of another machine, as a line of text. */
#include "tools/remote/remote_look.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "runtime/base/allocation.h"
#include "tools/cli/json.h"
#include "tools/remote/remote_clock.h"

/*  The most records of a process, as for files of this machine, and bytes of the pages of all. */
enum {
    ACTORS_MAX = 4096,
    HOSTS_MAX = 4096,
    EDGES_MAX = 1 << 18,
    TIMINGS_MAX = 1 << 17,
    BYTES_MAX = 64 << 20
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* --- printing --------------------------------------------------------------------------------- */

static void print_base64(FILE *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= i + 2 < size ? bytes[i + 2] : 0;
        char text[4] = {letters[group >> 18], letters[group >> 12 & 63],
                        i + 1 < size ? letters[group >> 6 & 63] : '=',
                        i + 2 < size ? letters[group & 63] : '='};
        fwrite(text, 1, sizeof text, out);
    }
}

/*  What is copied of the pages of a process: all but its event rings. */
static tnd_pages_shape_t shape_of(const tnd_run_record_t *record)
{
    return (tnd_pages_shape_t){.actors = record->shape.actors,
                               .hosts = record->shape.hosts,
                               .edges = record->shape.edges,
                               .histories = record->histories != NULL ? record->shape.histories : 0,
                               .details = record->details != NULL ? record->shape.details : 0,
                               .timings = record->timings != NULL ? record->shape.timings : 0};
}

static void print_pages(FILE *out, const tnd_inspected_t *process)
{
    tnd_pages_shape_t shape = shape_of(&process->record);
    size_t actors = process->count * sizeof *process->actors;
    size_t size = actors + tnd_run_record_bytes(&shape);
    uint8_t *bytes = tnd_allocate_zeroed(size + 1, 1);
    if (actors > 0)
        memcpy(bytes, process->actors, actors);
    memcpy(bytes + actors, process->record_memory, size - actors);
    uLongf packed = compressBound((uLong)size);
    uint8_t *deflated = tnd_allocate(packed, 1);
    if (compress2(deflated, &packed, bytes, (uLong)size, Z_BEST_SPEED) == Z_OK)
        print_base64(out, deflated, packed);
    free(deflated);
    free(bytes);
}

static void print_process(FILE *out, const tnd_inspected_t *process, bool first)
{
    tnd_pages_shape_t shape = shape_of(&process->record);
    tnd_json_begin(out, !first, "run", process->run);
    tnd_json_member(out, "host", process->host);
    tnd_json_member(out, "path", process->path);
    fprintf(out,
            ",\"session\":\"%" PRIx64
            "\",\"pid\":%d,\"killed_by\":%d,\"killed\":%s,\"stopped\":%s,\"count\":%" PRIu32
            ",\"actors\":%" PRIu32 ",\"hosts\":%" PRIu32 ",\"edges\":%" PRIu32
            ",\"histories\":%" PRIu32 ",\"details\":%" PRIu32 ",\"timings\":%" PRIu32
            ",\"pages\":\"",
            process->session, process->process, process->killed_by,
            process->killed ? "true" : "false", process->stopped ? "true" : "false", process->count,
            shape.actors, shape.hosts, shape.edges, shape.histories, shape.details, shape.timings);
    print_pages(out, process);
    fprintf(out, "\",\"throttled_ns\":%" PRIu64 ",\"last_ns\":%" PRIu64 "}", process->throttled_ns,
            process->last_ns);
}

void tnd_remote_look_print(FILE *out, const tnd_inspection_t *look)
{
    bool first = true;
    tnd_pages_shape_t none = {0};
    fprintf(out,
            "{\"version\":%d,\"actor_bytes\":%zu,\"record_bytes\":%zu,\"now_ns\":%" PRIu64
            ",\"unread\":",
            TND_PAGES_VERSION, sizeof(tnd_statistics_t), tnd_run_record_bytes(&none), look->now_ns);
    tnd_json_text(out, look->unread);
    fputs(",\"processes\":[", out);
    for (uint32_t p = 0; p < look->count && p < TND_REMOTE_PROCESSES_MAX; p++) {
        print_process(out, &look->processes[p], first);
        first = false;
    }
    fputs("]}\n", out);
}

/* --- reading ---------------------------------------------------------------------------------- */

/*  Returns the number of bytes, or SIZE_MAX if it is not base64. */
static size_t read_base64(const char *text, size_t length, uint8_t *bytes)
{
    size_t used = 0;
    if (length % 4 != 0)
        return SIZE_MAX;
    for (size_t i = 0; i < length; i += 4) {
        uint32_t group = 0;
        unsigned pads = 0;
        for (unsigned j = 0; j < 4; j++) {
            const char *at = text[i + j] != '\0' ? strchr(letters, text[i + j]) : NULL;
            bool pad = text[i + j] == '=' && i + 4 == length && j >= 2;
            if ((at == NULL && !pad) || (at != NULL && pads > 0))
                return SIZE_MAX;
            pads += pad;
            group = group << 6 | (at != NULL ? (uint32_t)(at - letters) : 0);
        }
        for (unsigned j = 0; j + pads < 3; j++)
            bytes[used++] = (uint8_t)(group >> (16 - 8 * j));
    }
    return used;
}

static bool read_number(const json_t *object, const char *key, uint64_t most, uint64_t *value_p)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
        return false;
    *value_p = (uint64_t)number;
    return true;
}

/*  Copies a text; one that is too long is refused, not cut. */
static bool read_text(const json_t *object, const char *key, char *text, size_t room)
{
    const char *value = json_string_value(json_object_get(object, key));
    if (value == NULL || strlen(value) >= room)
        return false;
    memcpy(text, value, strlen(value) + 1);
    return true;
}

/*  Inflates exactly `size` bytes. */
static bool inflate_pages(const json_t *text, uint8_t *bytes, size_t size)
{
    size_t length = json_string_length(text);
    uint8_t *packed = tnd_allocate(length / 4 * 3 + 3, 1);
    size_t count =
        json_is_string(text) ? read_base64(json_string_value(text), length, packed) : SIZE_MAX;
    uLongf got = (uLongf)size;
    bool whole =
        count != SIZE_MAX && uncompress(bytes, &got, packed, (uLong)count) == Z_OK && got == size;
    free(packed);
    return whole;
}

/*  `left_p`: bytes that the pages may still take. */
static bool read_pages(const json_t *object, tnd_inspected_t *process, size_t *left_p)
{
    uint64_t count, actors, hosts, edges, histories, details, timings;
    if (!read_number(object, "actors", ACTORS_MAX, &actors) ||
        !read_number(object, "count", actors, &count) ||
        !read_number(object, "hosts", HOSTS_MAX, &hosts) ||
        !read_number(object, "edges", EDGES_MAX, &edges) ||
        !read_number(object, "histories", actors, &histories) ||
        !read_number(object, "details", histories, &details) ||
        !read_number(object, "timings", TIMINGS_MAX, &timings))
        return false;
    tnd_pages_shape_t shape = {.actors = (uint32_t)actors,
                               .hosts = (uint32_t)hosts,
                               .edges = (uint32_t)edges,
                               .histories = (uint32_t)histories,
                               .details = (uint32_t)details,
                               .timings = (uint32_t)timings};
    size_t pages = count * sizeof *process->actors, record = tnd_run_record_bytes(&shape);
    if (pages + record > *left_p)
        return false;
    *left_p -= pages + record;
    uint8_t *bytes = tnd_allocate(pages + record, 1);
    bool whole = inflate_pages(json_object_get(object, "pages"), bytes, pages + record);
    if (whole) {
        process->count = (uint32_t)count;
        process->actors = tnd_allocate_zeroed(count + 1, sizeof *process->actors);
        if (count > 0)
            memcpy(process->actors, bytes, pages);
        process->record_memory = tnd_allocate(record, 1);
        memcpy(process->record_memory, bytes + pages, record);
        process->record = tnd_run_record_at(process->record_memory, &shape);
        if (histories == 0)
            process->record.histories = NULL;
        if (details == 0)
            process->record.details = NULL;
        if (timings == 0)
            process->record.timings = NULL;
    }
    free(bytes);
    return whole;
}

static bool read_process(const json_t *object, const char *machine, tnd_inspected_t *process,
                         size_t *left_p)
{
    char path[sizeof process->path], session[20];
    uint64_t number, killed_by;
    if (!read_text(object, "run", process->run, sizeof process->run) ||
        !read_text(object, "host", process->host, sizeof process->host) ||
        !read_text(object, "path", path, sizeof path - sizeof process->machine) ||
        !read_text(object, "session", session, sizeof session) ||
        !read_number(object, "pid", INT32_MAX, &number) ||
        !read_number(object, "killed_by", NSIG - 1, &killed_by))
        return false;
    if (!read_number(object, "throttled_ns", INT64_MAX, &process->throttled_ns) ||
        !read_number(object, "last_ns", INT64_MAX, &process->last_ns))
        return false;
    process->session = strtoull(session, NULL, 16);
    process->process = (int)number;
    process->killed_by = (int)killed_by;
    process->killed = json_is_true(json_object_get(object, "killed"));
    process->stopped = json_is_true(json_object_get(object, "stopped"));
    snprintf(process->machine, sizeof process->machine, "%s", machine);
    /* Two machines may use the same path. */
    snprintf(process->path, sizeof process->path, "%s:%.440s", process->machine, path);
    return read_pages(object, process, left_p);
}

/* --- a line ----------------------------------------------------------------------------------- */

static tnd_status_t check_version(const json_t *root, tnd_error_t *error)
{
    uint64_t version, actor_bytes, record_bytes;
    tnd_pages_shape_t none = {0};
    if (!read_number(root, "version", INT32_MAX, &version) ||
        !read_number(root, "actor_bytes", INT32_MAX, &actor_bytes) ||
        !read_number(root, "record_bytes", INT32_MAX, &record_bytes))
        return tnd_fail(error, "what it prints is not of `tundish ps --stream --pages`");
    if (version != TND_PAGES_VERSION)
        return tnd_fail(error,
                        "the tundish there is %s: its statistics have version %" PRIu64
                        ", those here %d; install the same version on both machines",
                        version < TND_PAGES_VERSION ? "older" : "newer", version,
                        TND_PAGES_VERSION);
    if (actor_bytes != sizeof(tnd_statistics_t) || record_bytes != tnd_run_record_bytes(&none))
        return tnd_fail(error, "the tundish there is of another build with other statistics; "
                               "install the same version on both machines");
    return TND_OK;
}

static tnd_status_t read_processes(const json_t *root, const char *machine, uint64_t here,
                                   tnd_inspection_t *look, tnd_error_t *error)
{
    uint64_t there;
    const json_t *list = json_object_get(root, "processes");
    const char *unread = json_string_value(json_object_get(root, "unread"));
    size_t count = json_array_size(list);
    if (!json_is_array(list) || unread == NULL || !read_number(root, "now_ns", INT64_MAX, &there))
        return tnd_fail(error, "what it prints is not of `tundish ps --stream --pages`");
    if (count > TND_REMOTE_PROCESSES_MAX)
        return tnd_fail(error, "it shows %zu processes; at most %d are read", count,
                        TND_REMOTE_PROCESSES_MAX);
    look->unread = tnd_copy_string(unread);
    look->processes = tnd_allocate_zeroed(count + 1, sizeof *look->processes);
    size_t left = BYTES_MAX;
    for (size_t i = 0; i < count; i++) {
        tnd_inspected_t *process = &look->processes[look->count];
        if (!read_process(json_array_get(list, i), machine, process, &left)) {
            (void)tnd_fail(error, "process %zu of what it prints is damaged", i);
            free(process->actors);
            free(process->record_memory);
            *process = (tnd_inspected_t){0};
            continue;
        }
        look->count++;
        tnd_inspected_bound(process);
        tnd_remote_clock_convert(process, there, here);
    }
    return TND_OK;
}

tnd_status_t tnd_remote_look_read(const char *line, size_t size, const char *machine,
                                  uint64_t now_ns, tnd_inspection_t **look_p, tnd_error_t *error)
{
    json_error_t where;
    json_t *root = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
    tnd_inspection_t *look = tnd_allocate_zeroed(1, sizeof *look);
    look->now_ns = now_ns;
    *look_p = NULL;
    tnd_status_t status = check_version(root, error);
    if (status == TND_OK)
        status = read_processes(root, machine, now_ns, look, error);
    json_decref(root);
    if (status == TND_OK)
        *look_p = look;
    else
        tnd_inspection_destroy(&look);
    return status;
}
