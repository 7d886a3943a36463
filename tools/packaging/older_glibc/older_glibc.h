/*  older_glibc.h - what Tundish calls of glibc 2.30 to 2.36, for builds against an older one.
 *
 *  Only tools/wheel --glibc uses it: each file is compiled as if it began with this header.  The functions are those
 *  of the man-pages.  Linux before 5.3 lacks pidfd_open, which then fails by ENOSYS. */
#ifndef TND_TOOLS_PACKAGING_OLDER_GLIBC_OLDER_GLIBC_H
#define TND_TOOLS_PACKAGING_OLDER_GLIBC_OLDER_GLIBC_H

#include <signal.h>
#include <sys/types.h>

pid_t gettid(void);
int pidfd_open(pid_t pid, unsigned flags);
int pidfd_send_signal(int pidfd, int number, siginfo_t *info, unsigned flags);
const char *sigabbrev_np(int number);

#endif
