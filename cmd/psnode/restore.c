/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode restore: continues a training from a snapshot, on any number of
 * servers. The snapshot has the weights, the updaters' state and the position
 * in the data, so the result equals that of an uninterrupted training.
 */
#include "psnode.h"
#include "psnode/train/train_options.h"

#include <limits.h>
#include <sys/stat.h>

static enum gw_err find_snapshot(const char *path, char *whole,
                                 struct gw_error *why)
{
    struct stat there;
    enum gw_err code = train_whole_path(path, whole, PATH_MAX, why);
    if (!code && (stat(whole, &there) != 0 || !S_ISDIR(there.st_mode)))
        code = gw_fail(why, GW_EDATA, "%s: the directory does not exist", path);
    return code;
}

static int run_restore(int operand_count, char **operands)
{
    char whole[PATH_MAX];
    struct train_spec spec;
    struct train_wishes wishes;
    struct gw_error why;
    if (find_snapshot(operands[0], whole, &why) ||
        train_options_parse(operand_count - 1, operands + 1, &spec, &wishes,
                            &why))
        return complain(&why);
    if (wishes.compare || wishes.sweep)
        return complain_with(GW_EINVAL, "--compare and --sweep always start "
                                        "from the beginning and cannot be "
                                        "used with a snapshot");
    spec.run.restore = whole;
    return train_once(&spec, &wishes);
}

const struct command command_restore = {
    .name = "restore",
    .operands = "DIR MODEL [NET] [DATA]",
    .help = "continue a training from its snapshot",
    .examples = "psnode restore half-way lr a9a --servers 2 --workers 4\n",
    .options = train_option_specs,
    .groups = train_option_groups,
    .operands_min = 2,
    .operands_max = 4,
    .run = run_restore,
};
