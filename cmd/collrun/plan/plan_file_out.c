/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files that import and export write: under another name first, so that a file
 * of this name is always whole.
 */
#include "plan_file_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum gw_err fail_path(const char *path, struct gw_error *why)
{
    return gw_fail(why, GW_EDATA, "%.200s: %s", path, strerror(errno));
}

enum gw_err plan_file_out(const char *path,
                          enum gw_err (*write)(const void *context, FILE *file,
                                               struct gw_error *why),
                          const void *context, struct gw_error *why)
{
    static const char suffix[] = ".part";
    if (!path)
        return write(context, stdout, why);
    size_t size = strlen(path) + sizeof suffix;
    char *part = malloc(size);
    if (!part)
        return gw_fail(why, GW_ENOMEM, "%.200s", path);
    snprintf(part, size, "%s%s", path, suffix);
    FILE *file = fopen(part, "we");
    enum gw_err err = file ? write(context, file, why) : fail_path(part, why);
    if (file && fclose(file) && !err)
        err = fail_path(part, why);
    if (!err && rename(part, path))
        err = fail_path(path, why);
    if (err && file)
        unlink(part);
    free(part);
    return err;
}
