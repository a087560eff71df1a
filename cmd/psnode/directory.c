/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Directories that this tool has made for itself: they contain only its own
 * files.
 */
#include "psnode.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 100 };

static char owned[256];
static DIR *listing; /* of `owned` */
static pid_t owner;

void directory_remove(const char *directory)
{
    DIR *files = opendir(directory);
    const struct dirent *entry;
    if (!files)
        return;
    while ((entry = readdir(files)))
        unlinkat(dirfd(files), entry->d_name, 0);
    closedir(files);
    rmdir(directory);
}

/* NOLINTBEGIN(bugprone-signal-handler): a library has called abort(), outside
 * of malloc and of stdio. These functions allocate no memory and are safe. */

/* The listing was opened before memory ran out. Other threads continue until
 * the process has ended, and may write a file in between. */
static bool remove_owned(void)
{
    const struct dirent *entry;
    for (int tries = 0; listing && tries < TRIES; tries++) {
        rewinddir(listing);
        while ((entry = readdir(listing)))
            unlinkat(dirfd(listing), entry->d_name, 0);
        if (rmdir(owned) == 0)
            return true;
    }
    return false;
}

/* libzmq and libuv end a process that lacks memory or threads. */
static void on_abort(int number)
{
    char line[400];
    (void)number;
    if (getpid() != owner)
        return;
    int bytes = snprintf(line, sizeof line,
                         "psnode: a library has aborted this process: out of "
                         "memory or threads; %s %s\n",
                         owned, remove_owned() ? "was removed" : "remains");
    ssize_t written = write(STDERR_FILENO, line, (size_t)bytes);
    (void)written;
}
/* NOLINTEND(bugprone-signal-handler) */

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
    if (listing)
        closedir(listing);
    listing = opendir(directory);
    owner = getpid();
    signal(SIGABRT, on_abort);
    return true;
}
