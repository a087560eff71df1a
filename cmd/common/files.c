/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The limit of open files. A run of many nodes needs more than the usual soft
 * limit, and libzmq aborts a program that has none left. Children inherit the
 * limit, so this is the only place where a tool raises it. The library does not
 * own its process and raises the soft limit only where it must
 * (wire/zmq/zmq_files.c).
 */
#include "internal.h"

#include <sys/resource.h>

void files_allow(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files); /* on failure the limit stays as it is */
}
