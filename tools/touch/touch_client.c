/*  tools/touch/touch_client.c - asks a run that is under way for something. */
#include "tools/touch/touch_client.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/observe/inspection.h"
#include "tools/choice/absent_run.h"
#include "tools/choice/run_choice.h"
#include "tools/touch/remote_touch.h"

/*  The process drops a client to which the leader has not answered after 5 s. */
static const struct timeval patience = {.tv_sec = 8};

/*  Whether the process leads a run or has met its leader: only then is its session that of the run. */
static bool has_met_leader(const tnd_inspected_t *process)
{
    char own[32];
    snprintf(own, sizeof own, "-%" PRIx64 ".pages", process->session);
    size_t length = strlen(process->path), end = strlen(own);
    return process->record.page->state != 0 || length < end ||
           strcmp(process->path + length - end, own) != 0;
}

/*  A process of the run, preferably the leader's; NULL: none, or runs that cannot be told apart.
 *  A process that was just started may belong to any of them. */
static const tnd_inspected_t *find(const tnd_inspection_t *look, const tnd_run_choice_t *choice,
                                   char *text, size_t room)
{
    const tnd_inspected_t *found = NULL;
    bool starts = false; /* several processes of that name have not met their leader yet */
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        if (process->killed || process->foreign || !tnd_run_choice_fits(choice, process))
            continue;
        if (found != NULL && has_met_leader(found) && !has_met_leader(process))
            continue;
        if (found != NULL && has_met_leader(process) && !has_met_leader(found))
            found = NULL, starts = false;
        if (found != NULL && !has_met_leader(process) && strcmp(found->run, process->run) == 0) {
            starts = true;
            continue;
        }
        if (found != NULL && !tnd_inspected_same(found, process)) {
            (void)tnd_run_choice_several(choice, look, text, room);
            return NULL;
        }
        if (found == NULL || process->record.page->state != 0)
            found = process;
    }
    if (starts) {
        snprintf(text, room, "run %s is starting: its processes have not met their leader yet",
                 found->run);
        return NULL;
    }
    if (found == NULL)
        (void)tnd_absent_run_text(choice->name, NULL, look, text, room);
    return found;
}

static int reach(const tnd_inspected_t *process, tnd_error_t *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (tnd_touch_path(process->path, address.sun_path, sizeof address.sun_path, error) != TND_OK)
        return -1;
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file >= 0 && setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(file, (const struct sockaddr *)&address, sizeof address) == 0)
        return file;
    bool listens = errno != ENOENT && errno != ECONNREFUSED;
    (void)tnd_fail(error, "%s: %s", address.sun_path,
                   listens ? strerror(errno) : "it is starting or ending");
    if (file >= 0)
        close(file);
    return -1;
}

/*  Characters that a touch cannot carry are replaced. */
static void name_user(char user[32])
{
    const struct passwd *entry = getpwuid(geteuid());
    snprintf(user, 32, "%.31s", entry != NULL ? entry->pw_name : "");
    for (char *c = user; *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c) == NULL)
            *c = '_';
    if (*user == '\0')
        snprintf(user, 32, "uid-%u", (unsigned)geteuid());
}

static tnd_touch_result_t exchange(int file, const tnd_touch_t *touch, char *text, size_t room)
{
    char line[TND_TOUCH_LINE + 1], answer[512];
    size_t used = 0;
    tnd_touch_write(touch, line);
    strcat(line, "\n");
    /* A process that refuses this user answers before it reads. */
    (void)send(file, line, strlen(line), MSG_NOSIGNAL);
    for (ssize_t got = 1; got > 0 && used + 1 < sizeof answer; used += (size_t)got) {
        got = recv(file, answer + used, sizeof answer - 1 - used, 0);
        if (got <= 0)
            break;
    }
    answer[used] = '\0';
    char *end = strchr(answer, '\n');
    bool done = strncmp(answer, "ok ", 3) == 0;
    if (end == NULL || (!done && strncmp(answer, "refused ", 8) != 0)) {
        snprintf(text, room, "no answer came; it may still be done");
        return TND_TOUCH_NO_ANSWER;
    }
    *end = '\0';
    snprintf(text, room, "%s", answer + (done ? 3 : 8));
    return done ? TND_TOUCHED : TND_TOUCH_REFUSED;
}

tnd_touch_result_t tnd_touch_send(const char *run, uint64_t session, tnd_touch_t *touch, char *text,
                                  size_t room)
{
    tnd_run_choice_t choice = {.name = run, .session = session};
    if (session == 0)
        tnd_run_choice_read(&choice, run);
    tnd_inspection_t *look = tnd_inspection_of_run(choice.name, TND_LOOK_NOW);
    const tnd_inspected_t *process = find(look, &choice, text, room);
    tnd_touch_result_t result = TND_TOUCH_ABSENT;
    tnd_error_t error;
    name_user(touch->user);
    if (process != NULL) {
        int file = reach(process, &error);
        if (file < 0)
            snprintf(text, room, "process %d of run %s cannot be asked: %s", process->process,
                     process->run, error.text);
        else
            result = exchange(file, touch, text, room);
        if (file >= 0)
            close(file);
    }
    tnd_inspection_destroy(&look);
    return result;
}

const tnd_argument_t tnd_touch_arguments[] = {
    {TND_COMMON("--via", tnd_touch_options_t, via)},
    {TND_COMMON("--leader", tnd_touch_options_t, leader)},
};

/*  The address in "10.0.0.1:7100" or "[fe80::1]:7100"; false: there is none. */
static bool take_address(const char *leader, char *address, size_t room)
{
    const char *colon = strrchr(leader, ':');
    size_t size = colon != NULL ? (size_t)(colon - leader) : 0;
    if (size > 1 && leader[0] == '[' && leader[size - 1] == ']') {
        leader++;
        size -= 2;
    }
    if (size == 0 || size >= room)
        return false;
    snprintf(address, room, "%.*s", (int)size, leader);
    return true;
}

/*  Runs the subcommand where the leader is; -1: it is on this machine, or which machine is not
 *  known. */
static int touch_elsewhere(const tnd_request_t *request, const tnd_touch_options_t *options,
                           const char *run, const char *verb)
{
    char address[128], host[64] = "", text[640];
    if (options->leader != NULL) {
        if (!take_address(options->leader, address, sizeof address))
            return tnd_usage_error(verb,
                                   "--leader takes an address and port, such as "
                                   "10.0.0.1:7100, not '%s'",
                                   options->leader);
        return tnd_remote_touch(request, options->via, verb, host, address);
    }
    tnd_run_choice_t choice;
    tnd_run_choice_read(&choice, run);
    tnd_inspection_t *look = tnd_inspection_of_run(choice.name, TND_LOOK_NOW);
    const tnd_inspected_t *process = find(look, &choice, text, sizeof text);
    bool elsewhere = process != NULL && process->record.page->state == 0;
    if (elsewhere) {
        snprintf(address, sizeof address, "%s", process->record.hosts[0].address);
        snprintf(host, sizeof host, "%s", process->record.hosts[0].name);
    }
    tnd_inspection_destroy(&look);
    return elsewhere ? tnd_remote_touch(request, options->via, verb, host, address) : -1;
}

int tnd_touch_command(const tnd_request_t *request, const tnd_touch_options_t *options, size_t own,
                      tnd_touch_t *touch)
{
    const char *run = request->file_count > own ? request->files[own] : NULL;
    bool again = touch->verb == TND_TOUCH_START_AGAIN; /* `restart --run` */
    const char *verb = tnd_touch_verb(again ? TND_TOUCH_RESTART : touch->verb);
    char text[640];
    if (options->leader != NULL && options->via == NULL)
        return tnd_usage_error(verb, "a control port only shows a run: add --via 'ssh {address}', "
                                     "and the command runs there");
    int code = options->via != NULL ? touch_elsewhere(request, options, run, verb) : -1;
    if (code >= 0)
        return code;
    tnd_touch_result_t result = tnd_touch_send(run, 0, touch, text, sizeof text);
    if (result == TND_TOUCHED) {
        puts(text);
        return TND_EXIT_OK;
    }
    tnd_complain(verb, "%s", text);
    return result == TND_TOUCH_NO_ANSWER ? TND_EXIT_PEER : TND_EXIT_FAILED;
}
