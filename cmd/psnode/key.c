/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode key: a new key for a cluster, in a file that only its owner may read.
 * It is the one key of all its processes (CURVE): whoever has the file is let
 * in, so it is to be copied to each host, and nowhere else.
 */
#include "psnode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zmq.h>

enum { KEY_TEXT = 41 }; /* Z85, with its end */

/* Nothing half-written stays. */
static enum gw_err write_key(const char *path, struct gw_error *why)
{
    char public_key[KEY_TEXT], secret_key[KEY_TEXT];
    if (zmq_curve_keypair(public_key, secret_key) != 0)
        return gw_fail(why, GW_ENOTSUP, "libzmq was built without CURVE");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return gw_fail(why, GW_EINVAL, "%s is there already", path);
    if (fd < 0)
        return gw_fail_errno(why, "%s", path);
    int printed = dprintf(fd, "%s\n%s\n", public_key, secret_key);
    bool whole = close(fd) == 0 && printed == 2 * KEY_TEXT;
    if (whole)
        return GW_OK;
    gw_fail_errno(why, "%s", path);
    unlink(path);
    return GW_ESYS;
}

static int run(int operand_count, char **operands)
{
    struct gw_error why;
    (void)operand_count;
    return write_key(operands[0], &why) ? complain(&why) : 0;
}

const struct command command_key = {
    .name = "key",
    .operands = "FILE",
    .help = "make a key for a cluster, for its --key",
    .examples = "psnode key lab.key\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
