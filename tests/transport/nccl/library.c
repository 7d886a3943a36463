/*  tests/transport/nccl/library.c - finds NCCL in each of its places, and refuses what cannot be used.
 *
 *  Usage: test_transport_nccl_library FOLDER, where FOLDER has the libraries of tests/support/nccl; or
 *  `real`, for that of NVIDIA, which is skipped if there is none or there is a device.
 *
 *  A process looks once, so each case is a process of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transport/nccl/expect.h"
#include "transport/cuda/cuda_devices.h"
#include "transport/nccl/nccl_library.h"
#include "transport/python_packages.h"

enum { SKIPPED = 77 };

static const char *folder;
static char own[] = "/tmp/tundish-nccl-XXXXXX"; /* of each case; empty at first */

static const char *variant(const char *name)
{
    static char path[2][512];
    static unsigned turn;
    char *to = path[turn++ % 2];
    snprintf(to, sizeof path[0], "%s/%s/libnccl.so.2", folder, name);
    return to;
}

static void finds(const char *path)
{
    const tnd_nccl_library_t *library;
    tnd_error_t error;
    char version[32];
    EXPECT(tnd_nccl_library(&library, &error) == TND_OK, "%s", error.text);
    EXPECT(strcmp(library->path, path) == 0, "%s", library->path);
    EXPECT(strcmp(tnd_nccl_version_text(library->version, version, sizeof version), "2.28.9") == 0,
           "%s", version);
}

static void refuses(bool found, const char *format, const char *path)
{
    const tnd_nccl_library_t *library;
    tnd_error_t error, again;
    char text[1024];
    snprintf(text, sizeof text, format, path); // NOLINT: texts of this file
    EXPECT(tnd_nccl_library(&library, &error) == TND_FAILED, "it is taken: %s", text);
    EXPECT(strcmp(error.text, text) == 0, "%s", error.text);
    EXPECT(tnd_nccl_library(&library, &again) == TND_FAILED && strcmp(again.text, text) == 0,
           "then: %s", again.text);
    EXPECT(tnd_nccl_library_found() == found, "found: %d", found);
}

/*  Puts a library where Python has its packages, in `own`. */
static void install(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/lib/python3.99/site-packages/nvidia/nccl/lib/", own);
    for (char *at = path + strlen(own) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        EXPECT(mkdir(path, 0700) == 0, "%s", path);
    }
    strcat(path, "libnccl.so.2");
    EXPECT(symlink(variant("whole"), path) == 0, "%s", path);
}

/*  One that the loader finds is not there, or is the first. */
static bool loader_has_one(void)
{
    return dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL) != NULL;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void the_one_that_is_named(void)
{
    setenv("TUNDISH_NCCL", variant("whole"), 1);
    finds(variant("whole"));
}

static void the_one_that_is_loaded_already(void)
{
    EXPECT(dlopen(variant("whole"), RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
    setenv("TUNDISH_NCCL", variant("lacking"), 1);
    finds(variant("whole"));
}

static void the_one_of_the_packages_of_python(void)
{
    char path[512];
    if (fork() == 0) /* it stays loaded */
        _exit(loader_has_one());
    int status;
    EXPECT(wait(&status) > 0, "no process");
    if (WEXITSTATUS(status) != 0) {
        puts("  (the loader has one)");
        return;
    }
    install();
    setenv("VIRTUAL_ENV", own, 1);
    snprintf(path, sizeof path, "%s/lib/python3.99/site-packages/nvidia/nccl/lib/libnccl.so.2",
             own);
    finds(path);
}

static void packages_of_the_environment_and_of_python3_in_PATH(void)
{
    static const char *const patterns[] = {"no/such/file", "nvidia/nccl/lib/libnccl.so.*", NULL};
    static const char below[] = "lib/python3.99/site-packages/nvidia/nccl/lib/libnccl.so.2";
    char path[512], found[512];
    install();
    setenv("VIRTUAL_ENV", own, 1);
    snprintf(path, sizeof path, "%s/%s", own, below);
    EXPECT(tnd_python_packages_find(patterns, found, sizeof found), "none");
    EXPECT(strcmp(found, path) == 0, "%s", found);
    unsetenv("VIRTUAL_ENV");
    snprintf(path, sizeof path, "%s/bin", own);
    EXPECT(mkdir(path, 0700) == 0, "%s", path);
    setenv("PATH", path, 1);
    snprintf(path, sizeof path, "%s/bin/python3", own);
    EXPECT(symlink("/bin/true", path) == 0, "%s", path);
    snprintf(path, sizeof path, "%s/bin/../%s", own, below);
    EXPECT(tnd_python_packages_find(patterns, found, sizeof found), "none");
    EXPECT(strcmp(found, path) == 0, "%s", found);
    EXPECT(!tnd_python_packages_find(&patterns[2], found, sizeof found), "no pattern");
}

static void a_file_that_is_not_there(void)
{
    setenv("TUNDISH_NCCL", "/no/libnccl.so.2", 1);
    refuses(false,
            "NCCL cannot be loaded: %s: cannot open shared object file: No such file or directory; "
            "install it, or name its file in TUNDISH_NCCL",
            "/no/libnccl.so.2");
}

static void an_empty_file(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/empty.so", own);
    fclose(fopen(path, "w"));
    setenv("TUNDISH_NCCL", path, 1);
    refuses(false,
            "NCCL cannot be loaded: %s: file too short; install it, or name its file in "
            "TUNDISH_NCCL",
            path);
}

static void one_that_lacks_a_call(void)
{
    setenv("TUNDISH_NCCL", variant("lacking"), 1);
    refuses(true, "%s lacks ncclCommInitRankConfig, as NCCL before 2.19 does: update it",
            variant("lacking"));
}

static void one_that_is_too_old(void)
{
    setenv("TUNDISH_NCCL", variant("whole"), 1);
    setenv("TND_NCCL_VERSION", "21899", 1);
    refuses(true, "%s is NCCL 2.18.99 and 2.19 is needed: update it", variant("whole"));
}

static void the_oldest_one(void)
{
    const tnd_nccl_library_t *library;
    tnd_error_t error;
    setenv("TUNDISH_NCCL", variant("whole"), 1);
    setenv("TND_NCCL_VERSION", "21900", 1);
    EXPECT(tnd_nccl_library(&library, &error) == TND_OK, "%s", error.text);
}

static void one_that_does_not_tell_its_version(void)
{
    setenv("TUNDISH_NCCL", variant("whole"), 1);
    setenv("TND_NCCL_FAIL", "ncclGetVersion", 1);
    refuses(true,
            "%s: ncclGetVersion failed: unhandled system error (run with NCCL_DEBUG=INFO for "
            "details): ncclGetVersion was told to fail (2)",
            variant("whole"));
}

static void versions_before_2_9_have_other_numbers(void)
{
    char text[32];
    EXPECT(strcmp(tnd_nccl_version_text(2804, text, sizeof text), "2.8.4") == 0, "%s", text);
    EXPECT(strcmp(tnd_nccl_version_text(20901, text, sizeof text), "2.9.1") == 0, "%s", text);
}

static const struct {
    const char *name;
    void (*check)(void);
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(the_one_that_is_named),
    CASE(the_one_that_is_loaded_already),
    CASE(the_one_of_the_packages_of_python),
    CASE(packages_of_the_environment_and_of_python3_in_PATH),
    CASE(a_file_that_is_not_there),
    CASE(an_empty_file),
    CASE(one_that_lacks_a_call),
    CASE(one_that_is_too_old),
    CASE(the_oldest_one),
    CASE(one_that_does_not_tell_its_version),
    CASE(versions_before_2_9_have_other_numbers),
#undef CASE
};

static int run(void (*check)(void))
{
    int status;
    char remove[64];
    fflush(stdout);
    strcpy(own + strlen(own) - 6, "XXXXXX");
    EXPECT(mkdtemp(own) != NULL, "%s", own);
    if (fork() == 0) {
        check();
        exit(0); /* the libraries look for what is left */
    }
    bool good = wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    snprintf(remove, sizeof remove, "rm -r %s", own);
    return system(remove) != 0 || !good;
}

/* --- that of NVIDIA --------------------------------------------------------------------------- */

static int check_real(void)
{
    const tnd_nccl_library_t *library;
    tnd_error_t error;
    uint32_t devices;
    char text[512], version[32];
    if (tnd_nccl_library(&library, &error) != TND_OK ||
        tnd_cuda_devices_count(&devices, NULL) == TND_OK) {
        puts("NCCL is missing, or a device is present");
        return SKIPPED;
    }
    printf("NCCL %s, %s\n", tnd_nccl_version_text(library->version, version, sizeof version),
           library->path);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    tnd_nccl_id_t id;
    tnd_nccl_config_t config = tnd_nccl_config();
    ncclComm_t comm = NULL;
    EXPECT(library->ncclGetUniqueId(&id) == ncclSuccess, "no id");
    ncclResult_t result = library->ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    EXPECT(result == ncclUnhandledCudaError, "%d", result);
    tnd_nccl_failure(library, "ncclCommInitRankConfig", result, text, sizeof text);
    EXPECT(strstr(text, "ncclCommInitRankConfig failed: unhandled cuda error") == text &&
               strstr(text, "CUDA driver version is insufficient") != NULL,
           "%s", text);
    puts(text);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = 0;
    EXPECT(argc == 2, "usage: %s FOLDER | real", argv[0]);
    if (strcmp(argv[1], "real") == 0)
        return check_real();
    folder = argv[1];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        puts(cases[i].name);
        bad |= run(cases[i].check);
    }
    return bad;
}
