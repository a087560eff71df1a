/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * keygen: a new key for a cluster, in a file that only its owner may read.
 */
#include "common/key.h"

#include "ringctl/ringctl.h"

const struct command command_keygen = {
    .name = "keygen",
    .operands = "FILE",
    .help = "create the key of a cluster, for --key or $GRADWIRE_KEY",
    .examples =
        "ringctl keygen lab.key; ringctl up 4 --wire tcp --key lab.key\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = key_make,
};
