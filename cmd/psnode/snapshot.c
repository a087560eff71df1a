/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode snapshot: all data of a living run's servers, into a directory, while
 * the training continues. `psnode restore` begins from it.
 */
#include "psnode.h"
#include "psnode/train/train.h"

#include "common/rpc_client.h"

#include <stdio.h>

static void print_directory(const char *directory)
{
    static const struct field fields[] = {
        {.name = "directory", .kind = FIELD_TEXT}};
    const union value values[] = {{.text = directory}};
    struct gw_error why;
    if (train_is_table())
        printf("snapshot %s written\n", directory);
    else if (output_record("psnode snapshot", common.output, fields, values, 1,
                           NULL, false, &why))
        complain(&why);
}

/* [RUN] DIR */
static int run_snapshot(int operand_count, char **operands)
{
    struct gw_error why;
    const char *directory = operands[operand_count - 1];
    const char *name = operand_count > 1 ? operands[0] : NULL;
    if (train_snapshot(name, directory, &why))
        return complain(&why);
    print_directory(directory);
    return 0;
}

const struct command command_snapshot = {
    .name = "snapshot",
    .operands = "[RUN] DIR",
    .help = "save the state of the servers of a running run",
    .examples = "psnode snapshot half-way\n"
                "psnode snapshot otter /tmp/half-way\n",
    .operands_min = 1,
    .operands_max = 2,
    .run = run_snapshot,
};
