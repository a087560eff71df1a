/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The directory of the runs: one folder per run, and `latest`, a link to the
 * newest.
 */
#include "common/rpc_client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void rpc_client_folder(char *out, size_t room)
{
    const char *set = getenv("GRADWIRE_RUNS");
    snprintf(out, room, "%s", set && *set ? set : "runs");
}

static enum gw_err latest(const char *folder, char out[NAME_MAX + 1],
                          struct gw_error *why)
{
    char link[PATH_MAX];
    int length = snprintf(link, sizeof link, "%s/latest", folder);
    if (length < 0 || (size_t)length >= sizeof link)
        return gw_fail(why, GW_EINVAL, "$GRADWIRE_RUNS is too long");
    ssize_t bytes = readlink(link, out, NAME_MAX);
    if (bytes <= 0)
        return gw_fail(why, GW_EUNREACH,
                       "no run found in %s; start one with: ringctl up 4",
                       folder);
    out[bytes] = 0;
    return GW_OK;
}

enum gw_err rpc_client_directory(const char *name, char *out, size_t room,
                                 struct gw_error *why)
{
    char folder[PATH_MAX], newest[NAME_MAX + 1] = "";
    struct stat status;
    rpc_client_folder(folder, sizeof folder);
    if (!name) {
        enum gw_err code = latest(folder, newest, why);
        if (code)
            return code;
        name = newest;
    }
    if (!*name || *name == '.' || strchr(name, '/'))
        return gw_fail(why, GW_EUNREACH,
                       "\"%.64s\" is not a valid name of a run", name);
    int length = snprintf(out, room, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= room)
        return gw_fail(why, GW_EINVAL, "the name of the run is too long");
    if (stat(out, &status) != 0 || !S_ISDIR(status.st_mode))
        return gw_fail(why, GW_EUNREACH,
                       "unknown run %.64s in %s; ringctl ls lists the runs",
                       name, folder);
    return GW_OK;
}
