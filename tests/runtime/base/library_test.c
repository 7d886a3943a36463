/*  Covers runtime/base/library.h: a library that is whole is loaded, any other is refused. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/library.h"

/*  Copies the first `bytes` of the library of mathematics, which sanitizers do not replace, to a new
 *  file; returns the bytes of all of it. */
static size_t copy_start(char path[64], size_t bytes)
{
    Dl_info info;
    void *library = dlopen("libm.so.6", RTLD_NOW);
    cr_assert(library != NULL && dladdr(dlsym(library, "lgammal"), &info) != 0);
    FILE *from = fopen(info.dli_fname, "rb");
    dlclose(library);
    strcpy(path, "/tmp/tundish_library_XXXXXX");
    FILE *to = fdopen(mkstemp(path), "wb");
    cr_assert(from != NULL && to != NULL);
    size_t all = 0;
    for (int byte; (byte = getc(from)) != EOF; all++)
        if (all < bytes)
            putc(byte, to);
    fclose(from);
    fclose(to);
    return all;
}

Test(library, loads_by_name_and_by_path)
{
    char why[128];
    void *library = tnd_library_load("libm.so.6", RTLD_NOW, why, sizeof why);
    cr_assert(library != NULL, "%s", why);
    cr_assert(dlsym(library, "cos") != NULL);
    dlclose(library);
}

Test(library, refuses_a_file_that_is_cut_off_anywhere)
{
    char path[64], why[128];
    size_t all = copy_start(path, 0);
    unlink(path);
    for (size_t part = 0; part < 16; part++) {
        (void)copy_start(path, all / 16 * part + part);
        cr_assert(tnd_library_load(path, RTLD_NOW, why, sizeof why) == NULL);
        cr_assert(strlen(why) > 0 && strstr(why, path) == NULL, "%s", why);
        if (part > 0)
            cr_assert_str_eq(why, "the file is cut off");
        unlink(path);
    }
}

Test(library, says_why_a_file_is_not_a_library)
{
    static const struct {
        const char *path, *why;
    } wrong[] = {{"/nowhere/x.so", "cannot open shared object file: No such file or directory"},
                 {"/etc/passwd", "invalid ELF header"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char why[128];
        cr_assert(tnd_library_load(wrong[i].path, RTLD_NOW, why, sizeof why) == NULL);
        cr_assert_str_eq(why, wrong[i].why);
    }
}

/*  Why the file is checked first: the loader itself maps what is missing. */
Test(library, the_loader_dies_of_a_file_that_is_cut_off)
{
    char path[64];
    size_t all = copy_start(path, 0);
    unlink(path);
    (void)copy_start(path, all / 2);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        signal(SIGBUS, SIG_DFL); /* a sanitizer would print it */
        _exit(dlopen(path, RTLD_NOW) != NULL);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child);
    unlink(path);
    cr_assert_eq(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGBUS, "status %d", status);
}
