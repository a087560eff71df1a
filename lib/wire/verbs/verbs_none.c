/* SPDX-License-Identifier: MIT
 *
 * The verbs wire without libibverbs and librdmacm: the Makefile compiles either
 * this file or the others that begin with verbs_.
 */
#include "wire/wire.h"

bool gw__verbs_is_built(void)
{
    return false;
}

enum gw_err gw__verbs_open(const struct gw_comm_config *config,
                           struct gw__wire **wire, struct gw_error *why)
{
    (void)config;
    *wire = NULL;
    return gw_fail(why, GW_ENOTSUP,
                   "verbs wire: this gradwire was built without libibverbs and "
                   "librdmacm; install their development files and build it "
                   "again");
}
