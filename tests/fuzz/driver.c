/*  tests/fuzz/driver.c - runs a target on its corpus, and for some time on mutations of it.
 *
 *  Usage: fuzz_NAME CORPUS [--seconds N] [--seed S].  What makes the target fail is written to
 *  crash-fuzz_NAME in the working directory; the seed makes the same inputs again.
 *
 *  No coverage guides it; tools/fuzz uses libFuzzer instead where there is one. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 64 * 1024, INPUTS_MAX = 512, HANG_SECONDS = 10 };

typedef struct {
    uint8_t *bytes;
    size_t size;
} input_t;

typedef struct {
    input_t inputs[INPUTS_MAX];
    size_t count;
    uint64_t state; /* of the generator */
    uint64_t runs;
} fuzzer_t;

/*  What a signal handler may look at. */
static uint8_t current[INPUT_MAX];
static volatile size_t current_size;
static char crash_file[128];

/*  Of the sanitizers, which end the process without a signal. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void keep_input(void)
{
    int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    ssize_t written = write(file, current, current_size);
    (void)written;
    close(file);
    static const char text[] = "the input that did it is in ";
    written = write(STDERR_FILENO, text, sizeof text - 1);
    written = write(STDERR_FILENO, crash_file, strlen(crash_file));
    written = write(STDERR_FILENO, "\n", 1);
}

static void on_signal(int number)
{
    keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

static uint64_t draw(fuzzer_t *self, uint64_t below)
{
    self->state += 0x9E3779B97F4A7C15u;
    uint64_t mixed = self->state;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return (mixed ^ mixed >> 31) % below;
}

static void run_current(fuzzer_t *self, size_t size)
{
    current_size = size;
    alarm(HANG_SECONDS);
    (void)LLVMFuzzerTestOneInput(current, size);
    self->runs++;
}

static void read_corpus(fuzzer_t *self, const char *folder)
{
    DIR *list = opendir(folder);
    if (list == NULL) {
        perror(folder);
        exit(2);
    }
    for (struct dirent *entry; (entry = readdir(list)) != NULL && self->count < INPUTS_MAX;) {
        char path[1024];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *in = fopen(path, "rb");
        if (in == NULL)
            continue;
        size_t size = fread(current, 1, sizeof current, in);
        fclose(in);
        input_t *input = &self->inputs[self->count++];
        input->bytes = malloc(size + 1);
        input->size = size;
        if (input->bytes == NULL)
            abort();
        memcpy(input->bytes, current, size);
    }
    closedir(list);
    if (self->count > 0)
        return;
    fprintf(stderr, "%s: no input to begin from\n", folder);
    exit(2);
}

/*  Opens a gap of `gap` bytes at `at`, as far as there is room; returns the new size. */
static size_t insert_gap(size_t size, size_t at, size_t gap)
{
    if (size + gap > INPUT_MAX)
        return size;
    memmove(current + at + gap, current + at, size - at);
    return size + gap;
}

static size_t mutate_once(fuzzer_t *self, size_t size)
{
    static const uint64_t edges[] = {0,       1,     2,          127,        128,        255,
                                     256,     32767, 65535,      0x7fffffff, 0x80000000, 0xffffffff,
                                     1 << 20, ~0ull, 1ull << 63, 1ull << 40};
    static const char letters[] = "\t\n #:,[]{}&*!|>'\"%@`-?0~<$.";
    size_t at = size > 0 ? draw(self, size) : 0;
    size_t length = size > at ? 1 + draw(self, size - at < 64 ? size - at : 64) : 0;
    switch (draw(self, size > 0 ? 9 : 2)) {
    case 0: { /* a few bytes more */
        size_t gap = 1 + draw(self, 8), grown = insert_gap(size, at, gap);
        for (size_t i = at; grown > size && i < at + gap; i++)
            current[i] = (uint8_t)draw(self, 256);
        return grown;
    }
    case 1: { /* a part of another input */
        const input_t *other = &self->inputs[draw(self, self->count)];
        size_t from = other->size > 0 ? draw(self, other->size) : 0;
        size_t gap = other->size > from ? 1 + draw(self, other->size - from) : 0;
        size_t grown = insert_gap(size, at, gap);
        if (grown > size)
            memcpy(current + at, other->bytes + from, gap);
        return grown;
    }
    case 2:
        current[at] ^= (uint8_t)(1u << draw(self, 8));
        return size;
    case 3:
        current[at] = (uint8_t)draw(self, 256);
        return size;
    case 4:
        current[at] = (uint8_t)letters[draw(self, sizeof letters - 1)];
        return size;
    case 5: { /* a number that is easily mistaken, in either order of bytes */
        uint64_t number = edges[draw(self, sizeof edges / sizeof edges[0])];
        size_t width = (size_t)1 << draw(self, 4);
        bool swapped = draw(self, 2) != 0;
        for (size_t i = 0; i < width && at + i < size; i++)
            current[at + i] = (uint8_t)(number >> 8 * (swapped ? width - 1 - i : i));
        return size;
    }
    case 6: /* less */
        memmove(current + at, current + at + length, size - at - length);
        return size - length;
    case 7: /* cut short */
        return at;
    default: { /* a part twice */
        size_t grown = insert_gap(size, at, length);
        if (grown > size)
            memcpy(current + at, current + at + length, length);
        return grown;
    }
    }
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s CORPUS [--seconds N] [--seed S]\n", program);
    return 2;
}

int main(int count, char **words)
{
    static fuzzer_t self;
    double seconds = 0;
    uint64_t seed = (uint64_t)time(NULL);
    if (count < 2)
        return usage(words[0]);
    for (int i = 2; i < count; i += 2) {
        if (i + 1 >= count)
            return usage(words[0]);
        if (strcmp(words[i], "--seconds") == 0)
            seconds = strtod(words[i + 1], NULL);
        else if (strcmp(words[i], "--seed") == 0)
            seed = strtoull(words[i + 1], NULL, 10);
        else
            return usage(words[0]);
    }
    const char *slash = strrchr(words[0], '/');
    snprintf(crash_file, sizeof crash_file, "crash-%s", slash != NULL ? slash + 1 : words[0]);
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        if (__sanitizer_set_death_callback == NULL || fatal[i] == SIGALRM || fatal[i] == SIGABRT)
            signal(fatal[i], on_signal);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(keep_input);
    self.state = seed;
    read_corpus(&self, words[1]);
    for (size_t i = 0; i < self.count; i++) {
        memcpy(current, self.inputs[i].bytes, self.inputs[i].size);
        run_current(&self, self.inputs[i].size);
    }
    double began = seconds_now();
    while (seconds_now() < began + seconds) {
        const input_t *input = &self.inputs[draw(&self, self.count)];
        size_t size = input->size;
        memcpy(current, input->bytes, size);
        for (uint64_t times = 1 + draw(&self, 6); times > 0; times--)
            size = mutate_once(&self, size);
        run_current(&self, size);
    }
    printf("%" PRIu64 " inputs, %zu of them the corpus, seed %" PRIu64 "\n", self.runs, self.count,
           seed);
    for (size_t i = 0; i < self.count; i++)
        free(self.inputs[i].bytes);
    return 0;
}
