/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See key.h.
 */
#include "key.h"

#include <wire/zmq/zmq_key.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

enum { KEY_TEXT = 41 }; /* Z85, with its end */

/* Leaves no half-written file. */
static enum gw_err write_key(const char *path, struct gw_error *why)
{
    char public_key[KEY_TEXT], secret_key[KEY_TEXT];
    if (zmq_curve_keypair(public_key, secret_key) != 0)
        return gw_fail(why, GW_ENOTSUP, "libzmq was built without CURVE");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return gw_fail(why, GW_EINVAL,
                       "%s already exists; remove it or use another name",
                       path);
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

const char *key_path;

const char *key_file(void)
{
    const char *file = key_path ? key_path : getenv("GRADWIRE_KEY");
    return file && *file ? file : NULL;
}

static bool has_key_option(const struct command *command)
{
    const struct option_spec *option = command->options;
    while (option && option->name && option->target != &key_path)
        option++;
    return option && option->name;
}

enum gw_err key_check(const struct command *command, struct gw_error *why)
{
    struct gw__zmq_key key;
    if (!has_key_option(command) || !key_file())
        return GW_OK;
    enum gw_err err = gw__zmq_key_read(key_file(), &key, why);
    explicit_bzero(&key, sizeof key);
    if (err == GW_EINVAL)
        err = why->code = GW_EDATA;
    return err;
}

int key_make(int operand_count, char **operands)
{
    struct gw_error why;
    (void)operand_count;
    return write_key(operands[0], &why) ? complain(&why) : 0;
}
