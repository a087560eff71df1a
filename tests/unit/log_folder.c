/* SPDX-License-Identifier: MIT
 *
 * See log_folder.h.
 */
#include "log_folder.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void log_folder_make(char path[LOG_FOLDER_PATH])
{
    const char *const roots[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (unsigned i = 0; i < 3; i++)
        if (roots[i] &&
            snprintf(path, LOG_FOLDER_PATH, "%s/gw-logs-XXXXXX", roots[i]) <
                LOG_FOLDER_PATH &&
            mkdtemp(path))
            return;
    ck_abort_msg("no folder for a log");
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

void log_folder_remove(const char *path)
{
    ck_assert_int_eq(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
