/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode key: like ringctl keygen, for hosts with only servers and workers.
 */
#include "common/key.h"

#include "psnode.h"

const struct command command_key = {
    .name = "key",
    .operands = "FILE",
    .help = "create the key of a cluster, for --key",
    .examples = "psnode key lab.key\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = key_make,
};
