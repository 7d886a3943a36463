/*  tests/support/late_libgit2.c - starts libgit2 when Criterion first needs it.
 *
 *  Criterion starts libgit2 in each process, of which it makes one per test, and libgit2 then reads
 *  all certificates of the system.  Only the difference between two values, which is printed when
 *  they are not equal, needs it.  These functions of a test's program come before those of the
 *  library. */
#include <dlfcn.h>
#include <stddef.h>

#define TND_EXPORTED __attribute__((visibility("default")))

TND_EXPORTED int git_libgit2_init(void);
TND_EXPORTED int git_libgit2_shutdown(void);
TND_EXPORTED int git_diff_buffers(const void *old, size_t old_bytes, const char *old_name,
                                  const void *new, size_t new_bytes, const char *new_name,
                                  const void *options, void *file, void *binary, void *hunk,
                                  void *line, void *user);

typedef int start_t(void);
typedef int differ_t(const void *, size_t, const char *, const void *, size_t, const char *,
                     const void *, void *, void *, void *, void *, void *);

int git_libgit2_init(void)
{
    return 1;
}

int git_libgit2_shutdown(void)
{
    return 0;
}

int git_diff_buffers(const void *old, size_t old_bytes, const char *old_name, const void *new,
                     size_t new_bytes, const char *new_name, const void *options, void *file,
                     void *binary, void *hunk, void *line, void *user)
{
    start_t *start;
    differ_t *differ;
    *(void **)&start = dlsym(RTLD_NEXT, "git_libgit2_init");
    *(void **)&differ = dlsym(RTLD_NEXT, "git_diff_buffers");
    start();
    return differ(old, old_bytes, old_name, new, new_bytes, new_name, options, file, binary, hunk,
                  line, user);
}
