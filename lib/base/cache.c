/* SPDX-License-Identifier: MIT
 *
 * See cache.h.
 */
#include "cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool gw__cache_path(const char *name, char path[GW__PATH_BYTES])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n = -1;
    if (cache && *cache)
        n = snprintf(path, GW__PATH_BYTES, "%s/gradwire/%s", cache, name);
    else if (home && *home)
        n = snprintf(path, GW__PATH_BYTES, "%s/.cache/gradwire/%s", home, name);
    return n > 0 && n < GW__PATH_BYTES;
}

enum gw_err gw__make_folders(const char *path, struct gw_error *why)
{
    char part[GW__PATH_BYTES];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return gw_fail_errno(why, "%s", part);
        *slash = '/';
    }
    return GW_OK;
}
