/*  tools/command/watch.c - `tundish watch`: serves looks at a run over HTTP. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/clock.h"
#include "runtime/text/quantity.h"
#include "tools/cli/command.h"
#include "tools/watch/server.h"

typedef struct {
    const char *http, *interval, *leader, *listen, *token, *via;
} watch_options_t;

static const char default_address[] = "127.0.0.1:9464";
static const uint64_t interval_min_ns = 50000000, interval_max_ns = 60000000000,
                      once_ns = 250000000;

/*  Below the priority of the run that is watched. */
enum { NICENESS = 10 };

static volatile sig_atomic_t ends;

static void on_signal(int number)
{
    (void)number;
    ends = 1;
}

/*  SIGINT and SIGTERM are delivered only while the server waits.  Writes the mask to wait with. */
static void hold_signals(sigset_t *before)
{
    sigset_t held;
    struct sigaction end = {.sa_handler = on_signal};
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, before);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void serve(tnd_server_t *server, tnd_watched_looks_t *looks, uint64_t interval_ns,
                  const sigset_t *before)
{
    /* The second look follows soon, so that there are rates. */
    uint64_t due = tnd_clock_now() + (interval_ns < once_ns ? interval_ns : once_ns);
    while (!ends) {
        uint64_t now = tnd_clock_now();
        if (now >= due) {
            tnd_watched_looks_look(looks);
            tnd_server_wake(server);
            now = tnd_clock_now();
            due = due + interval_ns > now ? due + interval_ns : now + interval_ns;
        }
        struct pollfd file = {.fd = tnd_server_file(server), .events = POLLIN};
        int wait_ms = tnd_server_timeout(server, (int)((due - now) / 1000000 + 1));
        struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
        if (ppoll(&file, 1, &wait, before) >= 0)
            tnd_server_run(server);
    }
}

static void announce(const tnd_listener_t *listener, const char *text, const tnd_token_t *token,
                     const char *run)
{
    int length = (int)(strrchr(text, ':') - text);
    fprintf(stderr,
            "watching %s%s%s at http://%.*s:%u/; clients of other users%s need the token in %s\n",
            run != NULL ? "run `" : "the newest run", run != NULL ? run : "",
            run != NULL ? "`" : "", length, text, listener->port,
            listener->loopback ? "" : " and machines", token->path);
}

/*  The address that is asked for, or NULL after an error. */
static const char *address_of(const tnd_request_t *request)
{
    const watch_options_t *options = request->options;
    if (options->http != NULL && options->listen != NULL)
        (void)tnd_usage_error("watch", "either --http or --listen");
    else if (options->listen != NULL && options->token == NULL)
        (void)tnd_usage_error("watch", "--listen needs --token FILE, which has the token that "
                                       "clients must send");
    else if (options->listen != NULL)
        return options->listen;
    else
        return options->http != NULL ? options->http : default_address;
    return NULL;
}

static int watch(const tnd_request_t *request)
{
    const watch_options_t *options = request->options;
    uint64_t interval_ns = 1000000000;
    const char *interval = options->interval, *address = address_of(request);
    const char *run = request->file_count > 0 ? request->files[0] : NULL;
    if (address == NULL)
        return TND_EXIT_USAGE;
    if (interval != NULL && (tnd_quantity_duration(interval, &interval_ns) != TND_QUANTITY_OK ||
                             interval_ns < interval_min_ns || interval_ns > interval_max_ns))
        return tnd_usage_error("watch", "--interval takes a time from 50ms to 1min, not '%s'",
                               interval);
    tnd_error_t error = {.text = ""};
    tnd_token_t token;
    tnd_listener_t listener;
    tnd_remote_hosts_t *hosts;
    tnd_server_t *server = NULL;
    tnd_watched_looks_t looks;
    sigset_t before;
    if (tnd_remote_hosts_new(&hosts, options->via, options->leader, &error) != TND_OK)
        return tnd_usage_error("watch", "%s", error.text);
    tnd_watched_looks_begin(&looks, run, hosts);
    tnd_status_t status = options->token != NULL ? tnd_token_read(&token, options->token, &error)
                                                 : tnd_token_own(&token, &error);
    if (status == TND_OK)
        status = tnd_listener_open(&listener, address, &error);
    if (status == TND_OK && options->listen == NULL && !listener.loopback) {
        tnd_listener_close(&listener);
        status = tnd_fail(&error, "%s: other machines can reach it: use --listen instead of --http",
                          address);
    }
    if (status == TND_OK) {
        tnd_watched_looks_look(&looks);
        status = tnd_server_new(&server, &listener, &token, &looks, &error);
    }
    if (status == TND_OK) {
        (void)setpriority(PRIO_PROCESS, 0, NICENESS);
        hold_signals(&before);
        announce(&listener, address, &token, run);
        serve(server, &looks, interval_ns, &before);
    } else {
        tnd_complain("watch", "%s", error.text);
    }
    tnd_server_destroy(&server);
    tnd_watched_looks_free(&looks);
    tnd_remote_hosts_destroy(&hosts);
    return status == TND_OK ? TND_EXIT_OK : TND_EXIT_FAILED;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT(
        "--http", TEXT, watch_options_t, http, "ADDRESS:PORT",
        "serves on an address that only this machine can reach; by default 127.0.0.1:9464")},
    {TND_COMMON("--interval", watch_options_t, interval)},
    {TND_COMMON("--leader", watch_options_t, leader)},
    {TND_ARGUMENT("--listen", TEXT, watch_options_t, listen, "ADDRESS:PORT",
                  "serves on any address; needs --token")},
    {TND_ARGUMENT("--token", TEXT, watch_options_t, token, "FILE",
                  "the token that clients of other users must send is in FILE")},
    {TND_COMMON("--via", watch_options_t, via)},
};

const tnd_command_t tnd_command_watch = {
    .name = "watch",
    .operands = "[RUN]",
    .summary = "serves a page, JSON and metrics of a run over HTTP",
    TND_ARGUMENTS(arguments, watch_options_t),
    .details =
        "Reads the statistics in shared memory only, as `tundish top` does, and serves them until "
        "it\n"
        "is interrupted:\n"
        "\n"
        "  /         a page for a browser: what limits the run, its graph, the time of each actor\n"
        "            in the last ten minutes, histograms, hosts, the machine, a log that can be\n"
        "            searched, and, of an actor that is clicked, where its threads are\n"
        "  /metrics  for Prometheus\n"
        "  /live     server-sent events: a line of JSON per --interval, by default 1 s\n"
        "  /why      what `tundish why` prints\n"
        "  /history  the last ten minutes of each actor, as JSON\n"
        "\n"
        "It shows the newest run, or the newest one called RUN, the `name:` of a topology, and "
        "how\n"
        "it ended until another begins; or that of a process whose number RUN is.  /metrics has "
        "all\n"
        "runs of this machine, or those called RUN.\n"
        "\n"
        "By default, or with --http, it listens on an address that other machines cannot reach.\n"
        "Processes of this user may read everything.  Those of other users must send a token:\n"
        "`Authorization: Bearer TOKEN`, or ?token=TOKEN in a browser.  It is in the file\n"
        "tundish-watch.token in the runtime directory, which only this user can read, and stays "
        "the\n"
        "same.  --listen takes any address and needs --token FILE, made for example by\n"
        "\n"
        "  (umask 077; openssl rand -hex 16 > FILE)\n"
        "\n"
        "The connection is not encrypted.  From another machine, `ssh -L 9464:127.0.0.1:9464` is\n"
        "safer.  The Host header of a request must be localhost, the address, or the name that "
        "was\n"
        "given.\n"
        "\n"
        "A client that is too slow for a look is disconnected, so slow clients take no memory.  "
        "At\n"
        "most 256 clients are connected, and if there are many, each gets fewer looks: the server "
        "takes\n"
        "about 2 % of a processor for them.  It has a lower priority than the run.\n"
        "\n"
        "Hosts on other machines are shown too with --via 'ssh {address}', and a run of other\n"
        "machines with --leader 10.0.0.1:7100; see `tundish ps --help`.\n",
    .codes = "  0   interrupted\n"
             "  1   it cannot listen there, or the token cannot be read\n"
             "  2   usage\n",
    .operands_max = 1,
    .run = watch,
};
