/*  tools/faults/process_tree.c - finds a host's process among the descendants of a process. */
#include "tools/faults/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

enum { WORDS_MAX = 64 << 10, DEPTH_MAX = 4 };

/*  Whether the command line of a process has the word --host=NAME. */
static bool is_host(pid_t pid, const char *host)
{
    static const char key[] = "--host=";
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    char *words = tnd_allocate(1, WORDS_MAX);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, words, WORDS_MAX - 1) : 0;
    if (file >= 0)
        close(file);
    words[size > 0 ? size : 0] = '\0';
    bool is = false;
    for (ssize_t at = 0; at < size && !is; at += (ssize_t)strlen(words + at) + 1)
        is = strncmp(words + at, key, strlen(key)) == 0 &&
             strcmp(words + at + strlen(key), host) == 0;
    free(words);
    return is;
}

static pid_t find_below(pid_t parent, const char *host, int depth);

static pid_t find_among(const char *path, const char *host, int depth)
{
    FILE *list = fopen(path, "re");
    pid_t found = 0;
    int pid;
    while (list != NULL && found == 0 && fscanf(list, "%d", &pid) == 1) {
        found = is_host(pid, host) ? pid : 0;
        if (found == 0 && depth < DEPTH_MAX)
            found = find_below(pid, host, depth + 1);
    }
    if (list != NULL)
        fclose(list);
    return found;
}

/*  Children belong to the thread that started them. */
static pid_t find_below(pid_t parent, const char *host, int depth)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    pid_t found = 0;
    const struct dirent *entry;
    while (threads != NULL && found == 0 && (entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, entry->d_name);
        found = find_among(path, host, depth);
    }
    if (threads != NULL)
        closedir(threads);
    return found;
}

int tnd_process_tree_open(pid_t parent, const char *host, pid_t *pid_p)
{
    pid_t pid = find_below(parent, host, 0);
    int file = pid > 0 ? pidfd_open(pid, 0) : -1;
    /* The id may have been reused; the descriptor still refers to the same process. */
    if (file >= 0 && !is_host(pid, host)) {
        close(file);
        file = -1;
    }
    *pid_p = file >= 0 ? pid : 0;
    return file;
}
