/* SPDX-License-Identifier: MIT
 *
 * File descriptors. libzmq needs two or three per socket, the last of them when
 * a peer connects, and ends the whole program if it cannot have one. So each
 * wire and each control channel reserves its descriptors at the start. If the
 * soft limit is too low, it is raised as far as the hard limit allows.
 */
#include "files.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned reserved; /* by all wires and control channels */
static unsigned others;   /* open when none was reserved */

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *self = opendir("/proc/self/fd");
    while (self && readdir(self))
        count++;
    if (self)
        closedir(self);
    return count;
}

/* Room for `count` descriptors. False: raising the limit to *limit is not
 * enough. */
static bool raise_file_limit(unsigned count, rlim_t *limit)
{
    enum { FOR_OTHERS = 256 };
    struct rlimit files;
    *limit = 0;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || count <= files.rlim_cur)
        return true;
    *limit = files.rlim_max;
    files.rlim_cur = count + FOR_OTHERS < files.rlim_max ? count + FOR_OTHERS
                                                         : files.rlim_max;
    return count <= files.rlim_cur && setrlimit(RLIMIT_NOFILE, &files) == 0;
}

enum gw_err gw__files_reserve(unsigned count, struct gw_error *why)
{
    unsigned in_use;
    rlim_t limit;
    pthread_mutex_lock(&lock);
    if (reserved == 0)
        others = open_files();
    in_use = reserved + others;
    bool room = raise_file_limit(in_use + count, &limit);
    reserved += room ? count : 0;
    pthread_mutex_unlock(&lock);
    if (room)
        return GW_OK;
    return gw_fail(why, GW_ESYS,
                   "%u more open files are needed, %u are in use and the limit "
                   "is %llu; raise it with ulimit -n",
                   count, in_use, (unsigned long long)limit);
}

void gw__files_release(unsigned count)
{
    pthread_mutex_lock(&lock);
    reserved -= count;
    pthread_mutex_unlock(&lock);
}
