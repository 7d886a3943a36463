/*  tools/bench/inspectors.c - what an inspector costs the run that it watches, per row: time and
 *  processor time.
 *
 *  Two graphs in a process of their own, rows of 64 bytes and of 128 KiB, which are discarded.  In
 *  turns, an inspector is stopped by a signal and continued: `tundish trace`, `tap` and `tap --rows
 *  1`, whose limits are lifted, `top` in lines, and `watch` with a client of /metrics.  The value is
 *  the median of the quotients of neighbouring windows, the bound that of windows without any
 *  inspector, whose `spread` is printed: half the distance of their quartiles.  Where it is wider
 *  than the goal, `met` is null. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/observe/inspection.h"
#include "tools/bench/bench.h"

enum { PAIRS = 9, TURNS = 8, WORDS = 12 };

static const struct timespec window = {.tv_nsec = 80000000}, moment = {.tv_nsec = 10000000};

typedef struct {
    const char *name;
    size_t row_bytes, rows, batch;
    double goal;
} graph_t;

static const graph_t graphs[] = {{"64b", 64, 1 << 20, 4096, 1.03},
                                 {"128k", 128 << 10, 256, 8, 1.01}};

typedef struct {
    const char *name;
    const char *words[WORDS];
    unsigned period_ms; /* of a client that reads its metrics; 0: there is none */
} inspector_t;

/*  FILE is the trace, ADDRESS that of the server. */
static const inspector_t inspectors[] = {
    {"none", {NULL}, 0},
    {"trace", {"trace", "inspected", "-n", "1000000000", "-d", "600s", "-o", "FILE"}, 0},
    {"tap", {"tap", "read", "inspected", "-n", "1000000000", "-d", "600s"}, 0},
    {"tap_rows", {"tap", "read", "inspected", "--rows", "1", "-n", "1000000000", "-d", "600s"}, 0},
    {"top_10hz", {"top", "inspected", "-i", "100ms"}, 0},
    {"watch_1hz", {"watch", "inspected", "--http", "ADDRESS", "-i", "1s"}, 1000},
    {"watch_10hz", {"watch", "inspected", "--http", "ADDRESS", "-i", "100ms"}, 100},
};

enum { INSPECTORS = sizeof inspectors / sizeof inspectors[0] };

static char folder[64], program[256], address[32];
static struct sockaddr_in server = {.sin_family = AF_INET};

/*  Sets the address of the server: a port that is free now. */
static void choose_address(void)
{
    socklen_t size = sizeof server;
    int file = socket(AF_INET, SOCK_STREAM, 0);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(file, (struct sockaddr *)&server, size) != 0 ||
        getsockname(file, (struct sockaddr *)&server, &size) != 0)
        exit(1);
    close(file);
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(server.sin_port));
}

/*  A process that reads the metrics of the server again and again, in the group of the server. */
static void start_client(pid_t group, unsigned period_ms)
{
    static const char request[] =
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    pid_t client = fork();
    if (client != 0)
        return;
    if (setpgid(0, group) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(1);
    for (;;) {
        char bytes[65536];
        struct timespec period = {period_ms / 1000, (long)(period_ms % 1000) * 1000000};
        int file = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(file, (struct sockaddr *)&server, sizeof server) == 0 &&
            write(file, request, sizeof request - 1) > 0)
            while (read(file, bytes, sizeof bytes) > 0)
                ;
        close(file);
        nanosleep(&period, NULL);
    }
}

static void write_graph(const graph_t *graph)
{
    char path[128], header[128];
    snprintf(path, sizeof path, "%s/x.npy", folder);
    FILE *out = fopen(path, "wb");
    snprintf(header, sizeof header,
             "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu, %zu), }", graph->rows,
             graph->row_bytes);
    fprintf(out, "\x93NUMPY%c%c%c%c%-117s\n", 1, '\0', 118, '\0', header);
    uint8_t *row = calloc(1, graph->row_bytes);
    for (size_t r = 0; r < graph->rows; r++) {
        memset(row, (int)r, graph->row_bytes);
        fwrite(row, 1, graph->row_bytes, out);
    }
    free(row);
    fclose(out);
    snprintf(path, sizeof path, "%s/graph.yaml", folder);
    out = fopen(path, "w");
    fprintf(out,
            "tundish: 1\nname: inspected\nactors:\n"
            "  read:  {kind: reader, source: {npy: {x: %s/x.npy}}, epochs: 100000000}\n"
            "  batch: {kind: batcher, size: %zu}\n  feed:  {kind: feeder}\n"
            "links:\n  - read -> batch -> feed\n",
            folder, graph->batch);
    fclose(out);
}

static pid_t start(const char *const *words)
{
    const char *all[WORDS + 2] = {program};
    char file[128];
    size_t count = 1;
    snprintf(file, sizeof file, "%s/trace", folder);
    (void)unlink(file);
    for (; words[count - 1] != NULL; count++)
        all[count] = strcmp(words[count - 1], "FILE") == 0      ? file
                     : strcmp(words[count - 1], "ADDRESS") == 0 ? address
                                                                : words[count - 1];
    pid_t child = fork();
    if (child > 0)
        (void)setpgid(child, child);
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* Ctrl-C reaches only the group of this program */
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0);
        dup2(nothing, 1);
        dup2(nothing, 2);
        execv(program, (char *const *)(uintptr_t)all);
        _exit(127);
    }
    return child;
}

static void end(pid_t child)
{
    kill(-child, SIGKILL);
    while (waitpid(-child, NULL, 0) > 0)
        ;
}

/*  What the run has used and fed so far; rows < 0: it has not begun. */
static bench_took_t look(pid_t run)
{
    bench_took_t took = {.rows = -1};
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < made->count; p++)
        for (uint32_t a = 0; made->processes[p].process == run && a < made->processes[p].count; a++)
            if (strcmp(made->processes[p].actors[a].actor, "feed") == 0)
                took.rows = (double)made->processes[p].actors[a].rows_out;
    took.seconds = (double)made->now_ns * 1e-9;
    took.cpu_seconds = (double)tnd_clock_read((clockid_t)(~(unsigned)run << 3 | 2)) * 1e-9;
    tnd_inspection_destroy(&made);
    return took;
}

/*  Adds a window to `sum`. */
static void watch(pid_t run, bench_took_t *sum)
{
    bench_took_t before = look(run);
    nanosleep(&window, NULL);
    bench_took_t after = look(run);
    sum->seconds += after.seconds - before.seconds;
    sum->cpu_seconds += after.cpu_seconds - before.cpu_seconds;
    sum->rows += after.rows - before.rows;
}

static void turn(pid_t inspector, bool on)
{
    if (inspector > 0)
        kill(-inspector, on ? SIGCONT : SIGSTOP);
}

/*  The quotients of a pair: time and processor time per row with and without the inspector. */
static void take_pair(pid_t run, pid_t inspector, int turns, double *seconds, double *cpu)
{
    bench_took_t sums[2] = {{.rows = 0}, {.rows = 0}};
    for (int t = 0; t < 2 * turns; t++) {
        bool on = t % 4 == 1 || t % 4 == 2;
        turn(inspector, on);
        watch(run, &sums[on]);
    }
    turn(inspector, false);
    *seconds = sums[1].seconds / sums[1].rows / (sums[0].seconds / sums[0].rows);
    *cpu = sums[1].cpu_seconds / sums[1].rows / (sums[0].cpu_seconds / sums[0].rows);
}

static void print(const graph_t *graph, const char *name, const char *what, double value,
                  double bound, double spread)
{
    const char *met = spread > graph->goal - 1 ? "null" : value <= graph->goal ? "true" : "false";
    printf("{\"bench\":\"inspected_%s_%s_%s\",\"value\":%.4f,\"bound\":%.4f,\"ratio\":%.4f,"
           "\"spread\":%.4f,\"goal\":%.4g,\"met\":%s}\n",
           name, graph->name, what, value, bound, value / bound, spread, graph->goal, met);
    fflush(stdout);
}

static void measure(const graph_t *graph, bool smoke)
{
    const char *words[] = {"run", "--quiet", NULL, NULL};
    char path[128];
    int pairs = smoke ? 1 : PAIRS;
    double values[INSPECTORS][2][PAIRS], median[INSPECTORS][2], spread[2];
    write_graph(graph);
    snprintf(path, sizeof path, "%s/graph.yaml", folder);
    words[2] = path;
    pid_t run = start(words);
    while (look(run).rows < (double)graph->rows) {
        if (waitpid(run, NULL, WNOHANG) != 0) {
            fprintf(stderr, "inspectors: %s ended\n", program);
            exit(1);
        }
        nanosleep(&moment, NULL);
    }
    for (int i = 0; i < INSPECTORS; i++) {
        pid_t inspector = inspectors[i].words[0] != NULL ? start(inspectors[i].words) : 0;
        if (inspectors[i].period_ms > 0)
            start_client(inspector, inspectors[i].period_ms);
        nanosleep(&window, NULL); /* until it has found the run */
        for (int p = 0; p < pairs; p++)
            take_pair(run, inspector, smoke ? 1 : TURNS, &values[i][0][p], &values[i][1][p]);
        if (inspector > 0)
            end(inspector);
        for (int w = 0; w < 2; w++)
            median[i][w] = bench_median(values[i][w], (size_t)pairs);
    }
    end(run);
    for (int w = 0; w < 2; w++)
        spread[w] = (values[0][w][pairs * 3 / 4] - values[0][w][pairs / 4]) / 2;
    for (int i = 1; i < INSPECTORS; i++) {
        print(graph, inspectors[i].name, "seconds", median[i][0], median[0][0], spread[0]);
        print(graph, inspectors[i].name, "cpu_seconds", median[i][1], median[0][1], spread[1]);
    }
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, PAIRS);
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tundish-bench-XXXXXX", base != NULL ? base : "/tmp");
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 16);
    if (size < 0 || mkdtemp(folder) == NULL)
        return 1;
    program[size] = '\0';
    *strrchr(program, '/') = '\0';
    strcpy(strrchr(program, '/'), "/tundish");
    setenv("XDG_RUNTIME_DIR", folder, 1);
    choose_address();
    size_t count = sizeof graphs / sizeof graphs[0];
    for (size_t g = 0; g < (wish.smoke ? 1 : count); g++)
        measure(&graphs[g], wish.smoke);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}
