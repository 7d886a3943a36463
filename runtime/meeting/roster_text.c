/*  runtime/meeting/roster_text.c - what processes that meet tell one another, as lines of text. */
#include "runtime/meeting/roster_text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/data/text_payload.h"
#include "runtime/text/printable.h"

static void write_process(FILE *out, const tnd_roster_process_t *process)
{
    fprintf(out, "%" PRIu32 " %" PRIu32 " %s\n%s\n%s\n%s\n%s\n", process->rank,
            process->device_count, process->device, process->address, process->machine,
            process->name, process->visible);
}

/*  The next line, which must fit. */
static bool read_line(tnd_text_payload_reader_t *reader, char *text, size_t room)
{
    const char *line = tnd_text_payload_line(reader);
    if (line == NULL || strlen(line) >= room)
        return false;
    memcpy(text, line, strlen(line) + 1);
    return true;
}

bool tnd_roster_is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char inside[TND_ROSTER_TEXT];
    size_t size = strlen(text);
    if (text[0] != '[')
        return size == 0 || inet_pton(AF_INET, text, bytes) == 1;
    if (text[size - 1] != ']')
        return false;
    memcpy(inside, text + 1, size - 2);
    inside[size - 2] = '\0';
    return inet_pton(AF_INET6, inside, bytes) == 1;
}

static bool read_process(tnd_text_payload_reader_t *reader, tnd_roster_process_t *process)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const char *line = tnd_text_payload_line(reader);
    int end = 0;
    if (line == NULL ||
        sscanf(line, "%9" SCNu32 " %9" SCNu32 " %n", &process->rank, &process->device_count,
               &end) != 2 ||
        end == 0 || strlen(line + end) >= sizeof process->device ||
        strspn(line + end, letters) != strlen(line + end) || process->rank >= TND_ROSTER_MAX ||
        process->device_count > TND_ROSTER_MAX)
        return false;
    memcpy(process->device, line + end, strlen(line + end) + 1);
    bool good = read_line(reader, process->address, sizeof process->address) &&
                tnd_roster_is_address(process->address) &&
                read_line(reader, process->machine, sizeof process->machine) &&
                read_line(reader, process->name, sizeof process->name) &&
                read_line(reader, process->visible, sizeof process->visible);
    (void)tnd_printable(process->name, sizeof process->name); /* logs have it */
    return good;
}

tnd_buffer_t *tnd_roster_request_write(const tnd_roster_request_t *request)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    fprintf(writer.stream, "%" PRIu32 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n%s\n%s\n%s\n",
            request->size, request->graph[0], request->graph[1], request->life, request->job,
            request->declines, request->reached);
    write_process(writer.stream, &request->process);
    return tnd_text_payload_end(&writer);
}

tnd_status_t tnd_roster_request_read(tnd_roster_request_t *request, tnd_buffer_t *text,
                                     tnd_error_t *error)
{
    tnd_text_payload_reader_t reader;
    *request = (tnd_roster_request_t){.size = 0};
    tnd_text_payload_read(&reader, text);
    const char *line = tnd_text_payload_line(&reader);
    if (line != NULL &&
        sscanf(line, "%9" SCNu32 " %16" SCNx64 " %16" SCNx64 " %16" SCNx64, &request->size,
               &request->graph[0], &request->graph[1], &request->life) == 4 &&
        read_line(&reader, request->job, sizeof request->job) &&
        read_line(&reader, request->declines, sizeof request->declines) &&
        read_line(&reader, request->reached, sizeof request->reached) &&
        tnd_roster_is_address(request->reached) && read_process(&reader, &request->process)) {
        (void)tnd_printable(request->declines, sizeof request->declines);
        return TND_OK;
    }
    return tnd_fail(error, "it does not say who it is");
}

void tnd_roster_alive_write(char text[TND_ROSTER_ALIVE_SIZE + 1], uint32_t port_or_rank,
                            uint64_t number)
{
    snprintf(text, TND_ROSTER_ALIVE_SIZE + 1, "alive %08" PRIx32 " %016" PRIx64, port_or_rank,
             number);
}

bool tnd_roster_alive_read(const char *text, uint32_t *port_or_rank_p, uint64_t *number_p)
{
    int end = 0;
    return sscanf(text, "alive %8" SCNx32 " %16" SCNx64 "%n", port_or_rank_p, number_p, &end) ==
               2 &&
           end == TND_ROSTER_ALIVE_SIZE && text[end] == '\0';
}

tnd_buffer_t *tnd_roster_list_write(const tnd_roster_list_t *list)
{
    tnd_text_payload_writer_t writer;
    tnd_text_payload_begin(&writer);
    fprintf(writer.stream, "%" PRIu32 " %" PRIu32 " %016" PRIx64 "\n", list->count, list->port,
            list->number);
    for (uint32_t i = 0; i < list->count; i++)
        write_process(writer.stream, &list->processes[i]);
    return tnd_text_payload_end(&writer);
}

tnd_status_t tnd_roster_list_read(tnd_roster_list_t *list, tnd_buffer_t *text, tnd_error_t *error)
{
    tnd_text_payload_reader_t reader;
    *list = (tnd_roster_list_t){.count = 0};
    tnd_text_payload_read(&reader, text);
    const char *line = tnd_text_payload_line(&reader);
    if (line == NULL ||
        sscanf(line, "%9" SCNu32 " %5" SCNu32 " %16" SCNx64, &list->count, &list->port,
               &list->number) != 3 ||
        list->count == 0 || list->count > TND_ROSTER_MAX || list->port > 65535)
        return tnd_fail(error, "the list of processes is not readable");
    tnd_roster_process_t *processes = tnd_allocate_zeroed(list->count, sizeof *processes);
    bool good = true;
    for (uint32_t i = 0; i < list->count && good; i++)
        good = read_process(&reader, &processes[i]) && processes[i].address[0] != '\0';
    list->processes = processes;
    if (good)
        return TND_OK;
    free(processes);
    *list = (tnd_roster_list_t){.count = 0};
    return tnd_fail(error, "the list of processes is not readable");
}

static const char *declined_text(const tnd_roster_request_t *by, char *text, size_t room)
{
    const tnd_roster_process_t *process = &by->process;
    snprintf(text, room, "rank %" PRIu32 " (%s) cannot take part: %s", process->rank,
             process->address[0] != '\0' ? process->address : process->name, by->declines);
    return text;
}

const char *tnd_roster_verdict_text(const tnd_roster_t *roster, tnd_roster_verdict_t verdict,
                                    const tnd_roster_request_t *request, char *text, size_t room)
{
    uint32_t rank = request->process.rank;
    const char *address = request->process.address;
    text[0] = '\0';
    switch (verdict) {
    case TND_ROSTER_TAKEN:
        break;
    case TND_ROSTER_ELSEWHERE:
        snprintf(text, room, "a run of %" PRIu32 " processes%s%s, graph %08" PRIx64,
                 roster->own.size, roster->own.job[0] != '\0' ? ", " : "", roster->own.job,
                 roster->own.graph[0] >> 32);
        break;
    case TND_ROSTER_DOUBLED:
        snprintf(text, room,
                 "two processes have rank %" PRIu32 ": one at %s, which came first, and one at %s",
                 rank, rank == 0 ? "the leader's machine" : roster->seats[rank].process.address,
                 address);
        break;
    case TND_ROSTER_LATE:
        snprintf(text, room, "rank %" PRIu32 " (%s) came too late: the run starts without it", rank,
                 address);
        break;
    case TND_ROSTER_SPARED:
    case TND_ROSTER_DECLINED:
        return declined_text(roster->own.declines[0] != '\0' ? &roster->own : request, text, room);
    case TND_ROSTER_OTHER_SIZE:
        snprintf(text, room,
                 "rank %" PRIu32 " (%s) is one of %" PRIu32 " processes, and rank 0 one of %" PRIu32
                 ": start them all by one command",
                 rank, address, request->size, roster->own.size);
        break;
    case TND_ROSTER_OTHER_GRAPH:
        snprintf(text, room,
                 "rank %" PRIu32 " (%s) has graph %08" PRIx64 ", and rank 0 has %08" PRIx64
                 ": start all processes with the same files and options",
                 rank, address, request->graph[0] >> 32, roster->own.graph[0] >> 32);
        break;
    }
    return text;
}

const char *tnd_roster_missing_text(const tnd_roster_t *roster, char *text, size_t room)
{
    enum { SHOWN = 8 };
    char names[SHOWN * 12] = "";
    uint32_t missing = 0;
    size_t used = 0;
    for (uint32_t r = 0; r < roster->own.size; r++)
        if (!roster->seats[r].is_here && missing++ < SHOWN)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%" PRIu32,
                                     missing > 1 ? ", " : "", r);
    snprintf(text, room, "%" PRIu32 " of %" PRIu32 " processes did not come: rank%s %s%s", missing,
             roster->own.size, missing > 1 ? "s" : "", names, missing > SHOWN ? " and others" : "");
    return text;
}
