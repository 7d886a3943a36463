/*  tests/fuzz/roster_fuzz.c - what processes that meet tell one another. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/meeting/meeting_file.h"
#include "runtime/meeting/roster_text.h"
#include "tests/fuzz/fuzz.h"

/*  What rank 0 tells of the port at which it notices ends, and what is said there. */
static void check_alive(const uint8_t *bytes, size_t size)
{
    char text[TND_ROSTER_ALIVE_SIZE + 2], again[TND_ROSTER_ALIVE_SIZE + 1];
    uint32_t rank;
    uint64_t number;
    size = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, size > 0 ? bytes : (const uint8_t *)"", size);
    text[size] = '\0';
    if (!tnd_roster_alive_read(text, &rank, &number))
        return;
    tnd_roster_alive_write(again, rank, number);
    assert(strlen(text) == strlen(again));
}

/*  What --meet finds in a folder. */
static void check_file(const uint8_t *bytes, size_t size)
{
    char text[TND_MEETING_FILE_BYTES];
    tnd_meeting_file_t file;
    size = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, size > 0 ? bytes : (const uint8_t *)"", size);
    text[size] = '\0';
    if (!tnd_meeting_file_parse(&file, text))
        return;
    assert(file.life != 0 && file.port > 0 && file.port <= 65535 && file.count > 0);
    for (uint32_t i = 0; i < file.count; i++)
        assert(file.addresses[i][0] != '\0' && strlen(file.addresses[i]) < TND_ROSTER_TEXT);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_error_t error = {.text = ""};
    tnd_roster_request_t request;
    tnd_roster_list_t list;
    tnd_buffer_t *text = tnd_buffer_new(size > 0 ? size : 1);
    memcpy(tnd_buffer_data(text), size > 0 ? bytes : (const uint8_t *)"\n", size > 0 ? size : 1);
    tnd_buffer_seal(text);
    if (tnd_roster_request_read(&request, text, &error) == TND_OK)
        assert(request.process.rank < TND_ROSTER_MAX && strlen(request.job) < TND_ROSTER_JOB);
    else
        assert(error.text[0] != '\0');
    if (tnd_roster_list_read(&list, text, &error) == TND_OK) {
        assert(list.count > 0 && list.count <= TND_ROSTER_MAX && list.port <= 65535);
        for (uint32_t i = 0; i < list.count; i++)
            assert(strlen(list.processes[i].address) < TND_ROSTER_TEXT);
        free((void *)list.processes);
    }
    tnd_buffer_drop(&text);
    check_file(bytes, size);
    check_alive(bytes, size);
    return 0;
}
