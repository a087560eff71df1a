/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Open files. A run of many nodes wants more of them than the usual soft limit,
 * and libzmq ends a program that gets none. What a tool starts inherits its
 * limits, so this is the only place where a tool's processes raise them. The
 * library, which has no say over the program that it is in, raises the soft
 * limit only where it has to (wire/zmq/zmq_files.c).
 */
#include "internal.h"

#include <sys/resource.h>

void files_allow(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files); /* or it stays as it is */
}
