/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --cast: the show as a file: an SVG page if its name ends so, else an
 * asciicast.
 */
#include "common/command.h"
#include "recording.h"

#include <string.h>

static bool is_svg(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".svg") == 0;
}

static enum gw_err develop(struct show *show, const char *path, FILE *file,
                           struct gw_error *why)
{
    bool color = strcmp(common.color, "never") != 0;
    enum gw_err err = is_svg(path) ? recording_svg(show, file, color, why)
                                   : recording_cast(show, file, color, why);
    if (!err && fflush(file))
        err = gw_fail_errno(why, "write to %.200s", path);
    return err;
}

int run_cast(struct show *show, const char *path, int width, int height)
{
    struct gw_error why = {.code = GW_OK};
    if (grid_size(&show->grid, width, height, &why))
        return complain(&why);
    FILE *file = fopen(path, "we");
    enum gw_err err = file ? develop(show, path, file, &why)
                           : gw_fail_errno(&why, "%.200s", path);
    if (file && fclose(file) && !err)
        err = gw_fail_errno(&why, "write to %.200s", path);
    return err ? complain(&why) : show_verdict(show);
}
