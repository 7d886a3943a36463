/*  tests/fuzz/remote_look_fuzz.c - what another machine prints for `--via`.
 *
 *  The bytes are a line as it arrives, and also the pages of a process inside of a valid line, whose
 *  compression would hide them from mutations. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tests/fuzz/fuzz.h"
#include "tools/remote/remote_look.h"
#include "tools/report/run_json.h"

enum { NOW = 1000000000 };

/*  Uses what was read as `tundish ps` does. */
static void show(const tnd_inspection_t *look)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        assert(strcmp(process->machine, "10.0.0.2") == 0);
        assert(memchr(process->run, '\0', sizeof process->run) != NULL);
        assert(process->record.page->started_ns <= NOW);
        tnd_run_json_run(out, look, process);
        for (uint32_t a = 0; a < process->count; a++)
            tnd_run_json_actor(out, process, &process->actors[a], look->now_ns, 0);
    }
    fclose(out);
    assert(memchr(text, '\n', size) == NULL);
    free(text);
}

static tnd_status_t read_line(const char *line, size_t size)
{
    tnd_inspection_t *look;
    tnd_error_t error = {.text = ""};
    tnd_status_t status = tnd_remote_look_read(line, size, "10.0.0.2", NOW, &look, &error);
    assert((status == TND_OK) == (look != NULL) && (status == TND_OK) == (error.text[0] == '\0'));
    if (look != NULL)
        show(look);
    tnd_inspection_destroy(&look);
    return status;
}

/*  Spreads the bytes over the pages of a process with one actor, two hosts and an edge. */
static void read_pages(const uint8_t *bytes, size_t size)
{
    tnd_pages_shape_t shape = {.actors = 1, .hosts = 2, .edges = 1, .histories = 1};
    size_t room = tnd_run_record_bytes(&shape), half = size / 2;
    tnd_inspected_t process = {.run = "r", .host = "h", .path = "p", .process = 1, .count = 1};
    process.actors = tnd_allocate_zeroed(1, sizeof *process.actors);
    process.record_memory = tnd_allocate_zeroed(room, 1);
    for (size_t i = 0; i < sizeof *process.actors && half > 0; i++)
        ((uint8_t *)process.actors)[i] = bytes[i % half];
    for (size_t i = 0; i < room && size > half; i++)
        ((uint8_t *)process.record_memory)[i] = bytes[half + i % (size - half)];
    process.record = tnd_run_record_at(process.record_memory, &shape);
    char unread[] = "", *line = NULL;
    tnd_inspection_t look = {.now_ns = 5, .count = 1, .processes = &process, .unread = unread};
    FILE *out = tnd_memory_stream(&line, &room);
    tnd_remote_look_print(out, &look);
    fclose(out);
    assert(read_line(line, room) == TND_OK);
    free(line);
    free(process.actors);
    free(process.record_memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    char *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    (void)read_line(copy, size);
    read_pages(bytes, size);
    free(copy);
    return 0;
}
