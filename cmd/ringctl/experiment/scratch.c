/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See scratch.h.
 */
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPEN_MAX_FILES = 16 };

enum gw_err scratch_begin(struct scratch *scratch, struct gw_error *why)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/gradwire-XXXXXX",
             folder && *folder ? folder : "/tmp");
    if (!mkdtemp(path) || !realpath(path, scratch->path))
        return gw_fail_errno(why, "%s", path);
    return GW_OK;
}

static int remove_one(const char *path, const struct stat *info, int kind,
                      struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

void scratch_end(struct scratch *scratch)
{
    if (*scratch->path)
        nftw(scratch->path, remove_one, OPEN_MAX_FILES, FTW_DEPTH | FTW_PHYS);
    *scratch->path = 0;
}
