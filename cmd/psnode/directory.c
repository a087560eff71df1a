/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Directories that this tool has made for itself: they hold files, and nothing
 * of anybody else.
 */
#include "psnode.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STUCK_S = 2 };

static char owned[256];
static pid_t owner;

void directory_remove(const char *directory)
{
    DIR *listing = opendir(directory);
    const struct dirent *entry;
    if (!listing)
        return;
    while ((entry = readdir(listing)))
        unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    rmdir(directory);
}

/* libzmq and libuv end a process that lacks memory or threads, in one of their
 * functions, so the allocator is whole; should it not be, the alarm ends us. */
static void on_abort(int number)
{
    char line[400];
    (void)number;
    if (getpid() != owner || !*owned)
        return;
    signal(SIGALRM, SIG_DFL);
    alarm(STUCK_S);
    directory_remove(owned);
    int bytes = snprintf(line, sizeof line,
                         "psnode: a library has ended this process: out of "
                         "memory or of threads; %s was removed\n",
                         owned);
    ssize_t written = write(STDERR_FILENO, line, (size_t)bytes);
    (void)written;
}

bool directory_make(char *directory, size_t room)
{
    const char *under = getenv("TMPDIR");
    snprintf(directory, room, "%.200s/gradwire-XXXXXX",
             under && *under ? under : "/tmp");
    if (!mkdtemp(directory)) {
        *directory = 0;
        return false;
    }
    snprintf(owned, sizeof owned, "%s", directory);
    owner = getpid();
    signal(SIGABRT, on_abort);
    return true;
}
